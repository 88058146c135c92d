"""What every test shares: declared types hold, no window opens, no learner's record is touched."""

import os

import pytest
import torch

import course_lib

os.environ["MPLBACKEND"] = "Agg"
course_lib.hold_to_signatures()
torch.set_num_threads(1)  # two workers share two cores


@pytest.fixture(autouse=True)
def _own_progress(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.jsonl"))

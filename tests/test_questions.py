"""Every question of the course is proven: right passes, wrong is refused by its name."""

import os
import re

import nbformat
import pytest
import torch

from course_lib.__main__ import ROOT, main
from course_lib.checks import QUESTIONS, proof
from course_lib.checks.judge import Bench
from course_lib.checks.proof import describe, prove

SEEDS = int(os.environ.get("COURSE_SEEDS", "10"))
"""Draws of each probe: few enough that the suite stays short."""

PROVEN: dict[str, proof.Proof] = {}  # what was proven already, by the question's id


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_proof(question):
    PROVEN[question.id] = found = prove(question, SEEDS)
    assert found.holds, describe(found)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_size_of_the_bank(question):
    assert len(question.mistakes) >= 8 and len(question.alternatives) >= 3
    assert len({m.name for m in question.mistakes}) == len(question.mistakes)
    assert question.stars in (1, 2, 3) and 4 <= question.points <= 8


EMPTY = {
    "its first argument": lambda *inputs: inputs[0],
    "zeros like its first argument": lambda *inputs: torch.zeros_like(inputs[0]),
    "nothing": lambda *inputs: None,
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_an_answer_without_thought_earns_next_to_nothing(question):
    bench = Bench(question)
    for what, fn in EMPTY.items() if not question.is_kernel else ():
        points = bench.judge(fn).points
        assert points <= (0 if question.name == "scores" else 2), what


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_every_mistake_says_asks_and_points_back(question):
    for mistake in question.mistakes:
        assert mistake.says.endswith(".") and mistake.asks.endswith("?"), mistake.name
        assert mistake.reread.startswith(f'{question.chapter}, "'), mistake.name
        assert len(f"{mistake.says} {mistake.asks}") < 300, mistake.name


def test_the_command_lists_them_all(capsys, monkeypatch):
    monkeypatch.setattr(proof, "prove", lambda q, seeds: PROVEN.get(q.id) or prove(q, seeds))
    assert main(["questions"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{q.id}" in shown and q.name in shown for q in QUESTIONS)
    assert "0 of" in shown.splitlines()[-1]


def test_the_command_shows_one_in_full(capsys):
    question = QUESTIONS[-1]
    assert main(["questions", question.id]) == 0
    shown = capsys.readouterr().out
    assert all(probe.holds in shown for probe in question.probes)
    assert all(mistake.says in shown for mistake in question.mistakes)
    assert main(["questions", "99.9"]) == 1
    assert "There are 01.1 call_shapes" in capsys.readouterr().out


@pytest.mark.parametrize("chapter", sorted({q.chapter for q in QUESTIONS}))
def test_notebooks_give_the_same_minutes_stars_and_points(chapter):
    asked = [q for q in QUESTIONS if q.chapter == chapter]
    for folder in ("notebooks", "solutions"):
        (path,) = (ROOT / folder).glob(f"{chapter}_*.ipynb")
        prose = "\n".join(
            cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"
        )
        for question in asked:
            stars = "★" * question.stars
            row = rf"\| {question.id} \| `{question.name}`.*\| {stars} \| {question.minutes} \|"
            head = rf"## {question.id} {re.escape(question.title)}\s+{stars} · {question.minutes} "
            assert re.search(row if folder == "notebooks" else head, prose), (folder, question.id)
    total = sum(q.minutes for q in asked), sum(q.points for q in asked)
    assert "About {} minutes, {} points".format(*total) in prose

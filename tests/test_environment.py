"""environment(): it says what is here and never fails, whatever is missing or broken."""

import importlib.metadata
import importlib.util
import subprocess
import sys

import pytest
import torch

from course_lib.environment import HEADINGS, environment


def without(monkeypatch, *packages):
    """Hide packages the way a machine without them would."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in packages else find(name, *a)
    )


def card(monkeypatch, *names):
    """Pretend that these GPUs are here."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(names))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(names))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i: names[i])
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


def test_names_what_is_here():
    here = environment()
    assert torch.__version__ in here["torch"].here
    assert f"{torch.get_num_threads()} thread" in here["torch"].here
    assert here["anywidget"].here == importlib.metadata.version("anywidget")
    assert here["torch"].present and "torch" not in here.missing


def test_says_what_works_without_each_part():
    for part in environment().parts:
        assert part.gives and part.without
        assert part.without in str(environment())


def test_gpu_is_named_and_none_is_said(monkeypatch):
    card(monkeypatch)
    assert environment()["GPU"].here == "none" and "GPU" in environment().missing
    card(monkeypatch, "Big Card", "Big Card", "Small Card")
    assert environment()["GPU"].here == "2 × Big Card, Small Card"


@pytest.mark.parametrize(
    ("names", "interpret", "use"),
    [
        ((), None, "interpreted on the CPU"),
        (("Card",), None, "compiled for the GPU"),
        (("Card",), "1", "interpreted on the CPU"),
    ],
)
def test_triton_use_follows_the_gpu_and_the_variable(monkeypatch, names, interpret, use):
    card(monkeypatch, *names)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: True)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "3.7.1")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    if interpret:
        monkeypatch.setenv("TRITON_INTERPRET", interpret)
    assert environment()["Triton"].here == f"3.7.1, {use}"


def test_absent_packages_are_none_and_missing(monkeypatch):
    without(monkeypatch, "triton", "jupyterlab", "anywidget")
    here = environment()
    assert here["Triton"].here == "none"
    assert {"Triton", "JupyterLab", "anywidget"} <= set(here.missing)
    assert "The library computes all the same" in here.summary


def test_a_broken_driver_is_no_gpu(monkeypatch):
    def broken(*_):
        raise RuntimeError("driver too old")

    monkeypatch.setattr(torch.cuda, "is_available", broken)
    monkeypatch.setattr(torch.backends.mps, "is_available", broken)
    assert environment()["GPU"].here == "none"


def test_without_torch_it_still_answers(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    here = environment()
    assert "torch" in here.missing and "nothing runs" in here.summary
    assert str(here)


def test_a_bare_process_has_its_answer_without_importing_triton():
    code = """
import sys
from course_lib.environment import environment
print(environment()["torch"].present, {"triton", "matplotlib", "anywidget"} & sys.modules.keys())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True set()"


def test_unknown_part_is_named():
    with pytest.raises(KeyError, match=r"'gpu'.*GPU"):
        environment()["gpu"]


def test_shown_as_a_table_with_headers_and_as_text():
    here = environment()
    page = here._repr_html_()
    assert page.count('scope="col"') == len(HEADINGS)
    assert page.count('scope="row"') == len(here.parts) and "<caption" in page
    assert here.summary in repr(here)

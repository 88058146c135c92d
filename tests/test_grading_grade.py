"""A row of one answer, as far as it needs no process: what waits, and what decides a grade."""

import json
import pickle
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_house import imports

from course_lib.checks import find
from course_lib.checks.guard import STUB
from course_lib.checks.judge import judge
from course_lib.grading import grade
from course_lib.grading import row as row_of
from course_lib.grading.confined.child import Runner
from course_lib.grading.confined.wire import Channel
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.pool import DIED, Task, not_graded
from course_lib.grading.reports.rows import checked, is_absent, package

ROOT = Path(__file__).parents[1]
SCORES, SOFTMAX = find("02.1"), find("02.2")
STANDS = f'def scores(q, k):\n    raise NotImplementedError("Write scores: {STUB}")'


@pytest.fixture
def grader(monkeypatch) -> grade.Grader:
    """One without a process, for what runs nothing."""
    monkeypatch.setattr(grade, "starter", lambda *_: SimpleNamespace(close=lambda: None))
    return grade.Grader(b"k" * 32)


def notebook(*sources: str) -> bytes:
    listed = [{"cell_type": "code", "source": source} for source in sources]
    return json.dumps({"cells": listed, "nbformat": 4}).encode()


def row(grader: grade.Grader, data: bytes, **more: object) -> dict:
    handed_in = Submission("ana", "02", "ana/02_attention.ipynb", data, **more)
    [found] = grader.rows(handed_in, [SCORES])
    return checked(found)


@pytest.mark.parametrize(
    ("sources", "status", "points", "note"),
    [
        (["x = 1"], "missing", 0, "No cell defines scores."),
        ([STANDS, "def mine(q, k):\n    return q"], "missing", 0, "Nothing is written here yet."),
        (
            ["import torch", "def my_scores(q, k):\n    return q"],
            "unclear",
            None,
            "No cell defines scores; cell 2 defines my_scores(q, k).",
        ),
        (
            [STANDS, 'check(mine, "02.1")'],
            "unclear",
            None,
            'Nothing is written here yet; cell 2 calls check(mine, "02.1").',
        ),
        (
            [STANDS + "\n    return q @ k.mT"],
            "unclear",
            None,
            "The line that raises NotImplementedError stands above what cell 1 answers.",
        ),
        (["def scores(q, k)\n    return q"], "graded", 0, "cell 1, line 1: expected ':'"),
    ],
)
def test_what_is_not_run(grader, sources, status, points, note):
    found = row(grader, notebook(*sources))
    assert (found["status"], found["points"], found["note"]) == (status, points, note)


def test_a_file_that_is_no_use_waits_and_says_whether_it_can_be_read(grader):
    assert row(grader, b"", problem="larger than 5 MB")["status"] == "unreadable"
    two = row(grader, b"", problem="two candidate notebooks: a, b", unclear=True)
    assert (two["status"], two["points"]) == ("unclear", None)
    assert two["note"] == "two candidate notebooks: a, b"
    broken = row(grader, notebook("x = 1")[:20])
    assert broken["status"] == "unreadable" and "breaks off" in broken["note"]
    assert broken["submission"] == Submission("", "", "", notebook("x = 1")[:20]).digest


def test_a_row_has_the_number_of_its_file_wherever_it_is_made(grader):
    for more in ({}, {"problem": "larger than 5 MB"}):
        assert row(grader, notebook("x = 1"), number="canvas 12345", **more)["number"] == (
            "canvas 12345"
        )
    handed_in = Submission("ana", "02", "ana.py", b"x = 1", number="moodle 4711")
    sent = pickle.loads(pickle.dumps(Task(handed_in, ["02.1", "02.2"])))  # as to a worker
    assert [r["number"] for r in not_graded(sent, b"k" * 32, DIED)] == ["moodle 4711"] * 2


def test_who_handed_nothing_in_is_known_by_the_row(grader):
    assert is_absent(row_of.absent("ana", SCORES, b"k" * 32))
    assert not is_absent(row(grader, notebook("x = 1")))


def of_notes(source: str) -> dict:
    """The row of an answer that can't be called, with the notes of its process."""
    ours, its = socket.socketpair()
    said = Runner(Channel(its), set()).load(
        {"name": "softmax", "pieces": [["cell 1, line 1", source]]}
    )
    ours.close()
    its.close()
    return {"points": 0, "note": " ".join(said["notes"]), "isolation": "full", "cpu_ms": 2.5}


def of_a_call(source: str) -> dict:
    space = {}
    exec(source, space)
    said = row_of.of_verdict(judge(SOFTMAX, space["softmax"]))
    return {"note": "", "isolation": "full", "cpu_ms": 2.5} | said


def test_a_very_long_name_is_cut_and_stays_its_own():
    names = {row_of.named("x" * 400 + end) for end in "ab"} | {row_of.named("ana")}
    assert len(names) == 3 and max(map(len, names)) <= 200 and "ana" in names


IMPORTS_INSIDE = "def softmax(scores):\n    import no_such.part\n    return scores.softmax(-1)"


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (of_notes("from no_such import f\ndef softmax(scores):\n    return f(scores)"), "no_such"),
        (of_a_call(IMPORTS_INSIDE), "no_such"),
    ],
    ids=["above it", "in a call"],
)
def test_what_lacks_a_package_is_not_graded(grader, found, name):
    part = row_of.lacking(found, SOFTMAX)
    assert part["points"] is None and part["status"] == "not graded", "so --resume grades it"
    whole = row(grader, notebook("x = 1")) | {"note": ""} | part
    assert package(checked(whole)) == name and whole["isolation"] == "full"


def test_what_does_without_the_package_is_graded():
    right = IMPORTS_INSIDE.replace("import no_such.part", "scores = scores + 0")
    assert row_of.lacking(of_a_call(right) | {"note": "ModuleNotFoundError"}, SOFTMAX) is None
    note = "cell 1, line 1: ModuleNotFoundError: No module named 'no_such'"
    assert row_of.lacking(of_a_call(right) | {"note": note}, SOFTMAX) is None, "it has all points"
    part = of_a_call(IMPORTS_INSIDE.replace("no_such", "torch"))
    assert row_of.lacking(part, SOFTMAX) is None, "a part of what is here is a slip"
    wrong = of_a_call("def softmax(scores):\n    return scores")
    assert row_of.lacking(wrong, SOFTMAX) is None and wrong["points"] < SOFTMAX.points


def test_the_version_hangs_on_all_that_the_checks_import():
    """Followed from import to import, as far as it stays in the course."""
    left, seen = list((ROOT / "course_lib" / "checks").rglob("*.py")), set()
    while left:
        path = left.pop()
        seen.add(path)
        for name in imports(path):
            parts = name.split(".")
            for end in (len(parts), len(parts) - 1):
                module = ROOT.joinpath(*parts[:end]).with_suffix(".py")
                if parts[0] == "course_lib" and module.is_file() and module not in seen:
                    left.append(module)
    outside = {path.stem for path in seen if path.parent.name == "course_lib"}
    assert {"simulator", "slow_memory", "refusals", "traffic", "attention"} <= outside
    assert seen <= set(row_of.deciding())


def test_another_source_is_another_version(tmp_path, monkeypatch):
    sources = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in sources:
        path.write_text("x = 1\n")
    monkeypatch.setattr(row_of, "deciding", lambda: sources)
    first = row_of.version.__wrapped__()
    assert first == row_of.version.__wrapped__() and len(first) == 12
    sources[1].write_text("x = 2\n")
    assert row_of.version.__wrapped__() != first

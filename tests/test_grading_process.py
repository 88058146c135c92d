"""Processes for answers: forked from a warm one, and begun afresh where no fork is safe."""

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest
import torch

from course_lib.checks import find
from course_lib.checks.guard import TimeLimit
from course_lib.checks.judge import judge
from course_lib.grading.confined import session
from course_lib.grading.confined.process import Fresh, Warm, starter
from course_lib.grading.confined.session import Answer, ProcessEnded
from course_lib.grading.grade import Grader
from course_lib.grading.handed_in.collect import Submission

QUESTION = find("02.2")
RIGHT = "import torch\ndef softmax(scores):\n    return torch.softmax(scores, -1)\n"
NEVER = "def softmax(scores):\n    while True:\n        pass\n"
SLOW = """import time, torch
def softmax(scores):
    end = time.process_time() + 0.45
    while time.process_time() < end:
        pass
    return scores.softmax(-1)
"""
GONE = "import os\ndef softmax(scores):\n    os._exit(0)\n"
ORPHAN = """import os, time
from course_lib.grading.confined.confine import end_with
parent = os.getpid()
if os.fork() == 0:
    end_with(parent)
    print("it begins", flush=True)
elif os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.01)
    end_with(parent)
    print("it goes on", flush=True)
else:
    os.wait()
"""


@pytest.fixture(params=[Fresh, pytest.param(Warm, marks=pytest.mark.skipif(
    sys.platform != "linux", reason="forks safely on Linux alone"))])  # fmt: skip
def begins(request):
    made = request.param()
    before = set(psutil.Process().children(recursive=True))
    yield made
    made.close()
    assert not set(psutil.Process().children(recursive=True)) - before


def answer(begins, source):
    return Answer(begins, QUESTION, (("cell 1, line 1", source),))


def test_right_and_endless_and_gone(begins):
    right = answer(begins, RIGHT)
    assert judge(QUESTION, right).points == QUESTION.points
    right.close()
    assert right.seconds > 0 and right.walls is not None
    x = QUESTION.draw(0)[0][0]
    endless = answer(begins, NEVER)
    used = []
    for _ in range(2):
        with pytest.raises(TimeLimit, match="it went on computing"):
            endless(x)
        used.append(endless.seconds - sum(used))
    endless.close()
    assert used[0] > 2 and used[1] < used[0] - 1, "the second time it isn't given as many"
    gone = answer(begins, GONE)
    with pytest.raises(ProcessEnded, match="ended in this call"):
        gone(x)
    gone.close()


@pytest.mark.skipif(sys.platform != "linux", reason="forks safely on Linux alone")
def test_a_twin_forks_as_the_first_does_and_slow_is_not_endless():
    first = Warm()
    twin = Warm(1, orders=first.twin())
    try:
        for begins in (twin, first):
            slow = answer(begins, SLOW)
            x = QUESTION.draw(0)[0][0]
            torch.testing.assert_close(slow(x), x.softmax(-1))
            slow.close()
            assert slow.seconds > 0.45
    finally:
        twin.close()
        first.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a parent's death isn't told")
def test_a_process_whose_parent_ended_before_it_asked_to_be_told_ends_too():
    """A sleeping answer was left behind: the command had been killed as it was forked."""
    said = subprocess.check_output([sys.executable, "-c", ORPHAN], text=True, timeout=100)
    assert said == "it begins\n"


@pytest.fixture(scope="module")
def grader():
    if sys.platform != "linux":
        pytest.skip("a fresh process counts its imports")
    made = Grader(b"a key for tests, of some length.")
    yield made
    made.close()


def test_after_one_endless_answer_the_others_of_the_notebook_get_less(grader):
    source = NEVER + NEVER.replace("softmax(scores)", "attention(q, k, v)")
    handed_in = Submission("ana", "02", "ana/02_attention.py", source.encode())
    rows = list(grader.rows(handed_in, [QUESTION, find("02.3")]))
    assert [row["points"] for row in rows] == [0, 0]
    assert rows[0]["cpu_ms"] > 2_050 > 1_700 > rows[1]["cpu_ms"] > 400


FILLED = """import time, torch
sign = [1]
def fill(given):
    {}
def softmax(scores):
    return torch.softmax(scores, 0) * sign[0]
"""
WAITS = (
    "Wrong without 02_attention.py, line 7, `done = fill(sign)`, "
    "which may change what it reads and can't be run here"
)


FILLS = "done = fill(sign)"
BATCH = "over the batch"


@pytest.mark.parametrize(
    ("does", "calls", "status", "mistake", "note"),
    [
        ("given[0] = 1", "", "graded", BATCH, ""),
        ("given[0] = 1", FILLS, "graded", BATCH, ""),
        ("given[0] = -1", FILLS, "graded", None, ""),
        ("given.clear()", FILLS, "graded", None, "The error arose at 02_attention.py, line 6"),
        ("raise ValueError", FILLS, "graded", BATCH, "02_attention.py, line 7: ValueError"),
        ("given[0] = 1", "import plot as plt\nplt.plot(sign)", "graded", BATCH, ""),
        ("time.sleep(1_000)", FILLS, "unclear", None, f"{WAITS} (it takes too long)."),
        ("open('/data.txt')", FILLS, "unclear", None, f"{WAITS} (02_attention.py, line 7: "),
        ("given[0] = 1", "import no_such\nno_such.see(sign)", "not graded", None, "no_such isn't"),
    ],
)
def test_a_wrong_answer_is_judged_with_what_may_fill_its_table_or_by_a_person(
    grader, does, calls, status, mistake, note
):
    source = f"{FILLED.format(does)}{calls}".encode()
    [row] = grader.rows(Submission("ana", "02", "ana/02_attention.py", source), [QUESTION])
    assert (row["status"], row["mistake"]) == (status, mistake), row
    assert row["points"] == (0 if status == "graded" else None)
    assert row["note"].startswith(note) and bool(row["note"]) == bool(note)


def test_a_slow_start_of_its_process_takes_nothing_from_an_answers_time(monkeypatch):
    """On a busy machine a right answer had no time left, and no points."""
    now, limits = [50.0], []

    def fork(may_import):
        now[0] += 300
        said = {"found": True, "takes": [], "notes": []}
        peer = SimpleNamespace(request=lambda *_: (said, []), lost=None)
        return SimpleNamespace(peer=peer, walls=[], limit=lambda *given: limits.append(given))

    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    assert answer(SimpleNamespace(fork=fork), RIGHT).found
    assert limits == [(session.LOAD_SECONDS, 350 + session.QUESTION_SECONDS)]


def test_linux_forks_and_others_do_not(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert isinstance(starter(), Fresh)

"""Ctrl-C ends the command in one line, whatever it was doing, and its processes say nothing."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from course_lib.grading.interrupts import STATUS, STOPPED, unheard

ROOT = Path(__file__).parents[1]
posix = pytest.mark.skipif(os.name != "posix", reason="has no Ctrl-C for one process")

# Ctrl-C while the command imports torch, of which nothing is there yet.
IMPORTING = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from course_lib.__main__ import main
main(["grade", "nowhere", "--out", "grades"])
"""
LISTENS = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


@posix
def test_while_it_starts():
    done = run(IMPORTING)
    assert (done.returncode, done.stdout, done.stderr) == (STATUS, "", f"{STOPPED}\n")


@posix
def test_a_process_begun_unheard_and_those_that_it_begins_hear_nothing():
    with unheard():
        inner = f"import subprocess, sys; {LISTENS}; "
        inner += f"subprocess.run([sys.executable, '-c', {LISTENS!r}])"
        assert run(inner).stdout.split() == ["True", "True"]
    assert run(LISTENS).stdout.split() == ["False"]


@posix
@pytest.mark.parametrize("elsewhere", [False, True], ids=["this thread", "another"])
def test_what_was_not_heard_is_heard_at_the_end(elsewhere):
    """The system may hand it to a thread that was there before, which has no mask."""
    handler, began, reached = signal.getsignal(signal.SIGINT), threading.Event(), []

    def interrupt():
        began.wait()
        if elsewhere:
            signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt), unheard():
        began.set()
        other.join() if elsewhere else signal.raise_signal(signal.SIGINT)
        reached.append(1)
    assert reached and signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_another_thread_may_begin_processes():
    seen = []

    def begin():
        with unheard():
            seen.append(threading.current_thread())

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert seen == [thread]

"""A function at the other end of a line does what it does here: values, gradients, verdicts."""

import contextlib
import dataclasses
import random
import socket
import threading

import pytest
import torch

from course_lib.checks import QUESTIONS
from course_lib.checks.judge import Bench
from course_lib.grading.confined import child
from course_lib.grading.confined.peer import Peer, Remote, rebuilt, told
from course_lib.grading.confined.session import _Function, signature
from course_lib.grading.confined.wire import Broken, Channel
from course_lib.made import Largest

MISTAKES = 3  # a question, drawn at random: the whole bank takes a minute


class Near:
    """A function whose other end is a thread here, and not a confined process."""

    def __init__(self, fn):
        ours, its = socket.socketpair()
        self.runner, self.peer = child.Runner(Channel(its), set()), Peer(Channel(ours))
        self.runner.functions, self.__name__ = [fn], "answer"
        self.__signature__ = signature(child._takes(fn))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(Broken):
            while True:
                self.runner.reply(*self.runner.served(*self.runner.channel.receive()))

    def __call__(self, *args):
        return _Function(self.peer)(*args)

    def launch(self, grid, names, args):
        _Function(self.peer)(*args, launch={"grid": list(grid), "names": list(names)})


@contextlib.contextmanager
def near(fn):
    made = Near(fn)
    yield made
    made.peer.channel.close()


def judged(question):
    """The reference, another right answer and some mistakes."""
    chosen = random.Random(question.id).sample(question.mistakes, MISTAKES)
    return [question.reference, question.alternatives[-1], *[mistake.run for mistake in chosen]]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_a_verdict_is_the_same_over_the_line(question):
    bench = Bench(dataclasses.replace(question, seconds=60.0), seed=1)
    for fn in judged(question):
        with near(fn) as remote:
            assert bench.judge(remote) == bench.judge(fn)


def test_gradients_flow_through_it():
    x = torch.randn(3, 4, requires_grad=True)
    with near(lambda a, b: (a.sin() * b, a.sum())) as fn:
        product, total = fn(x, torch.full((4,), 2.0))
        (product.sum() + total).backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos() + 1)


def test_modes_cross():
    with near(lambda x: [torch.is_grad_enabled(), torch.is_inference_mode_enabled()]) as fn:
        assert fn(torch.ones(1)) == [True, False]
        with torch.no_grad():
            assert fn(torch.ones(1)) == [False, False]
        with torch.inference_mode():
            assert fn(torch.ones(1)) == [False, True]


def test_what_it_writes_and_prints_is_seen_here(capsys):
    def writes(x, names):
        print("written")
        x.zero_()
        names.append("c")

    given, names = torch.ones(3), ["a"]
    with near(writes) as fn:
        assert fn(given, names) is None
    assert not given.any() and names == ["a", "c"]
    assert capsys.readouterr().out == "written\n"


def test_a_function_that_is_handed_over_runs_where_it_is_from():
    seen = []

    def model(x):
        seen.append(threading.current_thread())
        return x * 3

    x = torch.ones(2, requires_grad=True)
    with near(lambda fn, x: fn(x) + fn(x)) as answer:
        out = answer(model, x)
        out.sum().backward()
    assert x.grad.tolist() == [6, 6]
    assert set(seen) == {threading.main_thread()}


@pytest.mark.parametrize(
    "x",
    [torch.zeros(60_000, 1, dtype=torch.int8), torch.zeros(1 << 40, 0), torch.zeros(9_000, 9)],
    ids=["rows", "nothing", "bytes"],
)
def test_what_is_too_large_is_not_computed_here(x):
    called = []
    with near(lambda fn: fn(x)) as answer, pytest.raises(ValueError, match="argument"):
        answer(called.append)
    assert not called


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a", 3),
        KeyError("k"),
        OSError(2, "no"),
        ZeroDivisionError(),
        AssertionError("x"),
        UnicodeDecodeError("utf-8", b"", 0, 1, "r"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross(error):
    got = rebuilt(told(error, "cell 1, line 2"))
    assert type(got).__name__ == type(error).__name__ and str(got) == str(error)
    assert got.where == "cell 1, line 2"


@pytest.mark.parametrize(
    "kind", ["KeyboardInterrupt", "SystemExit", "GeneratorExit", "TimeLimit", "eval"]
)
def test_an_error_ends_nothing_here(kind):
    assert isinstance(rebuilt({"kind": kind, "args": [1], "text": "x"}), Exception)


def test_what_can_not_be_sent_is_told():
    with near(lambda: torch.zeros(3_000_000)) as fn, pytest.raises(ValueError, match="too large"):
        fn()


def test_whoever_asks_without_a_pause_is_stopped():
    ours, its = socket.socketpair()
    peer = Peer(Channel(ours))
    looks = iter(range(20))
    peer.waits = lambda silent: next(looks)
    request = {"op": "gradient", "call": 7}

    def flood():
        channel = Channel(its)
        with contextlib.suppress(Broken):
            channel.receive()
            for _ in range(9):
                channel.send(request, [])
            while True:
                channel.send(request, [])
                channel.receive()

    threading.Thread(target=flood, daemon=True).start()
    with pytest.raises(StopIteration):
        Remote(peer, 0)()
    assert isinstance(peer.lost, StopIteration)
    ours.close()
    its.close()


def test_what_is_made_is_told_or_the_call_fails(monkeypatch):
    def makes(x, sizes):
        for size in range(sizes):
            torch.empty(size)
        return x.new_zeros(3, 4)

    with near(makes) as fn:
        with Largest() as seen:
            fn(torch.ones(2), 9)
        assert seen.shape == (3, 4)
        with Largest(), pytest.raises(ValueError, match="more than can be looked at"):
            fn(torch.ones(2), 600)

    def fails(*size):
        raise MemoryError

    def catches(x):
        with contextlib.suppress(MemoryError):
            x.mul_(2)
        return x

    monkeypatch.setattr(child._Made, "see", fails)
    with near(catches) as fn, Largest(), pytest.raises(ValueError, match="looked at"):
        fn(torch.ones(2))

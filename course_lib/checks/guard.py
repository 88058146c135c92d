"""Run a learner's function so that nothing it does reaches further than its own verdict."""

import contextlib
import copy
import ctypes
import functools
import io
import signal
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from course_lib import simulator
from course_lib.checks.compare import Gist, gists

STUB = "replace this line with your answer, then run the check."  # how an unwritten one ends
TICK = 0.05  # seconds between two attempts to stop a function that ran too long
PRINTED_AT_MOST = 2_000  # characters; a function that prints in a loop fills a disk otherwise


class TimeLimit(BaseException):
    """Raised in a function that runs too long; `except Exception` doesn't catch it."""


class Answer:
    """A function as a probe sees it: what it returned last, and what its arguments are called."""

    def __init__(self, fn: Callable, names: tuple[str, ...]):
        self.names = names
        self.returned: object = None
        self.ended = False
        self._fn = fn

    def __call__(self, *inputs: object) -> object:
        self.ended = False
        self.returned = self._fn(*inputs)
        self.ended = True
        return self.returned

    def launch(self, grid: tuple[int, ...], *inputs: object) -> None:
        """Run it as a kernel, in the simulator: one program for every cell of the grid."""
        if hasattr(self._fn, "launch"):  # it runs in another process, and so does its simulator
            self._fn.launch(grid, self.names, inputs)
        else:
            simulator.Kernel(self, self.names)[grid](*inputs)


@dataclass(frozen=True)
class Outcome:
    """What one probe saw: a value or an error, the inputs that changed, and what was printed.

    `returned` is what the function itself gave last; `stumbled` says that it ended, and that the
    probe couldn't make its observation from that.
    """

    value: object = None
    error: BaseException | None = None
    where: str = ""
    changed: tuple[int, ...] = ()
    printed: str = ""
    returned: object = None
    stumbled: bool = False

    @functools.cached_property
    def gists(self) -> list[Gist]:
        """The value in short, once for all the mistakes that it is compared with."""
        return gists(self.value)

    @property
    def timed_out(self) -> bool:
        """It was stopped, rather than ended."""
        return isinstance(self.error, TimeLimit)

    @property
    def unwritten(self) -> bool:
        """The stub of the exercise still stands, or somebody's bare one."""
        text = str(self.error)
        return type(self.error) is NotImplementedError and (not text or text.endswith(STUB))


def run(
    fn: Callable, observe: Callable, inputs: tuple, seconds: float, names: tuple[str, ...] = ()
) -> Outcome:
    """Observe a function on copies of the inputs, and report instead of raising.

    Only the reader's own interrupt gets through. Stops a Python loop after `seconds`; a single
    call into compiled code can't be stopped, only waited for.
    """
    _warm_up()
    answer, printed = Answer(fn, names), _Capped()
    given = tuple(i.clone() if isinstance(i, Tensor) else copy.deepcopy(i) for i in inputs)
    value = error = None
    with (
        _same_torch(),
        warnings.catch_warnings(action="ignore"),  # a warning is no part of a verdict
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            value = within(seconds, lambda: freeze(observe(answer, *given)))
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # SystemExit and TimeLimit too: a verdict, not an end
            error = raised
    changed = tuple(i for i, (a, b) in enumerate(zip(inputs, given, strict=True)) if _differ(a, b))
    stumbled = answer.ended and error is not None
    where = "" if error is None or stumbled else _own_line(error)
    return Outcome(value, error, where, changed, printed.getvalue(), answer.returned, stumbled)


def within(seconds: float, thunk: Callable[[], object]) -> object:
    """Return what `thunk` returns, or raise TimeLimit in it when it takes too long.

    Gets past a bare `except:` too. On the main thread of a system with timers a signal does it,
    which also ends a sleep. Elsewhere (Windows, other threads) a watching thread asks the
    interpreter to raise.
    """
    on_main = threading.current_thread() is threading.main_thread()
    way = _by_alarm if on_main and hasattr(signal, "setitimer") else _by_watching
    return way(seconds, thunk)


def _inside(thunk: Callable[[], object]) -> object:
    """The frame above which an exception is the thunk's, and below which it would be ours."""
    return thunk()


def _frames_inside(frame: types.FrameType | None) -> list[types.FrameType]:
    """The frames of the running thunk, or none where it has ended or must not be cut.

    An import must not: half a module stays broken for the rest of the session.
    """
    frames = []
    while frame is not None and frame.f_code is not _inside.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return []
        frames.append(frame)
        frame = frame.f_back
    return frames if frame is not None else []


def _by_alarm(seconds: float, thunk: Callable[[], object]) -> object:
    tracer = sys.gettrace()

    def again(frame: types.FrameType, event: str, arg: object) -> Callable:
        # Not at an "exception" event: that one is TimeLimit itself, on its way into the `except:`.
        if event == "line":
            raise TimeLimit
        return again

    def ring(signum: int, frame: types.FrameType | None) -> None:
        frames = _frames_inside(frame)
        if not frames:
            return
        # A bare `except:` would swallow this one exception, and the loop would go on. So every
        # frame of the thunk also raises at its next line.
        for own in frames:
            own.f_trace = again
        sys.settrace(again)
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, TICK)
    try:
        return _inside(thunk)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.settrace(tracer)
        signal.signal(signal.SIGALRM, before)


def _by_watching(seconds: float, thunk: Callable[[], object]) -> object:
    target, done = threading.get_ident(), threading.Event()

    def watch() -> None:
        pause = seconds
        while not done.wait(pause):
            if _frames_inside(sys._current_frames().get(target)):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(target), ctypes.py_object(TimeLimit)
                )
            pause = TICK

    threading.Thread(target=watch, daemon=True).start()
    try:
        return _inside(thunk)
    finally:
        done.set()


@functools.cache
def _warm_up() -> None:
    """Let torch import what its first backward pass needs: a second that isn't the learner's."""
    x = torch.zeros(1, requires_grad=True)
    torch.autograd.grad(x.exp(), x, torch.ones(1))


def freeze(value: object) -> object:
    """A copy that later changes to the function's own data can't reach, free of its graph."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return [freeze(item) for item in value]
    if isinstance(value, dict):
        return {key: freeze(item) for key, item in value.items()}
    return value


@contextlib.contextmanager
def _same_torch() -> Iterator[None]:
    """Give every call the same random numbers, and put torch's switches back afterwards."""
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    state = torch.default_generator.get_state()
    torch.default_generator.manual_seed(0)
    try:
        yield
    finally:
        torch.default_generator.set_state(state)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)


def _own_line(error: BaseException) -> str:
    """The learner's own line that raised: the deepest that is no library's and not ours."""
    if hasattr(error, "where"):  # it was raised in another process, which told
        return error.where
    foreign = (sys.prefix, sys.base_prefix, "<", str(Path(__file__).parents[1]))
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if step.line and not step.filename.startswith(foreign)]
    return f"line {own[-1].lineno}: {own[-1].line}" if own else ""


def _differ(before: object, after: object) -> bool:
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        if before.shape != after.shape or before.dtype != after.dtype:
            return True
        before, after = before.detach(), after.detach()
        return not ((before == after) | (before.isnan() & after.isnan())).all()
    if isinstance(before, list | dict):
        return before != after
    return False


class _Capped(io.StringIO):
    def write(self, text: str) -> int:
        super().write(text[: max(PRINTED_AT_MOST - self.tell(), 0)])
        return len(text)

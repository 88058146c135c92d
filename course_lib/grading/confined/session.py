"""An answer that runs in a confined process, and is called here like any function."""

import inspect
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from course_lib import slow_memory
from course_lib.checks.guard import TimeLimit
from course_lib.checks.question import Question
from course_lib.grading.confined.peer import Peer, Remote
from course_lib.grading.confined.process import Child, Fresh, GraderFault, Warm
from course_lib.grading.confined.watch import OutOfTime
from course_lib.grading.confined.wire import Broken, unpack
from course_lib.made import Largest

CALL_SECONDS = 2.0  # of CPU: an answer takes milliseconds, so this means "forever"
SHORT_SECONDS = 0.3  # for an answer of a notebook in which another was endless
NEXT_SECONDS = 0.1  # for the next calls of one that was
LOAD_SECONDS = 2.0  # of CPU for the cells: they may import
QUESTION_SECONDS = 12.0  # on the clock, for all calls of an answer; they take a tenth of a second
NEXT_QUESTION_SECONDS = 3.0  # for an answer of a notebook in which another used up its own


class ProcessEnded(Exception):
    """The student's process died in a call, or said what isn't a message."""


@dataclass
class Answer:
    """A student's function: called here, run in a confined process, which it may wreck."""

    starter: Warm | Fresh
    question: Question
    pieces: tuple[tuple[str, str], ...]
    notes: list[str] = field(default_factory=list)
    walls: list[str] | None = None
    seconds: float = 0.0  # of CPU, in all its processes
    fault: GraderFault | None = None
    allowed: float = CALL_SECONDS  # of CPU, for a call
    on_the_clock: float = QUESTION_SECONDS
    late: bool = False  # it used up its time once
    _lost: bool = False
    _until: float = 0.0
    _child: Child | None = None
    _takes: list | None = None
    _broken: BaseException | None = None

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.on_the_clock

    @property
    def __name__(self) -> str:
        return self.question.name

    @property
    def __signature__(self) -> inspect.Signature:
        self._running()
        if self._takes is None:
            raise ValueError("a function that doesn't tell what it takes")
        return signature(self._takes)

    @property
    def found(self) -> bool:
        """Whether the code defines the function at all; loads it."""
        try:
            self._running()
        except (TimeLimit, ProcessEnded) as error:
            self.notes.append(str(error))
            return False
        return self._broken is None

    @property
    def lost(self) -> bool:
        """Whether a call ended its process, or had to be stopped."""
        return self._lost or (self._child is not None and self._child.peer.lost is not None)

    def __call__(self, *args: object) -> object:
        """What the function returns."""
        return self._asked(args)

    def launch(self, grid: tuple[int, ...], names: tuple[str, ...], args: tuple) -> None:
        """Run it as a kernel in the simulator of the other end."""
        self._asked(args, launch={"grid": list(grid), "names": list(names)})

    def close(self) -> None:
        """End its process."""
        if self._child is not None:
            self._lost = self.lost
            child, self._child = self._child, None
            self.seconds += child.end()

    def _asked(self, args: tuple, **more: object) -> object:
        self._running()
        try:
            self._child.limit(self.allowed, self._until)
            return _Function(self._child.peer)(*args, **more)
        except TimeLimit as error:
            self.late = True
            if isinstance(error, OutOfTime):
                self.close()
                self.allowed = NEXT_SECONDS
            raise
        except Broken as error:
            self.close()
            raise ProcessEnded(f"the process ended in this call ({error})") from None

    def _running(self) -> None:
        """See that a child has loaded the code."""
        if self._broken is not None:
            raise self._broken
        if self._child is not None:
            if self._child.peer.lost is None:
                return
            self.close()
        began = time.monotonic()
        try:
            self._child = self.starter.fork(self.question.may_import)
        except GraderFault as error:  # whoever judges reports it as the answer's: we must know
            self.fault = error
            raise
        self._until += time.monotonic() - began  # the start is the grader's, not the answer's
        self.walls = self._child.walls
        message = {"op": "load", "name": self.question.name, "pieces": self.pieces}
        message["kernel"] = self.question.is_kernel
        try:
            self._child.limit(LOAD_SECONDS, self._until)
            said, _ = self._child.peer.request(message, [])
        except (TimeLimit, Exception) as error:  # whatever it is, the student's code brought it
            self.close()
            self.late = isinstance(error, TimeLimit)
            self._broken = ProcessEnded(f"the cells that define it don't end ({error})")
            raise self._broken from None
        notes = said.get("notes")
        self.notes = [str(note)[:400] for note in notes[:5]] if isinstance(notes, list) else []
        self._takes = said.get("takes")
        if not said.get("found"):
            self._broken = ProcessEnded(f"running its cell doesn't define {self.question.name}")


class _Function(Remote):
    """The answer itself at the other end: it may print, and write into what it was given."""

    def __init__(self, peer: Peer):
        super().__init__(peer, 0)

    def __call__(self, *args: object, **more: object) -> object:
        watched = slow_memory.watched() is not None
        return super().__call__(*args, made=bool(_watching()), accesses=watched, **more)

    def received(self, said: dict, answered: list, args: tuple, given: list) -> object:
        """Its value; what it printed and changed is printed and changed here."""
        print(str(said.get("printed", ""))[:2_000], end="")
        try:
            self._write_back(said, answered, args, given)
            if (log := slow_memory.watched()) is not None:
                log += _accesses(said["accesses"], answered)
            for mode in _watching():
                for shape, dtype, fresh in said.get("made", []):
                    mode.see(torch.Size(shape), getattr(torch, dtype), bool(fresh))
        except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
            raise Broken("what it changed isn't told rightly") from error
        return super().received(said, answered, args, given)

    def _write_back(self, said: dict, answered: list, args: tuple, given: list) -> None:
        with torch.no_grad():
            for i, at in said.get("changed", []):
                given[i].detach().copy_(answered[at])
        for i, packed in said.get("rewritten", {}).items():
            held, value = args[int(i)], unpack(packed, answered, self.peer.named)
            held.clear()
            (held.update if isinstance(held, dict) else held.extend)(value)


def _accesses(said: dict, tensors: list[torch.Tensor]) -> Iterator[slow_memory.Access]:
    """A kernel's accesses at the other end, as if it had run here."""
    parts = tensors[said["elements"]].split([int(count) for _, _, _, count, _ in said["of"]])
    for (program, kind, name, _, nbytes), part in zip(said["of"], parts, strict=True):
        where = tuple(int(axis) for axis in program)
        yield slow_memory.Access(where, str(kind), str(name), part, int(nbytes))


def _watching() -> list[Largest]:
    return [mode for mode in _get_current_dispatch_mode_stack() if isinstance(mode, Largest)]


def signature(takes: list) -> inspect.Signature:
    """A signature from what the other end says of it; raises ValueError where that is none."""
    try:
        parameters = [
            inspect.Parameter(
                str(name), inspect._ParameterKind(kind),
                default=None if default else inspect.Parameter.empty,
            )
            for name, kind, default in takes[:100]
        ]  # fmt: skip
        return inspect.Signature(parameters)
    except (TypeError, ValueError) as error:
        raise ValueError("a function that doesn't tell what it takes") from error

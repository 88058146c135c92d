"""The confined side: it runs an answer's code, and gives back what it returns."""

import contextlib
import functools
import gc
import importlib
import inspect
import io
import json
import math
import random
import socket
import sys
import types

import numpy as np
import torch

from course_lib import simulator, slow_memory
from course_lib.grading.confined.peer import Peer, told
from course_lib.grading.confined.sources import ANNOTATIONS, compiled, own_line
from course_lib.grading.confined.wire import Channel, pack, unpack
from course_lib.made import Largest

PRINTED_AT_MOST = 2_000
MADE_AT_MOST = 500
OURS = "course_lib"


def of_the_course(name: str) -> bool:
    """Whether a module is one of the course's."""
    return name == OURS or name.startswith(OURS + ".")


def imported(names: list[str]) -> set[str]:
    """Import what a question allows of the course, and forget all else of it."""
    for name in names:
        importlib.import_module(name)
    if simulator.__name__ in names:  # a kernel that imports the real Triton runs as well
        sys.modules |= {"triton": simulator, "triton.language": simulator.language}
    return set(names)


class _Guard:
    """Finds no module of the course but those that the question allows, and says so."""

    def __init__(self, allowed: set[str]):
        self.allowed = allowed

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if of_the_course(name):
            may = ", ".join(sorted(self.allowed)) or "nothing of the course"
            raise ImportError(f"{name} can't be imported in an answer; this one may import {may}")


def _forget(allowed: set[str], ours: list[str]) -> None:
    """Take the course's modules out of reach of an import, but for the allowed.

    `ours` was found before the fork: looking at all names here would copy the page of each.
    """
    for name in ours:
        if name not in allowed:
            sys.modules.pop(name, None)
    if allowed:
        package = sys.modules[OURS] = types.ModuleType(OURS)
        package.__path__ = []
        for name in allowed:
            setattr(package, name.rpartition(".")[2], sys.modules[name])
    sys.meta_path.insert(0, _Guard(allowed))


class _Capped(io.StringIO):
    """Keeps the first characters that are printed."""

    def write(self, text: str) -> int:
        super().write(str(text)[: max(0, PRINTED_AT_MOST - self.tell())])
        return len(text)


class _Made(Largest):
    """Notes the shape and dtype of every tensor that is made or written."""

    def __init__(self):
        super().__init__()
        self.sizes: list[tuple[list[int], str, bool]] = []

    def see(self, shape: torch.Size, dtype: torch.dtype, fresh: bool = True) -> None:
        """Note each size once."""
        size = (list(shape), str(dtype).removeprefix("torch."), fresh)
        if len(self.sizes) <= MADE_AT_MOST and size not in self.sizes:
            self.sizes.append(size)


class Runner(Peer):
    """The student's end of the line."""

    def __init__(self, channel: Channel, allowed: set[str]):
        super().__init__(channel)
        self.allowed = allowed
        self.space: dict = {"__name__": "answer", "torch": torch, "math": math}

    def load(self, message: dict) -> dict:
        """Run the pieces of code that the answer needs, and say what came of it."""
        notes, flags = [], 0
        for where, source in message["pieces"]:
            try:
                with contextlib.redirect_stdout(_Capped()), contextlib.redirect_stderr(_Capped()):
                    code = compiled(where, source, flags)
                    flags |= code.co_flags & ANNOTATIONS
                    self._executed(code, where, source, flags)
            except BaseException as error:  # one piece that fails is no reason to leave the others
                said = told(error)
                notes.append(f"{where}: {said['kind']}: {said['text']}"[:400])
        fn = self.space.get(message["name"])
        found = callable(fn)
        if found and message.get("kernel") and not isinstance(fn, simulator.Kernel):
            found = False
            notes.append(f"{message['name']} is a function and no kernel: is @triton.jit above it?")
        self.functions = [fn]
        return {"op": "returned", "notes": notes, "takes": _takes(fn), "found": found}

    def _executed(self, code: types.CodeType, where: str, source: str, flags: int) -> None:
        """Run a piece, without its annotations where a deleted cell defined what they name."""
        try:
            exec(code, self.space)
        except NameError:
            if flags & ANNOTATIONS:
                raise
            exec(compiled(where, source, flags | ANNOTATIONS), self.space)

    def run(self, message: dict, tensors: list[torch.Tensor]) -> tuple[dict, list[torch.Tensor]]:
        """One call, with what it printed and what it changed of its arguments."""
        fn = self.functions[message["function"]]
        args = unpack(message["args"], tensors, self.named)
        before = [t.detach().clone() for t in tensors]
        seed = message.get("seed", 0)
        torch.default_generator.manual_seed(seed)  # torch.manual_seed asks each card, in a ms
        random.seed(seed)
        np.random.seed(seed)
        printed, made = _Capped(), _Made()
        mode = message.get("mode")
        try:
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                torch.inference_mode(mode == "inference"),
                torch.set_grad_enabled(not mode),
                made if message.get("made") else contextlib.nullcontext(),
                slow_memory.watch() as log,
            ):
                value = self._called(fn, args, message.get("launch"))
        except BaseException as error:
            return told(error, own_line(error)) | {"printed": printed.getvalue()}, []
        if made.unnoted or len(made.sizes) > MADE_AT_MOST:
            return told(ValueError("it makes more than can be looked at")), []
        said, outputs = self.answer(value, tensors)
        said |= {"printed": printed.getvalue(), "made": made.sizes}
        if message.get("accesses"):
            said["accesses"] = _listed(log, outputs)
        said["changed"] = _changes(before, tensors, outputs)
        said["rewritten"] = self._rewritten(message["args"], args)
        return said, outputs

    def _rewritten(self, packed: dict, args: tuple) -> dict[str, object]:
        """The lists and dicts of plain values among the arguments that aren't as they came."""
        found = {}
        for i, (before, arg) in enumerate(zip(packed["tuple"], args, strict=True)):
            if isinstance(arg, list | dict) and not _reaches_out(before):
                after = pack(arg, [], self.name)
                if after != before and not _reaches_out(after):
                    found[str(i)] = after
        return found

    def _called(self, fn: object, args: tuple, launch: dict | None) -> object:
        if launch is None:
            return fn(*args)
        whole = functools.partial(fn)  # a kernel itself, which looks at its own source
        simulator.Kernel(whole, launch["names"])[tuple(launch["grid"])](*args)
        return None


def _listed(log: list[slow_memory.Access], outputs: list[torch.Tensor]) -> dict:
    """A kernel's accesses, and where among the outputs all their elements stand."""
    outputs.append(torch.cat([torch.zeros(0).long(), *(a.elements.long().flatten() for a in log)]))
    listed = [[list(a.program), a.kind, a.name, a.elements.numel(), a.nbytes] for a in log]
    return {"elements": len(outputs) - 1, "of": listed}


def _takes(fn: object) -> list | None:
    """The parameters of a function: name, kind, whether it has a default."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return None
    return [(p.name, int(p.kind), p.default is not p.empty) for p in parameters]


def _changes(before: list, now: list, outputs: list) -> list[tuple[int, int]]:
    """Which argument's tensors changed, and where among the outputs their new numbers stand."""
    found = []
    for i, (old, new) in enumerate(zip(before, now, strict=True)):
        same = old.shape == new.shape and old.dtype == new.dtype
        if not same or not torch.equal(_bits(old), _bits(new.detach())):
            outputs.append(new.detach())
            found.append((i, len(outputs) - 1))
    return found


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers that equal themselves, NaN too."""
    plain = tensor.as_subclass(torch.Tensor).contiguous()
    return plain.view(torch.uint8) if plain.ndim else plain.view(1).view(torch.uint8)


def _reaches_out(packed: object) -> bool:
    """Whether a packed value holds tensors, or functions of the other end."""
    text = json.dumps(packed)
    return '"tensor"' in text or '"function"' in text


def serve(end: socket.socket, held: list[str], allowed: set[str], ours: list[str]) -> None:
    """Do what the grader asks for, until it closes the line; `ours` can't be imported any more."""
    channel = Channel(end)
    _forget(allowed, ours)
    runner = Runner(channel, allowed)
    channel.send({"op": "ready", "walls": held}, [])
    while True:
        message, tensors = channel.receive()
        # A collection runs code wherever it happens to come, within the watcher too.
        gc.disable() if message.get("made") else gc.enable()
        if message["op"] == "load":
            channel.send(runner.load(message), [])
        else:
            runner.reply(*runner.served(message, tensors))

"""Functions of the other process: called here, run there, with their gradients.

Both ends are alike. A function that crosses the line is a `Remote` at the other end; calling it
sends the arguments, and whatever it calls in turn is served while one waits for the answer.
"""

import builtins
import contextlib
import inspect
import itertools
import types
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from course_lib.grading.confined.wire import Broken, Channel, Waits, pack, unpack

TEXT_AT_MOST = 1_000  # characters of an error
KEPT_AT_MOST = 32  # calls whose gradients may still be asked for
ARGUMENTS_AT_MOST = 1 << 16  # bytes of tensors that the other end may have computed here
AXIS_AT_MOST = 1_000  # their longest: what is computed may have its square

ANSWERS = ("returned", "raised")


class Peer:
    """What the two processes of an answer say to one another, at one end of it."""

    def __init__(self, channel: Channel, waits: Waits | None = None):
        self.channel, self.waits = channel, waits
        self.functions: list[Callable] = []
        self.lost: BaseException | None = None  # why the line may be half read
        self._graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        self._numbers = itertools.count()

    def name(self, fn: Callable) -> int:
        """The number by which the other end calls a function; its own ones are below zero."""
        if isinstance(fn, Remote) and fn.peer is self:
            return -1 - fn.number
        if fn not in self.functions:
            self.functions.append(fn)
        return self.functions.index(fn)

    def named(self, number: int) -> Callable:
        """The function that the other end means."""
        return Remote(self, number) if number >= 0 else self.functions[-1 - number]

    def request(self, message: dict, tensors: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """Send a request, serve what comes before its answer, and return that or raise it."""
        try:
            self.channel.send(message, tensors)
            while (answer := self.channel.receive(self.waits))[0].get("op") not in ANSWERS:
                if self.waits:
                    self.waits(False)  # whoever sends without a pause is never waited for
                self.reply(*self.served(*answer))
        except BaseException as error:
            self.lost = error
            raise
        if answer[0]["op"] == "raised":
            raise rebuilt(answer[0])
        return answer

    def reply(self, message: dict, tensors: list[Tensor]) -> None:
        """Send an answer, or else why it can't be sent."""
        try:
            self.channel.send(message, tensors)
        except Broken:
            raise
        except Exception as error:  # too large, or of a kind that has no numbers; nothing was sent
            self.channel.send(told(error), [])

    def served(self, message: dict, tensors: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """The answer to a request of the other end; an error is an answer too."""
        try:
            match message.get("op"):
                case "call":
                    return self.run(message, tensors)
                case "gradient":
                    return self._gradient(message["call"], tensors)
            raise Broken(f"no request: {message.get('op')!r}")
        except Broken:
            raise
        except Exception as error:
            return told(error), []

    def run(self, message: dict, tensors: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """Call the function that is meant, and remember what its gradient needs."""
        if sum(t.numel() * t.element_size() for t in tensors) > ARGUMENTS_AT_MOST:
            raise ValueError(f"the arguments have more than {ARGUMENTS_AT_MOST:,} bytes")
        if any(max(t.shape, default=0) > AXIS_AT_MOST for t in tensors):
            raise ValueError(f"an argument has an axis longer than {AXIS_AT_MOST:,}")
        fn = self.named(-1 - int(message["function"]))
        args = unpack(message["args"], tensors, self.named)
        with _mode(message.get("mode")):
            value = fn(*args)
        return self.answer(value, tensors)

    def answer(self, value: object, inputs: list[Tensor]) -> tuple[dict, list[Tensor]]:
        """A returned value as a message; its graph is kept under the number of the call."""
        outputs: list[Tensor] = []
        packed = pack(value, outputs, self.name)
        call = next(self._numbers)
        if any(out.requires_grad for out in outputs):
            self._graphs[call] = (list(outputs), inputs)
            if len(self._graphs) > KEPT_AT_MOST:
                del self._graphs[min(self._graphs)]
        return {"op": "returned", "value": packed, "call": call}, outputs

    def _gradient(self, call: int, cotangents: list[Tensor]) -> tuple[dict, list[Tensor]]:
        outputs, inputs = self._graphs[call]
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        wanted = [x for x in inputs if x.requires_grad]
        grads = torch.autograd.grad(
            [o for o, _ in pairs], wanted, [c for _, c in pairs], True, allow_unused=True
        )
        packed = pack(list(grads), tensors := [], self.name)
        return {"op": "returned", "value": packed}, tensors


class Remote:
    """A function that runs at the other end. Gradients flow through it as through one here."""

    def __init__(self, peer: Peer, number: int):
        self.peer, self.number = peer, number
        self.__name__ = "function"

    def __call__(self, *args: object, **more: object) -> object:
        """What it returns there. `more` is said beside the arguments, for whoever runs it."""
        tensors: list[Tensor] = []
        packed = pack(args, tensors, self.peer.name)
        message = {
            "op": "call",
            "function": self.number,
            "args": packed,
            "mode": _mode_now(),
            **more,
        }
        if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
            held = types.SimpleNamespace(said={})  # torch.func hands on copies of dicts
            answered = _Crossing.apply(self.peer, message, held, *tensors)
            said = held.said
        else:
            said, answered = self.peer.request(message, tensors)
        return self.received(said, list(answered), args, tensors)

    def received(self, said: dict, answered: list[Tensor], args: tuple, given: list) -> object:
        """The value in an answer; `given` are the tensors among the arguments."""
        return unpack(said.get("value"), answered, self.peer.named)


class _Crossing(torch.autograd.Function):
    """The line between the processes, as autograd and torch.func see it."""

    @staticmethod
    def forward(peer: Peer, message: dict, held: types.SimpleNamespace, *inputs: Tensor):
        held.said, outputs = peer.request(message, list(inputs))
        return tuple(outputs)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:
        ctx.peer, message, held, *given = inputs
        ctx.call = held.said.get("call")
        asked, flags = _flags(message["args"]), _flags(held.said.get("value"))
        ctx.wanted = [asked.get(i, 0) > 0 for i in range(len(given))]
        ctx.sizes = [(x.shape, x.dtype) for x in output]
        ctx.mark_non_differentiable(
            *(t for i, t in enumerate(output) if not flags.get(i) or not t.is_floating_point())
        )

    @staticmethod
    def backward(ctx, *cotangents: Tensor | None):
        given = [
            torch.zeros(shape, dtype=dtype) if c is None else c
            for c, (shape, dtype) in zip(cotangents, ctx.sizes, strict=True)
        ]
        grads = iter(_Gradient.apply(ctx.peer, ctx.call, *given))
        return None, None, None, *(next(grads) if wanted else None for wanted in ctx.wanted)


class _Gradient(torch.autograd.Function):
    """The way back over the line; many at once, as jacrev wants them, go one after another."""

    @staticmethod
    def forward(peer: Peer, call: int, *cotangents: Tensor):
        answer, tensors = peer.request({"op": "gradient", "call": call}, list(cotangents))
        return tuple(unpack(answer.get("value"), tensors, peer.named))

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:
        pass

    @staticmethod
    def vmap(info, in_dims: tuple, peer: Peer, call: int, *cotangents: Tensor):
        rows = [
            [
                c if dim is None else c.select(dim, i)
                for c, dim in zip(cotangents, in_dims[2:], strict=True)
            ]
            for i in range(info.batch_size)
        ]
        found = zip(*(_Gradient.apply(peer, call, *row) for row in rows), strict=True)
        stacked = tuple(None if parts[0] is None else torch.stack(parts) for parts in found)
        return stacked, tuple(None if part is None else 0 for part in stacked)


def _flags(packed: object) -> dict[int, int]:
    """Which of the tensors in a packed value have a gradient."""
    if isinstance(packed, list):
        found: dict[int, int] = {}
        for part in packed:
            found |= _flags(part)
        return found
    if not isinstance(packed, dict):
        return {}
    if "tensor" in packed:
        return {packed["tensor"]: packed.get("grad", 0)}
    return _flags(list(packed.values()))


def _mode_now() -> str:
    if torch.is_inference_mode_enabled():
        return "inference"
    return "" if torch.is_grad_enabled() else "no grad"


@contextlib.contextmanager
def _mode(name: object) -> Iterator[None]:
    """The caller's autograd mode."""
    with torch.inference_mode(name == "inference"), torch.set_grad_enabled(not name):
        yield


def told(error: BaseException, where: str = "") -> dict:
    """An error as a message."""
    try:
        args = [a if type(a) in (int, float) else str(a)[:TEXT_AT_MOST] for a in error.args[:4]]
        text = str(error)[:TEXT_AT_MOST]
    except Exception:  # an error whose text is an error
        args, text = [], ""
    kind = type(error).__name__[:80]
    return {"op": "raised", "kind": kind, "args": args, "text": text, "where": where}


def rebuilt(answer: dict) -> Exception:
    """The error of the other end, of a class of the same name that is always an Exception."""
    kind, args = str(answer.get("kind")), answer.get("args")
    found = getattr(builtins, kind, None)
    if not (inspect.isclass(found) and issubclass(found, Exception)):
        found = type(kind, (Exception,), {})
    try:
        error = found(*args)
        str(error)
    except Exception:
        error = type(kind, (Exception,), {})(str(answer.get("text")))
    error.where = str(answer.get("where") or "")[:TEXT_AT_MOST]
    return error

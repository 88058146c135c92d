"""What crosses the line between the grader and a student's process: frames of values, never code.

A frame is a JSON text and safetensors, each with its length before it. Nothing of it is unpickled,
and every length has a cap, because the other end may send anything.
"""

import collections
import itertools
import json
import socket
import struct
from collections.abc import Callable, Iterator, KeysView, ValuesView

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

TEXT_AT_MOST = 1 << 18
TENSORS_AT_MOST = 8 << 20
HEAD_AT_MOST = 1 << 16  # of what safetensors says before the numbers
DEEPEST = 12  # lists in lists
POLL = 0.05  # seconds between two looks at what the other end has used
UNREADABLE = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    StopIteration,
    RuntimeError,
    SafetensorError,
)
PASSING = (Iterator, KeysView, ValuesView, collections.deque)  # what comes one after another
ITEMS_AT_MOST = 10_000
Waits = Callable[[bool], None]
PLAIN = (type(None), bool, int, float, str)
KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""What safetensors calls the dtypes that cross."""


class Broken(Exception):
    """The other end is gone, or sent what isn't a message."""


class Opaque:
    """Stands for a value of a type that doesn't cross; `repr` tells the type's name."""

    def __repr__(self) -> str:
        return type(self).__name__


class Channel:
    """One end of a socket that carries messages."""

    def __init__(self, end: socket.socket, patience: float | None = None):
        self.end, self.patience = end, patience

    def send(self, message: dict, tensors: list[Tensor]) -> None:
        """Send one message; with `patience` the other end must take it in so many seconds."""
        text = json.dumps(message).encode()
        packed = save(tensors) if tensors else b""
        if len(text) > TEXT_AT_MOST or len(packed) > TENSORS_AT_MOST:
            raise ValueError(f"too large to send: {len(text) + len(packed):,} bytes")
        try:
            self._wait_at_most(self.patience)
            self.end.sendall(struct.pack("!II", len(text), len(packed)) + text + packed)
        except OSError as error:
            raise Broken(str(error)) from error

    def receive(self, waits: Waits | None = None) -> tuple[dict, list[Tensor]]:
        """The next message. `waits` is called while none has come, and may raise.

        It is told whether nothing came at all since it was called last.
        """
        sizes = struct.unpack("!II", self._exactly(8, waits))
        if sizes[0] > TEXT_AT_MOST or sizes[1] > TENSORS_AT_MOST:
            raise Broken("a message that is too large")
        text, packed = (self._exactly(size, waits) for size in sizes)
        if packed and int.from_bytes(packed[:8], "little") > HEAD_AT_MOST:
            raise Broken("a message of too many tensors")
        try:
            message = json.loads(text)
            tensors = load(packed) if packed else {}
            if not isinstance(message, dict):
                raise Broken("a message that isn't one")
            return message, [tensors[str(i)] for i in range(len(tensors))]
        except UNREADABLE as error:
            raise Broken(f"a message that can't be read: {type(error).__name__}") from error

    def close(self) -> None:
        """No message comes any more."""
        self.end.close()

    def _wait_at_most(self, seconds: float | None) -> None:
        if self.end.gettimeout() != seconds:  # a system call, which the confined end can't make
            self.end.settimeout(seconds)

    def _exactly(self, size: int, waits: Waits | None) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            self._wait_at_most(POLL if waits else None)
            try:
                part = self.end.recv(min(1 << 20, size - len(taken)))
            except TimeoutError:
                part = None
            except OSError as error:
                raise Broken(str(error)) from error
            if part == b"":
                raise Broken("the process ended")
            taken += part or b""
            if waits and len(taken) < size:
                waits(part is None)
        return bytes(taken)


def pack(value: object, tensors: list[Tensor], name_of: Callable[[Callable], int]) -> object:
    """A value as JSON. Its tensors are put into the list, and its functions become numbers."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, Tensor | np.ndarray):
        return _pack_tensor(value, tensors)
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, np.generic):
        return {"scalar": value.item()}
    if isinstance(value, PASSING):
        value = list(itertools.islice(value, ITEMS_AT_MOST))
    for name, of in (("list", list), ("tuple", tuple), ("set", set | frozenset)):
        if isinstance(value, of):
            return {name: [pack(part, tensors, name_of) for part in value]}
    if isinstance(value, dict):
        pairs = [[pack(part, tensors, name_of) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return plain(value)
    if callable(value):
        return {"function": name_of(value)}
    return {"other": kind.__name__[:80]}


def _pack_tensor(value: Tensor | np.ndarray, tensors: list[Tensor]) -> dict:
    tensor, name = value, "tensor"
    if isinstance(value, np.ndarray):
        tensor, name = torch.from_numpy(np.array(value, order="C")), "array"
    if tensor.layout != torch.strided or tensor.dtype not in KINDS:
        return {"other": f"{tensor.layout} {tensor.dtype}"}
    tensors.append(tensor)
    return {name: len(tensors) - 1, "grad": int(tensor.requires_grad) + int(not tensor.is_leaf)}


def save(tensors: list[Tensor]) -> bytes:
    """The numbers of some tensors as safetensors, by their place in the list.

    The library's `save` gives the same and takes some times as long, where the tensors are small.
    Reading is left to the library: what comes may be anything.
    """
    head, parts, end = {}, [], 0
    for i, tensor in enumerate(tensors):
        plain = tensor.detach().as_subclass(Tensor).clone(memory_format=torch.contiguous_format)
        parts.append(plain.view(-1).view(torch.uint8).numpy().tobytes())
        offsets = [end, end := end + len(parts[-1])]
        head[str(i)] = {
            "dtype": KINDS[plain.dtype],
            "shape": list(plain.shape),
            "data_offsets": offsets,
        }
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def unpack(packed: object, tensors: list[Tensor], function: Callable[[int], Callable]) -> object:
    """The value that was packed; raises Broken for what no `pack` makes."""
    return _unpacked(packed, list(tensors), function, 0)


def _unpacked(packed: object, left: list, function: Callable, depth: int) -> object:
    """A part of a value. Each tensor is taken once: a thousand copies would fill the memory."""
    if type(packed) in PLAIN:
        return packed
    if depth > DEEPEST or not isinstance(packed, dict):
        raise Broken("a value that isn't one")

    def parts(of: list) -> list:
        return [_unpacked(part, left, function, depth + 1) for part in of]

    try:
        name, content = next(iter(packed.items()))
        match name:
            case "tensor":
                leaf, left[content] = left[content], None
                if leaf.requires_grad != (packed["grad"] > 0):  # torch.func forbids to set it
                    leaf.requires_grad_(packed["grad"] > 0)
                return leaf.clone() if packed["grad"] == 2 and leaf.is_leaf else leaf
            case "array":
                array, left[content] = left[content], None
                return array.numpy()
            case "dtype":
                return _dtype(content)
            case "scalar" if type(content) in PLAIN:
                return np.asarray(content)[()]
            case "list" | "tuple" | "set":
                return {"list": list, "tuple": tuple, "set": set}[name](parts(content))
            case "dict":
                return dict(parts(pair) for pair in content)
            case "function":
                return function(int(content))
            case "other":
                return type(str(content) or "object", (Opaque,), {})()
    except UNREADABLE as error:
        raise Broken(f"a value that isn't one: {type(error).__name__}") from error
    raise Broken("a value that isn't one")


def _dtype(name: str) -> torch.dtype:
    found = vars(torch)[name]  # getattr would import what isn't there yet
    if not isinstance(found, torch.dtype):
        raise Broken("a dtype that isn't one")
    return found

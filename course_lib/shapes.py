"""The ledger of an attention call: each tensor's dims, bytes and work, before and after it runs."""

import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import AbstractArray
from torch import Tensor

DIMS = {
    "x": "B T D",
    "q": "B H Tq Dh",
    "k": "B H Tk Dh",
    "v": "B H Tk Dv",
    "keep": "#B #H #Tq #Tk",
    "scores": "B H Tq Tk",
    "weights": "B H Tq Tk",
    "lse": "B H Tq",
    "out": "B H Tq Dv",
}
"""The dims of the names that the whole course shares, in jaxtyping's language."""


class ShapeError(ValueError):
    """Two tensors disagree on a dim; the message names the tensor, the axis and both sizes."""


@dataclass(frozen=True)
class Entry:
    """One tensor of the ledger."""

    name: str
    dims: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """What it takes in memory when it is written out in full."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class Operation:
    """One step of the call and its floating-point operations; a multiply-add counts as two."""

    name: str
    formula: str
    flops: int


@dataclass(frozen=True)
class Ledger:
    """Entries and operations with their totals; a table in Jupyter, aligned text elsewhere."""

    entries: tuple[Entry, ...]
    operations: tuple[Operation, ...]
    sizes: Mapping[str, int]

    @property
    def bytes(self) -> int:
        """All entries together."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def flops(self) -> int:
        """All operations together."""
        return sum(operation.flops for operation in self.operations)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        names = ", ".join(entry.name for entry in self.entries)
        raise KeyError(f"the ledger has no entry {name!r}; it has {names}")

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """The cells of the table: what, dims or formula, size, bytes, FLOPs."""
        tensors = [
            (e.name, f"[{', '.join(e.dims.split())}]", _list(e.shape), f"{e.bytes:,}", "")
            for e in self.entries
        ]
        steps = [(o.name, o.formula, "", "", f"{o.flops:,}") for o in self.operations]
        total = ("total", "", "", f"{self.bytes:,}", f"{self.flops:,}" if steps else "")
        return [*tensors, *steps, total]

    def __str__(self) -> str:
        rows = [HEADINGS, *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
        lines = [
            "  ".join(
                cell.rjust(width) if i > 2 else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, self._footnote()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col" style="text-align:left">{h}</th>' for h in HEADINGS)
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{what}</th>'
            f'<td style="text-align:left">{dims}</td><td style="text-align:left">{size}</td>'
            f"<td>{size_in_bytes}</td><td>{flops}</td></tr>"
            for what, dims, size, size_in_bytes, flops in self.rows()
        )
        return (
            f'<table><caption style="text-align:left">{self._footnote()}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _footnote(self) -> str:
        bound = ", ".join(f"{dim} = {size}" for dim, size in self.sizes.items())
        dtypes = {str(entry.dtype).removeprefix("torch.") for entry in self.entries}
        return f"{bound}; {', '.join(sorted(dtypes))}"


HEADINGS = ("what", "dims", "size", "bytes", "FLOPs")


def ledger(dims: Mapping[str, str] | None = None, **tensors: Tensor) -> Ledger:
    """Enter the tensors of a call under their names, and see that they agree on every dim.

    The names of `DIMS` bring their dims; for any other name give them: `dims={"w_q": "D H Dh"}`.
    Raises ShapeError, naming tensor and axis, when two entries disagree.
    """
    known = DIMS | dict(dims or {})
    bound: dict[str, tuple[int, str]] = {}
    entries = []
    for name, tensor in tensors.items():
        if name not in known:
            raise ValueError(
                f"{name}: no dims known for this name. Give them, for example "
                f"dims={{{name!r}: 'B T D'}}, or use one of {', '.join(DIMS)}."
            )
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}: expected a tensor, got {type(tensor).__name__}")
        bind(bound, name, known[name], tuple(tensor.shape))
        entries.append(Entry(name, known[name], tuple(tensor.shape), tensor.dtype))
    return _with_operations(entries, {dim: size for dim, (size, _) in bound.items()})


def plan(dtype: torch.dtype = torch.float32, **sizes: int) -> Ledger:
    """Write the ledger of an attention call from its sizes alone, before there is a tensor.

    Sizes: B, H, Tq, Tk, Dh, and Dv where it differs from Dh. Equal to the ledger of the tensors
    of that call, so `plan(...) == ledger(...)` is the check that you meant what you ran.
    """
    wanted = ("B", "H", "Tq", "Tk", "Dh", "Dv")
    if set(sizes) | {"Dv"} != set(wanted):
        raise ValueError(f"sizes: expected {', '.join(wanted)}; got {', '.join(sizes) or 'none'}")
    sizes.setdefault("Dv", sizes["Dh"])
    for dim in wanted:
        if not isinstance(sizes[dim], int) or sizes[dim] < 1:
            raise ValueError(f"{dim}: expected a whole number of 1 or more, got {sizes[dim]!r}")
    names = ("q", "k", "v", "scores", "weights", "out")
    shapes = {name: tuple(sizes[dim] for dim in DIMS[name].split()) for name in names}
    entries = [Entry(name, DIMS[name], shapes[name], dtype) for name in names]
    return _with_operations(entries, {dim: sizes[dim] for dim in wanted})


def _with_operations(entries: list[Entry], sizes: dict[str, int]) -> Ledger:
    """Add each step of attention whose result stands in the ledger beside what it is made from."""
    by_name = {entry.name: entry for entry in entries}
    steps = []
    if {"q", "k", "scores"} <= by_name.keys():
        flops = 2 * by_name["scores"].elements * sizes["Dh"]
        steps.append(Operation("scores = q @ k.mT", "2·B·H·Tq·Tk·Dh", flops))
    if {"scores", "weights"} <= by_name.keys():
        # maximum, subtraction, exponential, sum, division: five for each score
        flops = 5 * by_name["weights"].elements
        steps.append(Operation("weights = softmax(scores)", "5·B·H·Tq·Tk", flops))
    if {"weights", "v", "out"} <= by_name.keys():
        flops = 2 * by_name["weights"].elements * sizes["Dv"]
        steps.append(Operation("out = weights @ v", "2·B·H·Tq·Tk·Dv", flops))
    return Ledger(tuple(entries), tuple(steps), sizes)


def bind(bound: dict[str, tuple[int, str]], name: str, dims: str, shape: tuple[int, ...]) -> None:
    """Hold one shape against its dims, and remember each dim's size and who said it first.

    `dims` is jaxtyping's language: a name binds, `#T` may also be 1, `*rows` or `...` takes any
    number of leading axes, `_` takes anything.
    """
    axes = dims.split()
    open_ended = bool(axes) and (axes[0] == "..." or axes[0].startswith("*"))
    axes = axes[open_ended:]
    trailing = shape[max(len(shape) - len(axes), 0) :] if open_ended else shape
    if len(trailing) != len(axes):
        raise ShapeError(
            f"{name}: expected {'at least ' * open_ended}{len(axes)} axes "
            f"[{', '.join(dims.split())}], got {len(shape)}: {_list(shape)}"
        )
    for axis, size in zip(axes, trailing, strict=True):
        dim = axis.lstrip("#")
        if dim == "_" or (axis.startswith("#") and size == 1):
            continue
        expected, owner = bound.setdefault(dim, (size, name))
        if size != expected:
            others = {d: str(n) for d, (n, by) in bound.items() if by != name}
            want = ", ".join(others.get(d := a.lstrip("#"), d) for a in dims.split())
            raise ShapeError(
                f"{name}: axis {dim} is {size}, but {owner} has {dim} = {expected}. Expected "
                f"{name} [{', '.join(dims.split())}] = [{want}], got {_list(shape)}."
            )


def shaped(fn: Callable) -> Callable:
    """Hold a function's tensors to the shapes in its signature, with an error that names the axis.

    The same annotations that jaxtyping checks in notebooks and tests, checked always and in words:
    a wrong axis raises ShapeError, a wrong type or dtype TypeError.
    """
    signature = inspect.signature(fn)
    wanted, instead = {}, {}  # the tensor that a parameter takes, and what it takes instead
    for name, parameter in signature.parameters.items():
        kinds = typing.get_args(parameter.annotation) or (parameter.annotation,)
        arrays = [k for k in kinds if isinstance(k, type) and issubclass(k, AbstractArray)]
        wanted |= {name: arrays[0]} if arrays else {}
        instead[name] = tuple(typing.get_origin(k) or k for k in kinds if k not in arrays)

    @functools.wraps(fn)
    def checked(*args, **kwargs):
        bound: dict[str, tuple[int, str]] = {}
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in wanted and not isinstance(value, instead[name]):
                _expect(name, value, wanted[name])
                bind(bound, name, wanted[name].dim_str, tuple(value.shape))
        return fn(*args, **kwargs)

    return checked


def _expect(name: str, value: object, annotation: type[AbstractArray]) -> None:
    """Raise TypeError unless the value is a tensor of the annotated kind of dtype."""
    kind = annotation.__name__.split("[")[0]
    what = f"a {kind.lower()} tensor [{', '.join(annotation.dim_str.split())}]"
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: expected {what}, got {type(value).__name__}")
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in annotation.dtypes:
        raise TypeError(f"{name}: expected {what}, got dtype {dtype}")


def _list(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"

"""A Triton to read: it runs a kernel's source on CPU tensors, one program after another.

A GPU runs the programs of a kernel at the same time and in any order; nothing else of what a
kernel computes depends on the card, so this says what it computes, on every operating system. It
refuses what the real compiler refuses, it raises where a card would read beyond a tensor, and it
notes every load and store. It knows the part of Triton that the course uses.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor

_program: tuple[int, ...] = ()  # which program runs, and of how many: a launch sets both
_programs: tuple[int, ...] = ()
_log: list["Access"] | None = None


class Access(NamedTuple):
    """One load or store of one program: the elements of a tensor that it touched."""

    program: tuple[int, ...]
    kind: str  # "load" or "store"
    name: str  # the parameter of the kernel
    elements: Tensor
    nbytes: int


@contextmanager
def watch() -> Iterator[list[Access]]:
    """Collect every access of the kernels that run inside."""
    global _log
    before, _log = _log, []
    try:
        yield _log
    finally:
        _log = before


class Pointer:
    """A tensor's memory and offsets into it: what a kernel gets in place of a tensor."""

    def __init__(self, tensor: Tensor, offset: Tensor | int = 0, name: str = "?"):
        self.tensor, self.offset, self.name = tensor, offset, name

    def __add__(self, offset: Tensor | int) -> "Pointer":
        if isinstance(offset, Tensor):
            offset = offset.long()  # what was computed in 32 bits may have overflowed before
        return Pointer(self.tensor, self.offset + offset, self.name)

    __radd__ = __add__

    @property
    def dtype(self) -> SimpleNamespace:
        """Of what it points to."""
        return SimpleNamespace(element_ty=self.tensor.dtype)

    def access(self, kind: str, mask: Tensor | bool | None) -> tuple[Tensor, Tensor, Tensor]:
        """The tensor as one row, the elements that are touched, and where in the tile they are."""
        offset = torch.as_tensor(self.offset)
        mask = torch.as_tensor(True if mask is None else mask).broadcast_to(offset.shape)
        row, elements = self.tensor.view(-1), offset[mask]
        outside = elements[(elements < 0) | (elements >= len(row))]
        if len(outside):
            raise IndexError(
                f"program {_program}: {kind} of {self.name}[{int(outside[0])}], which has "
                f"{len(row)} elements. Which lanes should a mask turn off?"
            )
        if _log is not None:
            nbytes = elements.numel() * row.element_size()
            _log.append(Access(_program, kind, self.name, elements, nbytes))
        return row, elements, mask


class Kernel:
    """A function under `jit`: launched on a grid, or called by another kernel as a helper."""

    def __init__(self, fn: Callable):
        fn = inspect.unwrap(fn)  # a notebook's shape checker wraps it
        self.fn, self.__name__, self.__doc__ = fn, fn.__name__, fn.__doc__
        self.__signature__ = inspect.signature(fn)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.fn(*args, **kwargs)

    def __getitem__(self, grid: tuple[int, ...]) -> Callable:
        """The launch: `kernel[grid](...)` runs one program for every cell of the grid."""

        def launch(*args: object, num_warps: int = 4, num_stages: int = 2, **named: object) -> None:
            global _program, _programs
            bound = self.__signature__.bind(*args, **named)
            for name, value in bound.arguments.items():
                bound.arguments[name] = _argument(name, value)
            _programs = (*grid, 1, 1)[:3]
            for _program in itertools.product(*map(range, _programs)):
                self.fn(*bound.args, **bound.kwargs)

        return launch


def _argument(name: str, value: object) -> object:
    if not isinstance(value, Tensor):
        return value
    if not value.is_contiguous():
        raise ValueError(f"{name}: a kernel here counts in a contiguous tensor; call .contiguous()")
    return Pointer(value.detach(), 0, name)


# The language. Tiles are tensors, so their arithmetic, comparisons and x[:, None] are torch's.


def program_id(axis: int) -> Tensor:
    """Which program this is; int32, which overflows as on a card: `.to(tl.int64)` before that."""
    return torch.tensor(_program[axis], dtype=torch.int32)


def num_programs(axis: int) -> int:
    """How many programs the grid has along an axis."""
    return _programs[axis]


def load(pointer: Pointer, mask: Tensor | None = None, other: int | float | None = None) -> Tensor:
    """Read a tile. Lanes turned off give `other`; without it a card gives anything, here NaN."""
    row, elements, mask = pointer.access("load", mask)
    if other is None:
        other = math.nan if row.is_floating_point() else torch.iinfo(row.dtype).min
    tile = torch.full(mask.shape, other).to(row.dtype)  # as a card does: -1e9 in float16 is -inf
    tile[mask] = row[elements]
    return tile


def store(pointer: Pointer, value: Tensor | int | float, mask: Tensor | None = None) -> None:
    """Write a tile, in the dtype of the tensor; lanes turned off write nothing."""
    row, elements, mask = pointer.access("store", mask)
    row[elements] = torch.as_tensor(value, dtype=row.dtype).broadcast_to(mask.shape)[mask]


def arange(start: int, end: int) -> Tensor:
    """Numbers in turn; as many as a power of two, since they are lanes of hardware."""
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        raise TypeError("arange: expected two numbers; add what a program computes to its result")
    if (size := end - start) < 1 or size & (size - 1):
        raise ValueError(f"arange: expected a power of two of numbers, got {size}")
    return torch.arange(start, end, dtype=torch.int32)


def dot(a: Tensor, b: Tensor, acc: Tensor | None = None, input_precision: str = "ieee") -> Tensor:
    """Multiply two tiles and sum in float32. `input_precision` means something on a card alone."""
    if a.dtype != b.dtype:
        raise TypeError(f"dot: expected two tiles of one dtype, got {a.dtype} and {b.dtype}")
    if min(*a.shape, *b.shape) < 16:
        raise ValueError(
            f"dot: expected sides of at least 16, as the matrix units have, got {list(a.shape)} "
            f"and {list(b.shape)}"
        )
    product = a.float() @ b.float()
    return product if acc is None else acc + product


class Descriptor(NamedTuple):
    """A tensor of several axes, read and written by tiles; what lies outside it reads as zero."""

    base: Pointer
    shape: list[int]
    strides: list[int]
    block_shape: list[int]

    def _where(self, offsets: list) -> tuple[Pointer, Tensor]:
        pointer, inside = self.base, torch.tensor(True)
        for axis, (start, size) in enumerate(zip(offsets, self.block_shape, strict=True)):
            later = (1,) * (len(self.shape) - axis - 1)
            places = (start + torch.arange(size)).view(-1, *later)
            pointer = pointer + places * self.strides[axis]
            inside = inside & (places >= 0) & (places < self.shape[axis])
        return pointer, inside

    def load(self, offsets: list) -> Tensor:
        """The tile whose first corner stands there."""
        return load(*self._where(offsets), other=0)

    def store(self, offsets: list, value: Tensor) -> None:
        """Write the part of a tile that lies inside."""
        pointer, inside = self._where(offsets)
        store(pointer, value, inside)


def _either(of_tensors: Callable, of_numbers: Callable) -> Callable:
    """One function for tiles and for plain numbers."""

    def fn(a: Tensor | int | float, b: Tensor | int | float) -> Tensor | int | float:
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return of_tensors(torch.as_tensor(a), torch.as_tensor(b))
        return of_numbers(a, b)

    return fn


def cdiv(a: int, b: int) -> int:
    """Divide and round up: how many tiles of b cover a."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that isn't below n."""
    return 1 << (n - 1).bit_length()


def jit(fn: Callable | None = None, **how: object) -> Callable:
    """Make a kernel of a function; what a compiler is told beside it means nothing here."""
    return Kernel if fn is None else Kernel(fn)


class constexpr:
    """A value that is known when a kernel is compiled; here it is the value itself."""

    def __new__(cls, value: object) -> object:
        return value


class _Language(SimpleNamespace):
    """What a kernel knows as `tl`."""

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"tl.{name} isn't in the simulator, which has {', '.join(vars(self))}")


language = _Language(
    **{name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "int32", "int64")},
    constexpr=constexpr,
    program_id=program_id,
    num_programs=num_programs,
    load=load,
    store=store,
    arange=arange,
    dot=dot,
    make_tensor_descriptor=Descriptor,
    cdiv=cdiv,
    zeros=lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    full=lambda shape, value, dtype: torch.full(shape, value, dtype=dtype),
    where=lambda condition, a, b: torch.where(condition, a, b),
    maximum=_either(torch.maximum, max),
    minimum=_either(torch.minimum, min),
    max=lambda tile, axis=None: tile.amax(() if axis is None else axis),
    sum=lambda tile, axis=None: tile.sum(axis),
    trans=lambda tile: tile.mT,
    exp=torch.exp,
    exp2=torch.exp2,
    log=torch.log,
    log2=torch.log2,
    range=lambda start, stop, step=1, **how: range(start, stop, step),
)

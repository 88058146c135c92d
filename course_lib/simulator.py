"""A Triton to read: it runs a kernel's source on CPU tensors, one program after another.

A GPU runs the programs of a kernel at the same time and in any order; nothing else of what a
kernel computes depends on the card, so this says what it computes, on every operating system. It
refuses what the real compiler refuses, it raises where a card would read beyond a tensor, and it
notes every load and store. It knows the part of Triton that the course uses.
"""

import difflib
import inspect
import itertools
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import torch
from torch import Tensor

from course_lib import slow_memory
from course_lib.refusals import CompilationError, refusal, wide_only
from course_lib.slow_memory import Access, Descriptor, Pointer, load, store, watch

__all__ = [
    "Access",
    "Descriptor",
    "Kernel",
    "Pointer",
    "cdiv",
    "constexpr",
    "jit",
    "language",
    "next_power_of_2",
    "watch",
]

_programs: tuple[int, ...] = ()  # how many the grid has: a launch sets it


class Kernel:
    """A function under `jit`: launched on a grid, or called by another kernel as a helper.

    `names` are what a launch calls the arguments, where that isn't what the function calls them.
    """

    def __init__(self, fn: Callable, names: Iterable[str] = ()):
        fn = inspect.unwrap(fn)  # a notebook's shape checker wraps it
        self.fn, self.__name__, self.__doc__ = fn, getattr(fn, "__name__", "kernel"), fn.__doc__
        named = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        self.__signature__ = inspect.Signature(named) if named else inspect.signature(fn)

    def __call__(self, *args: object, **kwargs: object) -> object:
        if why := refusal(self.fn):
            raise CompilationError(why)
        return self.fn(*args, **kwargs)

    def __getitem__(self, grid: tuple[int, ...]) -> Callable:
        """The launch: `kernel[grid](...)` runs one program for every cell of the grid."""

        def launch(*args: object, num_warps: int = 4, num_stages: int = 2, **named: object) -> None:
            global _programs
            bound = self.__signature__.bind(*args, **named)
            for name, value in bound.arguments.items():
                bound.arguments[name] = _argument(name, value)
            _programs = (*grid, 1, 1)[:3]
            for slow_memory.program in itertools.product(*map(range, _programs)):
                self(*bound.args, **bound.kwargs)

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
    return torch.tensor(slow_memory.program[axis], dtype=torch.int32)


def num_programs(axis: int) -> int:
    """How many programs the grid has along an axis."""
    return _programs[axis]


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
    if min(a.ndim, b.ndim) < 2:
        raise ValueError(
            f"dot: expected tiles of two axes, got {list(a.shape)} and {list(b.shape)}"
        )
    if min(*a.shape, *b.shape) < 16:
        raise ValueError(
            f"dot: expected sides of at least 16, as the matrix units have, got {list(a.shape)} "
            f"and {list(b.shape)}"
        )
    if acc is not None and (not isinstance(acc, Tensor) or acc.dtype.itemsize < 4):
        got = acc.dtype if isinstance(acc, Tensor) else type(acc).__name__
        raise TypeError(f"dot: expected acc as a tile in float32, in which it sums, got {got}")
    product = a.float() @ b.float()
    return product if acc is None else acc + product


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


def zeros(shape: list[int], dtype: torch.dtype) -> Tensor:
    """A tile of zeros."""
    return torch.zeros(shape, dtype=dtype)


def full(shape: list[int], value: int | float, dtype: torch.dtype) -> Tensor:
    """A tile of one value."""
    return torch.full(shape, value, dtype=dtype)


def where(condition: Tensor, a: Tensor | float, b: Tensor | float) -> Tensor:
    """Of two tiles or numbers, place by place, the first where the condition holds."""
    return torch.where(torch.as_tensor(condition), torch.as_tensor(a), torch.as_tensor(b))


def max_of(tile: Tensor, axis: int | None = None, keep_dims: bool = False) -> Tensor:
    """The largest along an axis, or of all."""
    return tile.amax(() if axis is None else axis, keepdim=keep_dims)


def sum_of(tile: Tensor, axis: int | None = None, keep_dims: bool = False) -> Tensor:
    """The sum along an axis, or of all."""
    return tile.sum(axis, keepdim=keep_dims)


def trans(tile: Tensor) -> Tensor:
    """A tile of two axes, transposed."""
    return tile.mT


class _Language(SimpleNamespace):
    """What a kernel knows as `tl`."""

    def __getattr__(self, name: str) -> object:
        near = difflib.get_close_matches(name, vars(self), n=1)
        hint = f"Did you mean tl.{near[0]}? " if near else ""
        raise AttributeError(
            f"tl.{name} isn't in the simulator. {hint}It has {', '.join(vars(self))}"
        )


language = _Language(
    program_id=program_id,
    num_programs=num_programs,
    arange=arange,
    load=load,
    store=store,
    dot=dot,
    trans=trans,
    zeros=zeros,
    full=full,
    where=where,
    max=max_of,
    sum=sum_of,
    maximum=_either(torch.maximum, max),
    minimum=_either(torch.minimum, min),
    exp=wide_only(torch.exp),
    exp2=wide_only(torch.exp2),
    log=wide_only(torch.log),
    log2=wide_only(torch.log2),
    cdiv=cdiv,
    range=lambda start, stop, step=1, **how: range(start, stop, step),
    make_tensor_descriptor=Descriptor,
    constexpr=constexpr,
    **{name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "int32", "int64")},
)

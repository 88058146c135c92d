"""How an answer of chapter 07 is looked at: launched in the simulator, then what it wrote."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.tiling.fold import number
from course_lib.simulator import watch

BEFORE = -7.0  # stands in every output before the launch; finite, so that a written NaN shows


def written(grid: Callable[..., tuple[int, ...]], *names: str) -> Callable[..., dict[str, Tensor]]:
    """An `observe` for a probe: launch on `grid(*inputs)`, and see the named tensors afterwards.

    The kernel writes into clones of them, so what was drawn stays as it was.
    """

    def observe(fn: Callable, *inputs: object) -> dict[str, Tensor]:
        given = [
            value.clone() if name in names else value
            for name, value in zip(fn.names, inputs, strict=True)
        ]
        fn.launch(grid(*inputs), *given)
        return {n: value for n, value in zip(fn.names, given, strict=True) if n in names}

    return observe


def at_once(grid: Callable[..., tuple[int, ...]], limit: Callable[..., int]) -> Callable[..., dict]:
    """An `observe` for a probe: out, and how far the largest load or store is above a limit."""

    def observe(fn: Callable, *inputs: object) -> dict[str, Tensor | int]:
        with watch() as log:
            seen = written(grid, "out_ptr")(fn, *inputs)
        largest = max((len(access.elements) for access in log), default=0)
        return {"above": max(0, largest - limit(*inputs)), **seen}

    return observe


def output(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor for a kernel to write to, in which BEFORE tells what it left alone."""
    return torch.full(shape, BEFORE).to(dtype)


def first_wrong(got: Tensor, want: Tensor, tolerance: float) -> tuple[int, ...] | None:
    """Where the first number stands that differs, or None."""
    got, want = got.double(), want.double()
    finite = want[want.isfinite() & (want != BEFORE)]
    scale = tolerance * (finite.abs().max().item() if finite.numel() else 1.0)
    apart = ~torch.isclose(got, want, rtol=tolerance, atol=scale, equal_nan=True)
    return tuple(apart.nonzero()[0].tolist()) if apart.any() else None


def fact(name: str, at: tuple[int, ...], got: Tensor, want: Tensor) -> str:
    """What stands there, what should, and whether anything was written at all."""
    mine, right = got[at].item(), want[at].item()
    show = number if got.dtype.is_floating_point else lambda value, digits=0: f"{value:,}"
    where = f"{name}[{', '.join(map(str, at))}]"
    if mine == BEFORE:
        return f"{where} isn't written; expected {show(right)}"
    if right == BEFORE:
        return f"{where} is {show(mine)}, and no program should write there"
    digits = next((d for d in (4, 8, 17) if show(mine, d) != show(right, d)), 17)
    return f"{where} is {show(mine, digits)}; expected {show(right, digits)}"

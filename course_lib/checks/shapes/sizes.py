"""Draw the sizes of a call for the probes of chapter 01, and name them in a fact."""

from collections.abc import Callable

import torch

SIZES = ("B", "H", "Tq", "Tk", "Dh", "Dv")


def sizes_with(*more: object, **fixed: int) -> Callable:
    """Draw B, H, Tq, Tk, Dh and Dv, pairwise different; those given stand, `more` follows."""

    def draw(generator: torch.Generator) -> tuple:
        free = [size for size in range(2, 12) if size not in fixed.values()]
        order = iter(torch.randperm(len(free), generator=generator).tolist())
        return (*(fixed.get(dim) or free[next(order)] for dim in SIZES), *more)

    return draw


def five_sizes(*more: object, **fixed: int) -> Callable:
    """The same without Dv."""
    draw = sizes_with(*more, **fixed)
    return lambda generator: tuple(s for i, s in enumerate(draw(generator)) if i != 5)


def named(sizes: tuple) -> str:
    """Sizes with the names of their dims."""
    return ", ".join(f"{dim} {size}" for dim, size in zip(SIZES, sizes, strict=False))

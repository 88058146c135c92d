"""Draw the sizes of a call for the probes of chapter 01, and name them in a fact."""

from collections.abc import Callable
from fractions import Fraction

import torch

SIZES = ("B", "H", "Tq", "Tk", "Dh", "Dv")

# none of 2, 4 and 8, which a forgotten or doubled size would pass off as a factor of the formula
DRAWN = (3, 5, 7, 9, 10, 11, 13, 14, 15)


def sizes_with(*more: object, **fixed: int) -> Callable:
    """Draw B, H, Tq, Tk, Dh and Dv, pairwise different; those given stand, `more` follows."""

    def draw(generator: torch.Generator) -> tuple:
        free = [size for size in DRAWN if size not in fixed.values()]
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


def beside(got: int, want: int, unit: str) -> str:
    """A count, and what it is of the right one if that is simple, else the right one."""
    share = Fraction(got, want)
    most = 15 if share.numerator == 1 else 8
    counted = f"{got:,} {unit if got != 1 else unit.removesuffix('s')}"
    if not 0 < share <= 16 or share.denominator > most:
        return f"{counted}; expected {want:,}"
    return f"{counted}, {share} {'times' if share.denominator == 1 else 'of'} what was expected"

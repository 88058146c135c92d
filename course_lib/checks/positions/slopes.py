"""What slopes is held to: the slope of every head, for powers of two and for other H."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Probe


def _as_power(slope: float, digits: int) -> str:
    """A slope as 2 to a power, which is how the task speaks of it."""
    if slope > 0 and math.isfinite(slope):
        return f"2^{math.log2(slope) + 0.0:.{digits}g}"
    return f"{slope:.{digits}g}"


def _head(got: Tensor, want: Tensor, H: int) -> str:
    """The first head whose slope is wrong, and whether the others stand in another order."""
    close = {"rtol": 1e-4, "atol": 1e-6}
    wrong = ~got.double().isclose(want.double(), **close)
    h = int(wrong.nonzero()[0])
    mine, right = got[h].item(), want[h].item()
    pairs = ((_as_power(mine, d), _as_power(right, d)) for d in (4, 8, 17))
    here, there = next((a, b) for a, b in pairs if a != b)
    fact = f"H {H}: head {h} has slope {here}; expected {there}"
    if torch.allclose(got.double().sort().values, want.double().sort().values, **close):
        return f"{fact}. All {H} slopes are there, in another order"
    return fact


def _of(holds: str, H: int, points: int = 1) -> Probe:
    return Probe(holds, lambda g: (H,), points, fails=_head)


def _one_of(*numbers: int) -> Callable[[torch.Generator], tuple]:
    return lambda g: (numbers[int(torch.randint(len(numbers), (), generator=g))],)


SLOPES = (
    _of("H 8: [8], from 1/2 to 1/256, each half of the one before", 8),
    _of("H 16: 2^(-1/2), 2^(-1), 2^(-3/2), ... down to 2^(-8)", 16),
    _of("H 1: one head, slope 1/256", 1),
    Probe("other powers of two: 2^(-8/H), 2^(-16/H), ...", _one_of(2, 4, 32, 64), fails=_head),
    _of("H 12: the 8 slopes of H 8, then the 1st, 3rd, 5th and 7th of H 16", 12, 2),
    _of("H 7: the 4 slopes of H 4, then the 1st, 3rd and 5th of H 8", 7),
    Probe("other H, such as 10 or 20: the same rule", _one_of(10, 11, 18, 20, 22), fails=_head),
)

"""What sinusoid and shift_matrix are both held to: sines and cosines in turns, in float64."""

import torch
from torch import Tensor

from course_lib.positions import frequencies


def in_turns(angles: Tensor, D: int, even: str = "sin", odd: str = "cos") -> Tensor:
    """Even features from each pair's angle, odd ones from the same, cut to the first D."""
    both = [getattr(angles, even)(), getattr(angles, odd)()]
    return torch.stack(both, -1).flatten(-2)[..., :D]


def waves(positions: Tensor, D: int) -> Tensor:
    """The right sinusoids of any positions, negative ones too: [T, D]."""
    return in_turns(positions.double()[:, None] * frequencies(D), D)


def counted(T: int) -> Tensor:
    """Positions 0 to T - 1, as a column."""
    return torch.arange(T, dtype=torch.float64)[:, None]


def pairs(D: int) -> Tensor:
    """The numbers of the pairs, the last of an odd D included."""
    return torch.arange((D + 1) // 2, dtype=torch.float64)


def far_apart(got: Tensor, want: Tensor) -> Tensor:
    """Where two tables differ by more than rounding; NaN is far from everything."""
    return ~((got.double() - want.double()).abs() < 1e-4)

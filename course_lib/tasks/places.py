"""Read several places at once: a task that one head can't do, however wide it is."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Places(NamedTuple):
    """A batch: what the model sees, what it should answer at the last position, and where it is."""

    x: Float[Tensor, "B T1 D"]
    target: Float[Tensor, "B PC"]
    where: Int[Tensor, "B P"]


def places(B: int, generator: torch.Generator, P: int = 2, T: int = 8, D: int = 16) -> Places:
    """Draw sequences of T contents, P of them marked first, second, ...; a last position asks.

    The answer is the marked contents in the order of their marks: P times 4 numbers. Features 0 to
    3 are the content, drawn with variance 1, so that an answer of zeros has the mean squared error
    1. The next P are the marks, then comes "I ask", and zeros fill up to D.
    """
    C = 4
    if not 1 <= P <= T:
        raise ValueError(f"P: expected 1 to {T} of the {T} contents, got {P}")
    if D < C + P + 1:
        raise ValueError(f"D: expected at least {C + P + 1} features for {P} marks, got {D}")
    x = torch.zeros(B, T + 1, D)
    x[:, :T, :C] = torch.randn(B, T, C, generator=generator)
    x[:, T, C + P] = 1
    where = torch.rand(B, T, generator=generator).argsort(-1)[:, :P]
    batch = torch.arange(B)[:, None]
    x[batch, where, C + torch.arange(P)] = 1
    return Places(x, x[batch, where, :C].flatten(1), where)

"""Right ways to count the real tokens that look nothing like the reference."""

import torch
from torch import Tensor

from course_lib import positions as library


def positions_of(real: Tensor, cached: int) -> Tensor:
    """Count the real tokens of each row; the first has the position `cached`."""
    return library.positions_of(real, cached)


def _ones_at_padding(real, cached):
    return (real.long().cumsum(-1) - 1 + cached).masked_fill(~real, 1)


def _those_before(real, cached):
    counted = real.int()
    return counted.cumsum(-1) - counted + cached


def _one_by_one(real, cached):
    out = torch.zeros(real.shape, dtype=torch.long)
    for b, row in enumerate(real.tolist()):
        count = cached
        for t, is_real in enumerate(row):
            if is_real:
                out[b, t] = count
                count += 1
    return out


def _a_product(real, cached):
    T = real.shape[1]
    earlier = torch.ones(T, T).triu(1)
    return (real.float() @ earlier).round().long() + cached


def _zeros_and_then_cached(real, cached):
    return torch.where(real, real.cumsum(1) - 1, 0) + cached


def _zeros_at_padding(real, cached):
    return (real.cumsum(1) - 1 + cached) * real


def _handed_out(real, cached):
    out = torch.full(real.shape, cached)
    for row, kept in zip(out, real, strict=True):
        row[kept] = torch.arange(cached, cached + int(kept.sum()))
    return out


def _by_sorting(real, cached):
    order = (~real).long().argsort(dim=-1, stable=True)  # the real ones first, in their order
    return order.argsort(-1) + cached


def _compared(real, cached):
    t = torch.arange(real.shape[1])
    return ((t[:, None] > t) & real[:, None]).sum(-1, dtype=torch.int32) + cached


def _less_the_padding(real, cached):
    t = torch.arange(real.shape[1])
    return (cached + t - (~real).cumsum(-1)).clamp(min=0)


COUNT = (
    _ones_at_padding,
    _those_before,
    _one_by_one,
    _a_product,
    _zeros_and_then_cached,
    _zeros_at_padding,
    _handed_out,
    _by_sorting,
    _compared,
    _less_the_padding,
)

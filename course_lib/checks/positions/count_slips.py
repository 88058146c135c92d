"""More of what goes wrong where tokens are counted: what is cached, which form comes back."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.count_mistakes import columns, in_count, right


def _at_the_first_column(real, cached):
    counted = right(real, 0)
    counted[:, 0] += cached
    return counted


def _at_the_first_real(real, cached):
    return right(real, 0) + cached * (real & (real.cumsum(-1) == 1))


def _less_one_number_a_row(tokens: Callable[[Tensor], Tensor]) -> Callable:
    """Where each row begins, [B], taken off its columns without an axis of 1."""
    return lambda real, cached: (tokens(real) - real.int().argmax(-1)).clamp(min=0) + cached


ONE_A_ROW = (
    "One number a row, [B], is taken off the columns, whose last axis is T: broadcasting sets rows "
    "against columns.",
    "Which axis of size 1 must that number keep, so that it meets all columns of its own row?",
)

TOTAL = (
    "Every token of a row gets the same number, made from the sum of the whole row.",
    "Which tokens of the row stand before the first one, and which before the last?",
)

SLIPS = (
    in_count(
        "every column, with a cache",
        lambda real, cached: columns(real) + cached if cached else right(real, 0),
        "With something cached, every column counts, padding as well.",
        "Where does `real` come in when something is cached?",
    ),
    in_count(
        "one cached is none",
        lambda real, cached: right(real, cached if cached > 1 else 0),
        "With 1 cached the count begins at 0; with more it goes on from them.",
        "From how many cached tokens on must the count go on from them?",
    ),
    in_count(
        "cached at column 0 alone",
        _at_the_first_column,
        "`cached` is added in column 0 alone: the columns after it count as if nothing were "
        "cached.",
        "Which position has the second new token, if 3 are cached?",
    ),
    in_count(
        "cached at the first real token alone",
        _at_the_first_real,
        "`cached` is added to the first real token alone: those after it count as if nothing were "
        "cached.",
        "Which position has the second new token, if 3 are cached?",
    ),
    in_count(
        "the total of the row",
        lambda real, cached: (real.sum(-1, keepdim=True) + cached).expand(real.shape),
        *TOTAL,
    ),
    in_count(
        "the total of the row, less one",
        lambda real, cached: (real.sum(-1, keepdim=True) - 1 + cached).expand(real.shape),
        *TOTAL,
    ),
    in_count(
        "one number a row, against [T]",
        _less_one_number_a_row(lambda real: torch.arange(real.shape[1])),
        *ONE_A_ROW,
    ),
    in_count(
        "one number a row, against [B, T]",
        _less_one_number_a_row(columns),
        *ONE_A_ROW,
    ),
    in_count(
        "counted in float16",
        lambda real, cached: (real.half().cumsum(-1) - 1).clamp(min=0).long() + cached,
        "The sum is kept in float16, which knows no odd number above 2,048.",
        "Which dtype counts 2,049 tokens?",
    ),
    in_count(
        "all new tokens at once",
        lambda real, cached: torch.full(real.shape, cached) if cached else right(real, 0),
        "With something cached, all new tokens get the position `cached`: that is right for one "
        "new token.",
        "Which position has the second new one?",
    ),
    in_count(
        "as floats",
        lambda real, cached: right(real, cached).float(),
        "The numbers are right, but they are floats, which no table can be indexed with.",
        "Which step of yours leaves the whole numbers?",
    ),
    in_count(
        "real tokens alone",
        lambda real, cached: right(real, cached)[real],
        "The positions of all rows come back in one line, those of padding left out.",
        "Which of them belong to sequence 1, and how would one know?",
    ),
    in_count(
        "one line for all rows",
        lambda real, cached: torch.arange(cached, cached + real.shape[1]),
        "One line of positions comes back, 0 or `cached` and on: every column counts, in every "
        "row alike.",
        "Where does `real` come into your count?",
    ),
)

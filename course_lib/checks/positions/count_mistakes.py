"""What people really write to count real tokens when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

in_count = partial(Mistake, reread='05, "Count the real tokens"')


def right(real: Tensor, cached: int) -> Tensor:
    """Positions as they should be."""
    return (real.cumsum(-1) - 1).clamp(min=0) + cached


def columns(real: Tensor) -> Tensor:
    """The number of each column, in every row."""
    return torch.arange(real.shape[1]).repeat(len(real), 1)


def _other(arrange: Callable) -> Callable:
    """The right count of other arguments."""
    return lambda real, cached: right(*arrange(real, cached))


def _from_the_first(real, cached):
    first = real.int().argmax(-1, keepdim=True)
    return (columns(real) - first).clamp(min=0) + cached


def _less_all_padding(real, cached):
    return columns(real) - (~real).sum(-1, keepdim=True) + cached


def _less_all_padding_from_zero(real, cached):
    return _less_all_padding(real, 0).clamp(min=0) + cached


def _from_the_right(real, cached):
    return right(real.flip(-1), cached).flip(-1)


def _less_the_first_column(real, cached):
    counted = real.cumsum(-1)
    return counted - counted[:, :1] + cached


def _through_all_rows(real, cached):
    return (real.flatten().cumsum(0).view(real.shape) - 1).clamp(min=0) + cached


def _one_by_one(again: Callable[[int], int], gap: Callable[[int, int], int]) -> Callable:
    """Count in a loop: how it begins again in a later row, and what padding does to the count."""

    def run(real, cached):
        out, count = torch.zeros(real.shape, dtype=torch.long), cached
        for b in range(len(real)):
            for t in range(real.shape[1]):
                if real[b, t]:
                    out[b, t] = count
                    count += 1
                else:
                    count = gap(count, cached)
            count = again(cached)
        return out

    return run


COUNT = (
    in_count(
        "columns counted",
        lambda real, cached: columns(real) + cached,
        "Every column counts, padding as well: a token's position depends on how far its row was "
        "padded.",
        "Which position has the first real token of a row that begins with padding?",
    ),
    in_count(
        "columns counted, cached forgotten",
        lambda real, cached: columns(real),
        "Every column counts, padding as well, and the count begins at 0 whatever is cached.",
        "Where do `real` and `cached` come into your count?",
    ),
    in_count(
        "counted from 1",
        lambda real, cached: real.cumsum(-1) + cached,
        "The running sum counts the token itself as well: every position is one too high.",
        "How many real tokens stand before the first one?",
    ),
    in_count(
        "counted from 1, cached forgotten",
        lambda real, cached: real.cumsum(-1),
        "The running sum counts the token itself as well, and it begins anew whatever is cached.",
        "How many real tokens stand before the first new one, in the cache and out of it?",
    ),
    in_count(
        "cached forgotten",
        lambda real, cached: right(real, 0),
        "The count begins at 0, as if nothing were cached: a new token gets the place of an old "
        "one.",
        "How many real tokens stand before the first new one?",
    ),
    in_count(
        "cached taken off",
        lambda real, cached: right(real, -cached),
        "What is cached is taken off: the first new token gets minus `cached`.",
        "Does a new token stand before or after those in the cache?",
    ),
    in_count(
        "cached twice",
        _other(lambda real, cached: (real, 2 * cached)),
        "What is cached is added twice.",
        "If 3 tokens are cached, which position has the fourth?",
    ),
    in_count(
        "cached at every token",
        lambda real, cached: (real + cached).cumsum(-1) - 1,
        "`cached` stands inside the running sum, so every column adds it again.",
        "How often do the cached tokens stand before a new one?",
    ),
    in_count(
        "the cached as well",
        lambda real, cached: right(torch.nn.functional.pad(real, (cached, 0), value=True), 0),
        "The cached tokens get positions too: each row is longer than the new tokens are.",
        "Which part of your row belongs to `real`?",
    ),
    in_count(
        "the last one cached",
        _other(lambda real, cached: (real, max(cached - 1, 0))),
        "The first new token gets the position of the last one in the cache.",
        "If 3 tokens are cached, which positions have they taken?",
    ),
    in_count(
        "cached as the least",
        lambda real, cached: (real.cumsum(-1) - 1).clamp(min=cached),
        "`cached` is the least that a position can be, and isn't added: the first tokens after the "
        "cache all get the same position.",
        "What has the second new token in its favour over the first?",
    ),
    in_count(
        "below 0 at padding",
        lambda real, cached: real.cumsum(-1) - 1 + cached,
        "Padding before the first real token gets -1 if nothing is cached. An index takes that as "
        "the last entry of a table, an embedding refuses it.",
        "How low may a position be?",
    ),
    in_count(
        "-1 for padding",
        lambda real, cached: torch.where(real, right(real, cached), -1),
        "Padding gets -1, looked at here with nothing cached. An index takes that as the last "
        "entry of a table, an embedding refuses it.",
        "How low may a position be?",
    ),
    in_count(
        "from the first real token on",
        _from_the_first,
        "From the first real token on every column counts, padding after it as well.",
        "Which tokens does a row with a hole in the middle have to count?",
    ),
    in_count(
        "less all padding",
        _less_all_padding,
        "The padding of the whole row is taken off every column, also what stands after the token.",
        "How much padding stands before a token, if it is all on the right?",
    ),
    in_count(
        "less all padding, from 0",
        _less_all_padding_from_zero,
        "The padding of the whole row is taken off every column, and what falls below 0 is put to "
        "0.",
        "How much padding stands before a token, if it is all on the right?",
    ),
    in_count(
        "padding counted",
        _other(lambda real, cached: (~real, cached)),
        "The count goes up at padding and stays at real tokens: True and False are exchanged.",
        "What does True mean in `real`?",
    ),
    in_count(
        "padding counted, below 0",
        lambda real, cached: (~real).cumsum(-1) - 1 + cached,
        "The count goes up at padding and stays at real tokens: True and False are exchanged.",
        "What does True mean in `real`?",
    ),
    in_count(
        "row 0 for all",
        lambda real, cached: right(real, cached)[:1].expand(real.shape),
        "Every sequence gets the positions of the first.",
        "Is every row padded like row 0?",
    ),
    in_count(
        "down the batch",
        lambda real, cached: (real.cumsum(0) - 1).clamp(min=0) + cached,
        "The sum runs down the batch: a token counts those of other sequences in its column.",
        "Along which axis do the tokens of one sequence lie?",
    ),
    in_count(
        "on through all rows",
        _through_all_rows,
        "The count runs on from row to row: a sequence begins where the one before it ended.",
        "Where does the count of the second row begin?",
    ),
    in_count(
        "cached for row 0 alone",
        _one_by_one(lambda cached: 0, lambda count, cached: count),
        "The first row counts on from the cache, and all later rows from 0.",
        "Where does the count of the second row begin?",
    ),
    in_count(
        "again after each gap",
        _one_by_one(lambda cached: cached, lambda count, cached: cached),
        "The count begins again after each piece of padding: two tokens of a row get the same "
        "position.",
        "Does padding in the middle begin a new sequence?",
    ),
    in_count(
        "from the right",
        _from_the_right,
        "The count runs from the last token to the first.",
        "Which token of a sequence is at 0?",
    ),
    in_count(
        "less the first column",
        _less_the_first_column,
        "The count of column 0 is taken off: the first real token gets 0 if it stands there, and 1 "
        "after padding.",
        "How much does the first real token add to the running sum, wherever it stands?",
    ),
)

"""More of what goes wrong where pairs turn: by whose position, and against which axis."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.positions.rotate_mistakes import angle_of, but_for, speeds
from course_lib.checks.question import Mistake

_in_count = partial(Mistake, reread='05, "Count the real tokens"')


def _placed(places: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right turn of each token by other positions."""
    return but_for(lambda x, positions: angle_of(x, places(x, positions)))


def _shaped(angles: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right angles with axes of 1 in other places: [B, T, pairs] and what is given."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        return angles(x, positions[..., None] * speeds(x.shape[-1]))

    return but_for(run)


def _from_a_short_table(x, positions):
    table = torch.outer(torch.arange(x.shape[2]).double(), speeds(x.shape[-1]))
    return table[positions][:, None]


def _columns(x: Tensor, positions: Tensor) -> Tensor:
    return torch.arange(x.shape[2]).expand(positions.shape)


WHOSE = "Which axis of the angles must stand beside the heads of x, and how long is it?"

PLACES = (
    _in_count(
        "columns for positions",
        _placed(_columns),
        "Tokens turn by their column, 0, 1, 2, ..., whatever `positions` says.",
        "Where does your code use `positions`?",
    ),
    _in_count(
        "a table of T entries",
        but_for(_from_a_short_table),
        "Angles are looked up in a table with one entry for each token of x, and positions go "
        "beyond that.",
        "What is the largest position that 5 tokens may have?",
    ),
    _in_count(
        "on from the first",
        _placed(lambda x, positions: positions[:, :1] + _columns(x, positions)),
        "Each row counts on from its first position, and the others aren't read.",
        "Is the second position always the first and one?",
    ),
    _in_count(
        "less the first",
        _placed(lambda x, positions: positions - positions[:, :1]),
        "The first position of each row is taken off: every sequence begins at 0, wherever it "
        "stands.",
        "By how much does a token at position 7 turn, if it is the first of its row?",
    ),
    _in_count(
        "row 0 for all",
        _placed(lambda x, positions: positions[:1].expand_as(positions)),
        "All sequences turn by the positions of the first.",
        "Which positions has sequence 1?",
    ),
    _in_count(
        "counted from 1",
        _placed(lambda x, positions: positions + 1),
        "Every token turns as the next position would.",
        "What should come back of a token at position 0?",
    ),
    _in_count(
        "batch against heads",
        _shaped(lambda x, angle: angle),
        "The sequences of the angles meet the heads of x: where there are as many, head h turns by "
        "the positions of sequence h.",
        WHOSE,
    ),
    _in_count(
        "tokens against heads",
        _shaped(lambda x, angle: angle[:, :, None]),
        "The axis of 1 stands after the tokens, as for [B, T, H, Dh]: the tokens of the angles "
        "meet the heads of x.",
        WHOSE,
    ),
)

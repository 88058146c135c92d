"""Sines and cosines of right angles in wrong places: halves, rows, odd widths, other sizes."""

import torch
from torch import Tensor

from course_lib.checks.positions.sinusoid import sinusoid
from course_lib.checks.positions.sinusoid_mistakes import in_clock
from course_lib.checks.positions.waves import counted, in_turns, pairs
from course_lib.positions import frequencies


def _angles(T: int, D: int) -> Tensor:
    return counted(T) * frequencies(D)


def _halves(T, D):
    angles = _angles(T, D)
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :D]


def _neighbours_overwritten(T, D):
    table = torch.zeros(T, D)
    for i in range(D // 2):
        angle = torch.arange(T) / 10_000 ** (2 * i / D)
        table[:, i], table[:, i + 1] = angle.sin(), angle.cos()
    return table


def _cosine_of_the_sine(T, D):
    table = counted(T) * 10_000 ** (-2 * (torch.arange(D) // 2) / D)
    table[:, 0::2] = table[:, 0::2].sin()
    table[:, 1::2] = table[:, 0::2].cos()
    return table


def _stacked_in_front(T, D):
    angles = _angles(T, D)
    return torch.stack([angles.sin(), angles.cos()]).reshape(T, -1)[:, :D]


def _looped_past_the_end(T, D):
    table = torch.zeros(T, D)
    for i in range(0, D, 2):
        angle = torch.arange(T) / 10_000 ** (i / D)
        table[:, i] = angle.sin()
        table[:, i + 1] = angle.cos()
    return table


def _last_left_at_zero(T, D):
    table = sinusoid(T, D)
    if D % 2:
        table[:, -1] = 0
    return table


def _last_a_cosine(T, D):
    table = sinusoid(T, D)
    if D % 2:
        table[:, -1] = _angles(T, D)[:, -1].cos()
    return table


def _plain_rates(D: int) -> Tensor:
    return 10_000 ** (-torch.arange(0, D, 2) / D)


def _written(angles: Tensor, T: int, D: int) -> Tensor:
    table = torch.zeros(T, D)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def _no_column(T, D):
    angles = torch.arange(T) * _plain_rates(D)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :D]


def _no_column_cut(T, D):
    table, angles = torch.zeros(T, D), torch.arange(T) * _plain_rates(D)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles[:, : D // 2].cos()
    return table


NO_COLUMN = (
    "Positions and rates have one axis each, [T] and [D/2]: where both are longer than 1, position "
    "t meets pair t alone, or the sizes don't fit.",
    "Which of the two must become a column, so that each position meets each pair?",
)


def _sines_alone(T, D):
    table = torch.zeros(T, D)
    table[:, 0::2] = _angles(T, D).sin().float()
    return table


PLACES = (
    in_clock(
        "halves",
        _halves,
        "All sines stand first and all cosines after them, half a width apart.",
        "The task wants them in turns: which feature follows the sine of pair 0?",
    ),
    in_clock(
        "stacked in front",
        _stacked_in_front,
        "Sines and cosines are stacked on an axis in front, and the reshape then reads all sines "
        "of all positions first: rows mix positions.",
        "On which axis must they be stacked so that a sine lies in memory beside its cosine?",
    ),
    in_clock(
        "pairs that overlap",
        _neighbours_overwritten,
        "Pair i is written to features i and i + 1, so each sine overwrites a cosine, and the last "
        "features stay zero.",
        "Which feature holds the sine of pair 1?",
    ),
    in_clock(
        "the cosine of a sine",
        _cosine_of_the_sine,
        "The odd features are cosines of what the even ones hold by then: sines, and no longer "
        "angles.",
        "Where are the angles kept while the sines are written?",
    ),
    in_clock(
        "sine and cosine exchanged",
        lambda T, D: in_turns(_angles(T, D), D, "cos", "sin"),
        "Even features are cosines, odd ones sines.",
        "Which of the two is 0 at position 0, and which feature should that be?",
    ),
    in_clock(
        "cosines left at zero",
        _sines_alone,
        "The odd features are zero in every row.",
        "Which line fills the odd features, and into which slice does it write?",
    ),
    in_clock(
        "odd D: too many cosines",
        lambda T, D: _written(_angles(T, D), T, D),
        "Even widths are right. An odd D has a frequency more than it has odd features, and the "
        "slice doesn't hold them all.",
        "How many of the features 0 to 6 are odd, and how many angles do they get?",
    ),
    in_clock(
        "odd D: too few sines",
        lambda T, D: _written(counted(T) * _plain_rates(D)[: D // 2], T, D),
        "Even widths are right. For an odd D the frequencies are counted with D // 2, one fewer "
        "than there are even features.",
        "How many of the features 0 to 6 are even?",
    ),
    in_clock(
        "odd D: past the last feature",
        _looped_past_the_end,
        "Even widths are right. For an odd D the loop writes a cosine where no feature is left.",
        "Which feature is the last of D 7, and what may be written after it?",
    ),
    in_clock(
        "odd D: one feature short",
        lambda T, D: in_turns(_angles(T, D)[:, : D // 2], D),
        "Even widths are right. An odd D comes back with D - 1 features: there are D // 2 whole "
        "pairs, and the last feature belongs to none of them.",
        "How many sines does D 7 need?",
    ),
    in_clock(
        "odd D: one feature too many",
        lambda T, D: in_turns(_angles(T, D), D + 1),
        "Even widths are right. An odd D comes back with D + 1 features: its last sine brings a "
        "cosine along.",
        "Which columns of your table belong to D features?",
    ),
    in_clock(
        "odd D: the last left at zero",
        _last_left_at_zero,
        "Even widths are right. In an odd D the last feature is zero at every position.",
        "How many even features does D 7 have, and how many of them does your code fill?",
    ),
    in_clock(
        "odd D: the last a cosine",
        _last_a_cosine,
        "Even widths are right. In an odd D the last feature is the cosine of its pair.",
        "Is feature 6 of D 7 an even or an odd one, and what do such features hold?",
    ),
    in_clock(
        "odd D: widened before the exponent",
        lambda T, D: sinusoid(T, D + D % 2)[:, :D],
        "Even widths are right. For an odd D the exponents are divided by D + 1.",
        "Does the width that you fill have to be the one that you divide by?",
    ),
    in_clock(
        "odd D: narrowed before the exponent",
        lambda T, D: in_turns(counted(T) * 10_000 ** (-pairs(D) / max(D // 2, 1)), D),
        "Even widths are right. For an odd D the exponents are divided by D - 1: D // 2 is "
        "rounded down.",
        "Is i / (D // 2) the same as 2i/D for D 7?",
    ),
    in_clock(
        "no column, slices filled",
        lambda T, D: _written(torch.arange(T) * _plain_rates(D), T, D),
        *NO_COLUMN,
    ),
    in_clock(
        "no column, stacked",
        _no_column,
        *NO_COLUMN,
    ),
    in_clock(
        "no column, cut for an odd D",
        _no_column_cut,
        *NO_COLUMN,
    ),
    in_clock(
        "pairs down, positions along",
        lambda T, D: _written(torch.arange(T)[None] * _plain_rates(D)[:, None], T, D),
        "Pairs run down the column and positions along the row: the angles are [D/2, T].",
        "Which of the two must be the column, if row t belongs to position t?",
    ),
    in_clock(
        "times the root of D",
        lambda T, D: sinusoid(T, D) * D**0.5,
        "Every number is multiplied by the root of D, as the paper does with embeddings.",
        "How large is the cosine of 0 in your table, and how large should it be?",
    ),
    in_clock(
        "features by positions",
        lambda T, D: sinusoid(T, D).T,
        "The numbers are right, but positions stand side by side: [D, T].",
        "Which axis comes first in [T, D]?",
    ),
    in_clock(
        "pairs on an axis of their own",
        lambda T, D: sinusoid(T, D + D % 2).unflatten(-1, (-1, 2)),
        "Sine and cosine of a pair stand on an axis of their own: [T, pairs, 2].",
        "Which two axes become one, so that a row holds sine, cosine, sine, cosine?",
    ),
    in_clock(
        "a pair for every feature",
        lambda T, D: in_turns(counted(T) * 10_000 ** (-2 * torch.arange(D) / D), 2 * D),
        "There are D pairs, and so 2D features.",
        "How many pairs do D features hold?",
    ),
    in_clock(
        "an axis for the batch",
        lambda T, D: sinusoid(T, D)[None],
        "The numbers are right, with an axis too many in front: [1, T, D].",
        "An axis of 1 can be added where it is needed. Which two axes does the task ask for?",
    ),
)

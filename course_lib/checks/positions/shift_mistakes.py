"""What people really write for the angles of a shift when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.positions.shift import shift_matrix
from course_lib.checks.positions.waves import pairs
from course_lib.checks.question import Mistake

in_shift = partial(Mistake, reread='05, "A shift is a rotation"')


def blocks(angles: Tensor, signs: str = "cs-sc") -> Tensor:
    """One 2 x 2 block a pair, read along its rows: c for the cosine, s for the sine."""
    values, sign = [], 1
    for letter in signs:
        if letter == "-":
            sign = -1
        else:
            values.append(sign * (angles.cos() if letter == "c" else angles.sin()))
            sign = 1
    return torch.block_diag(*torch.stack(values, -1).view(-1, 2, 2))


def _of_rates(rate: Callable[[Tensor, int], Tensor]) -> Callable[[int, int], Tensor]:
    """Right blocks with other rates, made from the numbers of the pairs and D."""
    return lambda k, D: blocks(k * rate(pairs(D), D))


def _first_block(k, D):
    S = torch.eye(D, dtype=torch.float64)
    S[:2, :2] = blocks(torch.tensor([float(k)]))
    return S


def _steps(k, D):
    S = torch.eye(D, dtype=torch.float64)
    for _ in range(k):
        S = shift_matrix(1, D) @ S
    return S


FASTER = (
    "Each pair is turned further than the one before: k is multiplied by 10000^(2i/D).",
    "Which pair of the sinusoid is the fastest, and is k multiplied by the power or divided?",
)

ANGLES = (
    in_shift(
        "back instead of forth",
        lambda k, D: shift_matrix(-k, D),
        "S is the transpose of the right one, so it moves by -k: S @ pe(t) is pe(t - k).",
        "What is sin(a + b) in sines and cosines of a and b, and which row of S does it make?",
    ),
    in_shift(
        "the identity",
        lambda k, D: torch.eye(D),
        "S moves nothing: it is the identity, whatever k is.",
        "By which angle does a step of k turn the first pair?",
    ),
    in_shift(
        "one block for all",
        _of_rates(lambda i, D: torch.ones_like(i)),
        "Every pair is turned by the same angle, k, as only the first should be.",
        "How far does pair i turn in one step?",
    ),
    in_shift(
        "the first pair alone",
        _first_block,
        "The first pair is turned, and the others stay where they are.",
        "How many pairs does D have, and how many blocks does S then need?",
    ),
    in_shift(
        "angle by the number of the pair",
        _of_rates(lambda i, D: i),
        "Pair i is turned by k times i, so the first not at all.",
        "The sinusoid has it in its exponent: how far does pair i turn in one step?",
    ),
    in_shift(
        "i/D where i counts pairs",
        _of_rates(lambda i, D: 10_000 ** (-i / D)),
        "The exponent grows by 1/D from pair to pair; the sinusoid's grows by 2/D.",
        "Does the i of your exponent count pairs or features?",
    ),
    in_shift(
        "2i/D where i counts features",
        _of_rates(lambda i, D: 10_000 ** (-4 * i / D)),
        "The exponent grows by 4/D from pair to pair; the sinusoid's grows by 2/D.",
        "If your i runs over 0, 2, 4, which exponent does the second pair get?",
    ),
    in_shift(
        "a positive exponent",
        _of_rates(lambda i, D: 10_000 ** (2 * i / D)),
        *FASTER,
    ),
    in_shift(
        "a positive exponent, in float32",
        lambda k, D: blocks(k * 10_000 ** (2 * pairs(D).float() / D)),
        *FASTER,
    ),
    in_shift(
        "pairs counted from 1",
        _of_rates(lambda i, D: 10_000 ** (-2 * (i + 1) / D)),
        "The first pair is turned by k / 10000^(2/D): pairs are counted from 1.",
        "By which angle does the first pair of the sinusoid turn in one step?",
    ),
    in_shift(
        "k forgotten",
        lambda k, D: shift_matrix(1, D),
        "S moves by 1, whatever k is.",
        "Where does k enter the angles?",
    ),
    in_shift(
        "a step too many",
        lambda k, D: shift_matrix(k + 1, D),
        "S moves by k + 1.",
        "Where does S take position 0 if k is 0?",
    ),
    in_shift(
        "a step too few",
        lambda k, D: shift_matrix(k - 1, D),
        "S moves by k - 1.",
        "Where does S take position 0 if k is 1?",
    ),
    in_shift(
        "k without its sign",
        lambda k, D: shift_matrix(abs(k), D),
        "A negative k moves forward, as its absolute value does.",
        "What happens to the sine of the angle when k changes its sign?",
    ),
    in_shift(
        "no steps for a negative k",
        _steps,
        "A negative k moves nothing: range(k) has no steps to make.",
        "Which matrix undoes one step? Or does the angle k times the rate need steps at all?",
    ),
    in_shift(
        "k times one step",
        lambda k, D: k * shift_matrix(1, D),
        "S is k times the matrix of one step: it moves by 1 and makes everything k times as long.",
        "What is done again at every step: is S added once more or applied once more?",
    ),
    in_shift(
        "the power number by number",
        lambda k, D: shift_matrix(1, D) ** k,
        "Each number of the matrix of one step is raised to the power k, which isn't the product "
        "of k such matrices.",
        "What does ** do to a tensor, and which function multiplies a matrix by itself?",
    ),
    in_shift(
        "features rolled",
        lambda k, D: torch.eye(D).roll(k, 0),
        "S moves numbers to other features, as a shift of a list would.",
        "What changes when the position grows by k: the place of a wave or its angle?",
    ),
)

"""More of what goes wrong where pairs turn: how fast, by whose position, in which dtype."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.heads.layout_slips import dtype_lost
from course_lib.checks.positions.rotate_mistakes import angle_of, but_for, speeds
from course_lib.checks.question import Mistake

_in_turn = partial(Mistake, reread='05, "Turn the queries and keys"')
_in_clock = partial(Mistake, reread='05, "A clock for every pair"')
_in_count = partial(Mistake, reread='05, "Count the real tokens"')


def _at(speed: Callable[[Tensor, int], Tensor], base: float = 10_000.0) -> Callable:
    """Pairs turn at base to the power of what is given for (i, Dh)."""

    def angles(x: Tensor, positions: Tensor) -> Tensor:
        Dh = x.shape[-1]
        i = torch.arange(Dh // 2, dtype=torch.float64)
        return positions[:, None, :, None] * base ** speed(i, Dh)

    return but_for(angles)


def _placed(places: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right turn of each token by other positions."""
    return but_for(lambda x, positions: angle_of(x, places(x, positions)))


def _shaped(angles: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """The right angles with axes of 1 in other places: [B, T, pairs] and what is given."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        return angles(x, positions[..., None] * speeds(x.shape[-1]))

    return but_for(run)


def _one_a_feature(x, positions):
    Dh = x.shape[-1]
    angle = positions[:, None, :, None] * 10_000.0 ** (-torch.arange(Dh) / Dh)
    first, second = x.chunk(2, -1)
    return (x * angle.cos() + torch.cat([-second, first], -1) * angle.sin()).to(x.dtype)


def _over_all_heads(x, positions):
    H, Dh = x.shape[1], x.shape[-1]
    return positions[:, None, :, None] * speeds(Dh) ** (1 / H)


def _from_a_short_table(x, positions):
    table = torch.outer(torch.arange(x.shape[2]).double(), speeds(x.shape[-1]))
    return table[positions][:, None]


def _columns(x: Tensor, positions: Tensor) -> Tensor:
    return torch.arange(x.shape[2]).expand(positions.shape)


def _rounded(angles: Callable[[Tensor, Tensor, torch.dtype], Tensor]) -> Callable:
    """The right turn by angles that met the dtype of x on their way."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        place, speed = positions[:, None, :, None].double(), speeds(x.shape[-1])
        return angles(place, speed, x.dtype).double()

    return but_for(run)


WHOSE = "Which axis of the angles must stand beside the heads of x, and how long is it?"
EVEN_IN = "How far apart are two neighbouring numbers of that dtype near 30,000?"

ROTATE = (
    _in_clock(
        "half the exponent",
        _at(lambda i, Dh: -i / Dh),
        "The exponent is i/Dh and stays below one half: the later pairs turn too fast.",
        "How near to 1 does the exponent of the last pair come, if a head is wide?",
    ),
    _in_clock(
        "twice the exponent",
        _at(lambda i, Dh: -4 * i / Dh),
        "The exponent is 4i/Dh: the 2 is there twice.",
        "How far does your exponent rise from the first pair to the last?",
    ),
    _in_clock(
        "one frequency a feature",
        _one_a_feature,
        "There is a frequency for each feature, so the two of a pair take different angles.",
        "How many angles does a pair need?",
    ),
    _in_clock(
        "the width of all heads",
        but_for(_over_all_heads),
        "The exponent is divided by H times Dh, the width of all heads together, and each turns "
        "alone.",
        "How many features are turned in one head?",
    ),
    _in_clock(
        "faster and faster",
        _at(lambda i, Dh: 2 * i / Dh),
        "The exponent has the other sign: the later a pair, the faster it turns.",
        "Which pair should turn slowest?",
    ),
    _in_clock(
        "down to 1/base",
        _at(lambda i, Dh: -i / max(Dh // 2 - 1, 1)),
        "The frequencies reach 1/base in the last pair: both ends are counted.",
        "By how many steps do Dh/2 pairs divide the way, if the end itself is left out?",
    ),
    _in_clock(
        "one frequency for all",
        _at(lambda i, Dh: -(2 * i // Dh)),
        "All pairs turn one radian a position: the exponent is 0 for all, as it is where it is "
        "divided in whole numbers.",
        "How much slower should the last pair be than the first?",
    ),
    _in_clock(
        "base 500,000",
        _at(lambda i, Dh: -2 * i / Dh, base=500_000.0),
        "The base is 500,000, as in some models of long contexts.",
        "Which base does the task name?",
    ),
    _in_clock(
        "base e",
        _at(lambda i, Dh: -2 * i / Dh, base=torch.e),
        "The base is e: the exponential was taken, and the logarithm of 10,000 left out.",
        "What must the exponent of e be, to give a power of 10,000?",
    ),
    _in_clock(
        "in turns, not radians",
        but_for(lambda x, positions: 2 * torch.pi * angle_of(x, positions)),
        "A position is a whole turn of pair 0 (2 pi radians), which then never seems to move.",
        "How many radians a position does pair 0 turn?",
    ),
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
    _in_turn(
        "tokens before heads at the end",
        but_for(end=lambda out, x: out.to(x.dtype).transpose(1, 2)),
        "The turn is right, and the result stands as [B, T, H, Dh].",
        "In which order of axes did x come?",
    ),
    _in_turn(
        "left in float32",
        but_for(end=lambda out, x: out.float()),
        "The numbers are right, but they come back in float32 where x is bfloat16.",
        "Which step leaves the dtype of x, and which one goes back to it?",
    ),
    dtype_lost(but_for(), _in_turn)[1],
    _in_turn(
        "left in float64",
        but_for(end=lambda out, x: out),
        "The numbers are right, but they come back in float64, the dtype of the angles.",
        "Which step leaves the dtype of x, and which one goes back to it?",
    ),
    _in_turn(
        "out of the graph",
        but_for(end=lambda out, x: out.detach().to(x.dtype)),
        "The numbers are right, but no gradient leads back to x.",
        "What would the queries learn from?",
    ),
    _in_turn(
        "angles in the dtype of x",
        _rounded(lambda place, speed, dtype: place.to(dtype) * speed.to(dtype)),
        "Positions and frequencies both take the dtype of x before they are multiplied. bfloat16 "
        "has 8 significant bits.",
        EVEN_IN,
    ),
    _in_turn(
        "positions in the dtype of x",
        _rounded(lambda place, speed, dtype: place.to(dtype).double() * speed),
        "Positions take the dtype of x before the frequencies come in. bfloat16 has 8 significant "
        "bits.",
        EVEN_IN,
    ),
    _in_turn(
        "frequencies in the dtype of x",
        _rounded(lambda place, speed, dtype: place * speed.to(dtype).double()),
        "Frequencies take the dtype of x, and bfloat16 has 8 significant bits. At position 30,000 "
        "an error of a thousandth has grown to 30 radians.",
        "How large may the error of a frequency be, if its angle is to be right at 30,000?",
    ),
    _in_turn(
        "the product in the dtype of x",
        _rounded(lambda place, speed, dtype: (place * speed).to(dtype)),
        "The angle takes the dtype of x before its sine is taken. bfloat16 has 8 significant bits.",
        EVEN_IN,
    ),
)

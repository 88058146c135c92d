"""More of what goes wrong where pairs turn: how fast, and in which dtype."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.positions.rotate_mistakes import angle_of, but_for, speeds
from course_lib.checks.question import Mistake

_in_turn = partial(Mistake, reread='05, "Turn the queries and keys"')
_in_clock = partial(Mistake, reread='05, "A clock for every pair"')


def _at(speed: Callable[[Tensor, int], Tensor], base: float = 10_000.0) -> Callable:
    """Pairs turn at base to the power of what is given for (i, Dh)."""

    def angles(x: Tensor, positions: Tensor) -> Tensor:
        Dh = x.shape[-1]
        i = torch.arange(Dh // 2, dtype=torch.float64)
        return positions[:, None, :, None] * base ** speed(i, Dh)

    return but_for(angles)


def _one_a_feature(doubled: int) -> Callable:
    """Feature j turns with the exponent `doubled` times j/Dh, its partner with another one."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        Dh = x.shape[-1]
        angle = positions[:, None, :, None] * 10_000.0 ** (-doubled * torch.arange(Dh) / Dh)
        first, second = x.chunk(2, -1)
        return (x * angle.cos() + torch.cat([-second, first], -1) * angle.sin()).to(x.dtype)

    return run


def _in_float32(angles: Callable[[Tensor, Tensor, int], Tensor]) -> Callable:
    """Angles made in float32 from positions, the numbers 2i of the pairs, and Dh."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        Dh = x.shape[-1]
        return angles(positions[:, None, :, None], torch.arange(0, Dh, 2), Dh)

    return but_for(run)


def _rounded(angles: Callable[[Tensor, Tensor, torch.dtype], Tensor]) -> Callable:
    """The right turn by angles that met the dtype of x on their way."""

    def run(x: Tensor, positions: Tensor) -> Tensor:
        place, speed = positions[:, None, :, None].double(), speeds(x.shape[-1])
        return angles(place, speed, x.dtype).double()

    return but_for(run)


OF_EACH = (
    "There is a frequency for each feature, so the two of a pair take different angles.",
    "How many angles does a pair need?",
)
FASTER = (
    "The exponent has the other sign: the later a pair, the faster it turns.",
    "Which pair should turn slowest?",
)
EVEN_IN = "How far apart are two neighbouring numbers of that dtype near 30,000?"

ROTATE = (
    _in_clock(
        "half the exponent",
        _at(lambda i, Dh: -i / Dh),
        "The exponent is i/Dh and stays below one half: the later pairs turn too fast.",
        "Which exponent does pair 3 of Dh 8 get in the task, and which one in your code?",
    ),
    _in_clock(
        "twice the exponent",
        _at(lambda i, Dh: -4 * i / Dh),
        "The exponent is 4i/Dh: the 2 is there twice.",
        "How far does your exponent rise from the first pair to the last?",
    ),
    _in_clock(
        "one frequency a feature",
        _one_a_feature(1),
        *OF_EACH,
    ),
    _in_clock(
        "one frequency a feature, doubled",
        _one_a_feature(2),
        *OF_EACH,
    ),
    _in_clock(
        "faster and faster",
        _at(lambda i, Dh: 2 * i / Dh),
        *FASTER,
    ),
    _in_clock(
        "faster and faster, in float32",
        _in_float32(lambda place, feature, Dh: place * 10_000.0 ** (feature / Dh)),
        *FASTER,
    ),
    _in_clock(
        "a logarithm without its minus, in float32",
        _in_float32(lambda place, feature, Dh: place * (feature * (math.log(10_000) / Dh)).exp()),
        *FASTER,
    ),
    _in_clock(
        "divided by frequencies, in float32",
        _in_float32(lambda place, feature, Dh: place / 10_000.0 ** (-feature / Dh)),
        "Positions are divided by the frequencies: the later a pair, the faster it turns.",
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
        "the exponent rounded down",
        _at(lambda i, Dh: -2 * i // Dh),
        "The exponents are whole numbers: 0 for the first pair and -1 for all others, which hardly "
        "turn.",
        "What does -2 // 8 give, and what should it be?",
    ),
    _in_clock(
        "base 1,000",
        _at(lambda i, Dh: -2 * i / Dh, base=1_000.0),
        "The base is 1,000.",
        "How many zeros has the base that the task names?",
    ),
    _in_clock(
        "base 500,000",
        _at(lambda i, Dh: -2 * i / Dh, base=500_000.0),
        "The base is 500,000, as in some models of long contexts.",
        "Which base does the task name?",
    ),
    _in_clock(
        "in turns, not radians",
        but_for(lambda x, positions: 2 * torch.pi * angle_of(x, positions)),
        "A position is a whole turn of pair 0 (2 pi radians), which then never seems to move.",
        "How many radians a position does pair 0 turn?",
    ),
    _in_clock(
        "in degrees",
        but_for(lambda x, positions: torch.deg2rad(angle_of(x, positions))),
        "The angles are taken as degrees and turned into radians, which makes them 57 times "
        "smaller.",
        "In which unit do sine and cosine take their angle, and in which does the task give it?",
    ),
    _in_turn(
        "left in float32",
        but_for(end=lambda out, x: out.float()),
        "The numbers are right, but they come back in float32 where x is bfloat16.",
        "Which step leaves the dtype of x, and which one goes back to it?",
    ),
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

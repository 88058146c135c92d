"""What people really write for the rates and angles of sinusoids when it goes wrong."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.positions.sinusoid import sinusoid
from course_lib.checks.positions.waves import counted, in_turns, pairs
from course_lib.checks.question import Mistake
from course_lib.positions import frequencies

in_clock = partial(Mistake, reread='05, "A clock for every pair"')


def rates(of_pairs: Callable[[Tensor, int], Tensor]) -> Callable[[int, int], Tensor]:
    """A table that is right but for its rates, made from the numbers of the pairs and D."""
    return lambda T, D: in_turns(counted(T) * of_pairs(pairs(D), D), D)


def _in_float32(of_pairs: Callable[[Tensor, int], Tensor]) -> Callable[[int, int], Tensor]:
    """The same in float32, whose angles differ from those of float64 where they are large."""
    return lambda T, D: in_turns(counted(T).float() * of_pairs(pairs(D).float(), D), D)


def angles(change: Callable[[Tensor], Tensor]) -> Callable[[int, int], Tensor]:
    """A table that is right but for what is done to its angles before sine and cosine."""
    return lambda T, D: in_turns(change(counted(T) * frequencies(D)), D)


def _of_each_feature(doubled: int) -> Callable[[int, int], Tensor]:
    """Sine and cosine of a pair have exponents of their own: `doubled` times their number / D."""

    def table(T: int, D: int) -> Tensor:
        feature = torch.arange(D, dtype=torch.float64)
        own = counted(T) * 10_000 ** (-doubled * feature / D)
        return torch.where(feature % 2 == 0, own.sin(), own.cos())

    return table


def _halved_rates(T, D):
    ratio = torch.cat([frequencies(D)] * 2)[:D]
    own = counted(T) * ratio
    return torch.where(torch.arange(D) % 2 == 0, own.sin(), own.cos())


POWER_FIRST = (
    "10000 is raised to 2i, and D comes in after: Python takes a power before a quotient. In whole "
    "numbers 10000^6 no longer fits: it wraps round, and no error says so.",
    "What belongs in the exponent, 2i or 2i/D, and how does Python learn that?",
)

FASTER = (
    "Each pair turns faster than the one before: the position is multiplied by 10000^(2i/D).",
    "What does the task do with 10000^(2i/D): multiply by it or divide?",
)

ANGLES = (
    in_clock(
        "i/D where i counts pairs",
        rates(lambda i, D: 10_000 ** (-i / D)),
        "The exponent grows by 1/D from pair to pair; the task's grows by 2/D.",
        "Does the i of your exponent count pairs or features, and which of them does 2i count?",
    ),
    in_clock(
        "2i/D where i counts features",
        rates(lambda i, D: 10_000 ** (-4 * i / D)),
        "The exponent grows by 4/D from pair to pair; the task's grows by 2/D. A 2i whose i "
        "already steps by 2 does that, and so does a feature number divided by D/2.",
        "If your i runs over 0, 2, 4, which exponent does feature 2 get, and which should it?",
    ),
    in_clock(
        "own exponent for the cosine",
        _of_each_feature(1),
        "Each feature j has an exponent j/D of its own, so the cosine of a pair turns more slowly "
        "than its sine.",
        "Features 2i and 2i+1 share one angle: which number stands in the exponent of both?",
    ),
    in_clock(
        "own exponent, doubled",
        _of_each_feature(2),
        "Each feature j has the exponent 2j/D: sine and cosine of a pair turn at different rates, "
        "and the rates fall too fast from pair to pair.",
        "Features 2i and 2i+1 share one angle: which exponent do both get, for i = 0 and i = 1?",
    ),
    in_clock(
        "the last pair at 1/10000",
        rates(lambda i, D: 10_000 ** (-i / max(D / 2 - 1, 1))),
        "The exponent of the last pair is 1: it is divided by the number of pairs less one.",
        "By what does the task divide 2i, and which exponent does the last of D/2 pairs then get?",
    ),
    in_clock(
        "pairs counted from 1",
        rates(lambda i, D: 10_000 ** (-2 * (i + 1) / D)),
        "The first pair has the exponent 2/D: pairs are counted from 1.",
        "Which exponent makes the first pair turn by a radian at each position?",
    ),
    in_clock(
        "one speed",
        rates(lambda i, D: torch.ones_like(i)),
        "All pairs turn at the same rate: sin t and cos t, again and again.",
        "Which exponent comes out for pair 1? If it is 0, was a division rounded down?",
    ),
    in_clock(
        "a product for the power",
        lambda T, D: in_turns(counted(T) / (10_000 * 2 * pairs(D) / D), D),
        "The position is divided by 10000 times an exponent, which is 0 for the first pair.",
        "What does 10000 to the power 0 give, and what does 10000 times 0 give?",
    ),
    in_clock(
        "a positive exponent",
        rates(lambda i, D: 10_000 ** (2 * i / D)),
        *FASTER,
    ),
    in_clock(
        "a positive exponent, in float32",
        _in_float32(lambda i, D: 10_000 ** (2 * i / D)),
        *FASTER,
    ),
    in_clock(
        "a logarithm without its minus",
        _in_float32(lambda i, D: (2 * i * (math.log(10_000) / D)).exp()),
        *FASTER,
    ),
    in_clock(
        "the power before the quotient",
        lambda T, D: in_turns(counted(T) / 10_000 ** torch.arange(0, D, 2) / D, D),
        *POWER_FIRST,
    ),
    in_clock(
        "the power before the quotient, then divided by",
        lambda T, D: in_turns(counted(T) / (10_000 ** torch.arange(0, D, 2) / D), D),
        *POWER_FIRST,
    ),
    in_clock(
        "1000 for the base",
        rates(lambda i, D: 1_000 ** (-2 * i / D)),
        "The base of the powers is 1000: pair i turns with 1 / 1000^(2i/D).",
        "How many zeros has the base that the task names?",
    ),
    in_clock(
        "e for the base",
        rates(lambda i, D: (-2 * i / D).exp()),
        "The base of the powers is e: pair i turns with exp(-2i/D).",
        "By which logarithm must the exponent be multiplied so that exp gives powers of 10000?",
    ),
    in_clock(
        "degrees",
        angles(torch.deg2rad),
        "The angles are taken as degrees and turned into radians, which makes them 57 times "
        "smaller.",
        "In which unit does torch.sin take its angle?",
    ),
    in_clock(
        "whole turns",
        angles(lambda angle: 2 * math.pi * angle),
        "The angles are multiplied by 2 pi: the first pair makes a whole turn at each position, "
        "and so never seems to move.",
        "By how many radians does the first pair turn at each position?",
    ),
    in_clock(
        "angles in bfloat16",
        lambda T, D: in_turns(counted(T).bfloat16() * frequencies(D).bfloat16(), D).float(),
        "Positions, rates or angles are held in bfloat16, which has no number between 256 and 258.",
        "Which dtype keeps position 257 and its angle, until sine and cosine are taken?",
    ),
    in_clock(
        "rates in halves",
        _halved_rates,
        "Two copies of all rates stand one after the other, while sines and cosines alternate: "
        "neighbours have different rates.",
        "Do the copies of a pair's rate belong side by side or half a width apart?",
    ),
    in_clock(
        "positions from 1",
        lambda T, D: in_turns((counted(T) + 1) * frequencies(D), D),
        "The first row is that of position 1.",
        "Which position does the first token have?",
    ),
    in_clock(
        "one row too many",
        lambda T, D: sinusoid(T + 1, D),
        "There are T + 1 rows: position T has one too.",
        "If the first position is 0, which one is the last of T?",
    ),
)

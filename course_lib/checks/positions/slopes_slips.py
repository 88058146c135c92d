"""Right slopes for powers of two, and what people really write for the other H."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.slopes_mistakes import in_bias, power_below, series
from course_lib.positions import slopes


def _with_tail(tail: Callable[[int, int], Tensor]) -> Callable[[int], Tensor]:
    """The slopes of the power of two P, and then what `tail(P, H)` gives for another H."""

    def all_heads(H: int) -> Tensor:
        P = power_below(H)
        return series(P) if P == H else torch.cat([series(P), tail(P, H)])

    return all_heads


def _tail_first(H):
    P = power_below(H)
    return torch.cat([slopes(H)[P:], slopes(H)[:P]])


def _above(H: int) -> int:
    return 2 ** math.ceil(math.log2(H))


def _nearest(H: int) -> int:
    return 2 ** round(math.log2(H))


def _from_nearest(H):
    P = _nearest(H)
    return torch.cat([series(P), series(2 * P)[::2][: max(H - P, 0)]])


def _from_nearest_cut_short(H):
    P = _nearest(H)
    return torch.cat([series(P), series(2 * P)[::2][: H - P]])


def _strictly_below(H):
    P = power_below(max(H - 1, 1))
    return torch.cat([series(P), series(2 * P)[::2][: H - P]])


def _by_natural_logarithm(H):
    P = 2 ** int(math.log(H))
    return torch.cat([series(P), series(2 * P)[::2][: H - P]])


OTHER = (
    in_bias(
        "the next higher power, cut",
        lambda H: series(_above(H))[:H],
        "Other H get the first H slopes of the next higher power of two.",
        "With which power of two do 12 heads begin, the lower or the higher one?",
    ),
    in_bias(
        "the next higher power, whole",
        lambda H: series(_above(H)),
        "Other H get all slopes of the next higher power of two, more than there are heads.",
        "With which power of two do 12 heads begin, and how many are then missing?",
    ),
    in_bias(
        "the higher power, spread out",
        lambda H: torch.cat([series(_above(H))[::2], series(_above(H))[1::2]])[:H],
        "Other H get every second slope of the next higher power first, and those between after.",
        "Which slopes stand first for 12 heads, those of 8 or the new ones of 16?",
    ),
    in_bias(
        "P rounded to the nearest power",
        _from_nearest,
        "12 heads get all 16 slopes of 16, and 10 heads begin with those of 8: the logarithm of H "
        "is rounded to the nearest whole number.",
        "To which side must the logarithm be rounded for the next lower power?",
    ),
    in_bias(
        "P rounded to the nearest power, and more after it",
        _from_nearest_cut_short,
        "12 heads begin with all 16 slopes of 16, and more follow: the logarithm of H is rounded "
        "to the nearest whole number.",
        "To which side must the logarithm be rounded for the next lower power?",
    ),
    in_bias(
        "a natural logarithm",
        _by_natural_logarithm,
        "P is a power of two, but not the largest up to H: its exponent is a natural logarithm, "
        "rounded down. 8 heads get P 4.",
        "What is the logarithm of 8 to base 2, and what does math.log(8) give?",
    ),
    in_bias(
        "a power below H, never H",
        _strictly_below,
        "P is less than H even where H is a power of two: 8 heads get the slopes of 4 and then "
        "those between.",
        "Which P belongs to H 8: may it be 8 itself?",
    ),
    in_bias(
        "half of H for P",
        lambda H: torch.cat([series(H // 2), series(H // 2 * 2)[::2][: H - H // 2]]),
        "P is half of H, rounded down: 8 heads begin with the slopes of 4, and 12 with those of 6.",
        "Is 6 a power of two, and which is the largest that 12 heads can fill?",
    ),
    in_bias(
        "the new slopes in front",
        _tail_first,
        "The slopes are right, but those taken from 2P stand before the P of the lower power.",
        "Which heads get the slopes of the lower power, the first or the last ones?",
    ),
    in_bias(
        "steepest first",
        lambda H: slopes(H).sort(descending=True).values,
        "The slopes are right, but sorted from steep to flat. For a power of two that changes "
        "nothing.",
        "Where do the slopes taken from 2P stand in the task, between the others or after them?",
    ),
    in_bias(
        "flattest first",
        lambda H: slopes(H).sort().values,
        "The slopes are right, but sorted from flat to steep.",
        "Which slope does the task give the first head?",
    ),
    in_bias(
        "backward",
        lambda H: slopes(H).flip(0),
        "The slopes are right, but the last head comes first.",
        "Which slope does the task give the first head?",
    ),
    in_bias(
        "every second, from the second",
        _with_tail(lambda P, H: series(2 * P)[1::2][: H - P]),
        "The added heads get the 2nd, 4th, 6th slope of 2P, which the first heads have already.",
        "Which slopes of 2P are new, those with odd or with even numbers, counted from 1?",
    ),
    in_bias(
        "no second left out",
        _with_tail(lambda P, H: series(2 * P)[: H - P]),
        "The added heads get the first slopes of 2P one after the other, none left out.",
        "Which slopes of 2P have the first heads already?",
    ),
    in_bias(
        "cut before every second",
        _with_tail(lambda P, H: series(2 * P)[: H - P][::2]),
        "The slopes of 2P are cut to H - P first, and then every second of those is taken: too "
        "few are left.",
        "How many slopes of 2P must remain, and what has to happen first?",
    ),
    in_bias(
        "the series of P goes on",
        _with_tail(lambda P, H: 2.0 ** (-8 * torch.arange(P + 1, H + 1) / P)),
        "The added heads continue the series of P beyond 1/256.",
        "Of which number of heads are the added slopes, P or 2P, and where do they begin?",
    ),
    in_bias(
        "added heads from exponent 0",
        _with_tail(lambda P, H: 2.0 ** (-8 * torch.arange(H - P) / P)),
        "The first added head has slope 1, the exponent 0.",
        "Which exponent does the 1st slope of 2P have?",
    ),
    in_bias(
        "every second of 2H",
        _with_tail(lambda P, H: series(2 * H)[::2][: H - P]),
        "The added heads get every second slope of a series of 2H.",
        "Twice which number of heads is the series from which the task takes the rest?",
    ),
    in_bias(
        "all of every second",
        _with_tail(lambda P, H: series(2 * P)[::2]),
        "The added heads are P, whatever H is: 2P slopes come back.",
        "How many heads are missing once P have their slopes?",
    ),
    in_bias(
        "never cut",
        lambda H: torch.cat([series(power_below(H)), series(2 * power_below(H))[::2]]),
        "P slopes of 2P are added for every H, so 2P slopes come back: 16 for 8 heads and for 12.",
        "How many heads are missing once P have their slopes, if H is 12, and if it is 8?",
    ),
    in_bias(
        "every second of P",
        _with_tail(lambda P, H: series(P)[::2][: H - P]),
        "The added heads get every second slope of P, which the first heads have already.",
        "Of which number of heads are the added slopes, P or 2P?",
    ),
    in_bias(
        "the lower power alone",
        lambda H: series(power_below(H)),
        "Other H get P slopes and no more.",
        "How many heads are still without a slope, and where do theirs come from?",
    ),
    in_bias(
        "the rest at zero",
        lambda H: torch.cat([series(power_below(H)), torch.zeros(H - power_below(H))]),
        "The heads after the first P have slope 0: they never see distance.",
        "Where do the slopes of the added heads come from?",
    ),
    in_bias(
        "axes to broadcast",
        lambda H: slopes(H)[:, None, None],
        "The slopes are right, but shaped [H, 1, 1].",
        "Axes of size 1 can be added where they are needed. How many does the task ask for?",
    ),
    in_bias(
        "a list",
        lambda H: slopes(H).tolist(),
        "The slopes are right, but come back as a list.",
        "Which function makes a tensor of a list?",
    ),
)

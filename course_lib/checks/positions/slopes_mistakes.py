"""What people really write for ALiBi's slopes when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake
from course_lib.positions import slopes

in_bias = partial(Mistake, reread='05, "Add it to the scores"')


def power_below(H: int) -> int:
    """The largest power of two up to H."""
    return 1 << (H.bit_length() - 1)


def series(H: int, first: int = 1, factor: float = -8.0) -> Tensor:
    """2 to the powers factor/H, 2 factor/H, ... whatever H is."""
    return 2.0 ** (factor * torch.arange(first, H + first) / H)


def _by_recipe(own: Callable[[int], Tensor]) -> Callable[[int], Tensor]:
    """The right recipe for other H on a series of one's own."""

    def all_heads(H: int) -> Tensor:
        P = power_below(H)
        return torch.cat([own(P), own(2 * P)[::2][: H - P]])

    return all_heads


NO_POWERS = (
    "The exponents come back, for 8 heads -1, -2 and so on, and no powers.",
    "Which number is raised to these exponents?",
)
WHOLE_STEP = (
    "The step from exponent to exponent is a whole number: // rounds it down, for 16 heads to -1.",
    "What does -8 // 16 give, and what should the step of 16 heads be?",
)

SERIES = (
    in_bias(
        "from head 0",
        _by_recipe(lambda P: series(P, first=0)),
        "The exponent of head h is -8h/H, so head 0 has slope 1.",
        "Which exponent does the task give the first head?",
    ),
    in_bias(
        "from head 0, for every H",
        lambda H: series(H, first=0),
        "The exponent of head h is -8h/H for every H: head 0 has slope 1, and other H than powers "
        "of two get one series.",
        "Which exponent does the task give the first head, and which series do 12 heads begin "
        "with?",
    ),
    in_bias(
        "one series for every H",
        series,
        "Powers of two are right. Other H get one series, 2^(-8/H), 2^(-16/H), ..., too.",
        "With which power of two do 12 heads begin, and how many are then missing?",
    ),
    in_bias(
        "a half each, whatever H",
        lambda H: 2.0 ** -torch.arange(1, H + 1),
        "Each slope is half of the one before for every H; that is so only for H 8.",
        "What are the exponents of 16 heads, if the last head has 1/256 too?",
    ),
    in_bias(
        "h in the divisor",
        lambda H: 2.0 ** (-8 / torch.arange(1, H + 1)),
        "The exponent of head h is -8 / (h + 1), which grows from -8, and H isn't in it.",
        "Which number divides 8h in the task, the head's or the number of heads?",
    ),
    in_bias(
        "the exponents themselves",
        lambda H: -8.0 * torch.arange(1, H + 1) / H,
        *NO_POWERS,
    ),
    in_bias(
        "the exponents themselves, by the recipe",
        _by_recipe(lambda P: -8.0 * torch.arange(1, P + 1) / P),
        *NO_POWERS,
    ),
    in_bias(
        "a whole step, for every H",
        lambda H: 2.0 ** (-8 // H * torch.arange(1, H + 1)),
        *WHOLE_STEP,
    ),
    in_bias(
        "a whole step, by the recipe",
        _by_recipe(lambda P: 2.0 ** (-8 // P * torch.arange(1, P + 1))),
        *WHOLE_STEP,
    ),
    in_bias(
        "the power above H",
        lambda H: series(2 * power_below(H))[:H],
        "All H get the first slopes of a power of two above H; where H is a power itself, of 2H.",
        "Which power of two do 8 heads take, and which do 12 begin with?",
    ),
    in_bias(
        "growing slopes",
        _by_recipe(lambda P: series(P, factor=8.0)),
        "The exponents are positive: slopes from above 1 up to 256.",
        "Which sign has the exponent in the task?",
    ),
    in_bias(
        "growing slopes, for every H",
        lambda H: series(H, factor=8.0),
        "The exponents are positive, slopes from above 1 up to 256, and other H than powers of two "
        "get one series.",
        "Which sign has the exponent in the task, and with which power of two do 12 heads begin?",
    ),
    in_bias(
        "negative slopes",
        lambda H: -slopes(H),
        "The numbers are right and have a minus: the bias, minus slope times distance, would "
        "reward distance.",
        "Who puts the minus in front of the distance, the slope or the bias?",
    ),
    in_bias(
        "e for the base",
        _by_recipe(lambda P: (-8 * torch.arange(1, P + 1) / P).exp()),
        "The slopes are powers of e.",
        "Which base do the slopes of the task have?",
    ),
    in_bias(
        "H/8 for 8/H",
        _by_recipe(lambda P: 2.0 ** (-P * torch.arange(1, P + 1) / 8)),
        "The exponent of head h is -(h + 1) H/8; H 8 alone comes out right.",
        "Should more heads stand closer together or further apart, between 1 and 1/256?",
    ),
    in_bias(
        "the exponent rounded down",
        _by_recipe(lambda P: 2.0 ** (-8 * torch.arange(1, P + 1) // P)),
        "The exponents are whole numbers: with 16 heads two neighbours share a slope.",
        "What does -8 // 16 give, and what should it be?",
    ),
)

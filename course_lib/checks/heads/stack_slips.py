"""More tests that go wrong: most of them know the sum, and not how far rounding goes."""

from functools import partial

import torch

from course_lib.checks.heads.stack_mistakes import joining, same, shapes_first, total
from course_lib.checks.question import Mistake

_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def _asserts_as_it_comes(whole, heads, x):
    torch.testing.assert_close(whole(x), total(heads, x))
    return True


STACK = (
    _in_stack(
        "allclose as it comes, shapes first",
        shapes_first(torch.allclose),
        "It says False where outputs near 1 differ by rounding: as it comes, allclose allows a "
        "number near 0 a hundred-millionth.",
        "Which of its two tolerances decides where the right number is almost 0?",
    ),
    _in_stack(
        "one tolerance, here too tight and there too loose",
        shapes_first(lambda a, b: bool((a - b).abs().max() <= 1e-3)),
        "It refuses rounding where outputs are near 1e4, and doesn't notice a missing head where "
        "they are near 1e-4.",
        "What should the size of a tolerance follow?",
    ),
    _in_stack(
        "the same, of any shape",
        lambda whole, heads, x: bool((whole(x) - total(heads, x)).abs().max() <= 1e-3),
        "It refuses rounding where outputs are near 1e4, doesn't notice a missing head where "
        "they are near 1e-4, and says True of shapes that only broadcast.",
        "What should the size of a tolerance follow, and what should be compared first?",
    ),
    _in_stack(
        "a tenth of the largest",
        shapes_first(lambda a, b: bool(((a - b).abs() <= 0.1 * b.abs().max()).all())),
        "One number that is off by a fifteenth of the largest output passes: the tolerance is "
        "wide, or all differences are taken together.",
        "How wrong may a single number be, where rounding is the only cause?",
    ),
    _in_stack(
        "NaN made zero",
        shapes_first(lambda a, b: same(a.nan_to_num(), b)),
        "A NaN counts as 0, and agrees where the heads add up to 0.",
        "What should a test say of a layer that gives a NaN?",
    ),
    _in_stack(
        "an error for False, and one tolerance",
        _asserts_as_it_comes,
        "It raises an error where it should say False, and its tolerances don't follow the size "
        "of the outputs.",
        "What should come back of a wrong pair?",
    ),
    _in_stack(
        "the last head skipped",
        joining(lambda heads, x: sum((head(x) for head in heads[:-1]), torch.zeros_like(x))),
        "The sum ends before the last head.",
        "Which heads does your sum run over?",
    ),
)

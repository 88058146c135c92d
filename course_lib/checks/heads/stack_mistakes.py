"""What people really write to test that a layer is the sum of its heads, when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def total(heads: list, x: Tensor) -> Tensor:
    """The sum of the heads' outputs."""
    return torch.stack([head(x) for head in heads]).sum(0)


def _close(a: Tensor, b: Tensor) -> Tensor:
    """Right, number by number."""
    return (a - b).abs() <= 1e-4 * b.abs().max()


def same(a: Tensor, b: Tensor) -> bool:
    """The right comparison."""
    return a.shape == b.shape and bool(_close(a, b).all())


def _comparing(same: Callable[[Tensor, Tensor], object]) -> Callable:
    """The right two outputs, compared like this."""
    return lambda whole, heads, x: same(whole(x), total(heads, x))


def shapes_first(same: Callable[[Tensor, Tensor], object]) -> Callable:
    """The same behind a comparison of the shapes."""
    return _comparing(lambda a, b: a.shape == b.shape and same(a, b))


def joining(join: Callable[[list, Tensor], Tensor]) -> Callable:
    """The right comparison with something else than the sum of all heads."""
    return lambda whole, heads, x: same(whole(x), join(heads, x))


def _part(take: Callable[[Tensor], Tensor]) -> Callable:
    """The right comparison of a part of the outputs."""
    return _comparing(lambda a, b: a.shape == b.shape and same(take(a), take(b)))


def _side_by_side(whole, heads, x):
    return torch.allclose(whole(x), torch.cat([head(x) for head in heads], -1), atol=1e-5)


def _each_alone(whole, heads, x):
    out = whole(x)
    return all(same(out, head(x)) for head in heads)


def _prints(whole, heads, x):
    print("equal" if same(whole(x), total(heads, x)) else "not equal")


def _asserts(whole, heads, x):
    torch.testing.assert_close(whole(x), total(heads, x), rtol=1e-3, atol=1e-5)
    return True


STACK = (
    _in_stack(
        "always True",
        lambda whole, heads, x: True,
        "It says True of every pair: a test that can't fail tests nothing.",
        "Which layer would make your test say False?",
    ),
    _in_stack(
        "always False",
        lambda whole, heads, x: False,
        "It says False of every pair, of those that add up exactly too.",
        "For which layer should your test say True?",
    ),
    _in_stack(
        "the shapes alone",
        _comparing(lambda a, b: a.shape == b.shape),
        "It says True of every pair whose shapes agree, whatever the numbers.",
        "What else must agree, when two outputs are the same?",
    ),
    _in_stack(
        "to the last bit",
        _comparing(torch.equal),
        "It says False of what differs by rounding alone: it asks for the last bit, or measures "
        "each difference by the number at its own place, which is almost 0 where heads cancel.",
        "Beside which number is rounding small: the one at its place, or the largest?",
    ),
    _in_stack(
        "to the last bit, of any shape",
        _comparing(lambda a, b: bool((a == b).all())),
        "It says False of what differs by rounding alone, and True of shapes that only broadcast.",
        "How large may a difference be that comes from rounding, and may the shapes differ?",
    ),
    _in_stack(
        "allclose as it comes",
        _comparing(torch.allclose),
        "It says False where outputs near 1 differ by rounding: as it comes, allclose allows a "
        "number near 0 a hundred-millionth.",
        "Which of its two tolerances decides where the right number is almost 0?",
    ),
    _in_stack(
        "one tolerance for all sizes, any shape",
        _comparing(lambda a, b: torch.allclose(a, b, atol=1e-5)),
        "It allows rounding where outputs are near 1, refuses it where they are near 1e4, and says "
        "True of shapes that only broadcast.",
        "What should the tolerance be compared with, and what should be compared first?",
    ),
    _in_stack(
        "one tolerance for all sizes",
        shapes_first(lambda a, b: torch.allclose(a, b, atol=1e-5)),
        "It allows rounding where outputs are near 1 and refuses it where they are near 1e4: there "
        "a float32 itself has steps of a thousandth.",
        "What should the size of a tolerance follow?",
    ),
    _in_stack(
        "a loose tolerance",
        shapes_first(lambda a, b: bool(((a - b).abs() < 0.1).all())),
        "It allows so much that, among outputs near 1e-4, a missing head isn't seen.",
        "How large is your tolerance beside these outputs?",
    ),
    _in_stack(
        "any shape",
        _comparing(lambda a, b: bool(_close(a, b).all())),
        "Shapes aren't compared, and one sequence broadcasts against three.",
        "How could two tensors of different shapes go through your comparison?",
    ),
    _in_stack(
        "the means",
        shapes_first(lambda a, b: same(a.mean(), b.mean())),
        "It compares one number of each output, such as a mean or a sum, and numbers in another "
        "order have the same.",
        "Which wrong outputs have the same mean and the same sum as the right ones?",
    ),
    _in_stack(
        "the sizes",
        shapes_first(lambda a, b: same(a.norm(), b.norm())),
        "It compares the norm of one output with the norm of the other: how long they are, not "
        "where they point.",
        "Which wrong outputs have the same norm as the right ones?",
    ),
    _in_stack(
        "without the sign",
        shapes_first(lambda a, b: same(a.abs(), b.abs())),
        "It compares numbers without their signs.",
        "How far is -1 from 1?",
    ),
    _in_stack(
        "one side",
        shapes_first(lambda a, b: bool(((a - b) <= 1e-4 * b.abs().max()).all())),
        "It sees outputs that are too high, and none that are too low: a negative difference is "
        "below every tolerance.",
        "Is a difference of -5 small?",
    ),
    _in_stack(
        "any for all",
        shapes_first(lambda a, b: bool(_close(a, b).any())),
        "One number that agrees is enough for it.",
        "How many of the numbers must agree?",
    ),
    _in_stack(
        "the first position",
        _part(lambda y: y[:, 0]),
        "It compares the first position of each sequence and no other.",
        "Where could the outputs differ that your test doesn't look at?",
    ),
    _in_stack(
        "the first sequence",
        _part(lambda y: y[0]),
        "It compares the first sequence of the batch and no other.",
        "Where could the outputs differ that your test doesn't look at?",
    ),
    _in_stack(
        "NaN let through",
        shapes_first(lambda a, b: not bool(((a - b).abs() > 1e-4 * b.abs().max()).any())),
        "It looks for a number that is too far off. NaN is never greater than anything, so it "
        "passes.",
        "What does `NaN > 1` say, and what does `NaN <= 1` say?",
    ),
    _in_stack(
        "the heads' mean",
        joining(lambda heads, x: total(heads, x) / len(heads)),
        "It compares the layer with something else than the sum of all heads, such as their mean.",
        "What does a layer do with what its heads found?",
    ),
    _in_stack(
        "the heads side by side",
        _side_by_side,
        "It puts the heads' outputs side by side. Each of them is as wide as the layer's already.",
        "What has each head's own part of w_o done with its result?",
    ),
    _in_stack(
        "each head alone",
        _each_alone,
        "Only a layer of one head can pass: the heads' outputs aren't added.",
        "What do the heads' outputs give together?",
    ),
    _in_stack(
        "the first head alone",
        joining(lambda heads, x: heads[0](x)),
        "It compares the layer with its first head, and no other head is run.",
        "Where does your code use the other heads?",
    ),
    _in_stack(
        "the first two heads",
        joining(lambda heads, x: total(heads[:2], x)),
        "It runs the first two heads and no others.",
        "How many heads are in the list?",
    ),
    _in_stack(
        "the first head skipped",
        joining(lambda heads, x: sum((head(x) for head in heads[1:]), torch.zeros_like(x))),
        "The sum begins with the second head.",
        "At which number does a list begin?",
    ),
    _in_stack(
        "number by number",
        _comparing(_close),
        "A table comes back that says of each number whether it agrees.",
        "What makes one answer of many?",
    ),
    _in_stack(
        "the difference itself",
        _comparing(lambda a, b: (a - b).abs().max()),
        "The largest difference comes back, and whoever asked must judge it.",
        "What must a test say of a difference that is only rounding?",
    ),
    _in_stack(
        "the answer the wrong way round",
        lambda whole, heads, x: not same(whole(x), total(heads, x)),
        "It says True where the outputs differ and False where they agree.",
        "What does True mean here?",
    ),
    _in_stack(
        "nothing comes back",
        _prints,
        "None comes back: what is printed, or only computed, is lost to whoever called.",
        "How does whoever calls your test learn what it found?",
    ),
    _in_stack(
        "an error for False",
        _asserts,
        "It raises an error where the outputs differ.",
        "What should come back of a wrong pair?",
    ),
)

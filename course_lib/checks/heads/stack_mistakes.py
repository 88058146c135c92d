"""What people really write to test that a layer is the sum of its heads, when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def _total(heads: list, x: Tensor) -> Tensor:
    return torch.stack([head(x) for head in heads]).sum(0)


def _close(a: Tensor, b: Tensor) -> Tensor:
    """Right, number by number."""
    return (a - b).abs() <= 1e-4 * b.abs().max()


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(_close(a, b).all())


def _comparing(same: Callable[[Tensor, Tensor], object]) -> Callable:
    """The right two outputs, compared like this."""
    return lambda whole, heads, x: same(whole(x), _total(heads, x))


def _shaped(same: Callable[[Tensor, Tensor], object]) -> Callable:
    """The same behind a comparison of the shapes."""
    return _comparing(lambda a, b: a.shape == b.shape and same(a, b))


def _of_any_shape_too(name: str, same: Callable, says: str, asks: str) -> tuple[Mistake, Mistake]:
    """A mistake of the numbers, and the same of one who doesn't compare the shapes either."""
    broadcasts = " It also says True of shapes that only broadcast."
    return (
        _in_stack(name, _shaped(same), says, asks),
        _in_stack(f"{name}, any shape", _comparing(same), says + broadcasts, asks),
    )


def _joining(join: Callable[[list, Tensor], Tensor]) -> Callable:
    """The right comparison with something else than the sum of all heads."""
    return lambda whole, heads, x: _same(whole(x), join(heads, x))


def _asserts(whole, heads, x):
    torch.testing.assert_close(whole(x), _total(heads, x), rtol=1e-3, atol=1e-5)
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
        "It says False even of heads that add up exactly.",
        "For which layer should your test say True?",
    ),
    _in_stack(
        "the shapes alone",
        _comparing(lambda a, b: a.shape == b.shape),
        "It says True of every pair whose shapes agree, whatever the numbers.",
        "What else must agree, when two outputs are the same?",
    ),
    *_of_any_shape_too(
        "to the last bit",
        lambda a, b: bool((a == b).all()),
        "It says False of what differs by rounding alone. The order of a sum changes its last bit.",
        "How large may a difference be that comes from rounding?",
    ),
    *_of_any_shape_too(
        "allclose as it comes",
        torch.allclose,
        "It says False of rounding where sums are almost 0: there allclose allows a mere 1e-8.",
        "Which of its two tolerances decides where the right number is almost 0?",
    ),
    *_of_any_shape_too(
        "beside its own number",
        lambda a, b: bool(((a - b).abs() <= 1e-3 * b.abs()).all()),
        "It says False where sums are almost 0: rounding is large beside those.",
        "Beside what is rounding small, where large numbers cancel?",
    ),
    *_of_any_shape_too(
        "a tight tolerance for all sizes",
        lambda a, b: torch.allclose(a, b, atol=1e-5),
        "It refuses rounding near 20,000, where a float32 itself has steps of a thousandth.",
        "What should the size of a tolerance follow?",
    ),
    *_of_any_shape_too(
        "one tolerance for all sizes",
        lambda a, b: bool(((a - b).abs() <= 1e-3).all()),
        "One tolerance for all sizes: near 1e-4 a missing head passes, near 2e4 rounding doesn't.",
        "What should the size of a tolerance follow?",
    ),
    *_of_any_shape_too(
        "a loose tolerance",
        lambda a, b: bool(((a - b).abs() < 1e-1).all()),
        "It allows so much that, among outputs near 1e-4, a missing head isn't seen.",
        "How large is your tolerance beside these outputs?",
    ),
    *_of_any_shape_too(
        "a tenth of the largest",
        lambda a, b: bool(((a - b).abs() <= 0.1 * b.abs().max()).all()),
        "A number that is wrong by more than a twentieth of the largest output passes.",
        "How much may one number be off, beside the largest output?",
    ),
    *_of_any_shape_too(
        "all differences together",
        lambda a, b: bool((a - b).abs().mean() < 1e-3 * b.abs().max()),
        "One number in many passes though it is wrong by a quarter of the largest output.",
        "Does your test judge every number, or all of them together?",
    ),
    _in_stack(
        "any shape",
        _comparing(lambda a, b: bool(_close(a, b).all())),
        "It says True of shapes that only broadcast: one sequence against three.",
        "How could two tensors of different shapes go through your comparison?",
    ),
    _in_stack(
        "one number for all",
        _shaped(lambda a, b: _same(a.mean(), b.mean())),
        "It compares one number for all, a mean or a sum: in another order it is the same.",
        "Which wrong outputs have the same mean as the right ones?",
    ),
    _in_stack(
        "the sizes",
        _shaped(lambda a, b: _same(a.norm(), b.norm())),
        "It compares how long the two outputs are (their norms), not where they point.",
        "Which wrong outputs have the same norm as the right ones?",
    ),
    _in_stack(
        "without the sign",
        _shaped(lambda a, b: _same(a.abs(), b.abs())),
        "It compares numbers without their signs.",
        "How far is -1 from 1?",
    ),
    _in_stack(
        "one side",
        _shaped(lambda a, b: bool(((a - b) <= 1e-4 * b.abs().max()).all())),
        "It sees outputs that are too high, and none that are too low.",
        "Is a difference of -5 small?",
    ),
    _in_stack(
        "any for all",
        _shaped(lambda a, b: bool(_close(a, b).any())),
        "One number that agrees is enough for it.",
        "How many of the numbers must agree?",
    ),
    _in_stack(
        "the first position",
        _shaped(lambda a, b: _same(a[:, 0], b[:, 0])),
        "It compares the first position of each sequence and no other.",
        "Where could the outputs differ that your test doesn't look at?",
    ),
    _in_stack(
        "the first sequence",
        _shaped(lambda a, b: _same(a[0], b[0])),
        "It compares the first sequence of the batch and no other.",
        "Where could the outputs differ that your test doesn't look at?",
    ),
    _in_stack(
        "NaN let through",
        _shaped(lambda a, b: not bool(((a - b).abs() > 1e-4 * b.abs().max()).any())),
        "It looks for a number that is too far off, and NaN is never greater than anything.",
        "What does `NaN > 1` say, and what does `NaN <= 1` say?",
    ),
    _in_stack(
        "NaN for a tolerance",
        _shaped(lambda a, b: torch.allclose(a, b, rtol=0, atol=1e-4 * a.abs().max().item())),
        "A NaN in the layer's output makes the tolerance NaN, and allclose raises an error.",
        "Which of the two outputs could the tolerance follow instead?",
    ),
    _in_stack(
        "NaN made a number",
        _shaped(lambda a, b: _same(a.nan_to_num(), b)),
        "It lets a NaN pass where the right number is 0.",
        "What does your code make of a NaN before it compares?",
    ),
    _in_stack(
        "the heads' mean",
        _joining(lambda heads, x: _total(heads, x) / len(heads)),
        "It compares the layer with the mean of the heads.",
        "What does a layer do with what its heads found?",
    ),
    _in_stack(
        "the heads side by side",
        lambda whole, heads, x: torch.allclose(whole(x), torch.cat([h(x) for h in heads], -1)),
        "It puts the heads' outputs side by side. Each of them is as wide as the layer's already.",
        "What has each head's own part of w_o done with its result?",
    ),
    _in_stack(
        "no sum",
        lambda whole, heads, x: all(_same(whole(x), head(x)) for head in heads),
        "It says False where several heads add up exactly.",
        "What do the heads' outputs give together?",
    ),
    _in_stack(
        "the first head alone",
        _joining(lambda heads, x: heads[0](x)),
        "It compares the layer with its first head, and no other head is run.",
        "Where does your code use the other heads?",
    ),
    _in_stack(
        "the last head left out",
        _joining(lambda heads, x: sum((head(x) for head in heads[:-1]), torch.zeros_like(x))),
        "The sum ends before the last head.",
        "Which head does your sum end with?",
    ),
    _in_stack(
        "the first head skipped",
        _joining(lambda heads, x: sum((head(x) for head in heads[1:]), torch.zeros_like(x))),
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
        lambda whole, heads, x: not _same(whole(x), _total(heads, x)),
        "It says True where the outputs differ and False where they agree.",
        "What does True mean here?",
    ),
    _in_stack(
        "prints",
        lambda whole, heads, x: print(_same(whole(x), _total(heads, x))),
        "Nothing comes back, whatever your test finds.",
        "How does whoever calls your test learn what it found?",
    ),
    _in_stack(
        "an error for False",
        _asserts,
        "It raises an error where it should say False.",
        "What should come back of a wrong pair?",
    ),
)

"""What people really write for a masked softmax when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_before = partial(Mistake, reread='03, "Before the softmax"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')
_in_empty = partial(Mistake, reread='03, "A row with nothing to read"')


def _filled(fill: float) -> Callable:
    """Fill the scores of blocked keys, and take the softmax."""
    return lambda s, keep: s.masked_fill(~keep, fill).softmax(-1)


def _added(bias: Callable[[Tensor], Tensor]) -> Callable:
    return lambda s, keep: (s + bias(keep).to(s)).softmax(-1)


def _infinite(keep: Tensor) -> Tensor:
    return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)


def _right(s: Tensor, keep: Tensor) -> Tensor:
    return s.masked_fill(~keep, -torch.inf).softmax(-1).masked_fill(~keep, 0)


def _without_maximum(s: Tensor, keep: Tensor) -> Tensor:
    powers = s.exp() * keep
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, 1)


def _all_keys_scale(s: Tensor, keep: Tensor) -> Tensor:
    weights = s.softmax(-1) * keep
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


def _all_keys_maximum(s: Tensor, keep: Tensor) -> Tensor:
    return _without_maximum(s - s.amax(-1, keepdim=True), keep)


def _opened(s: Tensor, keep: Tensor) -> Tensor:
    return s.masked_fill(~(keep | ~keep.any(-1, keepdim=True)), -torch.inf).softmax(-1)


def _renormalised(s: Tensor, keep: Tensor) -> Tensor:
    weights = s.softmax(-1) * keep
    return weights / weights.sum(-1, keepdim=True)


def _painted_quotient(s: Tensor, keep: Tensor) -> Tensor:
    powers = (s - s.amax(-1, keepdim=True)).exp() * keep
    return (powers / powers.sum(-1, keepdim=True)).nan_to_num(0)


def _emptied_blocks(s: Tensor, keep: Tensor) -> Tensor:
    alive = keep.any(-1, keepdim=True).all(-2, keepdim=True)
    return _right(s, keep) * alive


SOFTMAX = (
    _in_empty(
        "a row of nothing but -inf",
        _filled(-torch.inf),
        "A query with nothing to read divides 0 by 0: its row is NaN.",
        "What should a query get that may read nothing, and who says so?",
    ),
    _in_empty(
        "-inf added",
        _added(_infinite),
        "A query with nothing to read divides 0 by 0: its row is NaN, and so is its gradient.",
        "What should a query get that may read nothing, and what should its gradient be?",
    ),
    _in_empty(
        "NaN painted over",
        lambda s, keep: (s + _infinite(keep).to(s)).softmax(-1).nan_to_num(0),
        "The zeros are painted over NaN. Backward the NaN is still there, and it reaches the "
        "scores.",
        "How does an empty row stay out of the division, so that no NaN is ever made?",
    ),
    _in_empty(
        "0/0 painted over",
        _painted_quotient,
        "Two things: an empty row divides 0 by 0, and zeros are painted over it, though not over "
        "its gradient; and the maximum is taken over blocked keys too.",
        "How does an empty row stay out of the division, and whose maximum should go first?",
    ),
    _in_empty(
        "-1e9 for blocked",
        _filled(-1e9),
        "Blocked scores become -1e9. A query with nothing to read spreads its weight over all "
        "keys, and float16 can't hold the number.",
        "Which score gets no weight at all, whatever the others are?",
    ),
    _in_empty(
        "-1e9 added",
        _added(lambda keep: torch.where(keep, 0.0, -1e9).double()),
        "Blocked scores are lowered by 1e9. In a row with nothing to read all are lowered alike.",
        "If all scores of a row move by the same amount, what happens to its weights?",
    ),
    _in_empty(
        "the lowest number for blocked",
        lambda s, keep: s.masked_fill(~keep, torch.finfo(s.dtype).min).softmax(-1),
        "A query with nothing to read spreads its weight evenly over its keys, as it does when "
        "blocked scores become the lowest finite number.",
        "If all scores of a row are the same number, however low, what are its weights?",
    ),
    _before(
        "-1e4 for blocked",
        _filled(-1e4),
        "Blocked scores become a finite number, -10,000 perhaps: not low beside every score.",
        "Which score gets no weight at all, whatever the others are?",
    ),
    _before(
        "-1e4 for blocked, empty rows zeros",
        lambda s, keep: s.masked_fill(~keep, -1e4).softmax(-1) * keep,
        "Blocked keys get a finite number, -1e4 perhaps. Where the real scores are lower still, "
        "the blocked keys win.",
        "Which score is below every other?",
    ),
    _before(
        "0 times infinity",
        _added(lambda keep: ~keep * -torch.inf),
        "All weights are NaN: 0 times infinity is NaN, and it is added to every key that may be "
        "read.",
        "What should be added to a key that may be read?",
    ),
    _before(
        "the maximum of all keys",
        _all_keys_maximum,
        "Blocked keys still take part in the maximum or the sum: one that scores far higher "
        "presses all allowed weights to 0.",
        "Over which keys should the maximum of a row be taken?",
    ),
    _before(
        "a number that float16 can't hold",
        lambda s, keep: s.masked_fill(~keep, -1e9).softmax(-1) * keep,
        "An empty row gives zeros. In float16 the number that stands for blocked is too large to "
        "be written, and torch says so.",
        "Which score gets no weight at all, and exists in every float dtype?",
    ),
    _before(
        "plus infinity",
        _filled(torch.inf),
        "Blocked scores become plus infinity, and infinity minus itself is NaN.",
        "Of which score is the exponential 0?",
    ),
    _before(
        "0 for blocked",
        _filled(0.0),
        "A blocked score becomes 0, and exp(0) is 1: a key like any other.",
        "Of which score is the exponential 0?",
    ),
    _before(
        "ones and zeros added",
        _added(lambda keep: keep.float()),
        "The mask is added as 1 and 0: every key keeps a weight, an allowed one e times more.",
        "What must be added to a score so that nothing is left of its key?",
    ),
    _before(
        "ones for blocked taken off",
        _added(lambda keep: -100.0 * (~keep)),
        "Blocked scores are lowered by 100: nearly nothing where scores are near each other, and "
        "all the weight where the blocked one is 300 higher.",
        "Which score gets no weight at all, whatever the others are?",
    ),
    _before(
        "masked after the softmax",
        lambda s, keep: s.softmax(-1) * keep,
        "Blocked weights become 0 after the softmax, so the others no longer share 1; the blocked "
        "scores are still in the sum that divided them.",
        "On which side of the softmax must a key disappear to leave the sum as well?",
    ),
    _before(
        "masked after, renormalised",
        _renormalised,
        "The mask comes after the softmax and the rest is divided again. A high blocked score "
        "leaves nothing to divide, and an empty row is 0/0.",
        "On which side of the softmax must a key disappear to leave the maximum as well?",
    ),
    _before(
        "blocked keys set the scale",
        _all_keys_scale,
        "Blocked keys still take part in the maximum or the sum: one that scores far higher "
        "presses all allowed weights to 0.",
        "Over which keys should the maximum of a row be taken?",
    ),
    _before(
        "no maximum",
        _without_maximum,
        "The exponentials are taken of the scores as they are: far below 0 all of them are 0.",
        "Which number can go from every score of a row without a change in its weights?",
    ),
    _before(
        "the mask left out",
        lambda s, keep: s.softmax(-1),
        "This is the softmax over all keys. `keep` plays no part in it.",
        "What should a key get that may not be read?",
    ),
    _before(
        "no softmax",
        lambda s, keep: s.masked_fill(~keep, 0),
        "The scores are masked and returned: they don't share 1.",
        "What turns the scores of a query into shares?",
    ),
    _before(
        "over the queries",
        lambda s, keep: s.masked_fill(~keep, -torch.inf).softmax(-2).nan_to_num(0),
        "The softmax runs down the queries: each key shares 1 among those who read it.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_polarity(
        "True read as blocked",
        lambda s, keep: s.masked_fill(keep, -torch.inf).softmax(-1),
        "The keys that `keep` allows are the ones you block.",
        "What does True in `keep` say, and what does True say to masked_fill?",
    ),
    _in_empty(
        "an empty row opened",
        _opened,
        "A query with nothing to read reads everything, as if it had no mask.",
        "What should a query get that may read nothing?",
    ),
    _in_empty(
        "all queries of a head emptied",
        _emptied_blocks,
        "One query with nothing to read takes the weights of all the others with it.",
        "Whose row is empty: the mask's or one query's?",
    ),
    _before(
        "cut from the graph",
        lambda s, keep: _right(s, keep).detach(),
        "The result remembers nothing of the scores, so no gradient reaches them.",
        "Where does the computation leave autograd: a detach, no_grad, an item, numpy?",
    ),
)

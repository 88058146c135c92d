"""What people really write for attention with torch's two masks when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_before = partial(Mistake, reread='03, "Before the softmax"')
_in_who = partial(Mistake, reread='03, "Who may read whom"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')
_in_empty = partial(Mistake, reread='03, "A row with nothing to read"')


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q * q.shape[-1] ** -0.5 @ k.mT


def _weights(q: Tensor, k: Tensor, keep: Tensor) -> Tensor:
    """Right, once `keep` is."""
    return _scores(q, k).masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0)


def _keeping(keep: Callable[[Tensor, Tensor], Tensor], quiet: bool = True) -> Callable:
    """Attention with this keep of `blocked` and `ignored`; not `quiet` where empty rows are NaN."""

    def run(q, k, v, blocked, ignored):
        allowed = keep(blocked, ignored)
        if quiet:
            return _weights(q, k, allowed) @ v
        return _scores(q, k).masked_fill(~allowed, -torch.inf).softmax(-1) @ v

    return run


def _filled(fill: float | None = None) -> Callable:
    def run(q, k, v, blocked, ignored):
        s = _scores(q, k)
        low = torch.finfo(s.dtype).min if fill is None else fill
        return s.masked_fill(blocked | ignored[:, None, None], low).softmax(-1) @ v

    return run


def _infinite(out: Tensor) -> Tensor:
    return torch.zeros(out.shape).masked_fill(out, -torch.inf)


def _after(q, k, v, blocked, ignored):
    return _scores(q, k).softmax(-1) * ~(blocked | ignored[:, None, None]) @ v


def _after_renormalised(q, k, v, blocked, ignored):
    weights = _scores(q, k).softmax(-1) * ~(blocked | ignored[:, None, None])
    return weights / weights.sum(-1, keepdim=True) @ v


def _painted_output(q, k, v, blocked, ignored):
    s = _scores(q, k).masked_fill(blocked | ignored[:, None, None], -torch.inf)
    return (s.softmax(-1) @ v).nan_to_num(0)


def _painted_sum(q, k, v, blocked, ignored):
    s = _scores(q, k) + _infinite(blocked) + _infinite(ignored)[:, None, None]
    return s.softmax(-1).nan_to_num(0) @ v


def _values_emptied(q, k, v, blocked, ignored):
    return _weights(q, k, ~blocked[None, None]) @ v.masked_fill(ignored[:, None, :, None], 0)


def _unscaled(q, k, v, blocked, ignored):
    keep = ~(blocked | ignored[:, None, None])
    return (q @ k.mT).masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0) @ v


def _causal_anyway(q, k, v, blocked, ignored):
    Tq, Tk = blocked.shape
    early = torch.ones(Tq, Tk, dtype=torch.bool).tril()
    return _weights(q, k, early & ~ignored[:, None, None]) @ v


def _emptied_sequences(q, k, v, blocked, ignored):
    gone = ignored.all(-1)[:, None, None, None]
    keep = ~(blocked | ignored[:, None, None]) | gone
    out = _scores(q, k).masked_fill(~keep, -torch.inf).softmax(-1) @ v
    return out.masked_fill(gone, 0)


CALLS = (
    _in_polarity(
        "nothing mended",
        _keeping(lambda out, pad: out & ~pad[:, None, :, None], quiet=False),
        "This is still the broken call: it reads what is blocked, hides the padding as queries, "
        "and gives NaN where nothing is left.",
        "What does True say in `blocked`, and on which axis of the scores do the keys lie?",
    ),
    _in_polarity(
        "blocked unmended",
        _keeping(lambda out, pad: out & ~pad[:, None, None]),
        "The padding is right. `blocked` is still read as keep: only its keys are read.",
        "What does True say in `blocked`?",
    ),
    _in_polarity(
        "blocked unmended, empty rows NaN",
        _keeping(lambda out, pad: out & ~pad[:, None, None], quiet=False),
        "The padding is right. `blocked` is still read as keep, and a query with nothing left is "
        "NaN.",
        "What does True say in `blocked`, and what should a query get that may read nothing?",
    ),
    _in_who(
        "padding on the queries",
        _keeping(lambda out, pad: ~out & ~pad[:, None, :, None]),
        "`blocked` is right. The padding still lies on the axis of the queries: an error where Tq "
        "isn't Tk, and silence where it is.",
        "On which axis of the scores do the keys lie?",
    ),
    _in_who(
        "padding on the queries, empty rows NaN",
        _keeping(lambda out, pad: ~out & ~pad[:, None, :, None], quiet=False),
        "`blocked` is right. The padding still lies on the axis of the queries, and a query with "
        "nothing left is NaN.",
        "On which axis of the scores do the keys lie, and what should an empty row give?",
    ),
    _in_polarity(
        "zeros alone mended",
        _keeping(lambda out, pad: out & ~pad[:, None, :, None]),
        "An empty row gives zeros. `blocked` is still read as keep, and the padding lies on the "
        "axis of the queries.",
        "What does True say in `blocked`, and on which axis of the scores do the keys lie?",
    ),
    _in_empty(
        "empty rows NaN",
        _keeping(lambda out, pad: ~out & ~pad[:, None, None], quiet=False),
        "Both masks are right. A query with nothing to read still divides 0 by 0.",
        "What should a query get that may read nothing, and where does its NaN begin?",
    ),
    _in_empty(
        "NaN painted over at the end",
        _painted_output,
        "The NaN of an empty row is painted over in the output. In the weights it is still there, "
        "and backward it reaches the values.",
        "How early can an empty row be taken out, so that no product meets its NaN?",
    ),
    _in_empty(
        "NaN painted over a sum",
        _painted_sum,
        "-inf is added, and zeros are painted over the NaN of an empty row. Backward the NaN is "
        "still there, and it reaches q and k.",
        "How does an empty row stay out of the division, so that no NaN is ever made?",
    ),
    _in_empty(
        "the lowest number for what is out",
        _filled(),
        "A query with nothing to read gets the mean of all values, as it does when the scores of "
        "its keys become one low finite number.",
        "If all scores of a row are the same number, however low, what are its weights?",
    ),
    _in_empty(
        "sequences alone emptied",
        _emptied_sequences,
        "A sequence ignored in full gives zeros. A query whose keys are all blocked, or partly "
        "blocked and partly ignored, is still NaN.",
        "Of what must there be none for a row to be empty: of keys in a sequence, or for a query?",
    ),
    _in_polarity(
        "ignored read as keep",
        _keeping(lambda out, pad: ~out & pad[:, None, None]),
        "`blocked` is right. `ignored` is read as keep: only the padding is read.",
        "What does True say in `ignored`?",
    ),
    _in_polarity(
        "both read as keep",
        _keeping(lambda out, pad: out & pad[:, None, None]),
        "Both masks are read as keep: a key is read only where both say that it's out.",
        "What does True say in `blocked` and in `ignored`?",
    ),
    _in_polarity(
        "either read as keep",
        _keeping(lambda out, pad: out | pad[:, None, None]),
        "What should be out is read, and nothing else.",
        "What does True say in your joined mask, and what to the function that gets it?",
    ),
    _in_who(
        "or in place of and",
        _keeping(lambda out, pad: ~out | ~pad[:, None, None]),
        "A key is read if one of the masks lets it through, though the other doesn't.",
        "How many of the two must take a key away before it is out?",
    ),
    _in_who(
        "ignored as it comes",
        _keeping(lambda out, pad: ~out & ~pad),
        "`ignored` is used as [B, Tk], and broadcasting takes your sequences for queries: an error "
        "where their numbers differ, and silence where they don't.",
        "With which axes do the two of [B, Tk] line up, counted from the right?",
    ),
    _in_who(
        "blocked left out",
        _keeping(lambda out, pad: ~pad[:, None, None]),
        "`blocked` plays no part in your result.",
        "Which of the two masks tells the queries apart?",
    ),
    _in_who(
        "ignored left out",
        _keeping(lambda out, pad: ~out[None, None]),
        "`ignored` plays no part in your result.",
        "Which of the two masks tells the sequences apart?",
    ),
    _before(
        "added as numbers",
        lambda q, k, v, out, pad: (
            (_scores(q, k) - out.to(q) - pad.to(q)[:, None, None]).softmax(-1) @ v
        ),
        "A key that is out loses 1 or 2 of its score, and keeps a share.",
        "What must be taken from a score so that nothing is left of its key?",
    ),
    _before(
        "masked after the softmax",
        _after,
        "The masks come after the softmax: what is left of a row no longer sums to 1.",
        "On which side of the softmax must a key disappear to leave the sum as well?",
    ),
    _before(
        "masked after, renormalised",
        _after_renormalised,
        "The masks come after the softmax and the rest is divided again. An empty row is 0/0.",
        "What is left to divide by in a row with nothing to read?",
    ),
    _before(
        "values emptied",
        _values_emptied,
        "The ignored keys have no part in the output, but they still take their share of the "
        "weight from the others.",
        "Among which keys should a query's unit of weight be shared out?",
    ),
    _before(
        "0 for what is out",
        _filled(0.0),
        "The score of a key that is out becomes 0, and exp(0) is 1: a key like any other.",
        "Of which score is the exponential 0?",
    ),
    _before(
        "the scale lost",
        _unscaled,
        "Both masks are right, and the division by the root of Dh is gone.",
        "Which part of the broken call was right?",
    ),
    _in_who(
        "causal whatever is blocked",
        _causal_anyway,
        "Query 0 reads key 0 alone even where nothing is blocked: a causal mask stands in place "
        "of `blocked`.",
        "Who says here what is blocked?",
    ),
)

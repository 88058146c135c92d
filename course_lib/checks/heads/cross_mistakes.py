"""What people really write for attention to another sequence when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake
from course_lib.heads import merge, split

_in_cut = partial(Mistake, reread='04, "Cut the features"')
_in_stack = partial(Mistake, reread='04, "A stack of heads"')
_in_share = partial(Mistake, reread='04, "Heads that share"')


def _split_straight(y: Tensor, H: int) -> Tensor:
    return y.reshape(len(y), H, y.shape[1], -1)


def split_strided(y: Tensor, H: int) -> Tensor:
    """Deal the features out to the heads in turn."""
    return y.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)


def _softmax(s: Tensor) -> Tensor:
    return s.softmax(-1)


def _bare(s: Tensor) -> Tensor:
    powers = s.exp()
    return powers / powers.sum(-1, keepdim=True)


def _lower(s: Tensor) -> Tensor:
    keep = torch.ones(s.shape[-2:], dtype=torch.bool).tril()
    return s.masked_fill(~keep, -torch.inf).softmax(-1)


def but_for(
    divisor: Callable[[Tensor, int, int], float] = lambda q, D, Dc: q.shape[-1] ** 0.5,
    weigh: Callable[[Tensor], Tensor] = _softmax,
    cut: Callable[[Tensor, int], Tensor] = split,
    merge: Callable[[Tensor], Tensor] = merge,
    end: Callable[[Tensor, Tensor, Tensor], object] = lambda out, w_o, x: out @ w_o.T,
) -> Callable:
    """The right call, but for what is given."""

    def run(x, context, w_q, w_k, w_v, w_o, H):
        q, k, v = cut(x @ w_q.T, H), cut(context @ w_k.T, H), cut(context @ w_v.T, H)
        scores = q @ k.mT / divisor(q, x.shape[-1], context.shape[-1])
        return end(merge(weigh(scores) @ v), w_o, x)

    return run


_right = but_for()


def _reads(arrange: Callable) -> Callable:
    """The right computation of other arguments."""
    return lambda *given: _right(*arrange(*given))


def _mixed(of_k: str, of_v: str) -> Callable:
    """Keys and values of the sequence named."""

    def run(x, context, w_q, w_k, w_v, w_o, H):
        both = {"x": x, "context": context}
        q, k, v = (split(y @ w.T, H) for y, w in ((x, w_q), (both[of_k], w_k), (both[of_v], w_v)))
        return merge((q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v) @ w_o.T

    return run


def _with_weights(x, context, w_q, w_k, w_v, w_o, H):
    q, k = split(x @ w_q.T, H), split(context @ w_k.T, H)
    weights = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)
    return _right(x, context, w_q, w_k, w_v, w_o, H), weights.mean(1)


CROSS = (
    _in_stack(
        "the two sequences exchanged",
        _reads(lambda x, c, *rest: (c, x, *rest)),
        "The context asks and x is read. One output comes back for each position of the context.",
        "Which of the two needs an answer at each of its positions?",
    ),
    _in_stack(
        "the context isn't read",
        _mixed("x", "x"),
        "Queries, keys and values all come from x: that is self-attention.",
        "Where does your code use `context`?",
    ),
    _in_stack(
        "keys from x",
        _mixed("x", "context"),
        "Keys come from x and values from the context: a weight then belongs to one position and "
        "is used for another.",
        "What do a key and a value describe together?",
    ),
    _in_stack(
        "values from x",
        _mixed("context", "x"),
        "Values come from x, keys from the context: a weight then belongs to one position and is "
        "used for another.",
        "What do a key and a value describe together?",
    ),
    _in_stack(
        "queries and keys exchanged",
        _reads(lambda x, c, w_q, w_k, *rest: (x, c, w_k, w_q, *rest)),
        "w_k makes the queries and w_q the keys.",
        "Which of the two matrices expects tokens as wide as the context's?",
    ),
    _in_stack(
        "keys and values exchanged",
        _reads(lambda x, c, w_q, w_k, w_v, *rest: (x, c, w_q, w_v, w_k, *rest)),
        "w_v makes the keys and w_k the values. Their shapes are alike, so nothing complains.",
        "Which of the two decides who is read, and which what is read?",
    ),
    _in_stack(
        "w_q and w_o not turned",
        _reads(lambda x, c, w_q, w_k, w_v, w_o, H: (x, c, w_q.T, w_k, w_v, w_o.T, H)),
        "w_q and w_o are used as [in, out]. They are square, so nothing complains.",
        "What does nn.Linear compute with its weight [out, in]?",
    ),
    _in_stack(
        "w_q not turned",
        _reads(lambda x, c, w_q, *rest: (x, c, w_q.T, *rest)),
        "w_q is used as [in, out]. It is square, so nothing complains.",
        "What does nn.Linear compute with its weight [out, in]?",
    ),
    _in_stack(
        "w_o not turned",
        but_for(end=lambda out, w_o, x: out @ w_o),
        "w_o is used as [in, out]. It is square, so nothing complains.",
        "What does nn.Linear compute with its weight [out, in]?",
    ),
    _in_stack(
        "no w_o",
        but_for(end=lambda out, w_o, x: out),
        "The heads' results come back side by side: w_o isn't used.",
        "What mixes what the heads found?",
    ),
    _in_stack(
        "x added",
        but_for(end=lambda out, w_o, x: x + out @ w_o.T),
        "x is added to the output. That is the block around attention, not attention.",
        "If all values were zero, what should come out?",
    ),
    _in_cut(
        "divided by the root of D",
        but_for(divisor=lambda q, D, Dc: D**0.5),
        "The scores are divided by the root of D, and each is a sum of fewer products.",
        "How many products does one head add up in one score?",
    ),
    _in_cut(
        "divided by the root of Dc",
        but_for(divisor=lambda q, D, Dc: Dc**0.5),
        "The scores are divided by the root of the context's width, which no score has met.",
        "How many products does one head add up in one score?",
    ),
    _in_cut(
        "divided by Dh",
        but_for(divisor=lambda q, D, Dc: q.shape[-1]),
        "The scores are divided by the width of a head itself.",
        "With which power of the width does the spread of a score grow?",
    ),
    _in_cut(
        "not divided",
        but_for(divisor=lambda q, D, Dc: 1),
        "The scores aren't divided: the wider a head, the louder its softmax.",
        "What does attention do with the scores before the softmax?",
    ),
    _in_cut(
        "one wide head",
        _reads(lambda *given: (*given[:-1], 1)),
        "There is one head as wide as D, whatever H is.",
        "Where does your code use `H`?",
    ),
    _in_cut(
        "a view straight to heads",
        but_for(cut=_split_straight),
        "A view goes straight to [B, H, T, Dh]. The shape is right, and a head gets parts of other "
        "tokens.",
        "Which axis do you cut, and which do you move after that?",
    ),
    _in_cut(
        "a view straight to heads and back",
        but_for(cut=_split_straight, merge=lambda y: y.reshape(len(y), y.shape[2], -1)),
        "Views go straight to [B, H, T, Dh] and straight back. All shapes are right, and a head "
        "gets parts of other tokens.",
        "Which axis do you cut, and which do you move after that?",
    ),
    _in_cut(
        "every H-th feature",
        but_for(cut=split_strided),
        "A head gets every H-th feature. The features of a head stand together.",
        "In [B, T, D], do the features of head 0 stand side by side?",
    ),
    _in_cut(
        "merged without moving",
        but_for(merge=lambda y: y.reshape(len(y), y.shape[2], -1)),
        "The heads are merged by a view of [B, H, Tq, Dh] alone, which puts numbers of several "
        "queries in one row.",
        "Which two axes must be neighbours before they become one?",
    ),
    _in_stack(
        "softmax over the queries",
        but_for(weigh=lambda s: s.softmax(-2)),
        "The softmax runs down the queries: each key shares 1 among those who read it.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_stack(
        "softmax over the heads",
        but_for(weigh=lambda s: s.softmax(1)),
        "The softmax runs over the heads: they share 1 for each pair of query and key.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_stack(
        "a bare exponential",
        but_for(weigh=_bare),
        "The softmax takes the exponential of the scores as they are: beyond 88 it is infinite in "
        "float32.",
        "What may be taken from all scores of a row without changing its weights?",
    ),
    _in_stack(
        "a causal mask",
        but_for(weigh=_lower),
        "Query i reads the keys up to i alone. Positions of x and context aren't places of one "
        "sequence.",
        "Is there a later key, if keys and queries come from two sequences?",
    ),
    _in_stack(
        "sequence 0 for all",
        _reads(lambda x, c, *rest: (x, c[:1].expand_as(c), *rest)),
        "Every sequence of the batch reads the context of the first one.",
        "Which context belongs to sequence 1?",
    ),
    _in_stack(
        "the context cut off",
        _reads(lambda x, c, *rest: (x, c.detach(), *rest)),
        "The numbers are right, but no gradient reaches the context.",
        "What would whatever made the context learn from?",
    ),
    _in_stack(
        "the weights as well",
        _with_weights,
        "Output and weights come back, as from nn.MultiheadAttention.",
        "What does the task say comes back?",
    ),
)

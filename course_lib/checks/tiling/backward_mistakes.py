"""What people really write for a tile of the backward when its weights or its delta go wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_backward = partial(Mistake, reread='06, "Backward without the weights"')


def weigh(s: Tensor, lse: Tensor, keep: Tensor) -> Tensor:
    """The tile's weights, from its scaled scores."""
    return (s - lse).exp().masked_fill(~keep, 0)


def but_for(
    scale: Callable[[Tensor, Tensor], float] = lambda q, v: q.shape[1] ** -0.5,
    weights: Callable[[Tensor, Tensor, Tensor], Tensor] = weigh,
    turn: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda w, dw, delta: w * (dw - delta),
    dq: Callable = lambda ds, k, scale: ds @ k * scale,
    dk: Callable = lambda ds, q, scale: ds.T @ q * scale,
    dv: Callable = lambda w, ds, d_out, scale: w.T @ d_out,
    column: Callable[[Tensor], Tensor] = lambda x: x[:, None],
) -> Callable:
    """The right computation, but for what is given."""

    def run(q, k, v, d_out, lse, delta, keep):
        w = weights(q @ k.T * scale(q, v), lse[:, None], keep)
        ds = turn(w, d_out @ v.T, column(delta))
        last = q.shape[1] ** -0.5
        return dq(ds, k, last), dk(ds, q, last), dv(w, ds, d_out, last)

    return run


def _by_autograd(q, k, v, d_out, lse, delta, keep):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    q, k, v = leaves
    s = (q @ k.T * q.shape[1] ** -0.5).masked_fill(~keep, -torch.inf)
    return torch.autograd.grad((s - lse[:, None]).exp() @ v, leaves, d_out)


def _masked_late(q, k, v, d_out, lse, delta, keep):
    scale = q.shape[1] ** -0.5
    w = (q @ k.T * scale - lse[:, None]).exp()
    ds = (w * (d_out @ v.T - delta[:, None])).masked_fill(~keep, 0)
    return ds @ k * scale, ds.T @ q * scale, w.T @ d_out


def _masked_for_dv(q, k, v, d_out, lse, delta, keep):
    w = (q @ k.T * q.shape[1] ** -0.5 - lse[:, None]).exp()
    scale = q.shape[1] ** -0.5
    ds = w * (d_out @ v.T - delta[:, None])
    return ds @ k * scale, ds.T @ q * scale, w.masked_fill(~keep, 0).T @ d_out


def _delta_where_kept(q, k, v, d_out, lse, delta, keep):
    w = weigh(q @ k.T * q.shape[1] ** -0.5, lse[:, None], keep)
    scale = q.shape[1] ** -0.5
    ds = (w * (d_out @ v.T) - delta[:, None]).masked_fill(~keep, 0)
    return ds @ k * scale, ds.T @ q * scale, w.T @ d_out


def _finite(s: Tensor, lse: Tensor, keep: Tensor) -> Tensor:
    return (s.masked_fill(~keep, -1e9) - lse.clamp_min(-1e9)).exp()


def _filled_before(s: Tensor, lse: Tensor, keep: Tensor) -> Tensor:
    return (s.masked_fill(~keep, -torch.inf) - lse).exp()


def _mended_after(q, k, v, d_out, lse, delta, keep):
    found = but_for(weights=_filled_before)(q, k, v, d_out, lse, delta, keep)
    return [x.nan_to_num(0) for x in found]


def _alone(s: Tensor, lse: Tensor, keep: Tensor) -> Tensor:
    return s.masked_fill(~keep, -torch.inf).softmax(-1).nan_to_num(0)


def _own_delta(w: Tensor, dw: Tensor, delta: Tensor) -> Tensor:
    return w * (dw - (w * dw).sum(-1, keepdim=True))


BACKWARD = (
    _in_backward(
        "autograd",
        _by_autograd,
        "Autograd does the work here, and the check has switched it off.",
        "Which formula would it have used, from d_out back to q, k and v?",
    ),
    _in_backward(
        "delta left out",
        but_for(turn=lambda w, dw, delta: w * dw),
        "`delta` isn't used: the weights change as if those of one query didn't share a sum.",
        "If one weight of a query grows, what happens to its others?",
    ),
    _in_backward(
        "delta added",
        but_for(turn=lambda w, dw, delta: w * (dw + delta)),
        "`delta` is added, which gives the common part of all keys twice instead of taking it out.",
        "If all values moved alike, how much should the scores of a query change?",
    ),
    _in_backward(
        "the sign of the gradient in the scores",
        but_for(turn=lambda w, dw, delta: w * (delta - dw)),
        "The gradients of the scores have the other sign: dq and dk point the other way.",
        "If the gradient in a weight lies above `delta`, should its score rise or fall?",
    ),
    _in_backward(
        "delta outside the product",
        but_for(turn=lambda w, dw, delta: w * dw - delta),
        "`delta` is taken off after the multiplication by the weights: a key of weight 0 gets it "
        "too.",
        "Which gradient has the score of a key with weight 0?",
    ),
    _in_backward(
        "delta of the tile alone",
        but_for(turn=_own_delta),
        "`delta` is summed anew over the keys of this tile. The queries also read keys of other "
        "tiles.",
        "Which argument holds the sum over all keys of a query?",
    ),
    _in_backward(
        "delta along the keys",
        but_for(column=lambda delta: delta[None]),
        "`delta` is laid along the keys: an error where a tile has more keys than queries, or "
        "fewer, and wrong numbers without one where it has as many.",
        "Which axis of [Bq, Bk] does `delta` belong to, and which form has it there?",
    ),
    _in_backward(
        "lse along the keys",
        but_for(weights=lambda s, lse, keep: weigh(s, lse.T, keep)),
        "`lse` is laid along the keys: an error where a tile has more keys than queries, or "
        "fewer, and wrong numbers without one where it has as many.",
        "Which axis of [Bq, Bk] does `lse` belong to, and which form has it there?",
    ),
    _in_backward(
        "both along the keys",
        but_for(
            weights=lambda s, lse, keep: weigh(s, lse.T, keep), column=lambda delta: delta[None]
        ),
        "`lse` and `delta` are laid along the keys: an error where a tile has more keys than "
        "queries, or fewer, and wrong numbers without one where it has as many.",
        "Which axis of [Bq, Bk] do they belong to, and which form have they there?",
    ),
    _in_backward(
        "a softmax of the tile alone",
        but_for(weights=_alone),
        "The weights come from a softmax over the keys of this tile: they add up to 1 here, "
        "although the queries read keys elsewhere too.",
        "Which argument holds the denominator over all keys of a query?",
    ),
    _in_backward(
        "lse not used",
        but_for(weights=lambda s, lse, keep: s.exp().masked_fill(~keep, 0)),
        "The weights are bare exponentials of the scores: nothing divides them.",
        "What is the weight of a key, if the logarithm of the denominator is known?",
    ),
    _in_backward(
        "two exponentials divided",
        but_for(weights=lambda s, lse, keep: (s.exp() / lse.exp()).masked_fill(~keep, 0)),
        "Numerator and denominator are computed apart, and both are infinite for scores near 200 "
        "in float32.",
        "What can be done with two exponents before the exponential is taken?",
    ),
    _in_backward(
        "powers of two",
        but_for(weights=lambda s, lse, keep: (s - lse).exp2().masked_fill(~keep, 0)),
        "The powers are those of 2, and `lse` is a natural logarithm.",
        "By which number is an exponent multiplied when e gives way to 2?",
    ),
    _in_backward(
        "nothing blocked",
        but_for(weights=lambda s, lse, keep: (s - lse).exp()),
        "`keep` isn't used: a blocked key gets a weight, and passes gradients on.",
        "Which weight has a key that a query may not read?",
    ),
    _in_backward(
        "blocked in the scores' gradient alone",
        _masked_late,
        "Blocked pairs get no gradient in their score, but keep a weight: dv has a part of them.",
        "Which of the three gradients uses the weights themselves?",
    ),
    _in_backward(
        "the mask turned round",
        but_for(weights=lambda s, lse, keep: weigh(s, lse, ~keep)),
        "What may be read is blocked, and what may not is read.",
        "What does True mean in `keep`?",
    ),
    _in_backward(
        "blocked scores set to 0",
        but_for(weights=lambda s, lse, keep: (s * keep - lse).exp()),
        "A blocked pair has the score 0, and exp(0 - lse) isn't 0.",
        "Which score has a weight of 0?",
    ),
    _in_backward(
        "blocked by multiplication",
        but_for(weights=lambda s, lse, keep: (s - lse).exp() * keep),
        "Blocked weights are multiplied by 0. Where such a weight is infinite, the product is NaN.",
        "How does a weight become 0 whatever it was?",
    ),
    _in_backward(
        "-inf less -inf",
        but_for(weights=_filled_before),
        "Blocked scores are -inf. For the query that may read nothing `lse` is -inf too, and the "
        "one less the other is NaN.",
        "What would you subtract for a query whose lse is -inf, so that its weights become 0?",
    ),
    _in_backward(
        "blocked by a finite number",
        but_for(weights=lambda s, lse, keep: (s.masked_fill(~keep, -1e9) - lse).exp()),
        "A blocked score is low, but finite. Less an `lse` of -inf it is infinite: the query that "
        "may read nothing gets infinite weights.",
        "How does a weight become 0 whatever its score and its lse are?",
    ),
    _in_backward(
        "NaN made 0 at the end",
        _mended_after,
        "NaN is replaced by 0 in what is returned. One query with NaN has spoilt all of dk and dv "
        "by then: the others' parts are lost.",
        "Where does the first NaN arise, and for which query?",
    ),
    _in_backward(
        "blocked for dv alone",
        _masked_for_dv,
        "Blocked pairs add nothing to dv, but have a gradient in their score: dq and dk have a "
        "part of them.",
        "Which of the three gradients come from the scores?",
    ),
    _in_backward(
        "delta outside, where kept",
        _delta_where_kept,
        "`delta` is taken off after the multiplication by the weights: a key that is hardly read "
        "gets all of it.",
        "Which gradient has the score of a key with weight 0?",
    ),
    _in_backward(
        "delta weighted twice",
        but_for(turn=lambda w, dw, delta: w * (dw - w * delta)),
        "`delta` is multiplied by the weights twice.",
        "How often does the weight of a key multiply what its score gets?",
    ),
    _in_backward(
        "no exponential",
        but_for(weights=lambda s, lse, keep: (s - lse).masked_fill(~keep, 0)),
        "The weights are scores minus `lse`: that is the logarithm of a weight.",
        "Which number is it that has this logarithm?",
    ),
    _in_backward(
        "lse made finite too",
        but_for(weights=_finite),
        "Blocked scores are -1e9, and an `lse` of -inf becomes that too: the query that may read "
        "nothing gets the weight exp(0) for every key.",
        "How does a weight become 0 whatever its score and its lse are?",
    ),
)

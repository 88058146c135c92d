"""More of what goes wrong in a tile of the backward: scales, products, and what is returned."""

from functools import partial

from torch import Tensor

from course_lib.checks.question import Mistake
from course_lib.checks.tiling.backward_mistakes import but_for, weigh

_in_backward = partial(Mistake, reread='06, "Backward without the weights"')

_right = but_for()


def _bare_q(ds: Tensor, k: Tensor, scale: float) -> Tensor:
    return ds @ k


def _bare_k(ds: Tensor, q: Tensor, scale: float) -> Tensor:
    return ds.T @ q


def _twice_k(ds: Tensor, q: Tensor, scale: float) -> Tensor:
    return ds.T @ q * scale**2


def _by_weights(q, k, v, d_out, lse, delta, keep):
    w = weigh(q @ k.T * q.shape[1] ** -0.5, lse[:, None], keep)
    return w @ k * q.shape[1] ** -0.5, w.T @ q * q.shape[1] ** -0.5, w.T @ d_out


def _another_scale(scale):
    """Another scale for scores, dq and dk."""

    def run(q, k, v, d_out, lse, delta, keep):
        dq, dk, dv = but_for(scale)(q, k, v, d_out, lse, delta, keep)
        change = scale(q, v) * q.shape[1] ** 0.5
        return dq * change, dk * change, dv

    return run


def _picked(*order: int):
    """The right three gradients, in this order."""
    return lambda *given: [_right(*given)[i] for i in order]


def _untransposed_v(q, k, v, d_out, lse, delta, keep):
    scale = q.shape[1] ** -0.5
    w = weigh(q @ k.T * scale, lse[:, None], keep)
    ds = w * (d_out @ v - delta[:, None])
    return ds @ k * scale, ds.T @ q * scale, w.T @ d_out


SLIPS = (
    _in_backward(
        "the weights' gradient left out",
        but_for(turn=lambda w, dw, delta: dw - delta),
        "The gradient in the scores isn't multiplied by the weights: a key of weight 0 gets a "
        "gradient, and a blocked one too.",
        "By what does a score's gradient shrink, if its key is hardly read?",
    ),
    _in_backward(
        "each weight on its own",
        but_for(turn=lambda w, dw, delta: w * (1 - w) * dw),
        "This is how each weight moves with its own score. What the scores of the other keys do "
        "to it is missing.",
        "A query's weights sum to 1. When one grows, what happens to the others?",
    ),
    _in_backward(
        "scores not scaled",
        but_for(scale=lambda q, v: 1.0),
        "The scores aren't divided by the root of Dh; those from which `lse` was computed were.",
        "From which scores did the forward compute `lse`?",
    ),
    _in_backward(
        "scores divided by Dh",
        but_for(scale=lambda q, v: 1 / q.shape[1]),
        "The scores are divided by Dh, and `lse` was computed from scores divided by its root.",
        "From which scores did the forward compute `lse`?",
    ),
    _in_backward(
        "scaled by Dv",
        but_for(scale=lambda q, v: v.shape[1] ** -0.5),
        "The scores are divided by the root of Dv, the width of the values.",
        "How many products does one score add up?",
    ),
    _in_backward(
        "scaled by Dv everywhere",
        _another_scale(lambda q, v: v.shape[1] ** -0.5),
        "Scores, dq and dk are divided by the root of Dv, the width of the values.",
        "How many products does one score add up?",
    ),
    _in_backward(
        "divided by Dh everywhere",
        _another_scale(lambda q, v: 1 / q.shape[1]),
        "Scores, dq and dk are divided by Dh, and `lse` was computed from scores divided by its "
        "root.",
        "From which scores did the forward compute `lse`?",
    ),
    _in_backward(
        "no scale anywhere",
        but_for(lambda q, v: 1.0, dq=_bare_q, dk=_bare_k),
        "There is no scale: not in the scores, and not in dq and dk.",
        "From which scores did the forward compute `lse`?",
    ),
    _in_backward(
        "dq and dk not scaled",
        but_for(dq=_bare_q, dk=_bare_k),
        "dq and dk lack the scale: they are too large by the root of Dh.",
        "Between q @ k.T and the scores stands one more step. What is its derivative?",
    ),
    _in_backward(
        "dq not scaled",
        but_for(dq=_bare_q),
        "dq lacks the scale: it is too large by the root of Dh.",
        "By how much does a score move, if q · k moves by 1?",
    ),
    _in_backward(
        "dk not scaled",
        but_for(dk=_bare_k),
        "dk lacks the scale: it is too large by the root of Dh.",
        "By how much does a score move, if q · k moves by 1?",
    ),
    _in_backward(
        "dk scaled twice",
        but_for(dk=_twice_k),
        "dk has the scale twice: it is too small by the root of Dh.",
        "If the scale is in `q` or in the scores' gradient already, where else is it in dk?",
    ),
    _in_backward(
        "dq and dk scaled twice",
        but_for(dq=lambda ds, k, scale: ds @ k * scale**2, dk=_twice_k),
        "dq and dk have the scale twice: they are too small by the root of Dh.",
        "How often is q · k multiplied by the scale on the way to a score?",
    ),
    _in_backward(
        "dv scaled",
        but_for(dv=lambda w, ds, d_out, scale: w.T @ d_out * scale),
        "dv is scaled too: it is too small by the root of Dh.",
        "Does the scale of the scores stand between the values and the output?",
    ),
    _in_backward(
        "dv of the scores' gradient",
        but_for(dv=lambda w, ds, d_out, scale: ds.T @ d_out),
        "dv is made of the gradient in the scores. The values never met the scores, only the "
        "weights.",
        "By what are the values multiplied in the forward?",
    ),
    _in_backward(
        "dq and dk of the weights",
        _by_weights,
        "dq and dk are made of the weights themselves: neither d_out nor v is in them.",
        "Which gradient reaches q and k: that in the weights, or that in the scores?",
    ),
    _in_backward(
        "dk not turned",
        but_for(dk=lambda ds, q, scale: ds @ q * scale),
        "For dk the gradient in the scores isn't transposed. That runs only where a tile has as "
        "many keys as queries.",
        "Over which axis does dk sum: over queries, or over keys?",
    ),
    _in_backward(
        "dv not turned",
        but_for(dv=lambda w, ds, d_out, scale: w @ d_out),
        "For dv the weights aren't transposed. That runs only where a tile has as many keys as "
        "queries.",
        "Over which axis does dv sum: over queries, or over keys?",
    ),
    _in_backward(
        "dq turned",
        but_for(dq=lambda ds, k, scale: ds.T @ k * scale),
        "For dq the gradient in the scores is transposed. That runs only where a tile has as many "
        "keys as queries.",
        "Over which axis does dq sum: over queries, or over keys?",
    ),
    _in_backward(
        "v not turned",
        _untransposed_v,
        "`d_out @ v` is no [Bq, Bk]. It runs only where a tile has Dv keys.",
        "What is the gradient in the weight of query i and key j: which row of d_out meets which "
        "of v?",
    ),
    _in_backward(
        "dk first",
        _picked(1, 0, 2),
        "dk comes first and dq second.",
        "In which order are the three returned?",
    ),
    _in_backward(
        "dv first",
        _picked(2, 1, 0),
        "dv comes first and dq last.",
        "In which order are the three returned?",
    ),
)

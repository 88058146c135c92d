"""What people really write for a softmax when it goes wrong."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

LOOPS = '02, "From loops to matrices"'
OVERFLOW = '02, "The softmax that overflows"'
LN2 = math.log(2)


def _shifted(
    shift: Callable[[Tensor], Tensor | float], eps: float = 0
) -> Callable[[Tensor], Tensor]:
    def softmax(s: Tensor) -> Tensor:
        powers = (s - shift(s)).exp()
        return powers / (powers.sum(-1, keepdim=True) + eps)

    return softmax


WRONG_AXIS = (
    Mistake(
        "over the queries",
        lambda s: s.softmax(-2),
        "Each column sums to one: the queries share out a key.",
        "Who has one unit of weight to give away, a query or a key? Along which axis?",
        LOOPS,
    ),
    Mistake(
        "over axis 1",
        lambda s: s.softmax(1),
        "The weights sum to one along axis 1: in scores of four axes, across the heads.",
        "Along which axis do the keys of one query lie?",
        LOOPS,
    ),
    Mistake(
        "over the batch",
        lambda s: s.softmax(0),
        "The weights sum to one along axis 0: in scores of four axes, across the batch.",
        "Along which axis do the keys of one query lie?",
        LOOPS,
    ),
)
WRONG_SUM = (
    Mistake(
        "a reduction lost its axis",
        lambda s: (p := (s - s.amax(-1)).exp()) / p.sum(-1),
        "The maximum or the sum lost an axis, so its rows line up with the wrong one.",
        "Which argument keeps the axis that a reduction would remove?",
        OVERFLOW,
    ),
    Mistake(
        "exponentials alone",
        lambda s: (s - s.amax(-1, keepdim=True)).exp(),
        "The exponentials are never divided: the best key has 1, and a row adds up to more.",
        "By what is each exponential divided, so that its row sums to one?",
        OVERFLOW,
    ),
    Mistake(
        "one sum for all rows",
        lambda s: (p := (s - s.amax(-1, keepdim=True)).exp()) / p.sum(),
        "The whole tensor sums to one, so each row holds a small part of one.",
        "Who has one unit of weight to give away: the tensor or each query?",
        LOOPS,
    ),
    Mistake(
        "the sum of each column",
        lambda s: (p := (s - s.amax(-1, keepdim=True)).exp()) / p.sum(-2, keepdim=True),
        "The sum runs down each column: the weights of a key add up to one, not a query's.",
        "Along which axis do the keys of one query lie?",
        LOOPS,
    ),
)
UNSTABLE = (
    Mistake(
        "no shift",
        _shifted(lambda s: 0),
        "The exponential is taken of the scores as they come: exp(89) is infinite in float32, "
        "and exp(-104) is 0.",
        "Softmax doesn't notice a shift. Which shift keeps every exponential at 1 or below?",
        OVERFLOW,
    ),
    Mistake(
        "one maximum for all rows",
        _shifted(lambda s: s.max()),
        "The largest score of the whole tensor is subtracted everywhere. In a row far below it, "
        "every exponential is 0.",
        "Which largest score does a row need: that of the tensor or its own?",
        OVERFLOW,
    ),
)
SOFTMAX = (
    *WRONG_AXIS,
    *WRONG_SUM,
    *UNSTABLE,
    Mistake(
        "axis 3 by its number",
        lambda s: s.softmax(3),
        "The weights are made along axis 3, and scores of two axes have none.",
        "Which number names the last axis, however many there are?",
        LOOPS,
    ),
    Mistake(
        "a loop over axis 0",
        lambda s: torch.stack([(p := (row - row.max()).exp()) / p.sum() for row in s]),
        "What lies at one index of axis 0 sums to one. With four axes that is all heads and "
        "queries of a batch entry.",
        "How many axes lie before the last, and how many does a loop over axis 0 go through?",
        LOOPS,
    ),
    Mistake(
        "the maximum added",
        _shifted(lambda s: -s.amax(-1, keepdim=True)),
        "The maximum is added, so the largest score doubles.",
        "Which way must the shift go?",
        OVERFLOW,
    ),
    Mistake(
        "the maximum of each column",
        _shifted(lambda s: s.amax(-2, keepdim=True)),
        "Each key has its own shift, that of its column. Only a shift that a row shares cancels.",
        "Along which axis is the maximum taken, and along which one the sum?",
        OVERFLOW,
    ),
    Mistake(
        "a maximum that starts at 0",
        _shifted(lambda s: s.amax(-1, keepdim=True).clamp(min=0)),
        "The maximum can't fall below 0. In a row of very negative scores, every exponential is 0.",
        "What is smaller than every score, so that a running maximum can start there?",
        OVERFLOW,
    ),
    Mistake(
        "the largest magnitude",
        _shifted(lambda s: s.abs().amax(-1, keepdim=True)),
        "The largest absolute value is subtracted. When that is a negative score's, every "
        "exponential can be 0.",
        "Which score must end at exactly 0 after the shift?",
        OVERFLOW,
    ),
    Mistake(
        "a constant shift",
        _shifted(lambda s: 10),
        "The same 10 is subtracted from every score: it delays the overflow, and no more.",
        "What should the shift depend on, so that no row can outgrow it?",
        OVERFLOW,
    ),
    Mistake(
        "the minimum",
        _shifted(lambda s: s.amin(-1, keepdim=True)),
        "The smallest score is subtracted, so what is left is positive, and its exponential grows.",
        "After the shift, should the largest or the smallest score stand at 0?",
        OVERFLOW,
    ),
    Mistake(
        "the mean",
        _shifted(lambda s: s.mean(-1, keepdim=True)),
        "The mean is subtracted. In a row of wide spread, the largest score stays far above it.",
        "After the shift, how large may the largest score be?",
        OVERFLOW,
    ),
    Mistake(
        "scores clamped",
        lambda s: _shifted(lambda t: 0)(s.clamp(-80, 80)),
        "Scores beyond a bound are cut to it, so different scores get equal weights.",
        "Cutting loses the differences. What brings the scores down and keeps them apart?",
        OVERFLOW,
    ),
    Mistake(
        "scores clamped from above",
        lambda s: _shifted(lambda t: 0)(s.clamp(max=80)),
        "Large scores are cut to a bound, so they get equal weights; very negative ones still "
        "give 0 over 0.",
        "Cutting loses the differences. What brings the scores down and keeps them apart?",
        OVERFLOW,
    ),
    Mistake(
        "an epsilon for the division",
        _shifted(lambda s: 0, eps=1e-9),
        "A small number saves the division by 0, but in a row of very negative scores all weights "
        "are 0, and large scores still overflow.",
        "Which shift makes sure that one exponential in every row is exactly 1?",
        OVERFLOW,
    ),
    Mistake(
        "NaN painted over",
        lambda s: _shifted(lambda t: 0)(s).nan_to_num(0),
        "The NaN is replaced by 0 after the fact: such a row holds no weights any more.",
        "Which exponential became infinite, and what could be subtracted first?",
        OVERFLOW,
    ),
    Mistake(
        "the difference turned round",
        lambda s: (s.amax(-1, keepdim=True) - s).softmax(-1),
        "The scores are subtracted from the maximum, so the worst key gets the largest weight.",
        "Which of the two must have the minus sign?",
        OVERFLOW,
    ),
    Mistake(
        "a logarithm that overflows first",
        lambda s: (s - s.exp().sum(-1, keepdim=True).log()).exp(),
        "The logarithm of the sum is subtracted, but before that the sum itself overflows or is 0.",
        "What can be subtracted before the sum is formed, and added to its logarithm?",
        OVERFLOW,
    ),
    Mistake(
        "no exponential",
        lambda s: s / s.sum(-1, keepdim=True),
        "The scores themselves are divided by their sum: negative ones give negative weights.",
        "Which function makes every score positive and keeps their order?",
        LOOPS,
    ),
    Mistake(
        "divided before the exponential",
        lambda s: (s / s.sum(-1, keepdim=True)).exp(),
        "The scores are divided by their sum before the exponential, which undoes the division.",
        "Which sum must be 1 at the end: that of the scores or that of the exponentials?",
        LOOPS,
    ),
    Mistake(
        "powers of two",
        lambda s: (s * LN2).softmax(-1),
        "These are powers of 2, not of e: the differences between keys come out smaller.",
        "A gap of 1 between two scores should make their weights differ by which factor?",
        OVERFLOW,
    ),
    Mistake(
        "logarithms of the weights",
        lambda s: s.log_softmax(-1),
        "These are the logarithms of the weights: none is above 0.",
        "Which last step turns them into weights?",
        OVERFLOW,
    ),
    Mistake(
        "both results of max",
        lambda s: (p := (s - s.max(-1, keepdim=True)).exp()) / p.sum(-1, keepdim=True),
        "Along an axis, `max` returns two things: the largest values and where they stand.",
        "Which of the two is to be subtracted?",
        OVERFLOW,
    ),
    Mistake(
        "the scores overwritten",
        lambda s: (s.sub_(s.amax(-1, keepdim=True))).softmax(-1),
        "The maximum is subtracted in place: the caller's scores are changed too.",
        "Which operation makes a new tensor and leaves the scores as they came?",
        OVERFLOW,
    ),
    Mistake(
        "cut from the graph",
        lambda s: s.softmax(-1).detach(),
        "The result remembers nothing of the scores, so no gradient reaches them.",
        "Where does the computation leave autograd: a detach, no_grad, an item, numpy?",
        OVERFLOW,
    ),
)

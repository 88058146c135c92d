"""What people really write for scores when it goes wrong."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.checks.question import Mistake

LOOPS = '02, "From loops to matrices"'
SIZE = '02, "How big do scores get?"'
DIVISOR = '02, "Which divisor?"'
WHOLE = '02, "Put it together"'


def _over(divisor: Callable[[Tensor, Tensor], float]) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda q, k: q @ k.mT / divisor(q, k)


NOT_THE_ROOT = (
    Mistake(
        "no divisor",
        lambda q, k: q @ k.mT,
        "Nothing divides these scores, so their spread grows with the root of Dh.",
        "What must the dot product be divided by for its spread to stay at 1?",
        SIZE,
    ),
    Mistake(
        "divided by Dh",
        _over(lambda q, k: q.shape[-1]),
        "These scores are divided by Dh itself, or by its root twice: wide heads become quiet.",
        "The variance of a dot product is Dh. What is its standard deviation?",
        DIVISOR,
    ),
    Mistake(
        "divided by half of Dh",
        _over(lambda q, k: q.shape[-1] / 2),
        "These scores are divided by half of Dh, as by `(Dh ** 1/2)`: the power comes before the "
        "division, so the exponent is 1.",
        "Which parentheses, or which decimal, make the exponent a half?",
        DIVISOR,
    ),
    Mistake(
        "divided by twice Dh",
        _over(lambda q, k: q.shape[-1] * 2),
        "These scores are divided by twice Dh, as by `/ Dh ** 1/2`: the power comes first, so the "
        "exponent is 1, and the 2 divides once more.",
        "Which parentheses, or which decimal, make the exponent a half?",
        DIVISOR,
    ),
    Mistake(
        "multiplied by the root",
        _over(lambda q, k: q.shape[-1] ** -0.5),
        "These scores are multiplied by the root of Dh, so they are Dh times too large.",
        "Should a wider head make a score larger, or should the scale undo that?",
        SIZE,
    ),
    Mistake(
        "the root of the model width",
        _over(lambda q, k: (q.shape[1] * q.shape[-1]) ** 0.5),
        "These scores are divided by the root of H times Dh, the width of all heads together.",
        "How many products does one score of one head add up?",
        DIVISOR,
    ),
    Mistake(
        "the root of Tk",
        _over(lambda q, k: k.shape[-2] ** 0.5),
        "These scores are divided by the root of Tk: they change when a key is added.",
        "Over which axis does a dot product add, and how long is it?",
        DIVISOR,
    ),
    Mistake(
        "the root of Tq",
        _over(lambda q, k: q.shape[-2] ** 0.5),
        "These scores are divided by the root of Tq: they change when a query is added.",
        "Over which axis does a dot product add, and how long is it?",
        DIVISOR,
    ),
    Mistake(
        "the root of H",
        _over(lambda q, k: q.shape[1] ** 0.5),
        "These scores are divided by the root of the number of heads.",
        "Over which axis does a dot product add, and how long is it?",
        DIVISOR,
    ),
    Mistake(
        "a divisor of 8",
        _over(lambda q, k: 8),
        "These scores are divided by 8 whatever Dh is. That fits heads of width 64 alone.",
        "Where does your function learn the width of the heads it was given?",
        DIVISOR,
    ),
    Mistake(
        "the root cut to a whole number",
        _over(lambda q, k: math.isqrt(q.shape[-1])),
        "These scores are divided by the root of Dh without its decimals.",
        "What is the root of 5, and what is left of it in your code?",
        DIVISOR,
    ),
    Mistake(
        "scaled after the product",
        _over(lambda q, k: q.shape[-1] ** 0.5),
        "The product comes first and the scale second: in float16 the product is infinite by then.",
        "Which of the two can be made smaller before they meet?",
        WHOLE,
    ),
    Mistake(
        "k reshaped, not transposed",
        lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], -1) * q.shape[-1] ** -0.5,
        "k has the right sizes, but its numbers kept their order: each column mixes several keys.",
        "Which operation swaps two axes, and which only counts the same numbers off anew?",
        LOOPS,
    ),
    Mistake(
        "cosines",
        lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT,
        "q and k lose their lengths: these are cosines, and none exceeds 1.",
        "A dot product knows lengths too. Which one number may divide it?",
        SIZE,
    ),
)

SCORES = (
    *NOT_THE_ROOT,
    Mistake(
        "no transposition",
        lambda q, k: q @ k,
        "q meets k as it is, so a row of Dh numbers meets a column of Tk numbers.",
        "Which two axes of k must change places before the product?",
        LOOPS,
    ),
    Mistake(
        "all axes reversed",
        lambda q, k: q @ k.T,
        "`.T` turns all four axes round, batch and heads too.",
        "Which two axes should change places, and which two should stay?",
        LOOPS,
    ),
    Mistake(
        "heads and keys changed places",
        lambda q, k: q @ k.transpose(1, 2),
        "In k, the axes H and Tk have changed places. The product still meets Dh with Dh.",
        "Counted from the end, which two axes of k must change places?",
        LOOPS,
    ),
    Mistake(
        "a size of four numbers",
        lambda q, k: q @ k.mT / q.size() ** 0.5,
        "`size()` without an axis is the whole shape, four numbers, and a shape has no root.",
        "Which one of the four is the length of a query?",
        LOOPS,
    ),
    Mistake(
        "number by number",
        lambda q, k: q * k / q.shape[-1] ** 0.5,
        "q and k are multiplied number by number, so a query meets one key at most.",
        "Which product holds every query against every key and adds over Dh?",
        LOOPS,
    ),
    Mistake(
        "keys by queries",
        lambda q, k: k * k.shape[-1] ** -0.5 @ q.mT,
        "These scores have a row for each key and a column for each query.",
        "Queries run down, keys run across. Which of the two comes first in the product?",
        LOOPS,
    ),
    Mistake(
        "heads added up",
        lambda q, k: torch.einsum("bhqd,bhkd->bqk", q * q.shape[-1] ** -0.5, k),
        "The heads are added into one: the axis H is gone.",
        "Which axis may a score lose, and which ones must it keep?",
        LOOPS,
    ),
    Mistake(
        "softmax already taken",
        lambda q, k: (q * q.shape[-1] ** -0.5 @ k.mT).softmax(-1),
        "Every row sums to one: these are weights, not scores.",
        "What comes just before the softmax?",
        LOOPS,
    ),
    Mistake(
        "divided by their own deviation",
        lambda q, k: (s := q @ k.mT) / s.std(),
        "The scores of a call are divided by their own standard deviation.",
        "Should the score of one pair change when another query is added? What may divide it?",
        SIZE,
    ),
    Mistake(
        "cut from the graph",
        lambda q, k: (q * q.shape[-1] ** -0.5 @ k.mT).detach(),
        "The result remembers nothing of q and k, so no gradient reaches them.",
        "Where does the computation leave autograd: a detach, no_grad, an item, numpy?",
        LOOPS,
    ),
)

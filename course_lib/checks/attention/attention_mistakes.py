"""What people really write for attention when it goes wrong: wrong scores, wrong softmax, more."""

from dataclasses import replace

import torch.nn.functional as F
from torch import Tensor

from course_lib.checks.attention.scores_mistakes import DIVISOR, LOOPS, NOT_THE_ROOT
from course_lib.checks.attention.softmax_mistakes import UNSTABLE, WRONG_AXIS, WRONG_SUM
from course_lib.checks.question import Mistake


def _right(q: Tensor, k: Tensor) -> Tensor:
    return (q * q.shape[-1] ** -0.5 @ k.mT).softmax(-1)


def _of_scores(wrong: Mistake) -> Mistake:
    """The attention that rests on wrong scores."""
    return replace(wrong, run=lambda q, k, v: wrong.run(q, k).softmax(-1) @ v)


def _of_softmax(wrong: Mistake) -> Mistake:
    """The attention that rests on a wrong softmax."""
    return replace(wrong, run=lambda q, k, v: wrong.run(q * q.shape[-1] ** -0.5 @ k.mT) @ v)


ATTENTION = (
    *map(_of_scores, NOT_THE_ROOT),
    *map(_of_softmax, (*WRONG_AXIS, *WRONG_SUM, *UNSTABLE)),
    Mistake(
        "the root of Dv",
        lambda q, k, v: (q @ k.mT / v.shape[-1] ** 0.5).softmax(-1) @ v,
        "The scores are divided by the root of Dv, the width of a value.",
        "Which two vectors does a score multiply, and how long are they?",
        DIVISOR,
    ),
    Mistake(
        "no softmax",
        lambda q, k, v: q * q.shape[-1] ** -0.5 @ k.mT @ v,
        "The scores weigh the values as they are: they can be negative, and they don't sum to one.",
        "What turns the scores of one query into shares of one?",
        LOOPS,
    ),
    Mistake(
        "scaled after the softmax",
        lambda q, k, v: (q @ k.mT).softmax(-1) / q.shape[-1] ** 0.5 @ v,
        "The root of Dh divides the weights, so a row no longer sums to one.",
        "Which division changes the shares but not their sum: one before the softmax or after it?",
        LOOPS,
    ),
    Mistake(
        "softmax twice",
        lambda q, k, v: _right(q, k).softmax(-1) @ v,
        "The weights go through a second softmax, which makes them nearly equal.",
        "How often does a row have to be made to sum to one?",
        LOOPS,
    ),
    Mistake(
        "softmax at the end",
        lambda q, k, v: (q * q.shape[-1] ** -0.5 @ k.mT @ v).softmax(-1),
        "The softmax is taken of the output: what sums to one is a query's blend, not its weights.",
        "Which of the two products needs the softmax before it?",
        LOOPS,
    ),
    Mistake(
        "the future hidden",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "Query 0 reads key 0 alone: a causal mask hides the others. Here every key answers every "
        "query.",
        "Which argument or which line hides a key?",
        LOOPS,
    ),
    Mistake(
        "exponentials alone, without a shift",
        lambda q, k, v: (q * q.shape[-1] ** -0.5 @ k.mT).exp() @ v,
        "The exponentials are never divided, so the weights of a row don't sum to one.",
        "By what is each exponential divided, so that its row sums to one?",
        LOOPS,
    ),
    Mistake(
        "the values transposed",
        lambda q, k, v: _right(q, k) @ v.mT,
        "v is transposed, so a row of Tk weights meets columns of Dv numbers.",
        "Over which axis of v must the product add, and where does it stand already?",
        LOOPS,
    ),
    Mistake(
        "heads merged",
        lambda q, k, v: (_right(q, k) @ v).transpose(1, 2).flatten(2),
        "The heads are merged into rows of H times Dv numbers: the axis H is gone.",
        "Which four axes should come out?",
        LOOPS,
    ),
    Mistake(
        "heads behind the queries",
        lambda q, k, v: (_right(q, k) @ v).transpose(1, 2),
        "In the output, the axes H and Tq have changed places.",
        "In which order do the axes of q stand, and so those of the output?",
        LOOPS,
    ),
    Mistake(
        "output transposed",
        lambda q, k, v: (_right(q, k) @ v).mT,
        "In the output, the axes Tq and Dv have changed places.",
        "Which of the two comes last, if a row is what a query gets?",
        LOOPS,
    ),
    Mistake(
        "the keys blended",
        lambda q, k, v: _right(q, k) @ k,
        "The weights blend the keys. The values are never read.",
        "A key is compared. What is handed over?",
        LOOPS,
    ),
    Mistake(
        "queries against values",
        lambda q, k, v: (q * q.shape[-1] ** -0.5 @ v.mT).softmax(-1) @ k,
        "The queries are compared with the values.",
        "Which of the three says what a token can be found by?",
        LOOPS,
    ),
    Mistake(
        "weights turned round",
        lambda q, k, v: _right(q, k).mT @ v,
        "The weights that meet the values end in the axis of the queries, not in that of the keys.",
        "Which axis of the weights must the product with v add over?",
        LOOPS,
    ),
    Mistake(
        "weights alone",
        lambda q, k, v: _right(q, k),
        "These are the weights. They haven't blended anything yet.",
        "What does a query take from each key, in proportion to its weight?",
        LOOPS,
    ),
    Mistake(
        "the mean of all values",
        lambda q, k, v: v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1]),
        "Every query gets the same: the mean of the values, whatever it asked.",
        "Where do the query and the keys come in?",
        LOOPS,
    ),
    Mistake(
        "the best key alone",
        lambda q, k, v: F.one_hot((q @ k.mT).argmax(-1), k.shape[-2]).to(v.dtype) @ v,
        "Every query gets the value of its best key and nothing of the others.",
        "What does a key get that matches almost as well?",
        LOOPS,
    ),
    Mistake(
        "dropout left on",
        lambda q, k, v: F.dropout(_right(q, k), 0.1) @ v,
        "Some weights are dropped at random and the others grow: this is dropout at 0.1.",
        "When should dropout act, and what is the probability here?",
        LOOPS,
    ),
    Mistake(
        "cut from the graph",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v).detach(),
        "The result remembers nothing of q, k and v, so no gradient reaches them.",
        "Where does the computation leave autograd: a detach, no_grad, an item, numpy?",
        LOOPS,
    ),
)

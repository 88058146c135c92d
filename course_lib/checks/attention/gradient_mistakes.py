"""What people really write for the gradient of a softmax when it goes wrong."""

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

LOOPS = '02, "From loops to matrices"'
LOUD = '02, "A loud softmax stops learning"'


def _pulled(w: Tensor, g: Tensor) -> Tensor:
    """The mean of the upstream gradient under the weights."""
    return (w * g).sum(-1, keepdim=True)


def _by_autograd(w: Tensor, g: Tensor) -> Tensor:
    s = w.log().requires_grad_()
    return torch.autograd.grad(s.softmax(-1), s, g)[0]


def _with_four_sizes(w: Tensor, g: Tensor) -> Tensor:
    B, H, Tq, Tk = w.shape
    return w * (g - _pulled(w, g).view(B, H, Tq, 1).expand(B, H, Tq, Tk))


GRADIENT = (
    Mistake(
        "autograd",
        _by_autograd,
        "Autograd does the work here, and the check has switched it off.",
        "Which formula would it have used?",
        LOUD,
    ),
    Mistake(
        "no gradient anywhere",
        lambda w, g: torch.zeros_like(w),
        "This is 0 everywhere. If autograd is to do the work: the check has switched it off.",
        "Which formula would it have used?",
        LOUD,
    ),
    Mistake(
        "each weight on its own",
        lambda w, g: w * (1 - w) * g,
        "This is the diagonal: how each weight moves with its own score.",
        "A row sums to one. When one weight grows, what happens to the others?",
        LOUD,
    ),
    Mistake(
        "the other keys alone",
        lambda w, g: w * (w * g - _pulled(w, g)),
        "This is what the other keys pass on: how a weight moves with its own score is missing.",
        "Which term of the sum over i did you leave out?",
        LOUD,
    ),
    Mistake(
        "the own score counted twice",
        lambda w, g: w * ((1 - w) * g - _pulled(w, g)),
        "The square of a weight is subtracted twice: in w · (1 - w), and again in the sum over all "
        "keys.",
        "Which key does the second sum leave out, if the first term has dealt with it?",
        LOUD,
    ),
    Mistake(
        "weights times upstream",
        lambda w, g: w * g,
        "This is the gradient of the exponentials. The sum that divides them stands still.",
        "The denominator holds every score. What does it take away?",
        LOUD,
    ),
    Mistake(
        "the upstream left out",
        lambda w, g: w * (1 - w),
        "This is how a weight moves with its own score. The upstream gradient is not in it.",
        "By what is a derivative multiplied on the way back?",
        LOUD,
    ),
    Mistake(
        "the sign",
        lambda w, g: w * (_pulled(w, g) - g),
        "This is the gradient with the other sign: where a larger score raises the loss, yours "
        "says that it lowers it.",
        "Which of the two stands first in the difference, the upstream or its mean?",
        LOUD,
    ),
    Mistake(
        "added, not subtracted",
        lambda w, g: w * (g + _pulled(w, g)),
        "The mean under the weights is added. The same upstream for all keys then moves scores.",
        "When all keys are pulled alike, what should be left?",
        LOUD,
    ),
    Mistake(
        "summed over the queries",
        lambda w, g: w * (g - (w * g).sum(-2, keepdim=True)),
        "The mean is taken down each column, over queries that have nothing to do with each other.",
        "Along which axis do the weights sum to one?",
        LOUD,
    ),
    Mistake(
        "summed over everything",
        lambda w, g: w * (g - (w * g).sum()),
        "One sum of the whole tensor is subtracted in every row.",
        "Does a score of one query move the weights of another?",
        LOUD,
    ),
    Mistake(
        "the sum lost its axis",
        lambda w, g: w * (g - (w * g).sum(-1)),
        "The sum has one axis fewer than the upstream, so its rows line up with the wrong axis.",
        "Which argument keeps the axis that a reduction would remove?",
        LOUD,
    ),
    Mistake(
        "queries crossed",
        lambda w, g: w * (g - w @ g.mT),
        "Your product crosses every query with every other: its rows are as long as there are "
        "queries.",
        "The weights of a query meet its own upstream alone. Which sum along the row is that?",
        LOUD,
    ),
    Mistake(
        "axis 3 by its number",
        lambda w, g: w * (g - (w * g).sum(3, keepdim=True)),
        "The sum runs over axis 3, and weights of two or three axes have none.",
        "Which number names the last axis, however many there are?",
        LOOPS,
    ),
    Mistake(
        "four sizes expected",
        _with_four_sizes,
        "The shape is taken apart into four sizes, and these weights have fewer axes.",
        "Which sizes does the sum need, if it names its axis from the end?",
        LOOPS,
    ),
    Mistake(
        "no weight in front",
        lambda w, g: g - _pulled(w, g),
        "What is left of the upstream is not weighted: a key without weight still gets a gradient.",
        "How far can the score of a key move the output when its weight is 0?",
        LOUD,
    ),
    Mistake(
        "no weight in the second term",
        lambda w, g: w * g - _pulled(w, g),
        "The mean is subtracted in full from every key, whatever its weight.",
        "Which factor do both terms share?",
        LOUD,
    ),
    Mistake(
        "a mean in place of the sum",
        lambda w, g: w * (g - (w * g).mean(-1, keepdim=True)),
        "The weighted upstream is averaged over the keys. The weights have done that already.",
        "What do the weights of the mean sum to?",
        LOUD,
    ),
    Mistake(
        "a sum without weights",
        lambda w, g: w * (g - g.sum(-1, keepdim=True)),
        "The upstream is added up as it is, each key alike.",
        "How much does each key count in the output, and so in this sum?",
        LOUD,
    ),
    Mistake(
        "a mean without weights",
        lambda w, g: w * (g - g.mean(-1, keepdim=True)),
        "The plain mean of the upstream is subtracted, each key alike.",
        "How much does each key count in the output, and so in this mean?",
        LOUD,
    ),
    Mistake(
        "the gradient of the logarithm",
        lambda w, g: g - w * g.sum(-1, keepdim=True),
        "This is the gradient of the log-softmax.",
        "Of which of the two, weights or their logarithms, is the upstream the gradient?",
        LOUD,
    ),
    Mistake(
        "the weights taken for scores",
        lambda w, g: (p := w.softmax(-1)) * (g - _pulled(p, g)),
        "The weights go through a softmax again, as if they were scores.",
        "What does a row of the first argument sum to already?",
        LOUD,
    ),
    Mistake(
        "the upstream handed on",
        lambda w, g: g,
        "This is the upstream as it came in.",
        "What does the softmax do to a gradient on its way from the weights to the scores?",
        LOUD,
    ),
    Mistake(
        "weights minus upstream",
        lambda w, g: w - g,
        "This is what cross-entropy gives for its targets. The upstream here is no target.",
        "Which loss has weights minus targets for its gradient, and is it in this question?",
        LOUD,
    ),
    Mistake(
        "the arguments changed places",
        lambda w, g: g * (w - _pulled(w, g)),
        "Weights and upstream have changed places outside the sum.",
        "Which of the two stands in front, so that no weight means no gradient?",
        LOUD,
    ),
    Mistake(
        "the squares of the weights",
        lambda w, g: w * (g - (w * w).sum(-1, keepdim=True)),
        "The weights are multiplied by themselves in the sum: the upstream is missing from it.",
        "Of what is the mean that is subtracted?",
        LOUD,
    ),
    Mistake(
        "an axis too many",
        lambda w, g: (torch.diag_embed(w) - w[..., :, None] * w[..., None, :]) @ g[..., None],
        "The numbers are right, and an axis of one entry is left at their end.",
        "Which axis did the product need that the answer does not?",
        LOUD,
    ),
    Mistake(
        "the table of derivatives",
        lambda w, g: torch.diag_embed(w) - w[..., :, None] * w[..., None, :],
        "This is every derivative of every weight, Tk times Tk a row. The upstream is not in it.",
        "With what is this table multiplied, so that one number a score is left?",
        LOUD,
    ),
)

"""What people really write for the entropy of weights when it goes wrong."""

import math

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

LOOPS = '02, "From loops to matrices"'
LOUD = '02, "A loud softmax stops learning"'
LN2 = math.log(2)


def _epsilon(number: float) -> Mistake:
    """A number in the logarithm that saves the zeros and shows in a long row."""
    return Mistake(
        f"an epsilon of {number:g}",
        lambda w: -(w * (w + number).log2()).sum(-1),
        "The small number you add in the logarithm is so large that it changes the entropy.",
        "How small is a weight in a row of 4096 keys, next to yours?",
        LOUD,
    )


def _bits(w: Tensor) -> Tensor:
    """What each key adds to the entropy, in bits: right."""
    return torch.special.entr(w) / LN2


def _with_four_sizes(w: Tensor) -> Tensor:
    B, H, Tq, Tk = w.shape
    return _bits(w).view(B, H, Tq, Tk).sum(-1)


ENTROPY = (
    Mistake(
        "0 times an infinite logarithm",
        lambda w: -(w * w.log2()).sum(-1),
        "A weight of exactly 0 has the logarithm -inf, and 0 times infinity is NaN.",
        "What should a key without weight add to the entropy, and how does it get there?",
        LOUD,
    ),
    Mistake(
        "natural logarithm",
        lambda w: torch.special.entr(w).sum(-1),
        "The logarithm is natural: these are nats, 0.693 of them to a bit.",
        "Two equal weights are one bit. Which logarithm of 2 is 1?",
        LOUD,
    ),
    Mistake(
        "natural logarithm, NaN at 0",
        lambda w: -(w * w.log()).sum(-1),
        "Two things: the logarithm is natural, so these are nats, and 0 times log(0) is NaN.",
        "Which logarithm of 2 is 1, and what should a key without weight add?",
        LOUD,
    ),
    Mistake(
        "logarithm to base 10",
        lambda w: _bits(w).sum(-1) * math.log10(2),
        "The logarithm is to base 10: two equal weights give 0.301.",
        "Two equal weights are one bit. Which logarithm of 2 is 1?",
        LOUD,
    ),
    Mistake(
        "the sign",
        lambda w: -_bits(w).sum(-1),
        "This entropy is negative: the logarithm of a weight below 1 is.",
        "Which sign makes the uncertainty of a row positive?",
        LOUD,
    ),
    Mistake(
        "the sign, and NaN at 0",
        lambda w: (w * w.log2()).sum(-1),
        "Two things: this entropy is negative, and 0 times log(0) is NaN.",
        "Which sign makes uncertainty positive, and what should a key without weight add?",
        LOUD,
    ),
    Mistake(
        "natural logarithm and the sign",
        lambda w: -torch.special.entr(w).sum(-1),
        "Two things: the logarithm is natural, so these are nats, and they are negative.",
        "Which logarithm of 2 is 1, and which sign makes uncertainty positive?",
        LOUD,
    ),
    Mistake(
        "natural logarithm and the sign, NaN at 0",
        lambda w: (w * w.log()).sum(-1),
        "Three things: the logarithm is natural, the sum is negative, and 0 times log(0) is NaN.",
        "Begin with 0: what should a key without weight add?",
        LOUD,
    ),
    Mistake(
        "NaN painted over",
        lambda w: -(w * w.log2()).sum(-1).nan_to_num(0),
        "A row that holds a weight of 0 counts as 0 bits, whatever its other weights are.",
        "Where does the NaN begin: in the sum, or in one term of it?",
        LOUD,
    ),
    Mistake(
        "a mean over the keys",
        lambda w: _bits(w).mean(-1),
        "The terms are averaged over the keys. Each already carries its weight, and they sum to 1.",
        "By what are the terms of this mean weighted already?",
        LOUD,
    ),
    Mistake(
        "one entropy for all rows",
        lambda w: _bits(w).sum(),
        "This is one number for the whole tensor: the sum runs over every axis, or picking out the "
        "positive weights has lost the rows.",
        "Each query has its own entropy. How does a weight of 0 become harmless in its place?",
        LOUD,
    ),
    Mistake(
        "over the queries",
        lambda w: _bits(w).sum(-2),
        "The terms are added over the queries, down each column.",
        "Along which axis do the weights of one query lie?",
        LOOPS,
    ),
    Mistake(
        "axis 3 by its number",
        lambda w: _bits(w).sum(3),
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
        "an axis too many",
        lambda w: _bits(w).sum(-1, keepdim=True),
        "The axis of the keys is still there, with one entry.",
        "Which argument keeps an axis that is not wanted here?",
        LOUD,
    ),
    *map(_epsilon, (1e-3, 1e-4, 1e-5)),
    Mistake(
        "an epsilon that float16 loses",
        lambda w: -(w * (w + 1e-9).log2()).sum(-1),
        "The small number you add, or cut off at, is 0 in float16: 0 times log(0) is NaN.",
        "Which way to treat a weight of 0 needs no small number at all?",
        LOUD,
    ),
    Mistake(
        "nats, and an epsilon that float16 loses",
        lambda w: -(w * (w + 1e-9).log()).sum(-1),
        "Two things: the logarithm is natural, and the small number you add, or cut off at, is 0 "
        "in float16, where 0 times log(0) is NaN.",
        "Which logarithm of 2 is 1, and what treats a weight of 0 without a small number?",
        LOUD,
    ),
    Mistake(
        "weights clamped",
        lambda w: -((p := w.clamp(min=1e-3)) * p.log2()).sum(-1),
        "Every weight is lifted to at least 0.001, so keys without weight add to the entropy.",
        "What should a weight of exactly 0 add?",
        LOUD,
    ),
    Mistake(
        "a softmax too many",
        lambda w: _bits(w.softmax(-1)).sum(-1),
        "The weights go through a softmax again, as if they were scores.",
        "What does a row of the input sum to already?",
        LOUD,
    ),
    Mistake(
        "logarithms without their weights",
        lambda w: -w.log2().sum(-1),
        "The logarithms are added as they are: a key that is never read counts most.",
        "How often is each key met, and where does that stand in the sum?",
        LOUD,
    ),
    Mistake(
        "a share of the maximum",
        lambda w: _bits(w).sum(-1) / math.log2(w.shape[-1]),
        "The entropy is divided by that of a uniform row, so 1 is the most it can be.",
        "How many bits are 8 equal weights?",
        LOUD,
    ),
    Mistake(
        "two to the power of it",
        lambda w: 2 ** _bits(w).sum(-1),
        "This is 2 to the power of the entropy: the number of keys that seem to be read.",
        "How many bits are 8 equal weights?",
        LOUD,
    ),
    Mistake(
        "squares in place of logarithms",
        lambda w: 1 - (w * w).sum(-1),
        "This is 1 minus the sum of the squares: another measure of spread, and never above 1.",
        "How many bits are 8 equal weights?",
        LOUD,
    ),
)

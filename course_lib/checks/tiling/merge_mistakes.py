"""What people really write to join two halves when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.attention import NOTHING
from course_lib.checks.question import Mistake

_in_merge = partial(Mistake, reread='06, "Two memories become one"')


def shares(lse_a: Tensor, lse_b: Tensor, lse: Tensor) -> tuple[Tensor, Tensor]:
    """What each half holds of the denominator of both."""
    whole = lse.masked_fill(lse == NOTHING, 0)
    return (lse_a - whole).exp(), (lse_b - whole).exp()


def blend(out_a: Tensor, out_b: Tensor, share_a: Tensor, share_b: Tensor) -> Tensor:
    """The outputs, each times its query's share."""
    return share_a[:, None] * out_a + share_b[:, None] * out_b


def but_for(
    lse: Callable = torch.logaddexp,
    weigh: Callable = shares,
    join: Callable = blend,
    end: Callable = lambda out, lse: (out, lse),
) -> Callable:
    """The right way to join two halves, but for what is given."""

    def run(out_a, lse_a, out_b, lse_b):
        out = join(out_a, out_b, *weigh(lse_a, lse_b, torch.logaddexp(lse_a, lse_b)))
        return end(out, lse(lse_a, lse_b))

    return run


right = but_for()


def _half_each(lse_a, lse_b, lse):
    return torch.full_like(lse, 0.5), torch.full_like(lse, 0.5)


def _by_lse(lse_a, lse_b, lse):
    return lse_a / (lse_a + lse_b), lse_b / (lse_a + lse_b)


def _bare(lse_a, lse_b, lse):
    a, b = lse_a.exp(), lse_b.exp()
    return a / (a + b), b / (a + b)


def _bare_guarded(lse_a, lse_b, lse):
    a, b = lse_a.exp(), lse_b.exp()
    return a / (a + b + 1e-9), b / (a + b + 1e-9)


def _from_the_maximum(lse_a, lse_b, lse):
    top = torch.maximum(lse_a, lse_b)
    return shares(lse_a, lse_b, top)


def _by_softmax_of_queries(lse_a, lse_b, lse):
    return torch.stack([lse_a, lse_b]).softmax(-1).nan_to_num(0)


def _the_louder(lse_a, lse_b, lse):
    return (lse_a >= lse_b).to(lse), (lse_a < lse_b).to(lse)


def _in_base_2(lse_a, lse_b, lse):
    a, b = (lse_a - lse_b).nan_to_num(0), (lse_b - lse_a).nan_to_num(0)
    return 1 / (1 + b.exp2()), 1 / (1 + a.exp2())


def _bare_lse(lse_a: Tensor, lse_b: Tensor) -> Tensor:
    return (lse_a.exp() + lse_b.exp()).log()


MEANS = "Of which number is lse the logarithm, and which of them add up?"

MISTAKES = (
    _in_merge(
        "the plain mean",
        but_for(weigh=_half_each),
        "The two outputs count the same, whatever their lse: a half with nothing to read too.",
        "Which half should count more if one held nearly all of the softmax's denominator?",
    ),
    _in_merge(
        "shares of lse",
        but_for(weigh=_by_lse),
        "Each half counts by its lse itself. An lse may be negative, and their sum may be 0.",
        "Which numbers add up over keys: the logarithms, or what they are logarithms of?",
    ),
    _in_merge(
        "lse as shares",
        but_for(weigh=lambda a, b, lse: (a / lse, b / lse)),
        "Each output is multiplied by its lse, and divided by the lse of both. The lse of two "
        "halves isn't the sum of theirs.",
        "Which numbers add up over keys: the logarithms, or what they are logarithms of?",
    ),
    _in_merge(
        "outputs added",
        but_for(weigh=lambda a, b, lse: (torch.ones_like(lse), torch.ones_like(lse))),
        "The two outputs are added. Each is already divided by the denominator of its own half.",
        "What should come out if both outputs are the same?",
    ),
    _in_merge(
        "not divided",
        but_for(weigh=lambda a, b, lse: (a.exp(), b.exp())),
        "Each output is multiplied by the denominator of its half, and the sum isn't divided by "
        "that of both.",
        "What must the two shares of a query add up to?",
    ),
    _in_merge(
        "shares from the maximum, not divided",
        but_for(weigh=_from_the_maximum),
        "The half with the larger lse gets the share 1, and the other something on top: the shares "
        "add up to more than 1.",
        "What must the two shares of a query add up to?",
    ),
    _in_merge(
        "shares exchanged",
        but_for(weigh=lambda a, b, lse: shares(b, a, lse)),
        "The share of each half multiplies the output of the other.",
        "Which output should a half with nothing to read leave alone?",
    ),
    _in_merge(
        "shares upside down",
        but_for(weigh=lambda a, b, lse: ((lse - a).exp(), (lse - b).exp())),
        "The exponents have the wrong sign: every share is 1 or more, and infinite for a half with "
        "nothing to read.",
        "Is the lse of all keys larger or smaller than that of a part?",
    ),
    _in_merge(
        "the louder half alone",
        but_for(weigh=_the_louder),
        "The output of the half with the larger lse comes back alone.",
        "How much should each count if the two lse are equal?",
    ),
    _in_merge(
        "softmax over the queries",
        but_for(weigh=_by_softmax_of_queries),
        "The softmax runs over the queries: they share 1 in each half.",
        "Who should share 1: the queries, or the two halves of one query?",
    ),
    _in_merge(
        "lse added",
        but_for(lse=torch.add),
        "The two lse are added, which multiplies the denominators.",
        MEANS,
    ),
    _in_merge(
        "lse averaged",
        but_for(lse=lambda a, b: (a + b) / 2),
        "The new lse is the mean of the two: it lies between them.",
        "Does the sum over all keys lie between the sums over two parts?",
    ),
    _in_merge(
        "the larger lse",
        but_for(lse=torch.maximum),
        "The new lse is the larger of the two: the other half's keys are missing from it.",
        "If both halves hold the same, how large is their sum beside one of them?",
    ),
    _in_merge(
        "lse without the maximum",
        but_for(lse=lambda a, b: torch.logaddexp(a, b) - torch.maximum(a, b)),
        "The maximum is taken out for safety, and isn't put back: lse is never above log 2.",
        "What was taken from both exponents before the sum?",
    ),
    _in_merge(
        "lse by another base",
        but_for(lse=torch.logaddexp2),
        "The two lse are joined as logarithms of base 2.",
        "By how much should a natural logarithm grow if what it is taken of doubles?",
    ),
    _in_merge(
        "shares by another base",
        but_for(weigh=_in_base_2),
        "The shares are powers of 2, and lse is a natural logarithm: the louder half counts too "
        "little.",
        "Which base undoes the logarithm in lse?",
    ),
    _in_merge(
        "bare exponentials",
        but_for(lse=_bare_lse, weigh=_bare),
        "The exponentials of the lse are formed: from 89 on they are infinite in float32, and far "
        "below 0 they are 0.",
        "What may be taken from both exponents without changing the shares?",
    ),
    _in_merge(
        "bare exponentials for the shares",
        but_for(weigh=_bare),
        "The lse is safe, but the shares are made of bare exponentials: from 89 on they are "
        "infinite in float32, and far below 0 they are 0.",
        "Which single number can be taken from each lse before exp, so that the shares come out?",
    ),
    _in_merge(
        "bare exponentials for the lse",
        but_for(lse=_bare_lse),
        "The shares are safe, but the lse is the logarithm of bare exponentials: from 89 on they "
        "are infinite in float32, and far below 0 they are 0.",
        "What may be taken from both exponents and put back after the logarithm?",
    ),
    _in_merge(
        "bare exponentials and a small number",
        but_for(lse=lambda a, b: (a.exp() + b.exp() + 1e-9).log(), weigh=_bare_guarded),
        "Bare exponentials overflow, and the small number that was added to them becomes an lse "
        "where there was nothing to read.",
        "What is the logarithm of nothing, and what of a small number?",
    ),
)

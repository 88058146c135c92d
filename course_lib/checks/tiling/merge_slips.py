"""More of what goes wrong when two halves are joined: empty ones, lost axes, a lost dtype."""

from functools import partial

import torch

from course_lib.attention import NOTHING
from course_lib.checks.question import Mistake
from course_lib.checks.tiling.merge_mistakes import blend, but_for, right, shares

_in_merge = partial(Mistake, reread='06, "Two memories become one"')


def _all_rows_at_once(out_a, lse_a, out_b, lse_b):
    if (lse_a == NOTHING).any():
        return out_b, lse_b
    if (lse_b == NOTHING).any():
        return out_a, lse_a
    return right(out_a, lse_a, out_b, lse_b)


def _in_place(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = shares(lse_a, lse_b, lse)
    out_a *= a[:, None]
    out_a += b[:, None] * out_b
    return out_a, lse


def _one_maximum_in_lse(lse_a, lse_b):
    top = torch.maximum(lse_a.max(), lse_b.max())
    return top + ((lse_a - top).exp() + (lse_b - top).exp()).log()


def _from(pick):
    """By the maximum, or what stands for it."""

    def run(out_a, lse_a, out_b, lse_b):
        top = pick(lse_a, lse_b)
        a, b = (lse_a - top).exp(), (lse_b - top).exp()
        return blend(out_a, out_b, a, b) / (a + b)[:, None], top + (a + b).log()

    return run


def _sum_without_log(lse_a, lse_b):
    top = torch.maximum(lse_a, lse_b)
    whole = top.masked_fill(top == NOTHING, 0)
    return top + (lse_a - whole).exp() + (lse_b - whole).exp()


def _all_in_base_2(out_a, lse_a, out_b, lse_b):
    lse = torch.logaddexp2(lse_a, lse_b)
    return blend(out_a, out_b, *shares(lse_a, lse_b, lse)), lse


def _small_number(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    whole = top.masked_fill(top == NOTHING, 0)
    a, b = (lse_a - whole).exp(), (lse_b - whole).exp()
    return blend(out_a, out_b, a, b) / (a + b + 1e-9)[:, None], top + (a + b + 1e-9).log()


def _axis_missing_below(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    a, b = (lse_a - top).exp(), (lse_b - top).exp()
    return blend(out_a, out_b, a, b) / (a + b), top + (a + b).log()


def _blended_lse(lse_a, lse_b):
    a, b = shares(lse_a, lse_b, torch.logaddexp(lse_a, lse_b))
    return a * lse_a + b * lse_b


def _clamped(out_a, lse_a, out_b, lse_b):
    return right(out_a, lse_a.clamp(-80, 80), out_b, lse_b.clamp(-80, 80))


def _nothing_as_0(lse):
    return lse.masked_fill(lse == NOTHING, 0)


SLIPS = (
    _in_merge(
        "NaN where both are empty",
        but_for(weigh=lambda a, b, lse: ((a - lse).exp(), (b - lse).exp())),
        "Where both halves have nothing to read, out is NaN: -inf minus -inf is NaN, and 0 / 0 is "
        "too. The lse is right there.",
        "Which step makes NaN of such a row, and what could stand there so that both shares are 0?",
    ),
    _in_merge(
        "out and lse NaN where both are empty",
        _from(torch.maximum),
        "Where both halves have nothing to read, out and lse are NaN: -inf minus -inf is NaN, also "
        "where the one is a maximum.",
        "What could stand for the maximum in such a row?",
    ),
    _in_merge(
        "a finite lse for nothing",
        but_for(lse=lambda a, b: _nothing_as_0(torch.logaddexp(a, b))),
        "Where both halves have nothing to read, the lse comes back as 0: the denominator would be "
        "1.",
        "Of which number is the lse of no keys the logarithm?",
    ),
    _in_merge(
        "an empty half counts",
        lambda a, lse_a, b, lse_b: right(a, _nothing_as_0(lse_a), b, _nothing_as_0(lse_b)),
        "An lse of -inf becomes 0 before anything is computed: a half with nothing to read counts "
        "as one key of score 0.",
        "Which share has a half whose lse is -inf, if it stays so?",
    ),
    _in_merge(
        "one empty row for all",
        _all_rows_at_once,
        "One query with nothing to read in a half, and the other half comes back for all queries.",
        "Do all queries have nothing to read in the same half?",
    ),
    _in_merge(
        "a missing axis",
        but_for(join=lambda a, b, share_a, share_b: share_a * a + share_b * b),
        "Shares [Tq] meet outputs [Tq, Dv] axis by axis from the right: they belong to columns, "
        "and where Tq and Dv are equal nothing complains.",
        "To which axis of the outputs does a share belong?",
    ),
    _in_merge(
        "a missing axis in the division",
        _axis_missing_below,
        "A sum of shares [Tq] divides outputs [Tq, Dv] axis by axis from the right: it belongs to "
        "columns, and where Tq and Dv are equal nothing complains.",
        "To which axis of the outputs does that sum belong?",
    ),
    _in_merge(
        "one maximum for all queries",
        _from(lambda a, b: torch.maximum(a.max(), b.max())),
        "One largest lse is taken from those of all queries. For a query far below it both "
        "exponentials are 0, and 0 / 0 is NaN.",
        "Of which two numbers must the larger be taken, for one query?",
    ),
    _in_merge(
        "lse blended like the outputs",
        but_for(lse=_blended_lse),
        "The two lse are blended by the shares. The result lies between them, and -inf spoils it.",
        "Does the sum over all keys lie between the sums over two parts?",
    ),
    _in_merge(
        "the logarithm of the sum of lse",
        but_for(lse=lambda a, b: (a + b).log()),
        "The new lse is the logarithm of a sum of two logarithms: NaN where that is negative.",
        "Of which two numbers is it the sum that the logarithm is taken of?",
    ),
    _in_merge(
        "lse clamped",
        _clamped,
        "The lse are clamped to 80 in size, so that exp stays finite. Two that lie beyond become "
        "equal, and nothing to read becomes something.",
        "What may be taken from both exponents without changing the shares?",
    ),
    _in_merge(
        "the lowest number for nothing",
        but_for(lse=lambda a, b: torch.logaddexp(a, b).clamp(min=torch.finfo(a.dtype).min)),
        "Where both halves have nothing to read, the lse comes back as the lowest number of its "
        "dtype.",
        "Of which number is the lse of no keys the logarithm?",
    ),
    _in_merge(
        "lse with one more axis",
        but_for(end=lambda out, lse: (out, lse[:, None])),
        "The lse comes back as [Tq, 1], and it came in as [Tq].",
        "Which shape would the next merge expect?",
    ),
    _in_merge(
        "out alone",
        but_for(end=lambda out, lse: out),
        "The output comes back alone.",
        "What would the next half need to know, to be joined to this?",
    ),
    _in_merge(
        "lse first",
        but_for(end=lambda out, lse: (lse, out)),
        "lse comes back before out.",
        "In which order does the task name the two?",
    ),
    _in_merge(
        "out_a written into",
        _in_place,
        "The numbers are right, and out_a is changed in place. The caller's own tensor changes.",
        "Which tensors did this function make itself, and which came from its caller?",
    ),
    _in_merge(
        "float32 always",
        lambda *given: right(*(part.float() for part in given)),
        "It computes in float32 and returns that, whatever comes in.",
        "Which line chooses a dtype of its own?",
    ),
    _in_merge(
        "one maximum for all queries, in the lse",
        but_for(lse=_one_maximum_in_lse),
        "For the lse, one largest number is taken from those of all queries. For a query far below "
        "it both exponentials are 0, and the logarithm of 0 is -inf.",
        "Of which two numbers must the larger be taken, for one query?",
    ),
    _in_merge(
        "the minimum taken out",
        _from(torch.minimum),
        "The smaller lse is taken from both: the other's exponential is 1 or more, and infinite "
        "where the two lie far apart.",
        "Which of the two, taken from both, keeps every exponential at 1 or below?",
    ),
    _in_merge(
        "the sum without its logarithm",
        but_for(lse=_sum_without_log),
        "To the larger lse the sum of the two shares' exponentials is added, without its "
        "logarithm.",
        "What is the logarithm of a product?",
    ),
    _in_merge(
        "another base in all",
        _all_in_base_2,
        "The two lse are joined as logarithms of base 2, and the shares are powers of e of them.",
        "Which base has the logarithm in lse?",
    ),
    _in_merge(
        "a small number in the sum",
        _small_number,
        "A small number is added to the sum of the exponentials: shares and lse lose digits that "
        "float64 holds.",
        "Which sum can't be 0, once the maximum is taken out and one half has read something?",
    ),
)

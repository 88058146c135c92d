"""More of what goes wrong when a tile is read: wrong sums, lost axes, arguments written into."""

from functools import partial

import torch

from course_lib.attention import NOTHING
from course_lib.checks.question import Mistake
from course_lib.checks.tiling.fold_mistakes import but_for, top

_in_row = partial(Mistake, reread='06, "One row, tile by tile"')
_in_order = partial(Mistake, reread='06, "Exact, in any order"')


def _added_in_place(row_max, row_sum, acc, scores, v):
    new = torch.maximum(row_max, top(scores))
    rescale, powers = (row_max - new).exp(), (scores - new).exp()
    row_sum *= rescale
    row_sum += powers.sum(-1, keepdim=True)
    acc *= rescale
    acc += powers @ v
    return new, row_sum, acc


def _acc_in_place(row_max, row_sum, acc, scores, v):
    return but_for(blend=lambda acc, r, p, v: acc.mul_(r).add_(p @ v))(
        row_max, row_sum, acc, scores, v
    )


def _written_in_scores(row_max, row_sum, acc, scores, v):
    return but_for(powers=lambda scores, new, old: scores.sub_(new).exp_())(
        row_max, row_sum, acc, scores, v
    )


def _one_axis_less(row_max, row_sum, acc, scores, v):
    new = torch.maximum(row_max, scores.amax(-1))
    rescale, powers = (row_max - new).exp(), (scores - new).exp()
    return new, rescale * row_sum + powers.sum(-1), rescale * acc + powers @ v


def _own_maximum_at_first(row_max, row_sum, acc, scores, v):
    first = bool((row_sum == 0).all())
    new = top(scores) if first else torch.maximum(row_max, top(scores))
    rescale = torch.zeros_like(new) if first else (row_max - new).exp()
    powers = (scores - new).exp()
    return new, rescale * row_sum + powers.sum(-1, keepdim=True), rescale * acc + powers @ v


def _lowest_as_nothing(row_max, row_sum, acc, scores, v):
    lowest = row_max == torch.finfo(row_max.dtype).min
    return but_for()(row_max.masked_fill(lowest, NOTHING), row_sum, acc, scores, v)


def _without_axes(row_max, row_sum, acc, scores, v):
    new, total, out = but_for()(row_max, row_sum, acc, scores, v)
    return new[:, 0], total[:, 0], out


def _maximum_or_0(old, scores):
    own = top(scores)
    return torch.maximum(old, own.masked_fill(own == NOTHING, 0))


def _where_it_rises(row_max, row_sum, acc, scores, v):
    new, total, out = but_for()(row_max, row_sum, acc, scores, v)
    rises = new > row_max
    return new, torch.where(rises, total, row_sum), torch.where(rises, out, acc)


WRITES = "The caller's own tensors change."
MINE = "Which tensors did this function make itself, and which came from its caller?"

SLIPS = (
    _in_order(
        "0 for the maximum of a blocked row",
        but_for(row_max=_maximum_or_0),
        "A row that is blocked in full counts as if its largest score were 0, so its row_max rises "
        "to 0 if it lay below.",
        "What should such a row's maximum be after the tile?",
    ),
    _in_order(
        "-inf before the first tile",
        _lowest_as_nothing,
        "The lowest number is turned into -inf. A row that has read nothing and is blocked is then "
        "rescaled by exp(-inf - -inf), which is NaN.",
        "Why does the memory start at the lowest number there is, and not at -inf?",
    ),
    _in_order(
        "the first tile treated apart",
        _own_maximum_at_first,
        "Where nothing has been read, the tile's own maximum is taken: that is -inf in a row that "
        "is blocked in full, and -inf minus -inf is NaN.",
        "What does the right step do with a row_max that is the lowest number there is?",
    ),
    _in_row(
        "row_sum shrunk after adding",
        but_for(total=lambda row_sum, r, p, s: r * (row_sum + p.sum(-1, keepdim=True))),
        "In row_sum the rescale multiplies old and new together. The new part already belongs to "
        "the new maximum.",
        "Which part of row_sum was made before the maximum rose?",
    ),
    _in_row(
        "acc shrunk twice",
        but_for(blend=lambda acc, r, p, v: r * r * acc + p @ v),
        "acc is multiplied by the rescale twice, and row_sum once.",
        "How often does the maximum rise in one tile?",
    ),
    _in_row(
        "row_max and row_sum without their axis",
        _without_axes,
        "row_max and row_sum come back as [Tq], and came in as [Tq, 1].",
        "Which shape does the next tile's row_max need beside acc [Tq, Dv]?",
    ),
    _in_row(
        "scores summed",
        but_for(total=lambda row_sum, r, p, s: r * row_sum + s.sum(-1, keepdim=True)),
        "To row_sum the scores are added, not their powers.",
        "What stands in the denominator of a softmax?",
    ),
    _in_row(
        "powers averaged",
        but_for(total=lambda row_sum, r, p, s: r * row_sum + p.mean(-1, keepdim=True)),
        "To row_sum the mean of the tile's powers is added: at most 1, however many keys it holds.",
        "What stands in the denominator of a softmax?",
    ),
    _in_row(
        "the tile not summed",
        but_for(total=lambda row_sum, r, p, s: r * row_sum),
        "row_sum shrinks, and the powers of this tile aren't added to it.",
        "Which keys must the denominator know of?",
    ),
    _in_row(
        "the sum of this tile alone",
        but_for(total=lambda row_sum, r, p, s: p.sum(-1, keepdim=True)),
        "row_sum is the sum over this tile; what was summed before is dropped.",
        "Which keys must the denominator know of?",
    ),
    _in_row(
        "acc of this tile alone",
        but_for(blend=lambda acc, r, p, v: p @ v),
        "acc holds this tile's values; what was read before is dropped.",
        "What did the tiles before this one leave in acc?",
    ),
    _in_row(
        "the tile forgets what came before",
        but_for(
            total=lambda row_sum, r, p, s: p.sum(-1, keepdim=True),
            blend=lambda acc, r, p, v: p @ v,
        ),
        "row_sum and acc are those of this tile; what was read before is dropped.",
        "Where does your code use the row_sum and acc that come in?",
    ),
    _in_row(
        "a softmax of each tile",
        but_for(powers=lambda scores, new, old: scores.softmax(-1)),
        "Each tile gets a softmax of its own, and adds 1 to row_sum however high or low its scores "
        "are.",
        "What does a tile's softmax still tell of how high its scores are?",
    ),
    _in_row(
        "powers of 2",
        but_for(
            rescale=lambda old, new, scores: (old - new).exp2(),
            powers=lambda scores, new, old: (scores - new).exp2(),
        ),
        "Powers and rescale are powers of 2. Kernels use them, with scores made larger to suit.",
        "Which base does a softmax have?",
    ),
    _in_row(
        "rescaled by a difference",
        but_for(rescale=lambda old, new, scores: old - new),
        "What was read before is multiplied by the difference of two maxima, which is 0 or less.",
        "By which factor does exp(score - row_max) change when row_max rises by 1?",
    ),
    _in_row(
        "rescaled by a ratio",
        but_for(rescale=lambda old, new, scores: old / new),
        "What was read before is multiplied by the ratio of two maxima. Scores stand in an "
        "exponent.",
        "By which factor does exp(score - row_max) change when row_max rises by 1?",
    ),
    _in_row(
        "the logarithm of the sum",
        but_for(end=lambda row_max, row_sum, acc: (row_max, row_max + row_sum.log(), acc)),
        "The second of the three is the logarithm of the denominator: that is lse, which is taken "
        "once, at the end.",
        "What does the next tile add its powers to?",
    ),
    _in_row(
        "an axis lost",
        _one_axis_less,
        "The largest score of each row loses its axis: [Tq] beside [Tq, 1] is [Tq, Tq].",
        "Which shape does row_max have, and which has the maximum over a row?",
    ),
    _in_row(
        "row_sum loses its axis",
        but_for(total=lambda row_sum, r, p, s: r * row_sum + p.sum(-1)),
        "The sum of the powers loses its axis: [Tq, 1] plus [Tq] is [Tq, Tq].",
        "Which shape does row_sum have, and which has the sum over a row?",
    ),
    _in_row(
        "row_sum and acc written into",
        _added_in_place,
        f"The numbers are right, and row_sum and acc are changed in place. {WRITES}",
        MINE,
    ),
    _in_row(
        "acc written into",
        _acc_in_place,
        f"The numbers are right, and acc is changed in place. {WRITES}",
        MINE,
    ),
    _in_row(
        "scores written into",
        _written_in_scores,
        f"The numbers are right, and scores is changed in place. {WRITES}",
        MINE,
    ),
    _in_row(
        "exponentials divided",
        but_for(
            rescale=lambda old, new, scores: old.exp() / new.exp(),
            powers=lambda scores, new, old: scores.exp() / new.exp(),
        ),
        "Exponentials are divided by exponentials. Near 1000 both are infinite, near -1000 both "
        "are 0, and the quotient is NaN.",
        "What can be done with two exponents before the exponential is taken?",
    ),
    _in_row(
        "added only where the maximum rises",
        _where_it_rises,
        "Where a tile doesn't raise the maximum, row_sum and acc stay as they were: its keys "
        "aren't read.",
        "What does a key add whose score lies below row_max?",
    ),
    _in_row(
        "powers summed over the queries",
        but_for(total=lambda row_sum, r, p, s: r * row_sum + p.sum(0)),
        "The powers are summed over the queries: one sum for each key comes out, not one for each "
        "query.",
        "Along which axis do the scores of one query lie?",
    ),
)

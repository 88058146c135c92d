"""What people really write to read one more tile when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_row = partial(Mistake, reread='06, "One row, tile by tile"')
_in_order = partial(Mistake, reread='06, "Exact, in any order"')


def top(scores: Tensor) -> Tensor:
    """The largest score of each row."""
    return scores.amax(-1, keepdim=True)


def _added(old: Tensor, rescale: Tensor, new: Tensor) -> Tensor:
    return rescale * old + new


def but_for(
    row_max: Callable = lambda old, scores: torch.maximum(old, top(scores)),
    rescale: Callable = lambda old, new, scores: (old - new).exp(),
    powers: Callable = lambda scores, new, old: (scores - new).exp(),
    total: Callable = lambda row_sum, rescale, p, s: _added(row_sum, rescale, p.sum(-1)[:, None]),
    blend: Callable = lambda acc, rescale, p, v: _added(acc, rescale, p @ v),
    end: Callable = lambda row_max, row_sum, acc: (row_max, row_sum, acc),
) -> Callable:
    """The right way to read a tile, but for what is given."""

    def run(old, row_sum, acc, scores, v):
        new = row_max(old, scores)
        r, p = rescale(old, new, scores), powers(scores, new, old)
        return end(new, total(row_sum, r, p, scores), blend(acc, r, p, v))

    return run


def _of_scores(arrange: Callable[[Tensor], Tensor]) -> Callable:
    """The right way with other scores."""
    right = but_for()
    return lambda m, total, acc, scores, v: right(m, total, acc, arrange(scores), v)


def _old_maximum(row_max, row_sum, acc, scores, v):
    return row_max, *but_for()(row_max, row_sum, acc, scores, v)[1:]


def _divided_each_time(row_max, row_sum, acc, scores, v):
    new = torch.maximum(row_max, top(scores))
    old_sum = (row_max - new).exp() * row_sum
    powers = (scores - new).exp()
    total = old_sum + powers.sum(-1, keepdim=True)
    return new, total, (old_sum * acc + powers @ v) / total


def _by_its_own_maximum(row_max, row_sum, acc, scores, v):
    own = top(scores)
    powers = (scores - own).exp()
    new = torch.maximum(row_max, own)
    before, now = (row_max - new).exp(), (own - new).exp()
    total = before * row_sum + now * powers.sum(-1, keepdim=True)
    return new, total, before * acc + now * (powers @ v)


_kept = {"total": lambda row_sum, r, p, s: row_sum + p.sum(-1, keepdim=True)}
_acc_kept = {"blend": lambda acc, r, p, v: acc + p @ v}

MISTAKES = (
    _in_row(
        "acc not rescaled",
        but_for(**_acc_kept),
        "row_sum shrinks to the new maximum, and acc is added to as it is. The two then count in "
        "different units.",
        "Which number was each part of acc divided by when it went in?",
    ),
    _in_row(
        "row_sum not rescaled",
        but_for(**_kept),
        "acc shrinks to the new maximum, and row_sum is added to as it is. The two then count in "
        "different units.",
        "Which maximum was taken from the scores that row_sum adds up?",
    ),
    _in_row(
        "nothing rescaled",
        but_for(**_kept, **_acc_kept),
        "What was read before stays as large as it was, while the new powers are those of scores "
        "minus a higher maximum.",
        "If the maximum rises by 1, how much too large is what was summed before?",
    ),
    _in_row(
        "the new powers shrunk too",
        but_for(
            total=lambda row_sum, r, p, s: r * (row_sum + p.sum(-1, keepdim=True)),
            blend=lambda acc, r, p, v: r * (acc + p @ v),
        ),
        "The rescale multiplies old and new together. The new powers are already those of the new "
        "maximum.",
        "Which of the two was made before the maximum rose?",
    ),
    _in_row(
        "acc shrunk after adding",
        but_for(blend=lambda acc, r, p, v: r * (acc + p @ v)),
        "In acc the rescale multiplies old and new together. The new part already belongs to the "
        "new maximum.",
        "Which part of acc was made before the maximum rose?",
    ),
    _in_row(
        "rescale upside down",
        but_for(rescale=lambda old, new, scores: (new - old).exp()),
        "The rescale is the exponential of new minus old. It is 1 or more, so what was read before "
        "grows where the maximum rises.",
        "Should old powers get larger or smaller when a larger score arrives?",
    ),
    _in_row(
        "acc upside down",
        but_for(blend=lambda acc, r, p, v: acc / r + p @ v),
        "acc is divided by the factor that row_sum is multiplied by. One line of the "
        "FlashAttention-2 paper prints it so.",
        "Should acc get larger or smaller when a larger score arrives?",
    ),
    _in_row(
        "maximum of the tile alone",
        but_for(row_max=lambda old, scores: top(scores)),
        "The new row_max is the largest score of this tile. Where the tile lies lower, row_max "
        "falls and what was read before is blown up; a blocked row gives NaN.",
        "Of which scores is row_max the largest?",
    ),
    _in_row(
        "the old maximum comes back",
        _old_maximum,
        "row_sum and acc belong to the new maximum, and row_max comes back as it came in.",
        "Which maximum must the next tile know to rescale by?",
    ),
    _in_row(
        "the old maximum is kept",
        but_for(row_max=lambda old, scores: old),
        "row_max never changes. Before the first tile it is the lowest number there is, and scores "
        "minus that are huge.",
        "What happens to row_max when a tile holds a larger score?",
    ),
    _in_row(
        "powers of the old maximum",
        but_for(powers=lambda scores, new, old: (scores - old).exp()),
        "The powers are of scores minus the maximum that came in. Before the first tile that is "
        "the lowest number there is, and the powers are infinite.",
        "Which maximum makes every power at most 1?",
    ),
    _in_row(
        "powers of the tile's maximum",
        but_for(powers=lambda scores, new, old: (scores - top(scores)).exp()),
        "The powers are of scores minus the tile's own maximum, and are added to sums of another "
        "one.",
        "If the tile's largest score lies below row_max, may its power be 1?",
    ),
    _in_row(
        "rescaled by the tile's maximum",
        but_for(rescale=lambda old, new, scores: (old - top(scores)).exp()),
        "The rescale compares the old maximum with the tile's. Where the tile lies lower, that "
        "blows up what was read before, though row_max stays.",
        "By how much does row_max change where the tile lies lower?",
    ),
    _in_row(
        "no maximum",
        but_for(powers=lambda scores, new, old: scores.exp(), rescale=lambda old, new, scores: 1.0),
        "The powers are of the scores as they are. row_max is found, and nothing uses it.",
        "What is the exponential of 1000 in float32?",
    ),
    _in_order(
        "maximum from 0",
        but_for(row_max=lambda old, scores: torch.maximum(old, top(scores)).clamp(min=0)),
        "row_max is never below 0. Where all scores are very negative, every power is 0.",
        "What is the largest of -1000 and -1001?",
    ),
    _in_order(
        "maximum of sizes",
        but_for(row_max=lambda old, scores: torch.maximum(old, top(scores.abs()))),
        "row_max is the largest score without its sign. Where scores are very negative, every "
        "power is 0, and a blocked score makes it infinite.",
        "Which is larger, -1000 or 1?",
    ),
    _in_row(
        "one maximum for all rows",
        but_for(row_max=lambda old, scores: torch.maximum(old, scores.max())),
        "All rows are compared with the largest score of the whole tile. A row far below it "
        "has powers of 0.",
        "Along which axis do the scores of one query lie?",
    ),
    _in_row(
        "one sum for all rows",
        but_for(total=lambda row_sum, r, p, s: r * row_sum + p.sum()),
        "To each row_sum the powers of the whole tile are added.",
        "Along which axis do the scores of one query lie?",
    ),
    _in_row(
        "divided on the way",
        but_for(end=lambda row_max, row_sum, acc: (row_max, row_sum, acc / row_sum)),
        "acc comes back divided by row_sum, and the next tile adds what isn't divided.",
        "After which tile is the sum complete?",
    ),
    _in_row(
        "divided after every tile",
        _divided_each_time,
        "acc is multiplied by the old row_sum and divided by the new one: it is the output so far. "
        "Divided by row_sum at the end, it is divided twice.",
        "After which tile is the division due, if acc is a plain sum?",
    ),
    _in_order(
        "the tile's powers first",
        _by_its_own_maximum,
        "A row that is blocked in full gets NaN: the tile's own maximum is -inf there, and -inf "
        "minus -inf is NaN.",
        "Which maximum is finite in every row, blocked or not?",
    ),
    _in_order(
        "blocked scores made finite",
        _of_scores(lambda scores: scores.clamp(min=torch.finfo(scores.dtype).min)),
        "Blocked scores become the lowest number there is. A row that has read nothing has that as "
        "its maximum too, so each of its blocked keys gets the power 1.",
        "What does exp make of the lowest number minus itself, and what of -inf minus it?",
    ),
    _in_order(
        "blocked scores made 0",
        _of_scores(lambda scores: scores.masked_fill(scores.isinf(), 0)),
        "A blocked score becomes 0, and 0 is a score like any other: its key is read.",
        "Which score has the power 0?",
    ),
    _in_order(
        "float32 always",
        lambda *given: but_for()(*(x.float() for x in given)),
        "It computes in float32 and returns that, whatever comes in.",
        "Which line chooses a dtype of its own?",
    ),
    _in_row(
        "powers of the old maximum, then shrunk",
        but_for(
            powers=lambda scores, new, old: (scores - old).exp(),
            total=lambda row_sum, r, p, s: r * (row_sum + p.sum(-1, keepdim=True)),
            blend=lambda acc, r, p, v: r * (acc + p @ v),
        ),
        "The powers are of scores minus the maximum that came in. Before the first tile that is "
        "the lowest number there is: they are infinite, the rescale is 0, and the product is NaN.",
        "Which maximum makes every power at most 1?",
    ),
)

"""What people really write for one step of the loop when its sums go wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import torch

from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

LOG2E = 1.4426950408889634
BLOCKED = float("-inf")

_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')
_in_ladder = partial(Mistake, reread='07, "A product in tiles"')


def product(powers: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Powers times values, by the matrix units."""
    return tl.dot(powers.to(v.dtype), v)


def by_rows(start: int, lanes: torch.Tensor, dims: torch.Tensor, *_: int) -> torch.Tensor:
    """Where the numbers of a tile of keys stand, from the beginning of k or v."""
    return (start + lanes[:, None]) * len(dims) + dims[None, :]


RIGHT = {
    "keys": by_rows,
    "values": by_rows,
    "inside": lambda start, lanes, Tk: start + lanes < Tk,
    "q_mask": lambda rows, Tk: None,
    "k_mask": lambda inside: inside[:, None],
    "v_mask": lambda inside: inside[:, None],
    "k_other": {"other": 0.0},
    "v_other": {"other": 0.0},
    "scale": lambda scale, Dh: scale,
    "products": lambda q, k: tl.dot(q, tl.trans(k)),
    "scores": lambda scores, inside: tl.where(inside[None, :], scores, BLOCKED),
    "maximum": lambda old, scores, *_: tl.maximum(old, tl.max(scores, 1)),
    "rescale": lambda old, new, *_: tl.exp(old - new),
    "powers": lambda scores, new, *_: tl.exp(scores - new[:, None]),
    "total": lambda row_sum, r, p, scores: row_sum * r + tl.sum(p, 1),
    "blend": lambda acc, r, p, v: acc * r[:, None] + product(p, v),
    "end": lambda row_max, row_sum, acc: (row_max, row_sum, acc),
}


def but_for(**changed: object) -> Callable:
    """The right step, but for what is given."""
    way = SimpleNamespace(**RIGHT | changed)

    def run(q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, *numbers):
        start, Tk, scale, Dh, BLOCK_Q, BLOCK_K = numbers
        rows, lanes, dims = tl.arange(0, BLOCK_Q), tl.arange(0, BLOCK_K), tl.arange(0, Dh)
        tile = rows[:, None] * Dh + dims[None, :]
        inside = way.inside(start, lanes, Tk)
        keys, values = (at(start, lanes, dims, Tk) for at in (way.keys, way.values))
        q = tl.load(q_ptr + tile, mask=way.q_mask(rows[:, None], Tk), other=0.0)
        k = tl.load(k_ptr + keys, mask=way.k_mask(inside), **way.k_other)
        v = tl.load(v_ptr + values, mask=way.v_mask(inside), **way.v_other)
        old, row_sum = tl.load(max_ptr + rows), tl.load(sum_ptr + rows)
        scores = way.scores(way.products(q, k) * way.scale(scale, Dh), inside)
        new = way.maximum(old, scores, inside, scale)
        r, p = way.rescale(old, new, scale), way.powers(scores, new, scale, old)
        row_sum = way.total(row_sum, r, p, scores)
        acc = way.blend(tl.load(acc_ptr + tile), r, p, v)
        found = way.end(new, row_sum, acc)
        places = (max_ptr + rows, sum_ptr + rows, acc_ptr + tile)
        for place, value in zip(places, found, strict=True):
            if value is not None:
                tl.store(place, value)

    return run


_sum_kept = {"total": lambda row_sum, r, p, scores: row_sum + tl.sum(p, 1)}
_acc_kept = {"blend": lambda acc, r, p, v: acc + product(p, v)}
_sum_new = {"total": lambda row_sum, r, p, scores: tl.sum(p, 1)}
_acc_new = {"blend": lambda acc, r, p, v: product(p, v)}
_twos = {
    "rescale": lambda old, new, *_: tl.exp2(old - new),
    "powers": lambda scores, new, *_: tl.exp2(scores - new[:, None]),
}
_in_twos = {**_twos, "scale": lambda scale, Dh: scale * LOG2E}


def _divided(row_max, row_sum, acc):
    return row_max, row_sum, acc / row_sum[:, None]


UNITS = "To which maximum does each of the two numbers that you add belong?"

MISTAKES = (
    _beside(
        "acc not rescaled",
        but_for(**_acc_kept),
        "row_sum shrinks to the new maximum, and acc is added to as it is. The two then belong to "
        "different maxima.",
        UNITS,
    ),
    _beside(
        "row_sum not rescaled",
        but_for(**_sum_kept),
        "acc shrinks to the new maximum, and row_sum is added to as it is. The two then belong to "
        "different maxima.",
        UNITS,
    ),
    _beside(
        "nothing rescaled",
        but_for(**_sum_kept, **_acc_kept),
        "What was read before stays as large as it was: nothing shrinks it, or a factor does that "
        "was made when the old maximum was already overwritten, and is 1.",
        "When is the old maximum last needed?",
    ),
    _beside(
        "the new powers shrunk too",
        but_for(
            total=lambda row_sum, r, p, scores: (row_sum + tl.sum(p, 1)) * r,
            blend=lambda acc, r, p, v: (acc + product(p, v)) * r[:, None],
        ),
        "The factor multiplies old and new together. The new powers already belong to the new "
        "maximum.",
        UNITS,
    ),
    _beside(
        "the factor upside down",
        but_for(rescale=lambda old, new, *_: tl.exp(new - old)),
        "The factor is the exponential of new minus old: what was read before grows where it "
        "should shrink.",
        "Can a higher maximum make an old power larger?",
    ),
    _beside(
        "the tile's own maximum",
        but_for(maximum=lambda old, scores, *_: tl.max(scores, 1)),
        "The maximum is that of the tile alone. Where the tile's scores are lower than those "
        "before, row_max falls.",
        "Of which keys is row_max the largest score?",
    ),
    _beside(
        "powers of the tile's maximum",
        but_for(powers=lambda scores, new, *_: tl.exp(scores - tl.max(scores, 1)[:, None])),
        "From the tile's scores the tile's own maximum is taken, and what was read before is "
        "rescaled to the larger of the two.",
        UNITS,
    ),
    _beside(
        "the old maximum in the powers",
        but_for(powers=lambda scores, new, scale, old: tl.exp(scores - old[:, None])),
        "From the tile's scores the old maximum is taken. On the first tile that is the lowest "
        "float32, and the powers are infinite.",
        UNITS,
    ),
    _beside(
        "no maximum",
        but_for(powers=lambda scores, *_: tl.exp(scores)),
        "The new powers are those of the scores as they are. Large scores overflow, and old and "
        "new don't fit together.",
        "What is taken off a score before its exponential?",
    ),
    _beside(
        "only this tile",
        but_for(**_sum_new, **_acc_new),
        "row_sum and acc hold this tile alone. What was read before is lost.",
        "Where does your code add to what stood in memory?",
    ),
    _beside(
        "acc of this tile alone",
        but_for(**_acc_new),
        "acc holds this tile alone, and row_sum all tiles.",
        "Where is acc read from memory?",
    ),
    _beside(
        "row_sum of this tile alone",
        but_for(**_sum_new),
        "row_sum holds this tile alone, and acc all tiles.",
        "Where is row_sum read from memory?",
    ),
    _beside(
        "divided each time",
        but_for(end=_divided),
        "acc is stored divided by row_sum, and the next tile adds to it as if it weren't.",
        "After which tile does the task divide?",
    ),
    _beside(
        "powers of two for powers of e",
        but_for(**_twos),
        "exp2 is taken of the scores as they are. 2 to a score isn't e to it, so larger scores "
        "count for too little.",
        "By which number must an exponent grow when e becomes 2?",
    ),
    _beside(
        "row_max in another unit",
        but_for(**_in_twos),
        "row_max comes back 1.44 times as large as the largest score: it counts in powers of two. "
        "The one that came in counts in powers of e.",
        "In which unit must the next step find row_max?",
    ),
    _beside(
        "a maximum in e, powers of two",
        but_for(powers=lambda scores, new, *_: tl.exp2(scores * LOG2E - new[:, None])),
        "The scores are turned to powers of two and the maximum that is taken from them isn't.",
        "By which number must both grow when e becomes 2?",
    ),
    _beside(
        "powers of e for powers of two",
        but_for(scale=_in_twos["scale"]),
        "The scores are multiplied by log2(e), as for powers of two, and then powers of e are "
        "taken.",
        "Which base do your exponentials have?",
    ),
    _beside(
        "row_max of the products",
        but_for(
            maximum=lambda old, scores, _, scale: tl.maximum(old, tl.max(scores, 1) / scale),
            powers=lambda scores, new, scale, *_: tl.exp(scores - (new * scale)[:, None]),
            rescale=lambda old, new, scale: tl.exp((old - new) * scale),
        ),
        "row_max is the largest product, and the scale comes after it. The one that came in is "
        "that of scaled scores.",
        "In which unit must the next step find row_max?",
    ),
    _beside(
        "nothing is remembered",
        but_for(**_sum_new, **_acc_new, maximum=lambda old, scores, *_: tl.max(scores, 1)),
        "All three are those of this tile alone. What stood in memory is lost.",
        "Which three are read from memory before the tile is?",
    ),
    _beside(
        "powers stay float32",
        but_for(blend=lambda acc, r, p, v: acc * r[:, None] + tl.dot(p, v)),
        "The powers are float32 and v may be half as wide. `tl.dot` multiplies two tiles of one "
        "dtype.",
        "Which of the two can be turned into the dtype of the other?",
    ),
    _beside(
        "acc half as wide",
        but_for(blend=lambda acc, r, p, v: (acc * r[:, None] + product(p, v)).to(v.dtype)),
        "acc is turned into v's dtype before it is stored. In bfloat16 a sum of 300 is known to 1 "
        "at best.",
        "Which dtype does the task give acc?",
    ),
    _in_ladder(
        "k not turned",
        but_for(products=lambda q, k: tl.dot(q, k)),
        "`tl.dot` gets q [BLOCK_Q, Dh] and k [BLOCK_K, Dh] as they are. The inner sides differ.",
        "Which side of k must stand first?",
    ),
)

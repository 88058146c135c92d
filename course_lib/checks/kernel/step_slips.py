"""More of what goes wrong in one step: addresses, tails, scales, and what isn't stored."""

from functools import partial

from course_lib.checks.kernel.step_mistakes import but_for, by_rows, product
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')
_in_copy = partial(Mistake, reread='07, "Copy, with a tail"')

_zeros = {"scores": lambda scores, inside: scores}
_all = {"k_mask": lambda inside: None, "v_mask": lambda inside: None}


def from_0(start, lanes, dims):
    """The same tile's addresses without start."""
    return by_rows(0, lanes, dims)


def _numbers_on(start, lanes, dims):
    return start + by_rows(0, lanes, dims)


def _twice_on(start, lanes, dims):
    return by_rows(2 * start, lanes, dims)


def too_wide(start, lanes, dims):
    """Addresses in which a row takes as many numbers as the tile has rows."""
    return (start + lanes[:, None]) * len(lanes) + dims[None, :]


def _over_the_wrong_axis(old, scores, *_):
    return tl.maximum(old, tl.max(scores, 0))


def _with_zeros(old, scores, inside, scale):
    return tl.maximum(old, tl.max(tl.where(inside[None, :], scores, 0.0), 1))


TAIL = "What should a score be so that its power is 0 and the maximum isn't touched?"
LANES = "Which lanes of the last tile are keys?"
ADDRESS = "At which element does row j of the tile begin in memory?"

SLIPS = (
    _in_copy(
        "a tail of zeros",
        but_for(**_zeros),
        "Lanes beyond the last key keep the score that a row of zeros has: 0. Each adds a power to "
        "row_sum, and 0 may become the maximum.",
        TAIL,
    ),
    _in_copy(
        "a tail in the maximum",
        but_for(maximum=_with_zeros),
        "Lanes beyond the last key count as 0 in the maximum, so a row whose scores are all "
        "negative gets row_max 0.",
        TAIL,
    ),
    _in_copy(
        "no mask",
        but_for(**_all, **_zeros),
        "The last tile has fewer keys than lanes, and all lanes are loaded and counted. Behind the "
        "keys the memory ends or belongs to others.",
        LANES,
    ),
    _in_copy(
        "scores masked, loads not",
        but_for(**_all),
        "Lanes beyond the last key get no power, and yet k is loaded there. Where the memory ends, "
        "that load fails.",
        LANES,
    ),
    _in_copy(
        "v loaded without a mask",
        but_for(v_mask=_all["v_mask"]),
        "k is loaded under a mask and v without one.",
        LANES,
    ),
    _in_copy(
        "lanes without a number",
        but_for(other={}),
        "The lanes of v that the mask turns off get no number in the load, so they hold anything. "
        "A power of 0 times NaN is NaN.",
        "What should v be where there is no key?",
    ),
    _in_copy(
        "one key too many",
        but_for(inside=lambda start, lanes, Tk: start + lanes <= Tk),
        "The mask lets in one lane too many: key Tk.",
        "Which number has the last of Tk keys, if the first is 0?",
    ),
    _beside(
        "start missing everywhere",
        but_for(keys=from_0, values=from_0, inside=lambda start, lanes, Tk: lanes < Tk),
        "Each step loads and counts the first BLOCK_K keys again, whatever start is.",
        ADDRESS,
    ),
    _beside(
        "start twice",
        but_for(keys=_twice_on, values=_twice_on),
        "The addresses go on by start twice: once in the number of the key, and once beside it.",
        ADDRESS,
    ),
    _beside(
        "start missing in the addresses",
        but_for(keys=from_0, values=from_0),
        "The mask knows start, and the addresses don't: each step loads the first keys and values.",
        ADDRESS,
    ),
    _beside(
        "start missing in v's address",
        but_for(values=from_0),
        "k is loaded from start on, and v from the beginning.",
        ADDRESS,
    ),
    _beside(
        "start counted in numbers",
        but_for(keys=_numbers_on, values=_numbers_on),
        "start is added to the addresses as it is. A tile begins start keys further on, and a key "
        "has Dh numbers.",
        ADDRESS,
    ),
    _in_copy(
        "rows as far apart as the tile is high",
        but_for(keys=too_wide, values=too_wide),
        "In the addresses of k and v one row begins BLOCK_K numbers behind the other.",
        "How many numbers has one key?",
    ),
    _beside(
        "the scale twice",
        but_for(scale=lambda scale, Dh: scale * scale),
        "The products are multiplied by the scale twice.",
        "Where does scale stand in your code?",
    ),
    _beside(
        "no scale",
        but_for(scale=lambda scale, Dh: 1.0),
        "The products stand for the scores, and the scale isn't used.",
        "What is a score, beside q times k?",
    ),
    _beside(
        "a scale of its own",
        but_for(scale=lambda scale, Dh: Dh**-0.5),
        "The scale is made from Dh. The caller gives another.",
        "Which argument holds the scale?",
    ),
    _beside(
        "row_max not stored",
        but_for(end=lambda row_max, row_sum, acc: (None, row_sum, acc)),
        "row_max isn't written back, so the next step finds the old one.",
        "What do row_sum and acc belong to when the step has ended?",
    ),
    _beside(
        "scores summed",
        but_for(total=lambda row_sum, r, p, scores: row_sum * r + tl.sum(scores, 1)),
        "To row_sum the scores are added, not their powers.",
        "What does the denominator of a softmax add up?",
    ),
    _beside(
        "the largest of each key",
        but_for(maximum=_over_the_wrong_axis),
        "BLOCK_K numbers meet BLOCK_Q numbers: a maximum or a sum was taken over the queries, one "
        "for each key. row_max and row_sum have one for each query.",
        "Which axis of a tile of scores has to vanish?",
    ),
    _beside(
        "the factor along the features",
        but_for(blend=lambda acc, r, p, v: acc * r[None, :] + product(p, v)),
        "The factor meets acc along its features, as [1, BLOCK_Q].",
        "Along which axis of acc do the queries stand?",
    ),
)

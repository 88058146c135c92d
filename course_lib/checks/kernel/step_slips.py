"""More of what goes wrong in one step: addresses, tails, scales, and what isn't stored."""

from functools import partial

from course_lib.checks.kernel.step_mistakes import but_for, by_rows, product
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')
_in_copy = partial(Mistake, reread='07, "Copy, with a tail"')

_zeros = {"scores": lambda scores, inside: scores}
_all = {"k_mask": lambda inside: None, "v_mask": lambda inside: None}


def from_0(start, lanes, dims, *_):
    """The same tile's addresses without start."""
    return by_rows(0, lanes, dims)


def _numbers_on(start, lanes, dims, *_):
    return start + by_rows(0, lanes, dims)


def _tiles_on(start, lanes, dims, *_):
    return by_rows(start * len(lanes), lanes, dims)


def _as_far_as_all(start, lanes, dims, Tk):
    return (start + lanes[:, None]) * Tk + dims[None, :]


def _to_the_end(*given):
    """Step after step, from start to Tk."""
    *tensors, start, Tk, scale, Dh, BLOCK_Q, BLOCK_K = given
    for at in range(start, Tk, BLOCK_K):
        but_for()(*tensors, at, Tk, scale, Dh, BLOCK_Q, BLOCK_K)


def _over_the_wrong_axis(old, scores, *_):
    return tl.maximum(old, tl.max(scores, 0))


def _with_zeros(old, scores, inside, scale):
    return tl.maximum(old, tl.max(tl.where(inside[None, :], scores, 0.0), 1))


TAIL = "What should a score be so that its power is 0 and the maximum isn't touched?"
LANES = "Which lanes of the last tile are keys?"
ONE_AXIS = "Which axis of a tile of scores has to vanish?"
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
        "The last tile has fewer keys than lanes, and all lanes are loaded and counted. There is "
        "no mask, or one that compares the lane with Tk, and not the key.",
        "Which key is lane 0 of this tile, and which lanes are keys?",
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
        but_for(k_other={}, v_other={}),
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
    _in_copy(
        "k filled with -inf",
        but_for(k_other={"other": float("-inf")}, **_zeros),
        "Lanes beyond the last key hold a k of -inf. A query has positive and negative numbers, so "
        "its products with them add up to NaN.",
        TAIL,
    ),
    _in_copy(
        "queries under the keys' mask",
        but_for(q_mask=lambda rows, Tk: rows < Tk),
        "Queries from number Tk on are loaded as zeros. Tk counts keys; all BLOCK_Q queries are "
        "there.",
        "Which of the three matrices has Tk rows?",
    ),
    _beside(
        "start missing everywhere",
        but_for(keys=from_0, values=from_0, inside=lambda start, lanes, Tk: lanes < Tk),
        "Each step loads and counts the first BLOCK_K keys again, whatever start is.",
        ADDRESS,
    ),
    _beside(
        "start counted in tiles",
        but_for(
            keys=_tiles_on,
            values=_tiles_on,
            inside=lambda start, lanes, Tk: start * len(lanes) + lanes < Tk,
        ),
        "start is multiplied by BLOCK_K, as if it counted tiles.",
        "What is start for the second tile: 1, or a key?",
    ),
    _beside(
        "all the tiles from start on",
        _to_the_end,
        "The step goes on from start to Tk. The caller asks for one tile, and calls again.",
        "How many keys does one step fold in?",
    ),
    _beside(
        "start missing in the addresses",
        but_for(keys=from_0, values=from_0),
        "The mask knows start, and the addresses don't: each step loads the first keys and values.",
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
        "rows Tk apart",
        but_for(keys=_as_far_as_all, values=_as_far_as_all),
        "In the addresses of k and v one row begins Tk numbers behind the other.",
        "How many numbers has one key?",
    ),
    _in_copy(
        "k's rows Tk apart",
        but_for(keys=_as_far_as_all),
        "In the addresses of k one row begins Tk numbers behind the other, and in those of v Dh.",
        "How many numbers has one key?",
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
        "row_max isn't written back, or the old one is. The next step finds the old one.",
        "What do row_sum and acc belong to when the step has ended?",
    ),
    _beside(
        "nothing stored",
        but_for(end=lambda row_max, row_sum, acc: (None, None, None)),
        "The three stand in memory as before. What a kernel returns goes nowhere.",
        "How did the copy's numbers get to out?",
    ),
    _beside(
        "a logarithm in row_max",
        but_for(end=lambda row_max, row_sum, acc: (row_max + tl.log(row_sum), row_sum, acc)),
        "row_max is stored with the logarithm of row_sum added: the lse, which ends a loop. The "
        "next step needs the maximum.",
        "To what do row_sum and acc belong when the next step reads them?",
    ),
    _beside(
        "one maximum for all queries",
        but_for(maximum=lambda old, scores, *_: tl.maximum(old, tl.max(scores))),
        "The tile's maximum is one number, taken over queries and keys. Each query has its own.",
        ONE_AXIS,
    ),
    _beside(
        "one sum for all queries",
        but_for(total=lambda row_sum, r, p, scores: row_sum * r + tl.sum(p)),
        "To row_sum one number is added, summed over queries and keys. Each query has its own.",
        ONE_AXIS,
    ),
    _beside(
        "the maximum along the keys",
        but_for(powers=lambda scores, new, *_: tl.exp(scores - new[None, :])),
        "The maximum meets the scores along their keys: as [BLOCK_Q] it is lined up with the last "
        "axis.",
        "Along which axis of the scores do the queries stand?",
    ),
    _beside(
        "the largest of each key",
        but_for(maximum=_over_the_wrong_axis),
        "BLOCK_K numbers meet BLOCK_Q numbers: a maximum or a sum was taken over the queries, one "
        "for each key. row_max and row_sum have one for each query.",
        ONE_AXIS,
    ),
    _beside(
        "the factor along the features",
        but_for(blend=lambda acc, r, p, v: acc * r[None, :] + product(p, v)),
        "The factor meets acc along its features, as [1, BLOCK_Q].",
        "Along which axis of acc do the queries stand?",
    ),
)

"""More of what goes wrong in tiles: where they are cut, what comes out, and what is too large."""

from collections.abc import Callable
from functools import partial

import torch

from course_lib.checks.question import Mistake
from course_lib.checks.tiling.tiled_mistakes import but_for, folding

_large = partial(Mistake, reread='06, "How large T x T is"')
_in_row = partial(Mistake, reread='06, "One row, tile by tile"')
_in_order = partial(Mistake, reread='06, "Exact, in any order"')

_right = but_for()
_LOWEST = torch.finfo(torch.float32).min


def _whole(T: int, block: int) -> list[slice]:
    """The tiles that are full."""
    return [slice(i * block, (i + 1) * block) for i in range(T // block)]


def _in_one(guard: bool = True) -> Callable:
    """All scores of the call at once."""

    def run(q, k, v, block_q, block_k, is_causal):
        s = q @ k.T * q.shape[1] ** -0.5
        ahead = torch.arange(len(k)) > torch.arange(len(q))[:, None] + len(k) - len(q)
        weights = s.masked_fill(ahead & is_causal, -torch.inf).softmax(-1)
        return (weights.nan_to_num(0) if guard else weights) @ v

    return run


def _mask_at_once(q, k, v, block_q, block_k, is_causal):
    mask = torch.arange(len(k)) > torch.arange(len(q))[:, None] + len(k) - len(q)
    run = but_for(ahead=lambda t: mask[t.rows, t.cols])
    return run(q, k, v, block_q, block_k, is_causal)


def _other_blocks(block_of: Callable) -> Callable:
    """The right computation in tiles of another size."""

    def run(q, k, v, block_q, block_k, is_causal):
        return _right(q, k, v, *block_of(len(q), len(k), block_q, block_k), is_causal)

    return run


def _share_or_nan(m, total, acc):
    return acc / total


def _finished(m, count, acc, s, v):
    return m, count + 1, acc + s.softmax(-1) @ v


def _nan_if_blocked(m, total, acc, s, v):
    m, total, acc = folding()(m, total, acc, s, v)
    return m, total, acc + 0 * s.amax(-1, keepdim=True)  # 0, or NaN of -inf


def _added_first(m, total, acc, s, v):
    new = torch.maximum(m, s.amax(-1, keepdim=True))
    rescale, p = (m - new).exp(), (s - new).exp()
    return new, (total + p.sum(-1, keepdim=True)) * rescale, (acc + p @ v) * rescale


def _finite(*state_scores_v):
    *state, s, v = state_scores_v
    return folding()(*state, s.clamp_min(_LOWEST), v)


SLIPS = (
    _in_order(
        "full tiles alone",
        but_for(cuts=lambda Tq, Tk, bq, bk: (_whole(Tq, bq), _whole(Tk, bk))),
        "Only full tiles are visited: the queries and keys after the last of them are left out.",
        "How many tiles do 11 keys need in blocks of 4, and what does T // block give?",
    ),
    _in_order(
        "NaN for nothing read",
        but_for(end=_share_or_nan),
        "A query that may read nothing gets NaN.",
        "Where does its first NaN arise: in 0 / 0, or in -inf less -inf? And what should come out?",
    ),
    _in_row(
        "rescaled after it was added",
        but_for(_added_first),
        "The new tile is added first, and then shrinks with what was there before it, although its "
        "powers are taken under the new maximum already.",
        "Which of the two was computed under the old maximum?",
    ),
    _in_order(
        "NaN where a tile is blocked",
        but_for(_nan_if_blocked),
        "A query becomes NaN as soon as one tile is blocked for it in full.",
        "What should a tile add to a query that may read none of it, and which maximum has that "
        "tile?",
    ),
    _in_row(
        "the sum of the tiles, with NaN",
        but_for(_finished, end=lambda m, count, acc: acc),
        "Each tile has its own softmax, and the tiles' outputs are added: the weights of a query "
        "add up to the number of tiles. A tile with nothing to read gives NaN.",
        "What must all weights of a query add up to, over all its tiles?",
    ),
    _in_row(
        "blocked by a finite number",
        but_for(_finite),
        "A query that may read nothing gets the mean of the values, as if it read all keys alike.",
        "What is the sum over no keys, and which line gives this query something else?",
    ),
    _large(
        "not scaled",
        but_for(scale=lambda q, v: 1.0),
        "The scores aren't divided by anything.",
        "What does attention do with the scores before the softmax?",
    ),
    _large(
        "scaled by Dv",
        but_for(scale=lambda q, v: v.shape[1] ** -0.5),
        "The scores are divided by the root of Dv, the width of the values.",
        "How many products does one score add up?",
    ),
    _large(
        "divided by Dh",
        but_for(scale=lambda q, v: 1 / q.shape[1]),
        "The scores are divided by Dh: without the root, or by the root twice.",
        "With which power of Dh does the spread of a score grow?",
    ),
    _large(
        "all at once",
        _in_one(),
        "Numbers for every query and every key are made at once, as scores or for a mask: that is "
        "the [Tq, Tk] which tiles are there to avoid.",
        "Which sizes should `scores` have when it is made, and which part of a mask does one tile "
        "need?",
    ),
    _large(
        "plain attention",
        _in_one(guard=False),
        "Numbers for every query and every key are made at once, and a query that may read nothing "
        "gets NaN.",
        "Which sizes should `scores` have when it is made? And what makes NaN where "
        "nothing was read?",
    ),
    _large(
        "the mask at once",
        _mask_at_once,
        "The scores are made tile by tile, and the mask for all of them at once: a bool for every "
        "query and every key.",
        "Which places have the queries and keys of one tile, so that it makes its own mask?",
    ),
    _large(
        "all queries for a tile of keys",
        _other_blocks(lambda Tq, Tk, bq, bk: (Tq, bk)),
        "Numbers for all queries and a tile of keys are made at once: fewer than [Tq, Tk], and "
        "they still grow with the number of queries.",
        "How many queries may one tensor of scores have?",
    ),
    _large(
        "all keys at once",
        _other_blocks(lambda Tq, Tk, bq, bk: (bq, Tk)),
        "Scores for all keys of a query are made at once, be it for a tile of queries or for one: "
        "they grow with the number of keys.",
        "How many keys may one tensor of scores have?",
    ),
    _in_order(
        "float32 comes back",
        lambda *given: _right(*given).float(),
        "What comes back is float32, whatever comes in.",
        "Which line makes a tensor without asking for the dtype of `q`?",
    ),
    _in_order(
        "float32 on the way",
        lambda q, k, v, *rest: _right(q.float(), k.float(), v.float(), *rest).to(q.dtype),
        "The dtype is right, and about seven digits are: as many as float32 holds.",
        "Which line makes its numbers coarser than those of `q`, `k` and `v`?",
    ),
)

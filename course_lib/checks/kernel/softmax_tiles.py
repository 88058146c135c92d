"""Where a softmax over rows goes wrong because its tiles aren't put together."""

from functools import partial

from course_lib import simulator as triton
from course_lib.checks.kernel.softmax_mistakes import (
    INF,
    LOWEST,
    but_for,
    largest,
    power,
    rescaled,
)
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_in_rows = partial(Mistake, reread='07, "Rows of any length"')


def _tile_by_tile(x_ptr, out_ptr, T, BLOCK):
    first = tl.program_id(0) * T
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + first + at, mask=at < T, other=-INF).to(tl.float32)
        powers = power(x, tl.maximum(LOWEST, tl.max(x, 0)))
        total = tl.sum(powers, 0)
        total = tl.where(total == 0, 1.0, total)
        tl.store(out_ptr + first + at, powers / total, mask=at < T)


def _written_on_the_way(x_ptr, out_ptr, T, BLOCK, divided=True):
    first = tl.program_id(0) * T
    row_max, row_sum = LOWEST, 0.0
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + first + at, mask=at < T, other=-INF).to(tl.float32)
        new = largest(row_max, x)
        row_sum = rescaled(row_sum, row_max, new, x)
        row_max = new
        total = tl.where(row_sum == 0, 1.0, row_sum) if divided else 1.0
        tl.store(out_ptr + first + at, power(x, row_max) / total, mask=at < T)
    return first, tl.where(row_sum == 0, 1.0, row_sum)


def _divided_later(x_ptr, out_ptr, T, BLOCK):
    first, total = _written_on_the_way(x_ptr, out_ptr, T, BLOCK, divided=False)
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        powers = tl.load(out_ptr + first + at, mask=at < T, other=0.0)
        tl.store(out_ptr + first + at, powers / total, mask=at < T)


def _lane_by_lane(x_ptr, out_ptr, T, BLOCK):
    first, lanes = tl.program_id(0) * T, tl.arange(0, BLOCK)
    best, total = tl.full([BLOCK], LOWEST, tl.float32), tl.zeros([BLOCK], tl.float32)
    for start in range(0, T, BLOCK):
        at = start + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=-INF).to(tl.float32)
        new = tl.maximum(best, x)
        total = total * tl.exp(best - new) + power(x, new)
        best = new
    total = tl.where(total == 0, 1.0, total)
    for start in range(0, T, BLOCK):
        at = start + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=-INF).to(tl.float32)
        tl.store(out_ptr + first + at, power(x, best) / total, mask=at < T)


def _whole_row(x_ptr, out_ptr, T, BLOCK):
    but_for()(x_ptr, out_ptr, T, triton.next_power_of_2(T))


_short = but_for(
    tiles=lambda here: range(1),
    begin=-INF,
    cast=lambda x: x,
    guard=lambda row_sum: row_sum,
)


TILES = (
    _in_rows(
        "one tile, in the scores' dtype",
        _short,
        "Only the first BLOCK elements of a row are read and written, in the dtype they have, and "
        "where all of them are blocked the result is NaN.",
        "Which tile holds element BLOCK, and who reads it?",
    ),
    _in_rows(
        "a softmax of every tile",
        _tile_by_tile,
        "Every tile is divided by a sum of its own. It sums to 1 by itself, whatever the rest of "
        "the row holds.",
        "What must a tile know of the others before it is divided?",
    ),
    _in_rows(
        "written on the way",
        _written_on_the_way,
        "Each tile is divided by the sum so far and stored. Only the last tile knew the whole row.",
        "After which tile is the sum complete?",
    ),
    _in_rows(
        "divided later",
        _divided_later,
        "Each tile's powers are stored with the maximum known by then, and divided by the sum in "
        "the end. Where the maximum rose, the earlier powers are too large.",
        "To which maximum do the powers in out belong, and to which the sum?",
    ),
    _in_rows(
        "lanes that aren't joined",
        _lane_by_lane,
        "Each lane keeps a maximum and a sum of its own, of every BLOCK-th score, and the lanes "
        "are never joined.",
        "What does lane 0 know of the scores that lane 1 read?",
    ),
    _in_rows(
        "the whole row in one tile",
        _whole_row,
        "The numbers are right, and a tile is as long as the row. Triton makes tiles of lengths "
        "that are known before the launch; T isn't.",
        "How many numbers does BLOCK allow at a time?",
    ),
)

"""What people really count when they count what attention moves, and get it wrong."""

import math
from collections.abc import Callable
from functools import partial

import torch

from course_lib.checks.question import Mistake

_in_bytes = partial(Mistake, reread='06, "Equal work, fewer bytes"')


def _naive(Tq: int, Tk: int, Dh: int, Dv: int) -> int:
    return Tq * Dh + Tk * Dh + Tk * Dv + Tq * Dv + 4 * Tq * Tk


def _tiled(Tq: int, Tk: int, Dh: int, Dv: int, passes: float) -> float:
    return Tq * Dh + passes * Tk * (Dh + Dv) + Tq * Dv + Tq


def _ceil(Tq: int, block_q: int) -> int:
    return -(-Tq // block_q)


def but_for(
    naive: Callable[[int, int, int, int], float] = _naive,
    tiled: Callable[[int, int, int, int, int], float] | None = None,
    passes: Callable[[int, int], float] = _ceil,
    size: Callable[[torch.dtype], float] = lambda dtype: dtype.itemsize,
) -> Callable:
    """The right counts, but for what is given."""

    def run(Tq, Tk, Dh, Dv, block_q, dtype):
        count = (tiled or _tiled)(Tq, Tk, Dh, Dv, passes(Tq, block_q))
        return naive(Tq, Tk, Dh, Dv) * size(dtype), count * size(dtype)

    return run


right = but_for()


def more(naive: Callable = lambda *sizes: 0, tiled: Callable = lambda *sizes: 0) -> Callable:
    """The right counts, and so many numbers more (or fewer)."""
    return but_for(
        lambda *sizes: _naive(*sizes) + naive(*sizes),
        lambda *sizes: _tiled(*sizes) + tiled(*sizes),
    )


def of_sizes(arrange: Callable) -> Callable:
    """The right counts of other sizes."""
    return lambda *given: right(*arrange(*given))


def _lse_in_float32(Tq, Tk, Dh, Dv, block_q, dtype):
    naive, tiled = right(Tq, Tk, Dh, Dv, block_q, dtype)
    return naive, tiled + Tq * (4 - dtype.itemsize)


def _whole_tiles(Tq, Tk, Dh, Dv, block_q, dtype):
    naive = right(Tq, Tk, Dh, Dv, block_q, dtype)[0]
    return naive, right(_ceil(Tq, block_q) * block_q, Tk, Dh, Dv, block_q, dtype)[1]


def _tiles_of_keys(Tq, Tk, Dh, Dv, block_q, dtype):
    naive = right(Tq, Tk, Dh, Dv, block_q, dtype)[0]
    return naive, _tiled(Tq, Tk, Dh, Dv, _ceil(Tk, block_q)) * dtype.itemsize


TILES = "How many tiles do 7 queries make if 3 fit into one?"

MISTAKES = (
    _in_bytes(
        "lse forgotten",
        more(tiled=lambda Tq, *rest: -Tq),
        "The tiled count has no lse: one number a query, which the backward needs.",
        "What does the tiled form write beside the output?",
    ),
    _in_bytes(
        "lse in both",
        more(naive=lambda Tq, *rest: Tq),
        "The naive count has one number a query more than its three passes move. The lse belongs "
        "to the tiled form.",
        "Which of the two forms writes one number a query?",
    ),
    _in_bytes(
        "row_max and row_sum for lse",
        more(tiled=lambda Tq, *rest: Tq),
        "The tiled count has two numbers a query beside the output.",
        "Which one number of a query holds its maximum and its sum together?",
    ),
    _in_bytes(
        "lse in float32",
        _lse_in_float32,
        "The lse has 4 bytes a query, whatever the dtype. Many kernels do so; here all is in "
        "dtype.",
        "What does the task say of the dtype of lse?",
    ),
    _in_bytes(
        "whole tiles alone",
        but_for(passes=lambda Tq, block_q: Tq // block_q),
        "The tiles of queries are counted by rounding down: a shorter last tile reads no keys.",
        TILES,
    ),
    _in_bytes(
        "one tile too many",
        but_for(passes=lambda Tq, block_q: Tq // block_q + 1),
        "There is always one tile more than fit: also where the last one is full.",
        "How many tiles do 6 queries make if 3 fit into one?",
    ),
    _in_bytes(
        "tiles rounded to the nearest",
        but_for(passes=lambda Tq, block_q: round(Tq / block_q)),
        "The number of tiles is rounded to the nearest: a short last tile is lost.",
        TILES,
    ),
    _in_bytes(
        "at least one tile, else whole ones",
        but_for(passes=lambda Tq, block_q: max(1, Tq // block_q)),
        "The tiles are counted by rounding down, but never below one. A shorter last tile after "
        "full ones reads no keys.",
        TILES,
    ),
    _in_bytes(
        "parts of a tile",
        but_for(passes=lambda Tq, block_q: Tq / block_q),
        "A shorter last tile counts as a part of a pass. Its queries read all keys too.",
        "Does a tile of one query read fewer keys than a full one?",
    ),
    _in_bytes(
        "the last tile filled up",
        _whole_tiles,
        "q, out and lse are counted as if the last tile of queries were full.",
        "How many rows do q and out have in slow memory?",
    ),
    _in_bytes(
        "keys and values once",
        but_for(passes=lambda Tq, block_q: 1),
        "The tiled count reads k and v once in all.",
        "When the next tile of queries comes, is there still a key in fast memory?",
    ),
    _in_bytes(
        "keys and values for every query",
        but_for(passes=lambda Tq, block_q: Tq),
        "The tiled count reads k and v once for each query. A tile of queries reads them together.",
        "What is the tile of queries good for?",
    ),
    _in_bytes(
        "block_q passes",
        but_for(passes=lambda Tq, block_q: block_q),
        "block_q counts as the number of tiles. It is how many queries stand in one.",
        "What happens to the number of tiles when a tile gets larger?",
    ),
    _in_bytes(
        "tiles of keys",
        _tiles_of_keys,
        "The keys are cut into tiles of block_q, and k and v are read once for each of those.",
        "Which tensor does block_q cut?",
    ),
    _in_bytes(
        "keys alone again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tk * Dv * (1 - n)),
        "The tiled count reads k for each tile of queries, and v once.",
        "Which keys' values does the second tile of queries need?",
    ),
    _in_bytes(
        "values alone again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tk * Dh * (1 - n)),
        "The tiled count reads v for each tile of queries, and k once.",
        "What does the second tile of queries make its scores from?",
    ),
    _in_bytes(
        "queries again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tq * Dh * (n - 1)),
        "The tiled count reads all of q once for each tile of queries.",
        "How many queries does one tile load?",
    ),
    _in_bytes(
        "queries and output again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tq * (Dh + Dv) * (n - 1)),
        "The tiled count moves all of q and out once for each tile of queries.",
        "How many queries does one tile load, and how many outputs does it store?",
    ),
    _in_bytes(
        "tiles rounded up from a float",
        but_for(passes=lambda Tq, block_q: math.ceil(Tq / block_q)),
        "The tiles are rounded up from a float. With 2 * 10**16 + 1 queries the last tile, of one "
        "query, is lost in it.",
        "How can a division of whole numbers be rounded up without a float?",
    ),
    _in_bytes(
        "floats come back",
        lambda *given: tuple(map(float, right(*given))),
        "The counts are floats: beyond 2**53 they lose the last bytes.",
        "Which line leaves the whole numbers?",
    ),
)

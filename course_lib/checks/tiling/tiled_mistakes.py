"""What people really write for attention in tiles when a query's memory goes wrong."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_row = partial(Mistake, reread='06, "One row, tile by tile"')
_in_order = partial(Mistake, reread='06, "Exact, in any order"')

State = tuple[Tensor, Tensor, Tensor]
"""The largest score, the sum and the blend of each query so far."""


@dataclass
class Tile:
    """Which queries meet which keys: their places, and the tile's own two numbers."""

    rows: slice
    cols: slice
    i: int
    j: int
    keys: int
    queries: int

    @property
    def offset(self) -> int:
        """Query 0's place among the keys."""
        return self.keys - self.queries

    @property
    def places(self) -> tuple[Tensor, Tensor]:
        """Queries and keys by their numbers, ready to be compared."""
        rows, cols = self.rows, self.cols
        return torch.arange(rows.start, rows.stop)[:, None], torch.arange(cols.start, cols.stop)


def cut(T: int, block: int) -> list[slice]:
    """The tiles of T positions; the last may be shorter."""
    return [slice(start, min(start + block, T)) for start in range(0, T, block)]


def folding(
    top: Callable = lambda m, s: torch.maximum(m, s.amax(-1, keepdim=True)),
    on_sum: Callable = lambda m, new: (m - new).exp(),
    on_acc: Callable = lambda m, new: (m - new).exp(),
) -> Callable[..., State]:
    """The right way to read one more tile, but for what is given."""

    def fold(m: Tensor, total: Tensor, acc: Tensor, s: Tensor, v: Tensor) -> State:
        new = top(m, s)
        p = (s - new).exp()
        return new, on_sum(m, new) * total + p.sum(-1, keepdim=True), on_acc(m, new) * acc + p @ v

    return fold


def share(m: Tensor, total: Tensor, acc: Tensor) -> Tensor:
    """The output; zeros where nothing was read."""
    return acc / total.masked_fill(total == 0, 1)


def but_for(
    fold: Callable[..., State] = folding(),  # noqa: B008
    end: Callable[..., object] = share,
    scale: Callable[[Tensor, Tensor], float] = lambda q, v: q.shape[1] ** -0.5,
    ahead: Callable[[Tile], Tensor] = lambda t: t.places[1] > t.places[0] + t.offset,
    skips: Callable[[Tile], bool] = lambda t: False,
    cuts: Callable = lambda Tq, Tk, bq, bk: (cut(Tq, bq), cut(Tk, bk)),
    first: float = torch.finfo(torch.float32).min,
) -> Callable:
    """The right call, but for what is given."""

    def run(q, k, v, block_q, block_k, is_causal):
        out = q.new_zeros(len(q), v.shape[1])
        tiles_q, tiles_k = cuts(len(q), len(k), block_q, block_k)
        for i, rows in enumerate(tiles_q):
            m = q.new_full((len(q[rows]), 1), first)
            state = m, torch.zeros_like(m), torch.zeros_like(out[rows])
            for j, cols in enumerate(tiles_k):
                tile = Tile(rows, cols, i, j, len(k), len(q))
                if is_causal and skips(tile):
                    continue
                s = q[rows] @ k[cols].T * scale(q, v)
                s = s.masked_fill(ahead(tile), -torch.inf) if is_causal else s
                state = fold(*state, s, v[cols])
            out[rows] = end(*state)
        return out

    return run


def _stays(m: Tensor, new: Tensor) -> float:
    return 1.0


def _up(m: Tensor, new: Tensor) -> Tensor:
    return (new - m).exp()


def _own_top(m: Tensor, s: Tensor) -> Tensor:
    return s.amax(-1, keepdim=True).clamp_min(torch.finfo(s.dtype).min)


def _divided(m: Tensor, total: Tensor, acc: Tensor, s: Tensor, v: Tensor) -> State:
    m, total, acc = folding()(m, total, acc, s, v)
    return m, total, share(m, total, acc)


def _never_reset(rows_of: Callable[[Tensor, int], Tensor]) -> Callable:
    """One memory for all tiles of queries, cut to size or not."""

    def run(q, k, v, block_q, block_k, is_causal):
        out = q.new_zeros(len(q), v.shape[1])
        m, total = q.new_full((block_q, 1), -1e30), q.new_zeros(block_q, 1)
        state = m, total, q.new_zeros(block_q, len(v.T))
        for rows in cut(len(q), block_q):
            state = tuple(rows_of(part, rows.stop - rows.start) for part in state)
            for cols in cut(len(k), block_k):
                tile = Tile(rows, cols, 0, 0, len(k), len(q))
                ahead = (tile.places[1] > tile.places[0] + tile.offset) & is_causal
                s = (q[rows] @ k[cols].T * q.shape[1] ** -0.5).masked_fill(ahead, -torch.inf)
                state = folding()(*state, s, v[cols])
            out[rows] = share(*state)
        return out

    return run


def _full_memory(q, k, v, block_q, block_k, is_causal):
    lowest = torch.full((block_q, 1), -1e30)

    def fold(m, total, acc, s, v):
        if (m == lowest[0]).all():  # before the first tile
            m, total, acc = lowest, torch.zeros_like(lowest), acc.new_zeros(block_q, len(v.T))
        return folding()(m, total, acc, s, v)

    return but_for(fold, first=-1e30)(q, k, v, block_q, block_k, is_causal)


TILED = (
    _in_row(
        "no rescale",
        but_for(folding(on_sum=_stays, on_acc=_stays)),
        "When a tile raises a query's maximum, the old sum and acc stay as large as they were: "
        "what was read before counts for too much.",
        "The old powers were taken under the old maximum. What turns them into powers under the "
        "new one?",
    ),
    _in_row(
        "only the sum is rescaled",
        but_for(folding(on_acc=_stays)),
        "When the maximum rises, the old sum shrinks and the old acc doesn't.",
        "Both are sums of the same powers. What must happen to one if it happens to the other?",
    ),
    _in_row(
        "infinite in the first tile",
        but_for(folding(on_sum=_up, on_acc=_up)),
        "Every number is NaN, from the first tile on.",
        "Which of your exponentials isn't finite in the first tile, and what does it multiply?",
    ),
    _in_row(
        "each tile under its own maximum",
        but_for(folding(_own_top, _stays, _stays)),
        "Each tile takes its powers under its own maximum, and they are added up as if that were "
        "one and the same.",
        "If tile 0 has its maximum at 1 and tile 1 at 5, what is a power of tile 0 worth in tile "
        "1's terms?",
    ),
    _in_row(
        "the maximum of the last tile",
        but_for(folding(_own_top)),
        "A query rescales to the maximum of its newest tile, which may be lower than an earlier "
        "one: exp(old - new) overflows where scores fall.",
        "Which of the two maxima keeps every exponential at 1 or below?",
    ),
    _in_row(
        "a maximum that begins at 0",
        but_for(first=0.0),
        "A query with scores far below 0 has 0 as its maximum, which none of its keys has: all its "
        "powers round to 0.",
        "With which number is every first score larger?",
    ),
    _in_row(
        "no maximum",
        but_for(folding(lambda m, s: torch.zeros_like(m), _stays, _stays)),
        "The powers are taken of the scores as they are: above 88 they are infinite in float32, "
        "and far below 0 they round to 0.",
        "What may be taken from all scores of a query without changing its weights?",
    ),
    _in_row(
        "one maximum for the whole tile",
        but_for(folding(lambda m, s: torch.maximum(m, s.max()))),
        "All queries of a tile share one maximum. A query whose scores lie far below another's "
        "loses all its powers to rounding.",
        "Over which axis is the maximum taken, and how many must come out of a tile?",
    ),
    _in_row(
        "divided in each tile",
        but_for(_divided, end=lambda m, total, acc: acc),
        "acc is divided by the sum in every tile, and what was divided goes into the next "
        "one as if it weren't.",
        "How often is a sum of weighted values divided, and when is its divisor known?",
    ),
    _in_row(
        "never divided",
        but_for(end=lambda m, total, acc: acc),
        "acc comes out undivided: the weights in it don't add up to 1.",
        "What is the sum of the powers kept for?",
    ),
    _in_order(
        "never reset",
        _never_reset(lambda part, n: part),
        "Each tile of queries goes on with the memory of the one before it. Where the last tile "
        "is shorter, that memory has too many rows.",
        "Whose maximum, sum and acc does the first query of tile 1 start with?",
    ),
    _in_order(
        "never reset, but cut to size",
        _never_reset(lambda part, n: part[:n]),
        "Each tile of queries goes on with the memory of the one before it.",
        "Whose maximum, sum and acc does the first query of tile 1 start with?",
    ),
    _in_order(
        "a memory of block_q rows",
        _full_memory,
        "Each tile of queries has a memory of block_q rows. Where the last tile is shorter, or the "
        "call is, the memory has too many.",
        "How many queries does the last tile hold?",
    ),
    _in_row(
        "divided in each tile, and at the end",
        but_for(_divided),
        "acc is divided by the sum in every tile, what was divided goes into the next one as if it "
        "weren't, and at the end it is divided once more.",
        "How often is a sum of weighted values divided, and when is its divisor known?",
    ),
)

"""What people really write for tiles of which a part lies ahead: who may read whom in them."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake
from course_lib.checks.tiling.tiled_mistakes import Tile, but_for, folding

_in_order = partial(Mistake, reread='06, "Exact, in any order"')

_fold = folding()


def _block_q(tile: Tile) -> int:
    """The rows of a full tile."""
    return tile.rows.start // tile.i if tile.i else tile.rows.stop


def _ahead_if(rule: Callable[[Tensor, Tensor, Tile], Tensor]) -> Callable:
    """Block what a rule of queries, keys and the tile says."""
    return but_for(ahead=lambda t: rule(*t.places, t))


CAUSAL = (
    _in_order(
        "top left",
        _ahead_if(lambda row, col, t: col > row),
        "Query 0 stands at key 0. With more keys than queries the last query misses the newest "
        "keys.",
        "Where among the keys does the last query stand?",
    ),
    _in_order(
        "the offset with the wrong sign",
        _ahead_if(lambda row, col, t: col > row - t.offset),
        "A query's place is its number plus Tq - Tk: it stands on the wrong side of the keys.",
        "With 11 keys and 5 queries, is the last query at key 10 or before key 0?",
    ),
    _in_order(
        "rows and columns of the tile",
        _ahead_if(lambda row, col, t: col - col[0] > row - row[0]),
        "In every tile, row i reads the columns up to i: a tile of early keys is cut like the one "
        "on the diagonal.",
        "Which query of the call is row 1 of the second tile of queries?",
    ),
    _in_order(
        "rows of the tile",
        _ahead_if(lambda row, col, t: col > row - row[0] + t.offset),
        "A query counts from the start of its tile: those of every tile read what those of the "
        "first may read.",
        "Which query of the call is row 1 of the second tile of queries?",
    ),
    _in_order(
        "the tile with two equal numbers",
        but_for(
            ahead=lambda t: (
                (t.places[1] - t.cols.start > t.places[0] - t.rows.start) & (t.i == t.j)
            ),
            skips=lambda t: t.j > t.i,
        ),
        "Tile j of the keys is compared with tile i of the queries by number. That is the diagonal "
        "only where both blocks are equal, and both lengths.",
        "Where do tile 1 of the queries and tile 1 of the keys begin, in positions?",
    ),
    _in_order(
        "tiles skipped, scores never blocked",
        but_for(
            ahead=lambda t: torch.tensor(False),
            skips=lambda t: t.cols.start > t.rows.stop - 1 + t.offset,
        ),
        "Tiles that lie ahead in full are skipped, and in the others nothing is blocked: where the "
        "diagonal passes through, queries read ahead.",
        "What must happen in a tile of which a part lies ahead?",
    ),
    _in_order(
        "a tile skipped one too early",
        but_for(skips=lambda t: t.cols.start >= t.rows.stop - 1 + t.offset),
        "A tile is skipped where its first key stands at the last query of the tile, and that "
        "query may read that key.",
        "Is a query's own key ahead of it?",
    ),
    _in_order(
        "tiles skipped from the first query on",
        but_for(skips=lambda t: t.cols.start > t.rows.start + t.offset),
        "A tile is skipped where it begins after the first query of the tile. The last one may "
        "read some of it.",
        "Which query of a tile reads furthest?",
    ),
    _in_order(
        "tiles skipped without the offset",
        but_for(skips=lambda t: t.cols.start > t.rows.stop - 1),
        "What is blocked in a tile is right, but tiles are skipped as if query 0 stood at key 0.",
        "Which place among the keys has the last query of a tile?",
    ),
    _in_order(
        "tiles skipped by their starts",
        but_for(skips=lambda t: t.cols.start > t.rows.start),
        "A tile is skipped where its first key has a higher number than its first query: later "
        "queries of the tile may read it, and a query's number isn't its place among the keys.",
        "Which query of a tile reads furthest, and where among the keys does it stand?",
    ),
    _in_order(
        "its own key too is blocked",
        _ahead_if(lambda row, col, t: col >= row + t.offset),
        "A query may not read its own key, only those before it.",
        "Is a query's own key ahead of it?",
    ),
    _in_order(
        "never causal",
        _ahead_if(lambda row, col, t: col < 0),
        "Queries read all keys, whatever `is_causal` says.",
        "Where does your code use `is_causal`?",
    ),
    _in_order(
        "never before key 0",
        _ahead_if(lambda row, col, t: col > row + max(t.offset, 0)),
        "With more queries than keys, query 0 stands at key 0. The last query then stands beyond "
        "the last key.",
        "With 7 queries and 4 keys, where does query 0 stand if the last one stands at key 3?",
    ),
    _in_order(
        "the distance without its sign",
        _ahead_if(lambda row, col, t: col > row + abs(t.offset)),
        "Tk - Tq is taken without its sign. With more queries than keys, query 0 stands after key "
        "0, where it should stand before it.",
        "With 7 queries and 4 keys, where does query 0 stand if the last one stands at key 3?",
    ),
    _in_order(
        "tiles skipped by block_q, without the offset",
        but_for(skips=lambda t: t.cols.start >= (t.rows.start + _block_q(t))),
        "What is blocked in a tile is right, but tiles are skipped as if query 0 stood at key 0.",
        "Which place among the keys has the last query of a tile?",
    ),
    _in_order(
        "a start counted in rows of the last tile",
        _ahead_if(
            lambda row, col, t: col > row - row[0] + t.i * (t.rows.stop - t.rows.start) + t.offset
        ),
        "A tile's first query gets the tile's number times the tile's own rows. The last tile is "
        "shorter, so its queries seem to stand earlier than they do.",
        "By how many positions does each tile of queries start after the one before?",
    ),
    _in_order(
        "only the tile with two equal numbers",
        but_for(
            ahead=lambda t: (t.places[1] - t.cols.start > t.places[0] - t.rows.start) & (t.i == t.j)
        ),
        "Something is blocked only where the two tiles have the same number: later tiles of keys "
        "are read in full.",
        "Where do tile 1 of the queries and tile 1 of the keys begin, in positions?",
    ),
    _in_order(
        "each tile of queries at the end",
        _ahead_if(lambda row, col, t: col > row - row[-1] + t.keys - 1),
        "The last query of each tile stands at the last key of the call, as if the tile held all "
        "queries.",
        "Which length belongs in the place of a query: that of its tile, or that of the call?",
    ),
    _in_order(
        "each tile as a call of its own",
        _ahead_if(lambda row, col, t: col - col[-1] > row - row[-1]),
        "The last query of each tile stands at the last key of the tile, as if the two were a "
        "whole call.",
        "Which lengths belong in the place of a query: those of the tile, or those of the call?",
    ),
    _in_order(
        "blocked scores set to 0",
        but_for(lambda m, total, acc, s, v: _fold(m, total, acc, s.masked_fill(s.isinf(), 0), v)),
        "A blocked key gets the score 0, and 0 is a score like any other: the key is read.",
        "Which score has a power of 0 under any maximum?",
    ),
)

"""What people really write for tiles of which a part lies ahead: who may read whom in them."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake
from course_lib.checks.tiling.tiled_mistakes import Tile, but_for

_in_order = partial(Mistake, reread='06, "Exact, in any order"')

_right = but_for()


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
        "the diagonal moved the wrong way",
        _ahead_if(
            lambda row, col, t: (
                col - t.cols.start > row - t.rows.start + t.cols.start - t.rows.start + t.offset
            )
        ),
        "Within a tile the diagonal moves the wrong way: the further right a tile stands, the more "
        "of it is read.",
        "If a tile moves one key to the right, does its first query read more columns of it or "
        "fewer?",
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
        "the diagonal's tiles skipped",
        but_for(skips=lambda t: t.cols.stop - 1 > t.rows.start + t.offset),
        "A tile is skipped as soon as some part of it lies ahead: what the others of its queries "
        "may read there is lost.",
        "When may a tile be skipped: if some of it is blocked, or all?",
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
        "the offset in the skipping alone",
        but_for(
            ahead=lambda t: t.places[1] > t.places[0],
            skips=lambda t: t.cols.start > t.rows.stop - 1 + t.offset,
        ),
        "Tiles are skipped by the right places, but within a tile query 0 stands at key 0.",
        "Where among the keys does the last query stand, in the tile that it shares with others?",
    ),
    _in_order(
        "its own key too is blocked",
        _ahead_if(lambda row, col, t: col >= row + t.offset),
        "A query may not read its own key, only those before it.",
        "Is a query's own key ahead of it?",
    ),
    _in_order(
        "one key too many",
        _ahead_if(lambda row, col, t: col > row + t.offset + 1),
        "Each query also reads the key after its own.",
        "If the last query stands at the last key, how far from Tk - Tq is query 0?",
    ),
    _in_order(
        "the past blocked",
        _ahead_if(lambda row, col, t: col < row + t.offset),
        "What comes before a query is blocked, and what comes after it is read.",
        "On which side of its own key does a causal query look?",
    ),
    _in_order(
        "never causal",
        _ahead_if(lambda row, col, t: col < 0),
        "Queries read all keys, whatever `is_causal` says.",
        "Where does your code use `is_causal`?",
    ),
)

"""What people really write for the two ends of a causal tile when one of them is off."""

from functools import partial

from course_lib.checks.kernel.phases_corners import CORNERS, but_for, right
from course_lib.checks.question import Mistake

_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')


def up(n: int, size: int) -> int:
    """The next multiple of a size, from n on."""
    return -(-n // size) * size


def _one_on(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    return max(0, min(first + BLOCK_Q, Tq) + Tk - Tq + 1)


FIRST = "How many keys does the tile's first query read?"
LAST = "How many keys does the tile's last query read?"

MISTAKES = (
    *CORNERS,
    _beside(
        "first counted in tiles",
        but_for(place=lambda first, Tq, Tk, Bq: first * Bq + Tk - Tq),
        "first is multiplied by BLOCK_Q, as if it counted tiles.",
        "What is first for the second tile: 1, or a query?",
    ),
    _beside(
        "a place for a number of keys",
        but_for(whole=lambda place, Tk, Bq, Bk: max(0, place) // Bk * Bk),
        "whole counts the keys before the first query's own place, without the key that stands "
        "there.",
        FIRST,
    ),
    _beside(
        "whole by the last query",
        but_for(whole=lambda place, Tk, Bq, Bk: min(Tk, max(0, place + Bq)) // Bk * Bk),
        "The whole tiles go as far as the last query reads. The first query reads less.",
        FIRST,
    ),
    _beside(
        "rounded up",
        but_for(whole=lambda place, Tk, Bq, Bk: up(max(0, place + 1), Bk)),
        "The number of keys is rounded up to tiles, so the tile with the diagonal counts as whole.",
        "May the first query read all keys of the tile that holds its own place?",
    ),
    _beside(
        "not rounded",
        but_for(whole=lambda place, Tk, Bq, Bk: max(0, place + 1)),
        "whole is the number of keys that the first query reads. It may end inside a tile of keys.",
        "How many keys are in the tiles that need no mask, if a tile has BLOCK_K?",
    ),
    _beside(
        "rounded to tiles of queries",
        but_for(whole=lambda place, Tk, Bq, Bk: max(0, place + 1) // Bq * Bq),
        "whole is a multiple of BLOCK_Q. Keys are read in tiles of BLOCK_K.",
        "Whose tiles does the loop over keys walk through?",
    ),
    _beside(
        "tiles for keys",
        but_for(whole=lambda place, Tk, Bq, Bk: max(0, place + 1) // Bk),
        "whole counts tiles, and stop counts keys.",
        "In which unit does the task ask for whole?",
    ),
    _beside(
        "both counted in tiles",
        lambda *given: (right(*given)[0] // given[4], up(right(*given)[1], given[4]) // given[4]),
        "Both numbers count tiles of keys.",
        "In which unit does the task ask for the two?",
    ),
    _beside(
        "all tiles that fit",
        but_for(whole=lambda place, Tk, Bq, Bk: Tk // Bk * Bk),
        "All full tiles of keys count as whole, as they do without a causal rule.",
        FIRST,
    ),
    _beside(
        "no diagonal",
        but_for(whole=lambda place, Tk, Bq, Bk: Tk // Bk * Bk, stop=lambda place, Tk, Bq, Bk: Tk),
        "Both ends are those of a call without a causal rule: all full tiles, then all keys.",
        "Which keys come after all queries of the tile?",
    ),
    _beside(
        "back from stop",
        but_for(
            whole=lambda place, Tk, Bq, Bk: max(0, min(Tk, max(0, place + Bq)) - Bq + 1) // Bk * Bk
        ),
        "whole is counted back from stop, by BLOCK_Q queries. Where the last tile has fewer, that "
        "goes back too far.",
        FIRST,
    ),
    _beside(
        "one tile with a mask",
        but_for(whole=lambda place, Tk, Bq, Bk: max(0, min(Tk, max(0, place + Bq)) - 1) // Bk * Bk),
        "All tiles but the last count as whole. The diagonal crosses as many as a tile of queries "
        "covers.",
        FIRST,
    ),
    _beside(
        "whole below 0",
        but_for(whole=lambda place, Tk, Bq, Bk: (place + 1) // Bk * Bk),
        "Where the first query stands before the first key, whole is below 0.",
        "How many keys does a query read that stands before all of them?",
    ),
    _beside(
        "rounded towards 0",
        but_for(whole=lambda place, Tk, Bq, Bk: int((place + 1) / Bk) * Bk),
        "Where the first query stands a tile of keys or more before the first key, whole is below "
        "0.",
        "How many keys does a query read that stands before all of them?",
    ),
    _beside(
        "stop below 0",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, place + Bq)),
        "Where no query of the tile reads a key, stop is below 0.",
        "How many keys does a query read that stands before all of them?",
    ),
    _beside(
        "both below 0",
        but_for(
            whole=lambda place, Tk, Bq, Bk: (place + 1) // Bk * Bk,
            stop=lambda place, Tk, Bq, Bk: min(Tk, place + Bq),
        ),
        "Where the queries stand before the first key, both numbers are below 0.",
        "How many keys does a query read that stands before all of them?",
    ),
    _beside(
        "beyond the last key",
        but_for(stop=lambda place, Tk, Bq, Bk: max(0, place + Bq)),
        "stop counts BLOCK_Q queries in the last tile too, where there are fewer, and so goes "
        "beyond Tk.",
        LAST,
    ),
    _beside(
        "not cut at either end",
        but_for(
            whole=lambda place, Tk, Bq, Bk: (place + 1) // Bk * Bk,
            stop=lambda place, Tk, Bq, Bk: place + Bq,
        ),
        "stop goes beyond Tk where the last tile has fewer queries, and both numbers go below 0 "
        "where a tile reads nothing.",
        "Between which two numbers must the count of keys lie?",
    ),
    _beside(
        "one key too few",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, max(0, place + Bq - 1))),
        "stop is the last key that is read. The keys whole .. stop end before stop.",
        LAST,
    ),
    _beside(
        "one key too many",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, max(0, place + Bq + 1))),
        "stop lies one key beyond what the last query reads.",
        LAST,
    ),
    _beside(
        "one key too many, beyond Tk too",
        lambda *given: (right(*given)[0], _one_on(*given)),
        "stop lies one key beyond what the last query reads, for the last tile beyond Tk.",
        LAST,
    ),
    _beside(
        "stop by the first query",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, max(0, place + 1))),
        "stop is where the first query ends to read. The others of the tile read on.",
        LAST,
    ),
    _beside(
        "a tile of keys for one of queries",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, max(0, place + Bk))),
        "stop goes BLOCK_K on from the place of the tile's first query. The tile has BLOCK_Q "
        "queries.",
        LAST,
    ),
    _beside(
        "stop rounded up",
        but_for(stop=lambda place, Tk, Bq, Bk: up(min(Tk, max(0, place + Bq)), Bk)),
        "stop is rounded up to tiles of keys, beyond what the last query reads.",
        LAST,
    ),
    _beside(
        "stop rounded up, to Tk at most",
        but_for(stop=lambda place, Tk, Bq, Bk: min(Tk, up(max(0, place + Bq), Bk))),
        "stop is rounded up to tiles of keys and cut at Tk. It goes beyond what the last query "
        "reads.",
        LAST,
    ),
    _beside(
        "all keys",
        but_for(stop=lambda place, Tk, Bq, Bk: Tk),
        "stop is Tk for every tile: keys are read that every query of the tile blocks.",
        LAST,
    ),
    _beside(
        "a length for an end",
        lambda *given: (right(*given)[0], right(*given)[1] - right(*given)[0]),
        "stop is how many keys are read with a mask. It should be where they end.",
        "At which key does the loop over the masked tiles end?",
    ),
    _beside(
        "stop first",
        lambda *given: right(*given)[::-1],
        "stop comes back first.",
        "In which order does the task name the two?",
    ),
)

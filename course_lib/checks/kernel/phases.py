"""What finding the diagonal is held to: two ends for each tile of queries, at many lengths."""

from collections.abc import Callable

import torch

from course_lib.checks.question import Probe
from course_lib.checks.tiling.moved_bytes import plain

ENDS = ("whole", "stop")


def phases(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    """Where a tile of queries ends to read whole tiles of keys, and where it ends to read."""
    place = first + Tk - Tq  # the first query stands here among the keys
    stop = min(Tk, max(0, place + BLOCK_Q))
    whole = max(0, place + 1) // BLOCK_K * BLOCK_K
    return whole, stop


def _for_each(fn: Callable, firsts: tuple[int, ...], *sizes: int) -> dict:
    """Observe both ends for each of the tiles of queries that begin there."""
    seen = {}
    for first in firsts:
        found = fn(first, *sizes)
        if not isinstance(found, tuple | list) or len(found) != len(ENDS):
            count = f"{len(found)} values" if isinstance(found, tuple | list) else ""
            return {"form": f"it returns {count or type(found).__name__}; expected 2 numbers"}
        for name, value in zip(ENDS, map(plain, found), strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float):
                return {"form": f"{name} comes back as {type(value).__name__}; expected a number"}
            seen[first, name] = value
    return seen


def _off(got: dict, want: dict, firsts: tuple[int, ...], *sizes: int) -> str:
    """The first end that is off, and what the query that decides it reads."""
    if "form" in got:
        return got["form"]
    Tq, Tk, BLOCK_Q, BLOCK_K = sizes
    first, name = next(which for which in want if got[which] != want[which])
    last = min(first + BLOCK_Q, Tq) - 1
    query = first if name == "whole" else last
    reads = max(0, query + Tk - Tq + 1)
    order = "only" if first == last else "first" if query == first else "last"
    many = f"{reads} key{'s' * (reads != 1)}" if reads else "no key"
    return (
        f"first {first}, Tq {Tq}, Tk {Tk}, BLOCK_Q {BLOCK_Q}, BLOCK_K {BLOCK_K}: {name} is "
        f"{got[first, name]:,}; expected {want[first, name]:,}. The {order} query of this tile, "
        f"{query}, reads {many}"
    )


def _phases(holds: str, inputs: Callable[[torch.Generator], tuple]) -> Probe:
    def every_tile(g: torch.Generator) -> tuple:
        Tq, Tk, BLOCK_Q, BLOCK_K = inputs(g)
        return tuple(range(0, Tq, BLOCK_Q)), Tq, Tk, BLOCK_Q, BLOCK_K

    return Probe(holds, every_tile, observe=_for_each, fails=_off)


def _between(g: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high, (), generator=g))


def _at_the_edge(g: torch.Generator) -> tuple:
    """Each tile's first query reads whole tiles of keys to the last one, and no key more."""
    more = 16 * _between(g, 2, 6) - 1
    return 96, 96 + more, 32, 16


def _ragged(g: torch.Generator) -> tuple:
    Tq = 64 + _between(g, 3, 14)
    return Tq, Tq + 16 + _between(g, 2, 13), 32, 16


PHASES = (
    _phases(
        "as many keys as queries, and both lengths fit their tiles",
        lambda g: (32 * _between(g, 3, 6),) * 2 + (32, 16),
    ),
    _phases(
        "a tile of keys is wider than one of queries",
        lambda g: (64 * _between(g, 2, 4),) * 2 + (16, 64),
    ),
    _phases(
        "more keys than queries: the last query reads the last key",
        lambda g: (96, 96 + _between(g, 33, 47), 32, 16),
    ),
    _phases("a tile's first query reads up to the end of a tile of keys", _at_the_edge),
    _phases(
        "fewer keys than queries: the first queries read nothing",
        lambda g: (160, 160 - _between(g, 65, 79), 32, 16),
    ),
    _phases("no length fits the tiles", _ragged),
    _phases("one query, and a cache of keys", lambda g: (1, 64 + _between(g, 2, 15), 32, 16)),
)

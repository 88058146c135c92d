"""What people really write for the two ends of a causal tile when its corner is elsewhere."""

from collections.abc import Callable
from functools import partial

from course_lib.checks.question import Mistake

_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')


def but_for(
    place: Callable = lambda first, Tq, Tk, BLOCK_Q: first + Tk - Tq,
    whole: Callable = lambda place, Tk, Bq, Bk: max(0, place + 1) // Bk * Bk,
    stop: Callable = lambda place, Tk, Bq, Bk: min(Tk, max(0, place + Bq)),
) -> Callable:
    """The right two ends, but for what is given."""

    def run(first, Tq, Tk, BLOCK_Q, BLOCK_K):
        at = place(first, Tq, Tk, BLOCK_Q)
        return whole(at, Tk, BLOCK_Q, BLOCK_K), stop(at, Tk, BLOCK_Q, BLOCK_K)

    return run


def _by_the_last(shift: Callable, to_Tk: bool = False) -> Callable:
    """Both ends by the tile's first and last query, moved by a shift; cut at Tk or nowhere."""

    def run(first, Tq, Tk, BLOCK_Q, BLOCK_K):
        by = shift(Tk - Tq)
        whole, stop = first + 1 + by, min(first + BLOCK_Q, Tq) + by
        if to_Tk:
            whole, stop = min(Tk, whole), min(Tk, stop)
        return whole // BLOCK_K * BLOCK_K, stop

    return run


right = but_for()
top_left = but_for(place=lambda first, Tq, Tk, Bq: first)

CORNER = "Which key does the last query read last?"

TOP_LEFT = (
    "Query i reads keys 0 .. i, whatever the lengths are. The rule here is that the last query "
    "reads the last key."
)
ONE_WAY = (
    "The diagonal moves where there are more keys than queries, and stays where there are "
    "fewer. The first queries then read keys that they may not."
)

CORNERS = (
    _beside(
        "the top left corner",
        top_left,
        TOP_LEFT,
        CORNER,
    ),
    _beside(
        "the top left corner, up to Tq",
        _by_the_last(lambda more: 0),
        TOP_LEFT,
        CORNER,
    ),
    _beside(
        "the top left corner, up to Tq and Tk",
        _by_the_last(lambda more: 0, to_Tk=True),
        TOP_LEFT,
        CORNER,
    ),
    _beside(
        "stop in the top left corner",
        lambda *given: (right(*given)[0], top_left(*given)[1]),
        "whole counts from the bottom right corner, and stop from the top left one.",
        CORNER,
    ),
    _beside(
        "whole in the top left corner",
        lambda *given: (top_left(*given)[0], right(*given)[1]),
        "stop counts from the bottom right corner, and whole from the top left one.",
        CORNER,
    ),
    _beside(
        "the lengths exchanged",
        but_for(place=lambda first, Tq, Tk, Bq: first + Tq - Tk),
        "The diagonal is moved by Tq - Tk. With more keys than queries, it goes the wrong way.",
        CORNER,
    ),
    _beside(
        "the corner moved one way only",
        but_for(place=lambda first, Tq, Tk, Bq: first + max(0, Tk - Tq)),
        ONE_WAY,
        CORNER,
    ),
    _beside(
        "the corner moved one way only, up to Tk",
        _by_the_last(lambda more: max(0, more), to_Tk=True),
        ONE_WAY,
        CORNER,
    ),
    _beside(
        "the corner moved one way only, and nothing cut",
        _by_the_last(lambda more: max(0, more)),
        ONE_WAY,
        CORNER,
    ),
    _beside(
        "the corner moved to one side",
        _by_the_last(abs),
        "The diagonal moves by the distance of the lengths, to the same side in every call. With "
        "fewer keys than queries the first queries then read keys that they may not.",
        CORNER,
    ),
)

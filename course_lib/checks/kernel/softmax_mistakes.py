"""What people really write for a softmax over rows when its arithmetic goes wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_in_rows = partial(Mistake, reread='07, "Rows of any length"')

INF = float("inf")
LOWEST = -3.4028234663852886e38


def _of_row(here: SimpleNamespace) -> object:
    return here.pid * here.T


def _inside(here: SimpleNamespace, at: object) -> object:
    return at < here.T


def but_for(
    x_first: Callable = _of_row,
    out_first: Callable = _of_row,
    tiles: Callable = lambda here: range(0, here.T, here.BLOCK),
    at: Callable = lambda here, start: start + here.lanes,
    may_read: Callable = _inside,
    may_write: Callable = _inside,
    fill: float | None = -INF,
    **sums: Callable,
) -> Callable:
    """The right softmax, but for what is given: where it reads and writes, or its arithmetic."""
    sums = SimpleNamespace(**(ARITHMETIC | sums))

    def run(x_ptr, out_ptr, T, BLOCK):
        here = SimpleNamespace(pid=tl.program_id(0), rows=tl.num_programs(0), T=T, BLOCK=BLOCK)
        here.lanes = tl.arange(0, BLOCK)

        def read(place):
            mask = may_read(here, place)
            return sums.cast(tl.load(x_ptr + x_first(here) + place, mask=mask, other=fill))

        row_max, row_sum = sums.begin, 0.0
        for start in tiles(here):
            x = read(at(here, start))
            new = sums.maximum(row_max, x)
            row_sum = sums.total(row_sum, row_max, new, x)
            row_max = new
        if not sums.stores(row_sum):
            return
        row_sum = sums.guard(row_sum)
        for start in tiles(here):
            place = at(here, start)
            out = sums.weight(read(place), row_max, row_sum)
            tl.store(out_ptr + out_first(here) + place, out, mask=may_write(here, place))

    return run


def power(x: object, row_max: object) -> object:
    """The power of every score: at most 1."""
    return tl.exp(x - row_max)


def largest(row_max: object, x: object) -> object:
    """The largest score so far."""
    return tl.maximum(row_max, tl.max(x, 0))


def rescaled(row_sum: object, old: object, new: object, x: object) -> object:
    """The sum so far, shrunk to the new maximum, with this tile's powers."""
    return row_sum * tl.exp(old - new) + tl.sum(power(x, new), 0)


ARITHMETIC = {
    "begin": LOWEST,
    "cast": lambda x: x.to(tl.float32),
    "maximum": largest,
    "total": rescaled,
    "stores": lambda row_sum: True,
    "guard": lambda row_sum: tl.where(row_sum == 0, 1.0, row_sum),
    "weight": lambda x, row_max, row_sum: power(x, row_max) / row_sum,
}


MISTAKES = (
    _in_rows(
        "filled up with zeros",
        but_for(fill=0.0),
        "Lanes behind the end of a row read a 0, and 0 is a score like any other: it may be the "
        "largest, and its power enters the sum.",
        "Which score never is the largest, and has the power 0?",
    ),
    _in_rows(
        "nothing said of idle lanes",
        but_for(fill=None),
        "The load is masked, and nothing says what masked lanes hold. On a card that is anything, "
        "here NaN; the maximum and the sum read it.",
        "What should lanes behind the end hold, so that neither a maximum nor a sum sees them?",
    ),
    _in_rows(
        "the sum isn't rescaled",
        but_for(total=lambda row_sum, old, new, x: row_sum + tl.sum(power(x, new), 0)),
        "The maximum rises from tile to tile, and the sum is added to as it is: its powers belong "
        "to different maxima.",
        "Which maximum was taken from the scores that the sum already holds?",
    ),
    _in_rows(
        "the last tile's sum",
        but_for(total=lambda row_sum, old, new, x: tl.sum(power(x, new), 0)),
        "The sum of each tile takes the place of the one before: in the end it is the last tile's.",
        "What happens to what the sum already holds?",
    ),
    _in_rows(
        "rescaled upside down",
        but_for(
            total=lambda row_sum, old, new, x: (
                row_sum * tl.exp(new - old) + tl.sum(power(x, new), 0)
            )
        ),
        "The rescale is the exponential of new minus old, 1 or more. The sum grows where it should "
        "shrink; after the first tile it is 0 times infinity.",
        "Does an old power get larger or smaller when the maximum rises?",
    ),
    _in_rows(
        "the new powers rescaled too",
        but_for(
            total=lambda row_sum, old, new, x: (
                (row_sum + tl.sum(power(x, new), 0)) * tl.exp(old - new)
            )
        ),
        "The rescale multiplies the old sum and the new powers together, and the new powers "
        "already belong to the new maximum.",
        "Which of the two was made before the maximum rose?",
    ),
    _in_rows(
        "an infinite sum",
        but_for(
            total=lambda row_sum, old, new, x: (
                row_sum * tl.exp(old - new) + tl.sum(power(x, old), 0)
            )
        ),
        "The sum becomes infinite, and what is divided by it is 0. That happens where powers are "
        "of scores minus the maximum before this tile, which at first is no score at all.",
        "Which maximum makes every power at most 1?",
    ),
    _in_rows(
        "the maximum of this tile",
        but_for(maximum=lambda old, x: tl.maximum(LOWEST, tl.max(x, 0))),
        "The maximum is that of the tile just read, and the earlier ones are forgotten. It can "
        "fall, and powers of higher scores exceed 1.",
        "Of which scores is the maximum the largest?",
    ),
    _in_rows(
        "no maximum",
        but_for(begin=0.0, maximum=lambda old, x: tl.full([], 0.0, tl.float32)),
        "The powers are of the scores as they are.",
        "What is the exponential of 1000 in float32?",
    ),
    _in_rows(
        "the maximum in the sum alone",
        but_for(weight=lambda x, row_max, row_sum: tl.exp(x) / row_sum),
        "The sum is of scores minus the maximum, and what is divided by it is the exponential of "
        "the scores as they are.",
        "By which factor do numerator and denominator differ?",
    ),
    _in_rows(
        "a number of its own in the maximum",
        but_for(begin=0.0),
        "A number that is no score, such as 0, takes part in the maximum: it begins there, or idle "
        "lanes hold it. Where all scores of a row are far below, every power is 0.",
        "What is the largest of -1000 and -1001?",
    ),
    _in_rows(
        "the maximum begins at -inf",
        but_for(begin=-INF),
        "The maximum begins at -inf and stays there while everything is blocked; -inf minus -inf "
        "is NaN, and the sum keeps that.",
        "Which number below all scores can be subtracted from -inf?",
    ),
    _in_rows(
        "a blocked row divided by 0",
        but_for(guard=lambda row_sum: row_sum),
        "A row that is blocked in full gets NaN: from -inf minus a maximum of -inf, or from 0 "
        "divided by a sum of 0.",
        "Which of the two happens in yours, and which harmless number could stand there?",
    ),
    _in_rows(
        "a blocked row isn't written",
        but_for(stores=lambda row_sum: row_sum > 0),
        "A row that is blocked in full is written by nobody, and out keeps what stood there.",
        "Who says that out holds zeros before the launch?",
    ),
    _in_rows(
        "blocked scores made finite",
        but_for(cast=lambda x: tl.maximum(x.to(tl.float32), LOWEST)),
        "-inf becomes the lowest number there is. A row of nothing else has that as its maximum, "
        "so each of its lanes has the power 1.",
        "What is the power of a score minus itself?",
    ),
    _in_rows(
        "arithmetic in the scores' dtype",
        but_for(cast=lambda x: x),
        "What is loaded keeps its dtype, and Triton has no exponential of a number in 16 bits.",
        "In which dtype are the powers, and where does a score get it?",
    ),
)

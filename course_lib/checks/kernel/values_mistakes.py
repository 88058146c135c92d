"""What people really write for the gradient in v when weights, masks or products go wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import torch

from course_lib.checks.kernel.step_mistakes import by_rows
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_way_back = partial(Mistake, reread='07, "The way back"')
_in_corners = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')
_in_ladder = partial(Mistake, reread='07, "A product in tiles"')


def bottom_right(rows: torch.Tensor, cols: torch.Tensor, Tq: int, Tk: int) -> torch.Tensor:
    """The causal rule under which the last query reads the last key."""
    return cols[None, :] <= rows[:, None] + Tk - Tq


def turned(weights: torch.Tensor, d_out: torch.Tensor) -> torch.Tensor:
    """What a tile of queries adds to dv."""
    return tl.dot(tl.trans(weights).to(d_out.dtype), d_out)


RIGHT = {
    "first": lambda program, BLOCK_Q, BLOCK_K: program * BLOCK_K,
    "starts": lambda call: range(0, call.Tq, call.BLOCK_Q),
    "rows": lambda start, lanes: start + lanes,
    "queries": by_rows,
    "lse_at": lambda start, lanes: start + lanes,
    "lse": lambda lse, scale: lse,
    "rows_mask": lambda inside: inside,
    "d_out_mask": lambda mask: mask,
    "lse_mask": lambda inside: {"mask": inside, "other": 0.0},
    "other": {"other": 0.0},
    "exist": lambda rows, cols, Tq, Tk: (rows[:, None] < Tq) & (cols[None, :] < Tk),
    "causal": lambda CAUSAL: CAUSAL,
    "corner": bottom_right,
    "products": lambda q, k: tl.dot(q, tl.trans(k)),
    "scale": lambda scale, Dh: scale,
    "weights": lambda s, lse, keep: tl.where(keep, tl.exp(s - lse[:, None]), 0.0),
    "add": lambda dv, weights, d_out, q: dv + turned(weights, d_out),
    "end": lambda dv, scale, *_: dv,
    "store_mask": lambda inside: inside,
}


def but_for(**changed: object) -> Callable:
    """The right gradient, but for what is given."""
    way = SimpleNamespace(**RIGHT | changed)

    def run(q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, *numbers):
        Tk, scale, CAUSAL, Dh, BLOCK_Q, BLOCK_K = numbers
        dims, lanes = tl.arange(0, Dh), tl.arange(0, BLOCK_Q)
        first = way.first(tl.program_id(0), BLOCK_Q, BLOCK_K)
        cols = first + tl.arange(0, BLOCK_K)
        keys = by_rows(first, tl.arange(0, BLOCK_K), dims)
        k = tl.load(k_ptr + keys, mask=cols[:, None] < Tk, other=0.0)
        dv = tl.zeros([BLOCK_K, Dh], tl.float32)
        sizes = {"Tq": Tq, "Tk": Tk, "BLOCK_Q": BLOCK_Q, "BLOCK_K": BLOCK_K}
        for start in way.starts(SimpleNamespace(first=int(first), CAUSAL=CAUSAL, **sizes)):
            rows = way.rows(start, lanes)
            mask = way.rows_mask((rows < Tq)[:, None])
            queries = way.queries(start, lanes, dims)
            q = tl.load(q_ptr + queries, mask=mask, **way.other)
            mask = way.d_out_mask(mask)
            d_out = tl.load(d_out_ptr + queries, mask=mask, **way.other)
            lse = tl.load(lse_ptr + way.lse_at(start, lanes), **way.lse_mask(rows < Tq))
            keep = way.exist(rows, cols, Tq, Tk)
            if way.causal(CAUSAL):
                keep = keep & way.corner(rows, cols, Tq, Tk)
            s = way.products(q, k) * way.scale(scale, Dh)
            dv = way.add(dv, way.weights(s, way.lse(lse, scale), keep), d_out, q)
        at, mask = dv_ptr + keys, way.store_mask(cols[:, None] < Tk)
        tl.store(at, way.end(dv, scale, at, mask), mask=mask)

    return run


def _blocked_before(s, lse, keep):
    return tl.exp(tl.where(keep, s, float("-inf")) - lse[:, None])


def _softmax_of_the_tile(s, lse, keep):
    s = tl.where(keep, s, -1e30)
    powers = tl.where(keep, tl.exp(s - tl.max(s, 1)[:, None]), 0.0)
    total = tl.sum(powers, 1)
    return powers / tl.where(total == 0, 1.0, total)[:, None]


def _powers_of_the_tile(s, lse, keep):
    return tl.where(keep, tl.exp(s - tl.max(s, 1)[:, None]), 0.0)


def _as(weigh: Callable) -> Callable:
    """Weights in this way, and 0 where nothing may be read."""
    return but_for(weights=lambda s, lse, keep: tl.where(keep, weigh(s, lse[:, None]), 0.0))


def _in_each_tile(rows, cols, Tq, Tk):
    return tl.arange(0, len(cols))[None, :] <= tl.arange(0, len(rows))[:, None]


CORNER = "Which key does the last query read last?"
WIDE = "Which dtype does the task name for the sum?"
AGAIN = "How does one exponential give a power divided by the sum of the row?"

MISTAKES = (
    _way_back(
        "weights not turned",
        but_for(add=lambda dv, weights, d_out, q: dv + tl.dot(weights.to(d_out.dtype), d_out)),
        "weights [BLOCK_Q, BLOCK_K] multiply d_out as they stand, so the sum runs over keys where "
        "it should run over queries.",
        "dv has one row for each key. Which axis of the weights must come first?",
    ),
    _way_back(
        "no lse",
        _as(lambda s, lse: tl.exp(s)),
        "The powers stand for the weights. They aren't divided by the sum of their row.",
        AGAIN,
    ),
    _way_back(
        "divided by the logarithm",
        _as(lambda s, lse: tl.exp(s) / lse),
        "The powers are divided by the lse. It is the logarithm of what they should be divided by.",
        AGAIN,
    ),
    _way_back(
        "two exponentials",
        _as(lambda s, lse: tl.exp(s) / tl.exp(lse)),
        "Numerator and denominator are made apart. Each overflows where scores are large.",
        AGAIN,
    ),
    _way_back(
        "the lse scaled too",
        but_for(lse=lambda lse, scale: lse * scale),
        "The lse is taken from the products and the difference is scaled. The lse is that of "
        "scaled scores.",
        "Which of the two has the forward scaled already?",
    ),
    _way_back(
        "a softmax of the tile",
        but_for(weights=_softmax_of_the_tile),
        "The weights sum to 1 over this tile's keys. A query's weights sum to 1 over all its keys.",
        "Which argument knows the sum over all keys?",
    ),
    _way_back(
        "powers of the tile's maximum",
        but_for(weights=_powers_of_the_tile),
        "The powers are those over the tile's maximum, and nothing divides them. The lse isn't "
        "used.",
        AGAIN,
    ),
    _way_back(
        "NaN where nothing is read",
        but_for(weights=_blocked_before),
        "A query that reads nothing has the lse -inf. The exponential that is made with it is NaN "
        "or infinite, and the keys of the tile get that.",
        "What are such a query's weights, and at which step can you set them for sure?",
    ),
    _in_corners(
        "the top left corner",
        but_for(corner=lambda rows, cols, Tq, Tk: cols[None, :] <= rows[:, None]),
        "In a causal call query i reads keys 0 .. i, whatever the lengths are. The forward lets "
        "the last query read the last key.",
        CORNER,
    ),
    _in_corners(
        "the lengths exchanged",
        but_for(corner=lambda rows, cols, Tq, Tk: cols[None, :] <= rows[:, None] + Tq - Tk),
        "The diagonal is moved by Tq - Tk. With more keys than queries, it goes the wrong way.",
        CORNER,
    ),
    _in_corners(
        "its own key left out",
        but_for(corner=lambda rows, cols, Tq, Tk: cols[None, :] < rows[:, None] + Tk - Tq),
        "A query doesn't read the key at its own place.",
        "Is a query allowed to read itself?",
    ),
    _in_corners(
        "a corner in each tile",
        but_for(corner=_in_each_tile),
        "The causal mask compares lanes: each tile has the diagonal, wherever it lies in the call.",
        "Which query is lane 0 of this tile of queries, and which key is lane 0 of this program's?",
    ),
    _in_corners(
        "the future instead of the past",
        but_for(corner=lambda rows, cols, Tq, Tk: cols[None, :] >= rows[:, None] + Tk - Tq),
        "The mask keeps the keys that come after the query.",
        "Which side of the diagonal has the keys that a query may read?",
    ),
    _way_back(
        "never causal",
        but_for(causal=lambda CAUSAL: False),
        "CAUSAL changes nothing: each query gives its weights to all keys.",
        "Which keys did the forward let a query read?",
    ),
    _way_back(
        "always causal",
        but_for(causal=lambda CAUSAL: True),
        "The causal rule holds in every call, whatever CAUSAL says.",
        "Which keys did the forward let a query read?",
    ),
    _way_back(
        "no scale",
        but_for(scale=lambda scale, Dh: 1.0),
        "The products stand for the scores. The lse is that of the scaled ones.",
        "Which scores did the forward take the softmax of?",
    ),
    _way_back(
        "a scale of its own",
        but_for(scale=lambda scale, Dh: Dh**-0.5),
        "The scale is made from Dh. The caller gives another.",
        "Which argument holds the scale?",
    ),
    _way_back(
        "dv times the scale",
        but_for(end=lambda dv, scale, *_: dv * scale),
        "dv is multiplied by the scale at the end. The output is weights times values, and no "
        "scale stands between the two.",
        "Which of dq, dk and dv pass through the scores?",
    ),
    _way_back(
        "the scale at the end",
        but_for(scale=lambda scale, Dh: 1.0, end=lambda dv, scale, *_: dv * scale),
        "dv is multiplied by the scale, and the products that the weights are made of aren't.",
        "Which of dq, dk and dv pass through the scores?",
    ),
    _way_back(
        "dv half as wide",
        but_for(add=lambda dv, w, d_out, q: (dv + turned(w, d_out)).to(d_out.dtype)),
        "dv is turned into d_out's dtype in each turn of the loop. In bfloat16 a sum of 200 is "
        "known to 1 at best.",
        WIDE,
    ),
    _way_back(
        "each tile's part half as wide",
        but_for(add=lambda dv, w, d_out, q: dv + turned(w, d_out).to(d_out.dtype)),
        "What a tile of queries adds is turned into d_out's dtype before it is added. In bfloat16 "
        "200 is known to 1 at best.",
        WIDE,
    ),
    _in_ladder(
        "k not turned",
        but_for(products=lambda q, k: tl.dot(q, k)),
        "`tl.dot` gets q [BLOCK_Q, Dh] and k [BLOCK_K, Dh] as they are. The inner sides differ, or "
        "are equal by chance.",
        "Which side of k must stand first?",
    ),
    _in_ladder(
        "weights stay float32",
        but_for(add=lambda dv, weights, d_out, q: dv + tl.dot(tl.trans(weights), d_out)),
        "The weights are float32 and d_out may be half as wide. `tl.dot` multiplies two tiles of "
        "one dtype.",
        "Which of the two can be turned into the dtype of the other?",
    ),
)

"""More of what goes wrong on the way back: loops, addresses, tails, and powers of two."""

from functools import partial

from course_lib.checks.kernel.step_mistakes import LOG2E, by_rows
from course_lib.checks.kernel.step_slips import from_0
from course_lib.checks.kernel.values_mistakes import bottom_right, but_for, turned
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_way_back = partial(Mistake, reread='07, "The way back"')
_in_copy = partial(Mistake, reread='07, "Copy, with a tail"')
_beside = partial(Mistake, reread='07, "The attention kernel, beside chapter 06"')


def _of_queries(old, q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, *numbers):
    """Each program adds what its queries give to what `old` finds in dv."""
    Tk, scale, CAUSAL, Dh, BLOCK_Q, BLOCK_K = numbers
    dims = tl.arange(0, Dh)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    mine, exist = by_rows(0, rows, dims), rows[:, None] < Tq
    q = tl.load(q_ptr + mine, mask=exist, other=0.0)
    d_out = tl.load(d_out_ptr + mine, mask=exist, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < Tq, other=0.0)
    for start in range(0, Tk, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        keys, inside = by_rows(0, cols, dims), cols[:, None] < Tk
        k = tl.load(k_ptr + keys, mask=inside, other=0.0)
        keep = exist & (cols[None, :] < Tk)
        if CAUSAL:
            keep = keep & bottom_right(rows, cols, Tq, Tk)
        weights = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        dv = turned(tl.where(keep, weights, 0.0), d_out)
        tl.store(dv_ptr + keys, old(dv_ptr + keys, inside) + dv, mask=inside)


def _before(at, inside):
    return tl.load(at, mask=inside, other=0.0)


def _from_its_own_place(call):
    return range(
        call.first // call.BLOCK_Q * call.BLOCK_Q if call.CAUSAL else 0, call.Tq, call.BLOCK_Q
    )


def _from_before(call):
    begin = (call.first - (call.Tk - call.Tq)) // call.BLOCK_Q * call.BLOCK_Q
    return range(begin if call.CAUSAL else 0, call.Tq, call.BLOCK_Q)


def _rounded_up(call):
    begin = tl.cdiv(max(0, call.first - (call.Tk - call.Tq)), call.BLOCK_Q) * call.BLOCK_Q
    return range(begin if call.CAUSAL else 0, call.Tq, call.BLOCK_Q)


def _along_the_keys(s, lse, keep):
    return tl.where(keep, tl.exp(s - lse[None, :]), 0.0)


def _in_twos(s, lse, keep):
    return tl.where(keep, tl.exp2(s * LOG2E - lse[:, None]), 0.0)


def _of_two(s, lse, keep):
    return tl.where(keep, tl.exp2(s - lse[:, None]), 0.0)


_no_rows = {"exist": lambda rows, cols, Tq, Tk: cols[None, :] < Tk}

ALONE = "Who can sum a row of dv alone: the program that has its key, or one that has a query?"
LANES = "Which lanes of the last tile are queries?"
ADDRESS = "At which element does row i of the tile begin in memory?"

SLIPS = (
    _way_back(
        "a program for each tile of queries",
        partial(_of_queries, lambda at, inside: 0.0),
        "A program has a tile of queries and stores what it adds to dv. The next overwrites that, "
        "and the grid counts tiles of keys.",
        ALONE,
    ),
    _way_back(
        "a race",
        partial(_of_queries, _before),
        "A program has a tile of queries, and loads dv, adds its part and stores it. On a card two "
        "do so at once, and one part is lost. The grid counts tiles of keys, and dv's old contents "
        "count too.",
        ALONE,
    ),
    _way_back(
        "added to what stood in dv",
        but_for(end=lambda dv, scale, at, inside: dv + _before(at, inside)),
        "dv is added to what stood in memory before the launch. That is anything.",
        "How many programs write one row of dv?",
    ),
    _way_back(
        "the last tile of queries alone",
        but_for(add=lambda dv, weights, d_out, q: turned(weights, d_out)),
        "dv is what the last tile of queries adds. Each tile overwrites the one before.",
        "How many queries read one key?",
    ),
    _way_back(
        "q in place of d_out",
        but_for(add=lambda dv, weights, d_out, q: dv + turned(weights, q)),
        "The weights multiply q: it has the form of dk, without the gradient that comes back.",
        "Which gradient arrives at the output, and through what does it reach v?",
    ),
    _way_back(
        "one tile for all programs",
        but_for(first=lambda program, BLOCK_Q, BLOCK_K: 0 * program),
        "Every program has the first tile of keys. The rows of the others aren't written.",
        "What tells a program which tile is its own?",
    ),
    _way_back(
        "the program's number for a key",
        but_for(first=lambda program, BLOCK_Q, BLOCK_K: program),
        "The tile of a program begins at the key of its number. It should begin BLOCK_K keys "
        "after the tile before.",
        "Which key is the first of program 1?",
    ),
    _way_back(
        "tiles of keys as high as those of queries",
        but_for(first=lambda program, BLOCK_Q, BLOCK_K: program * BLOCK_Q),
        "A program's keys begin BLOCK_Q keys after those of the program before. A tile of keys has "
        "BLOCK_K.",
        "How many keys does one program have?",
    ),
    _way_back(
        "tiles for queries",
        but_for(starts=lambda call: range(tl.cdiv(call.Tq, call.BLOCK_Q))),
        "start counts tiles and is used as the number of a query: each turn begins one query "
        "later.",
        "Which query is the first of tile 1?",
    ),
    _way_back(
        "a loop over keys",
        but_for(starts=lambda call: range(0, call.Tk, call.BLOCK_K)),
        "The loop goes to Tk by BLOCK_K, as the forward's does. Here a program has its keys and "
        "walks over queries.",
        "How many queries are there, and how many does one turn read?",
    ),
    _way_back(
        "as many queries as keys",
        but_for(starts=lambda call: range(0, call.Tk, call.BLOCK_Q)),
        "The loop over queries ends at Tk.",
        "Over what does a program walk?",
    ),
    _in_copy(
        "full tiles alone",
        but_for(starts=lambda call: range(0, call.Tq // call.BLOCK_Q * call.BLOCK_Q, call.BLOCK_Q)),
        "The last queries are left out where they don't fill a tile.",
        "How many tiles cover 25 queries, if a tile has 16?",
    ),
    _in_copy(
        "queries loaded without a mask",
        but_for(rows_mask=lambda inside: None, lse_mask=lambda inside: {}),
        "All lanes of the last tile of queries are loaded. Where the memory ends, that fails.",
        LANES,
    ),
    _in_copy(
        "d_out loaded without a mask",
        but_for(d_out_mask=lambda mask: None),
        "q is loaded under a mask, and d_out without one. Where the memory ends, that fails.",
        LANES,
    ),
    _in_copy(
        "the lse loaded without a mask",
        but_for(lse_mask=lambda inside: {}),
        "q is loaded under a mask, and the lse without one. Where the memory ends, that fails.",
        LANES,
    ),
    _in_copy(
        "queries without a mask",
        but_for(rows_mask=lambda inside: None, lse_mask=lambda inside: {}, **_no_rows),
        "All lanes of the last tile of queries are loaded and counted. Behind Tq the memory ends "
        "or belongs to others.",
        LANES,
    ),
    _in_copy(
        "lanes without a number",
        but_for(other={}, lse_mask=lambda inside: {"mask": inside}),
        "Lanes beyond the last query bring NaN into dv: what is loaded there, or the weight that "
        "is made of it, is no finite number, and 0 times that is NaN.",
        "What do q, d_out and lse hold where there is no query?",
    ),
    _in_copy(
        "stored without a mask",
        but_for(store_mask=lambda inside: None),
        "All BLOCK_K rows are stored. The last tile has fewer keys; behind them dv ends or belongs "
        "to others.",
        "Which lanes of the last tile are keys?",
    ),
    _way_back(
        "begun at the tile's own number",
        but_for(starts=_from_its_own_place),
        "In a causal call the loop begins at the query of the first key's number. With more keys "
        "than queries, earlier ones read that key too.",
        "Which is the first query that reads key j, if the last query reads the last key?",
    ),
    _way_back(
        "begun a tile late",
        but_for(starts=_rounded_up),
        "In a causal call the query at which the loop begins is rounded up to tiles. The queries "
        "of the tile that holds the first reader are left out.",
        "In which tile of queries is the first that reads key j?",
    ),
    _way_back(
        "begun before the first query",
        but_for(starts=_from_before),
        "In a causal call the loop begins where the diagonal meets the first key. With more keys "
        "than queries, that may lie before query 0.",
        "Which number has the first query that there is?",
    ),
    _way_back(
        "the first queries each time",
        but_for(
            rows=lambda start, lanes: lanes,
            queries=from_0,
            lse_at=lambda start, lanes: lanes,
        ),
        "Each turn of the loop reads the first queries again, whatever start is.",
        "Which query is lane 0 in the second turn?",
    ),
    _way_back(
        "the lse along the keys",
        but_for(weights=_along_the_keys),
        "The lse meets the scores along the keys. There is one for each query.",
        "Along which axis of the scores do the queries stand?",
    ),
    _beside(
        "half turned to powers of two",
        but_for(weights=_in_twos),
        "The scores are turned to powers of two and the lse isn't. It is a natural logarithm.",
        "By which number must both grow when e becomes 2?",
    ),
    _beside(
        "powers of two for powers of e",
        but_for(weights=_of_two),
        "exp2 is taken of numbers that are exponents of e.",
        "By which number must an exponent grow when e becomes 2?",
    ),
)

"""More of what people count: what lies between the passes, widths, lengths and dtypes."""

from functools import partial

import torch

from course_lib.checks.question import Mistake
from course_lib.checks.tiling.bytes_mistakes import but_for, more, of_sizes, right

_in_bytes = partial(Mistake, reread='06, "Equal work, fewer bytes"')

SIZE = "Who could tell you the size of any dtype?"
WAYS = "What is written by one pass, and read by the next?"


def _queries_go_by(Tq, Tk, Dh, Dv, block_q, dtype):
    passes = -(-Tk // block_q)
    tiled = passes * Tq * (Dh + Dv) + Tk * (Dh + Dv) + Tq
    return right(Tq, Tk, Dh, Dv, block_q, dtype)[0], tiled * dtype.itemsize


SLIPS = (
    _in_bytes(
        "the output again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tq * Dv * (n - 1)),
        "The tiled count stores all of out once for each tile of queries.",
        "How many outputs does one tile store?",
    ),
    _in_bytes(
        "queries go by",
        _queries_go_by,
        "The keys are cut into tiles that stay, and all queries and outputs come by for each of "
        "them. Here a tile of queries stays.",
        "Which tensor does block_q cut, and which come by?",
    ),
    _in_bytes(
        "loads alone",
        more(
            naive=lambda Tq, Tk, Dh, Dv: -2 * Tq * Tk - Tq * Dv,
            tiled=lambda Tq, Tk, Dh, Dv, n: -Tq * Dv - Tq,
        ),
        "What is read is counted, and nothing that is written.",
        "In which two directions do bytes move?",
    ),
    _in_bytes(
        "scores in the tiled count",
        more(tiled=lambda Tq, Tk, *rest: Tq * Tk),
        "The tiled count moves Tq by Tk numbers. A tile of scores never leaves fast memory.",
        "Who would read the scores if they were stored?",
    ),
    _in_bytes(
        "scores and weights one way",
        more(naive=lambda Tq, Tk, *rest: -2 * Tq * Tk),
        "The naive count moves 2 times Tq by Tk numbers: scores and weights one way each, or one "
        "of the two both ways.",
        WAYS,
    ),
    _in_bytes(
        "one way too few",
        more(naive=lambda Tq, Tk, *rest: -Tq * Tk),
        "The naive count moves 3 times Tq by Tk numbers.",
        WAYS,
    ),
    _in_bytes(
        "scores once",
        more(naive=lambda Tq, Tk, *rest: -3 * Tq * Tk),
        "The naive count moves Tq by Tk numbers once.",
        WAYS,
    ),
    _in_bytes(
        "nothing in between",
        more(naive=lambda Tq, Tk, *rest: -4 * Tq * Tk),
        "The naive count has what goes in and what comes out.",
        WAYS,
    ),
    _in_bytes(
        "the output not stored",
        more(
            naive=lambda Tq, Tk, Dh, Dv: -Tq * Dv,
            tiled=lambda Tq, Tk, Dh, Dv, n: -Tq * Dv,
        ),
        "Neither count has the output.",
        "Where must the result lie when the call ends?",
    ),
    _in_bytes(
        "values as wide as keys",
        of_sizes(lambda Tq, Tk, Dh, Dv, *rest: (Tq, Tk, Dh, Dh, *rest)),
        "v and out are counted as wide as q and k.",
        "Where does your code use `Dv`?",
    ),
    _in_bytes(
        "the output as wide as the queries",
        more(
            naive=lambda Tq, Tk, Dh, Dv: Tq * (Dh - Dv),
            tiled=lambda Tq, Tk, Dh, Dv, n: Tq * (Dh - Dv),
        ),
        "The output is counted as wide as q. It is a weighted sum of values.",
        "How wide is a weighted sum of values?",
    ),
    _in_bytes(
        "Tq and Tk exchanged",
        of_sizes(lambda Tq, Tk, *rest: (Tk, Tq, *rest)),
        "Tq and Tk are exchanged: there are as many queries as there should be keys.",
        "Which of the two lengths does block_q cut?",
    ),
    _in_bytes(
        "a causal half",
        lambda *given: (right(*given)[0], right(*given)[1] // 2),
        "The tiled count is halved. Here every query reads all keys.",
        "Which mask does the task speak of?",
    ),
    _in_bytes(
        "tiled first",
        lambda *given: right(*given)[::-1],
        "The tiled count comes back first.",
        "In which order does the task name the two?",
    ),
    _in_bytes(
        "elements for bytes",
        but_for(size=lambda dtype: 1),
        "Numbers are counted, and the dtype changes nothing.",
        "How many bytes does one number of this dtype take?",
    ),
    _in_bytes(
        "bits for bytes",
        but_for(size=lambda dtype: 8 * dtype.itemsize),
        "Eight are counted for every byte.",
        "What is the 32 of float32 a number of?",
    ),
    _in_bytes(
        "float32 always",
        but_for(size=lambda dtype: 4),
        "A number takes 4 bytes, whatever its dtype.",
        SIZE,
    ),
    _in_bytes(
        "floats only",
        but_for(size=lambda dtype: torch.finfo(dtype).bits // 8),
        "A table of floating dtypes is asked, and int8 isn't in it.",
        "Who else knows the size of a dtype: the dtype itself?",
    ),
    _in_bytes(
        "float32 or half of it",
        but_for(size=lambda dtype: 4 if dtype == torch.float32 else 2),
        "Two sizes are known: 4 bytes for float32, 2 for every other dtype.",
        SIZE,
    ),
    _in_bytes(
        "both ways counted twice",
        more(naive=lambda Tq, Tk, *rest: 4 * Tq * Tk),
        "The naive count moves 8 times Tq by Tk numbers: scores and weights both ways, and that "
        "twice.",
        WAYS,
    ),
    _in_bytes(
        "output and lse again",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: Tq * (Dv + 1) * (n - 1)),
        "The tiled count stores all of out and lse once for each tile of queries.",
        "How many outputs does one tile store?",
    ),
    _in_bytes(
        "values as wide as keys, in tiles",
        more(tiled=lambda Tq, Tk, Dh, Dv, n: n * Tk * (Dh - Dv)),
        "In the tiled count v is as wide as k.",
        "Where does your tiled count use `Dv`?",
    ),
)

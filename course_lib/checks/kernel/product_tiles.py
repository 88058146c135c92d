"""Where a product in tiles goes wrong in how two tiles are multiplied and summed."""

from functools import partial

from course_lib import simulator as triton
from course_lib.checks.kernel.product_mistakes import PARTS, but_for
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_in_tiles = partial(Mistake, reread='07, "A product in tiles"')


def _summed_in_out(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK):
    for start in range(0, K, BLOCK):
        one = but_for(tiles=lambda here, start=start: [start], end=_onto(out_ptr))
        one(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK)


def _onto(out_ptr: object) -> object:
    """Add what stands in out already."""

    def end(acc, here):
        at, inside = PARTS["out_at"](here), PARTS["in_out"](here)
        return acc + tl.load(out_ptr + at, mask=inside, other=0.0)

    return end


def _on_one_axis(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows * K + k, mask=(rows < M) & (k < K), other=0.0)
        b = tl.load(b_ptr + k * N + cols, mask=(k < K) & (cols < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


_a_on_one_axis = but_for(
    a_at=lambda here: here.rows[:, 0] * here.K + here.k,
    in_a=lambda here: (here.rows[:, 0] < here.M) & (here.k < here.K),
)


def _all_of_k(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK):
    along = tl.arange(0, triton.next_power_of_2(K))
    one = but_for(tiles=lambda here: range(1), along=lambda here, start: along)
    one(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK)


TILES = (
    _in_tiles(
        "rows and columns on one axis",
        _on_one_axis,
        "Rows and columns are added as they are, lane by lane: that names BLOCK addresses, the "
        "diagonal of a tile.",
        "Which of the two has to stand in a column, so that a square of addresses comes out?",
    ),
    _in_tiles(
        "a on one axis",
        _a_on_one_axis,
        "Rows of a and places along K are added as they are, lane by lane: that names BLOCK "
        "addresses of a, not a tile.",
        "Which of the two has to stand in a column, so that a square of addresses comes out?",
    ),
    _in_tiles(
        "summed in out",
        _summed_in_out,
        "The sum is kept in out, and begins with what stands there before the launch.",
        "Who says that out holds zeros at first, and where else could a sum live?",
    ),
    _in_tiles(
        "sums in float16",
        but_for(sums=tl.float16, step=lambda acc, a, b: acc + tl.dot(a, b).to(tl.float16)),
        "The sum is kept in float16, whatever dtype the matrices have.",
        "In which dtype does the running sum live between two turns of the loop?",
    ),
    _in_tiles(
        "sums in the dtype of a",
        but_for(sums=None, step=lambda acc, a, b: acc + tl.dot(a, b)),
        "The sum is kept in the dtype of the matrices: in float16 a sum of hundreds has few "
        "decimals left.",
        "In which dtype does the running sum live between two turns of the loop?",
    ),
    _in_tiles(
        "every tile counted twice",
        but_for(step=lambda acc, a, b: acc + tl.dot(a, b, acc)),
        "The product already has the old sum in it, and is added to the old sum.",
        "What does a product of tiles that is given a sum return?",
    ),
    _in_tiles(
        "number by number",
        but_for(step=lambda acc, a, b: acc + a * b),
        "Two tiles multiplied with * are multiplied number by number; nothing is summed along K.",
        "How many numbers of a and b make one number of a product?",
    ),
    _in_tiles(
        "the matrices in the other order",
        but_for(step=lambda acc, a, b: tl.dot(b, a, acc)),
        "The tile of b stands before the tile of a in the product.",
        "Which of the two gives the rows of the product?",
    ),
    _in_tiles(
        "b turned over in the product",
        but_for(step=lambda acc, a, b: tl.dot(a, tl.trans(b), acc)),
        "The tile of b is transposed before the product, as keys would be. Loaded as [K, N] it "
        "stands right already.",
        "Which axis of b's tile must meet the second axis of a's?",
    ),
    _in_tiles(
        "the tile of a on its side",
        but_for(step=lambda acc, a, b: tl.dot(tl.trans(a), b, acc)),
        "The tile of a enters the product with its rows along axis 1, so sums run along M.",
        "Which axis of a's tile must meet the first axis of b's?",
    ),
    _in_tiles(
        "the sum is dropped",
        but_for(step=lambda acc, a, b: acc),
        "The sum stays at 0. What a product of tiles returns is kept nowhere; it changes none of "
        "the tiles it is given.",
        "Which name holds the sum after a turn of the loop?",
    ),
    _in_tiles(
        "all of K in one tile",
        _all_of_k,
        "A tile is as long as K, up to the next power of two. Triton makes tiles of lengths that "
        "are known before the launch; K isn't.",
        "How many numbers along K does BLOCK allow at a time?",
    ),
)

"""What people really write for a product in tiles when an address, a loop or a dtype goes wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_in_tiles = partial(Mistake, reread='07, "A product in tiles"')
_of_programs = partial(Mistake, reread='07, "A GPU on one page"')


def _sum_of_products(acc: object, a: object, b: object) -> object:
    return tl.dot(a, b, acc)


def but_for(
    rows: Callable = lambda here: tl.program_id(0) * here.BLOCK + here.lanes,
    cols: Callable = lambda here: tl.program_id(1) * here.BLOCK + here.lanes,
    tiles: Callable = lambda here: range(0, here.K, here.BLOCK),
    along: Callable = lambda here, start: start + here.lanes,
    **rest: Callable | float | None,
) -> Callable:
    """The right product, but for what is given: see PARTS for the rest."""
    parts = SimpleNamespace(**(PARTS | rest))

    def run(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK):
        here = SimpleNamespace(M=M, N=N, K=K, BLOCK=BLOCK, lanes=tl.arange(0, BLOCK))
        here.dtype = a_ptr.dtype.element_ty
        here.rows, here.cols = rows(here)[:, None], cols(here)[None, :]
        acc = tl.zeros([BLOCK, BLOCK], parts.sums or here.dtype)
        for start in tiles(here):
            here.start, here.k = start, along(here, start)
            a = tl.load(a_ptr + parts.a_at(here), mask=parts.in_a(here), other=parts.fill)
            b = tl.load(b_ptr + parts.b_at(here), mask=parts.in_b(here), other=parts.fill)
            acc = parts.step(acc, a, b).to(acc.dtype)
        at, inside = parts.out_at(here), parts.in_out(here)
        tl.store(out_ptr + at, parts.end(acc, here), mask=inside)

    return run


PARTS = {
    "a_at": lambda here: here.rows * here.K + here.k[None, :],
    "b_at": lambda here: here.k[:, None] * here.N + here.cols,
    "out_at": lambda here: here.rows * here.N + here.cols,
    "in_a": lambda here: (here.rows < here.M) & (here.k[None, :] < here.K),
    "in_b": lambda here: (here.k[:, None] < here.K) & (here.cols < here.N),
    "in_out": lambda here: (here.rows < here.M) & (here.cols < here.N),
    "fill": 0.0,
    "sums": tl.float32,
    "step": _sum_of_products,
    "end": lambda acc, here: acc,
}


def _from_one_number(which: str) -> Callable:
    """The place of a tile from a single number, as if the grid had one axis."""

    def lanes(here):
        across, pid = tl.cdiv(here.N, here.BLOCK), tl.program_id(0)
        tile = pid // across if which == "rows" else pid % across
        return tile * here.BLOCK + here.lanes

    return lanes


MISTAKES = (
    _in_tiles(
        "a's rows M apart",
        but_for(a_at=lambda here: here.rows * here.M + here.k[None, :]),
        "The next row of a is sought M elements further on.",
        "How long is a row of a matrix [M, K]?",
    ),
    _in_tiles(
        "a's rows N apart",
        but_for(a_at=lambda here: here.rows * here.N + here.k[None, :]),
        "The next row of a is sought N elements further on.",
        "How long is a row of a matrix [M, K]?",
    ),
    _in_tiles(
        "b's rows K apart",
        but_for(b_at=lambda here: here.k[:, None] * here.K + here.cols),
        "The next row of b is sought K elements further on.",
        "How long is a row of a matrix [K, N]?",
    ),
    _in_tiles(
        "out's rows M apart",
        but_for(out_at=lambda here: here.rows * here.M + here.cols),
        "The next row of out is sought M elements further on.",
        "How long is a row of a matrix [M, N]?",
    ),
    _in_tiles(
        "out's rows K apart",
        but_for(out_at=lambda here: here.rows * here.K + here.cols),
        "The next row of out is sought K elements further on, as in a.",
        "How long is a row of a matrix [M, N]?",
    ),
    _in_tiles(
        "rows BLOCK apart",
        but_for(
            a_at=lambda here: here.rows * here.BLOCK + here.k[None, :],
            b_at=lambda here: here.k[:, None] * here.BLOCK + here.cols,
            out_at=lambda here: here.rows * here.BLOCK + here.cols,
        ),
        "The next row is sought BLOCK elements further on, as if the tile were the matrix.",
        "How far apart do two neighbours of one column lie in memory?",
    ),
    _in_tiles(
        "b read as its transpose",
        but_for(b_at=lambda here: here.cols * here.K + here.k[:, None]),
        "b is read as if it were [N, K], row by row: as a matrix of keys would be.",
        "Which of b's axes has neighbours in memory?",
    ),
    _in_tiles(
        "b moves along its rows",
        but_for(b_at=lambda here: here.lanes[:, None] * here.N + here.cols + here.start),
        "From one turn to the next b moves on by BLOCK elements, to the right. Its next tile along "
        "K lies below.",
        "How many elements lie between a number of b and the one BLOCK rows below?",
    ),
    _in_tiles(
        "a read as its transpose",
        but_for(a_at=lambda here: here.k[None, :] * here.M + here.rows),
        "a is read as if it were [K, M]: neighbours along M.",
        "Which of a's axes has neighbours in memory?",
    ),
    _in_tiles(
        "out written as its transpose",
        but_for(out_at=lambda here: here.cols * here.M + here.rows),
        "out is written as if it were [N, M]: neighbours along M.",
        "Which of out's axes has neighbours in memory?",
    ),
    _in_tiles(
        "the tile turned over",
        but_for(end=lambda acc, here: tl.trans(acc)),
        "The tile stands in its place, and its rows and columns are exchanged.",
        "Which axis of a tile of a @ b counts the rows of a?",
    ),
    _of_programs(
        "the grid's axes exchanged",
        but_for(
            rows=lambda here: tl.program_id(1) * here.BLOCK + here.lanes,
            cols=lambda here: tl.program_id(0) * here.BLOCK + here.lanes,
        ),
        "Axis 1 of the grid counts tiles of rows here, and axis 0 tiles of columns. The grid was "
        "made the other way round.",
        "Which axis of the grid has cdiv(M, BLOCK) programs?",
    ),
    _of_programs(
        "one number for a grid of two axes",
        but_for(rows=_from_one_number("rows"), cols=_from_one_number("cols")),
        "Row and column of the tile are worked out from program_id(0) alone, as if the grid had "
        "one axis.",
        "How many programs does each axis of this grid have?",
    ),
    _of_programs(
        "axis 0 for rows and columns",
        but_for(cols=lambda here: tl.program_id(0) * here.BLOCK + here.lanes),
        "The same number of the program places the rows and the columns: only tiles on the "
        "diagonal are made.",
        "Along which axis of the grid do the columns move?",
    ),
    _of_programs(
        "the first tile in every program",
        but_for(rows=lambda here: here.lanes, cols=lambda here: here.lanes),
        "No address depends on the program: all of them make the tile in the corner.",
        "How does a program know which tile is its own?",
    ),
    _of_programs(
        "tiles one row and one column apart",
        but_for(
            rows=lambda here: tl.program_id(0) + here.lanes,
            cols=lambda here: tl.program_id(1) + here.lanes,
        ),
        "A tile begins at the row and the column with the program's number: tile 1 at row 1.",
        "How many rows lie before the first row of tile 1?",
    ),
    _of_programs(
        "tiles one row apart",
        but_for(rows=lambda here: tl.program_id(0) + here.lanes),
        "A tile begins at the row with the program's number, tile 1 at row 1. Its columns are "
        "right.",
        "How many rows lie before the first row of tile 1?",
    ),
    _of_programs(
        "tiles one column apart",
        but_for(cols=lambda here: tl.program_id(1) + here.lanes),
        "A tile begins at the column with the program's number, tile 1 at column 1. Its rows are "
        "right.",
        "How many columns lie before the first column of tile 1?",
    ),
    _in_tiles(
        "the first tile along K alone",
        but_for(tiles=lambda here: range(1)),
        "Only the first BLOCK products of each sum are made: there is no loop, or its steps miss "
        "the other tiles.",
        "Which elements along K should each turn read, and which does yours?",
    ),
    _in_tiles(
        "the last tile along K alone",
        but_for(step=lambda acc, a, b: tl.dot(a, b)),
        "Each turn of the loop puts its products in the place of the earlier ones.",
        "What should a turn do with what the turns before it found?",
    ),
    _in_tiles(
        "the first tile along K again and again",
        but_for(along=lambda here, start: here.lanes),
        "The loop's variable is in no address: every turn adds the first tile's products.",
        "Which element along K does lane 0 stand for in the second turn?",
    ),
    _in_tiles(
        "full tiles along K alone",
        but_for(tiles=lambda here: range(0, here.K // here.BLOCK * here.BLOCK, here.BLOCK)),
        "The loop ends with the last full tile along K: the rest of each sum is missing.",
        "How many tiles cover K, if the last may be shorter?",
    ),
    _in_tiles(
        "tiles along K one element apart",
        but_for(tiles=lambda here: range(tl.cdiv(here.K, here.BLOCK))),
        "The loop counts tiles, and the number of a tile is added as if it were a place: tile 1 "
        "begins at element 1 of K.",
        "How many elements along K lie before tile 1's first?",
    ),
    _in_tiles(
        "the loop walks along N",
        but_for(tiles=lambda here: range(0, here.N, here.BLOCK)),
        "The loop ends at N, and it is K along which products are summed.",
        "Which of the three sides is in a and in b, and not in out?",
    ),
    _in_tiles(
        "float16 tiles",
        but_for(step=lambda acc, a, b: tl.dot(a.to(tl.float16), b.to(tl.float16), acc)),
        "Both tiles become float16 before they are multiplied, whatever dtype they have.",
        "Which digits of a float32 number are left in float16?",
    ),
    _in_tiles(
        "each turn's products rounded",
        but_for(step=lambda acc, a, b: acc + tl.dot(a, b).to(a.dtype)),
        "The products of each turn are rounded to the dtype of a before they are added.",
        "From where to where must the sums stay in float32?",
    ),
    _in_tiles(
        "float16 at the end",
        but_for(end=lambda acc, here: acc.to(tl.float16)),
        "The finished sum becomes float16 before it is stored, whatever dtype out has.",
        "Whose dtype should what is stored have?",
    ),
    _in_tiles(
        "the dtype of a at the end",
        but_for(end=lambda acc, here: acc.to(here.dtype)),
        "The finished sum is rounded to the dtype of a before it is stored. out may be finer.",
        "Whose dtype should what is stored have?",
    ),
)

"""Where a softmax over rows goes wrong by its addresses, its masks, or what is stored."""

from functools import partial
from types import SimpleNamespace

from course_lib.checks.kernel.softmax_mistakes import LOWEST, but_for, power
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_in_rows = partial(Mistake, reread='07, "Rows of any length"')
_in_masks = partial(Mistake, reread='07, "Copy, with a tail"')


def _always(here: SimpleNamespace, at: object) -> None:
    return None


def _full_tiles(here: SimpleNamespace) -> range:
    return range(0, here.T // here.BLOCK * here.BLOCK, here.BLOCK)


def _counted(here: SimpleNamespace) -> range:
    return range(tl.cdiv(here.T, here.BLOCK))


def _begins(here: SimpleNamespace) -> object:
    return here.pid * here.BLOCK


def _at_zero(here: SimpleNamespace) -> int:
    return 0


def _one_short(here: SimpleNamespace, at: object) -> object:
    return at < here.T - 1


def _one_long(here: SimpleNamespace, at: object) -> object:
    return at <= here.T


def _last_tile(here: SimpleNamespace, at: object) -> object:
    return (at < here.T) & (at >= (here.T - 1) // here.BLOCK * here.BLOCK)


def _of_own_maximum(x: object, row_max: object, row_sum: object) -> object:
    return power(x, tl.maximum(LOWEST, tl.max(x, 0))) / row_sum


def _in_lanes(here: SimpleNamespace, at: object) -> object:
    return here.lanes < here.T


def _to_the_last_row(here: SimpleNamespace, at: object) -> object:
    return here.pid * here.T + at < here.rows * here.T


SLIPS = (
    _in_rows(
        "rows BLOCK apart",
        but_for(x_first=_begins, out_first=_begins),
        "Row 1 is sought BLOCK elements behind row 0. Rows are as far apart as they are long.",
        "How many elements lie before row 1's first?",
    ),
    _in_rows(
        "rows one element apart",
        but_for(x_first=lambda here: here.pid, out_first=lambda here: here.pid),
        "Row 1 is sought one element behind row 0: the program's number is taken for an address.",
        "How many elements lie before row 1's first?",
    ),
    _in_rows(
        "columns for rows",
        but_for(
            x_first=lambda here: here.pid,
            out_first=lambda here: here.pid,
            at=lambda here, start: (start + here.lanes) * here.rows,
            may_read=lambda here, at: at < here.T * here.rows,
            may_write=lambda here, at: at < here.T * here.rows,
        ),
        "A program's elements are as many apart as there are rows. In a contiguous tensor those "
        "of one row are neighbours.",
        "Which element comes behind the first in memory: the next of the row, or of the column?",
    ),
    _in_rows(
        "every program has row 0",
        but_for(x_first=_at_zero, out_first=_at_zero),
        "Row 0 alone is written: no address depends on the program, or a mask compares T with a "
        "place in the whole tensor.",
        "From where are elements counted in your address, and from where in your mask?",
    ),
    _in_rows(
        "all write to row 0",
        but_for(out_first=_at_zero),
        "Each program reads its own row, and all of them write to row 0.",
        "Where in out does row 1 begin?",
    ),
    _in_rows(
        "all read row 0",
        but_for(x_first=_at_zero),
        "Each program writes its own row, and all of them read row 0.",
        "Where in x does row 1 begin?",
    ),
    _in_rows(
        "one tile, no loop",
        but_for(tiles=lambda here: range(1)),
        "Only the first BLOCK elements of a row are read and written.",
        "Which tile holds element BLOCK, and who reads it?",
    ),
    _in_rows(
        "the last tile alone is written",
        but_for(may_write=_last_tile),
        "Only the last tile of each row is written. Behind a loop, only the tile that was read "
        "last is left.",
        "How many tiles of out has a row, and in which loop are they stored?",
    ),
    _in_rows(
        "each tile's own maximum in the end",
        but_for(weight=_of_own_maximum),
        "In the end each tile's powers are of scores minus that tile's maximum. The sum is of "
        "scores minus the row's.",
        "Which maximum do numerator and denominator have to share?",
    ),
    _in_rows(
        "float16 in the end",
        but_for(weight=lambda x, row_max, row_sum: (power(x, row_max) / row_sum).to(tl.float16)),
        "The weights become float16 before they are stored, whatever dtype out has.",
        "Whose dtype should what is stored have?",
    ),
    _in_rows(
        "full tiles only",
        but_for(tiles=_full_tiles),
        "The loop ends with the last full tile. What is left of a row is neither read nor written.",
        "How many tiles cover T elements, if the last may be shorter?",
    ),
    _in_rows(
        "tiles one element apart",
        but_for(tiles=_counted),
        "The loop counts tiles, and the number of a tile is added as if it were an address: tile 1 "
        "begins at element 1.",
        "How many elements lie before tile 1's first?",
    ),
    _in_rows(
        "tiles counted, and strided twice",
        but_for(at=lambda here, start: start * here.BLOCK + here.lanes),
        "The loop goes in steps of BLOCK, and its variable is multiplied by BLOCK once more: most "
        "tiles are left out.",
        "What does the loop's variable count: tiles, or elements?",
    ),
    _in_rows(
        "the tile doesn't move",
        but_for(at=lambda here, start: here.lanes),
        "The loop's variable is in no address: every turn reads the first tile again.",
        "Which element does lane 0 stand for in the second turn?",
    ),
    _in_masks(
        "no mask",
        but_for(may_read=_always, may_write=_always),
        "All lanes are always on. Behind the end of a row stands the next row, and behind the last "
        "row nothing that is yours.",
        "Which lanes of the last tile stand for an element of this row?",
    ),
    _in_masks(
        "the store isn't masked",
        but_for(may_write=_always),
        "Lanes behind the end of a row write too: into the next row, and behind the last one into "
        "memory of others.",
        "What stands behind the last element of a row?",
    ),
    _in_masks(
        "the load isn't masked",
        but_for(may_read=_always),
        "The tile reads on behind the end of its row: the next row's scores enter the maximum and "
        "the sum.",
        "What stands behind the last element of a row?",
    ),
    _in_masks(
        "the mask counts in the tile",
        but_for(may_read=_in_lanes, may_write=_in_lanes),
        "The mask compares the lane with T, not the element: in every tile it starts again at 0.",
        "Which element does lane 3 of the second tile stand for?",
    ),
    _in_masks(
        "masked at the end of the tensor",
        but_for(may_read=_to_the_last_row, may_write=_to_the_last_row),
        "The mask asks whether the element lies inside the tensor. A tile that sticks out of its "
        "row lies inside the next one.",
        "Where must a program stop: at the end of its row, or of the tensor?",
    ),
    _in_masks(
        "one element too many",
        but_for(may_read=_one_long, may_write=_one_long),
        "The mask lets element T pass. Counted from 0, that is the next row's first.",
        "Which number does the last of T elements have?",
    ),
    _in_masks(
        "one element too few",
        but_for(may_read=_one_short, may_write=_one_short),
        "The last element of a row is masked: neither read nor written.",
        "Which number does the last of T elements have?",
    ),
    _in_rows(
        "not divided",
        but_for(weight=lambda x, row_max, row_sum: power(x, row_max)),
        "What is stored are the powers. Nothing divides them, and no row sums to 1.",
        "What is the sum for?",
    ),
    _in_rows(
        "powers of two",
        but_for(
            total=lambda row_sum, old, new, x: (
                row_sum * tl.exp2(old - new) + tl.sum(tl.exp2(x - new), 0)
            ),
            weight=lambda x, row_max, row_sum: tl.exp2(x - row_max) / row_sum,
        ),
        "The powers are of 2, not of e, and the scores are taken as they are.",
        "By what must a score be multiplied, so that a power of 2 is one of e?",
    ),
    _in_rows(
        "powers of two against powers of e",
        but_for(weight=lambda x, row_max, row_sum: tl.exp2(x - row_max) / row_sum),
        "The sum is of powers of e, and what is divided by it are powers of 2.",
        "Do numerator and denominator have the same base?",
    ),
    _in_rows(
        "the logarithm stored",
        but_for(weight=lambda x, row_max, row_sum: x - row_max - tl.log(row_sum)),
        "What is stored is the logarithm of the softmax.",
        "What undoes a logarithm?",
    ),
)

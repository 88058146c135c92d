"""Where a product in tiles goes wrong by its masks."""

from functools import partial
from types import SimpleNamespace

from course_lib.checks.kernel.product_mistakes import PARTS, but_for
from course_lib.checks.question import Mistake

_in_tiles = partial(Mistake, reread='07, "A product in tiles"')
_in_masks = partial(Mistake, reread='07, "Copy, with a tail"')


def _always(here: SimpleNamespace) -> None:
    return None


def _row_of_a(here: SimpleNamespace) -> object:
    return (here.rows < here.M) & (here.k[None, :] >= 0)


def _column_of_b(here: SimpleNamespace) -> object:
    return (here.cols < here.N) & (here.k[:, None] >= 0)


def _along_k_in_a(here: SimpleNamespace) -> object:
    return (here.k[None, :] < here.K) & (here.rows >= 0)


def _along_k_in_b(here: SimpleNamespace) -> object:
    return (here.k[:, None] < here.K) & (here.cols >= 0)


def _rows_of_out(here: SimpleNamespace) -> object:
    return (here.rows < here.M) & (here.cols >= 0)


def _columns_of_out(here: SimpleNamespace) -> object:
    return (here.cols < here.N) & (here.rows >= 0)


def _exchanged(name: str) -> object:
    """A right mask that takes M for N, and N for M."""

    def mask(here):
        other = SimpleNamespace(**(vars(here) | {"M": here.N, "N": here.M}))
        return PARTS[name](other)

    return mask


SLIPS = (
    _in_masks(
        "no mask",
        but_for(in_a=_always, in_b=_always, in_out=_always),
        "Every lane of every tile is on, also where the tile sticks out of its matrix.",
        "Which rows and columns of the last tiles exist?",
    ),
    _in_masks(
        "the loads aren't masked",
        but_for(in_a=_always, in_b=_always),
        "The store is masked and the loads aren't. A tile that sticks out reads the next rows, and "
        "behind the last one what isn't yours.",
        "What stands in memory behind the end of a row?",
    ),
    _in_masks(
        "the store isn't masked",
        but_for(in_out=_always),
        "The loads are masked and the store isn't. What sticks out of a row of out lies in the "
        "next one.",
        "What stands in memory behind the end of a row?",
    ),
    _in_tiles(
        "K isn't masked",
        but_for(in_a=_row_of_a, in_b=_column_of_b),
        "The masks of the loads ask for rows of a and columns of b, and for nothing along K: the "
        "last tile goes on behind K.",
        "What does the last tile along K hold, if K is no multiple of BLOCK?",
    ),
    _in_tiles(
        "K masked in b alone",
        but_for(in_a=_row_of_a),
        "a is read behind K, and the zeros of b are to take it away. Behind the last row a ends, "
        "and NaN times 0 is NaN.",
        "What is read in a where b has its zeros?",
    ),
    _in_tiles(
        "K masked in a alone",
        but_for(in_b=_column_of_b),
        "b is read behind K, and the zeros of a are to take it away. Behind the last row b ends, "
        "and NaN times 0 is NaN.",
        "What is read in b where a has its zeros?",
    ),
    _in_masks(
        "the loads masked along K alone",
        but_for(in_a=_along_k_in_a, in_b=_along_k_in_b),
        "Rows of a from M on and columns of b from N on are read too. The store drops what comes "
        "of them, but behind the last row nothing may be read.",
        "Which rows of a does the last program along M read?",
    ),
    _in_masks(
        "columns of out aren't masked",
        but_for(in_out=_rows_of_out),
        "The store's mask asks for rows alone. A tile that sticks out to the right writes into the "
        "next row.",
        "What stands in memory behind the end of a row of out?",
    ),
    _in_masks(
        "rows of out aren't masked",
        but_for(in_out=_columns_of_out),
        "The store's mask asks for columns alone. A tile that sticks out below writes behind out.",
        "What stands in memory behind the last row of out?",
    ),
    _in_masks(
        "M and N exchanged in the masks",
        but_for(**{name: _exchanged(name) for name in ("in_a", "in_b", "in_out")}),
        "Rows are compared with N and columns with M.",
        "Which of the two sides counts rows of a?",
    ),
    _in_masks(
        "M and N exchanged in the store's mask",
        but_for(in_out=_exchanged("in_out")),
        "In the store's mask rows are compared with N and columns with M.",
        "Which of the two sides counts rows of out?",
    ),
    _in_masks(
        "one condition is enough",
        but_for(
            in_a=lambda here: (here.rows < here.M) | (here.k[None, :] < here.K),
            in_b=lambda here: (here.k[:, None] < here.K) | (here.cols < here.N),
            in_out=lambda here: (here.rows < here.M) | (here.cols < here.N),
        ),
        "A lane is on if its row exists or its column does.",
        "Does an element exist whose row exists and whose column doesn't?",
    ),
    _in_masks(
        "lanes in place of rows and columns",
        but_for(
            in_a=lambda here: (here.lanes[:, None] < here.M) & (here.lanes[None, :] < here.K),
            in_b=lambda here: (here.lanes[:, None] < here.K) & (here.lanes[None, :] < here.N),
            in_out=lambda here: (here.lanes[:, None] < here.M) & (here.lanes[None, :] < here.N),
        ),
        "The masks compare the lane with the side, and in every tile the lane starts again at 0.",
        "Which row does lane 3 of the second tile stand for?",
    ),
    _in_masks(
        "and in place of &",
        but_for(in_a=lambda here: (here.rows < here.M) and (here.k[None, :] < here.K)),
        "Python's and, or, if ask a whole tile for one yes or no. Every lane has its own; for "
        "tiles Triton, too, warns of and.",
        "Which sign joins two masks lane by lane?",
    ),
    _in_masks(
        "M and K exchanged in a's mask",
        but_for(in_a=lambda here: (here.rows < here.K) & (here.k[None, :] < here.M)),
        "In the mask of a, rows are compared with K, and places along K with M.",
        "Which of a's two sides counts its rows?",
    ),
    _in_masks(
        "one element too many",
        but_for(
            in_a=lambda here: (here.rows <= here.M) & (here.k[None, :] <= here.K),
            in_b=lambda here: (here.k[:, None] <= here.K) & (here.cols <= here.N),
            in_out=lambda here: (here.rows <= here.M) & (here.cols <= here.N),
        ),
        "The masks let row M and column N pass. Counted from 0, they are the first that don't "
        "exist.",
        "Which number does the last of M rows have?",
    ),
    _in_masks(
        "the mask along K doesn't move",
        but_for(
            in_a=lambda here: (here.rows < here.M) & (here.lanes[None, :] < here.K),
            in_b=lambda here: (here.lanes[:, None] < here.K) & (here.cols < here.N),
        ),
        "The tiles move along K, and the mask compares the lane with K, in every turn from 0.",
        "How many elements along K are left in the second turn?",
    ),
    _in_tiles(
        "nothing said of idle lanes",
        but_for(fill=None),
        "The loads are masked, and nothing says what masked lanes hold. On a card that is "
        "anything, here NaN, and it enters the sums.",
        "Which number adds nothing to a sum of products?",
    ),
)

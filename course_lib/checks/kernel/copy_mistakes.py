"""What people really write to copy a tensor block by block when it goes wrong."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_of_tails = partial(Mistake, reread='07, "Copy, with a tail"')
_of_programs = partial(Mistake, reread='07, "A GPU on one page"')


def _inside(here: SimpleNamespace) -> object:
    return here.at < here.n


def but_for(
    at: Callable = lambda here: here.pid * here.BLOCK + here.lanes,
    read_at: Callable = lambda here: here.at,
    write_at: Callable = lambda here: here.at,
    may_read: Callable = _inside,
    may_write: Callable = _inside,
    value: Callable = lambda value, here: value,
    other: float | None = None,
) -> Callable:
    """The right copy, but for what is given."""

    def run(x_ptr, out_ptr, n, BLOCK):
        here = SimpleNamespace(pid=tl.program_id(0), lanes=tl.arange(0, BLOCK), n=n, BLOCK=BLOCK)
        here.at = at(here)
        read = tl.load(x_ptr + read_at(here), mask=may_read(here), other=other)
        tl.store(out_ptr + write_at(here), value(read, here), mask=may_write(here))

    return run


def _masked(mask: Callable) -> Callable:
    """The right copy with another mask on both sides."""
    return but_for(may_read=mask, may_write=mask)


def _always(here: SimpleNamespace) -> None:
    return None


def _if_inside(x_ptr, out_ptr, n, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if at < n:
        tl.store(out_ptr + at, tl.load(x_ptr + at))


def _full_blocks_only(x_ptr, out_ptr, n, BLOCK):
    if (tl.program_id(0) + 1) * BLOCK <= n:
        but_for()(x_ptr, out_ptr, n, BLOCK)


MISTAKES = (
    _of_tails(
        "no mask",
        _masked(_always),
        "In every program all lanes are on, in the last one too: it goes on behind the n-th "
        "element.",
        "Which lanes of the last program stand for an element that exists?",
    ),
    _of_tails(
        "the store isn't masked",
        but_for(may_write=_always),
        "The load is masked and the store isn't: the last program writes what its idle lanes hold "
        "behind the n-th element.",
        "What does a lane that read nothing write?",
    ),
    _of_tails(
        "filled up with zeros, and stored",
        but_for(may_write=_always, other=0.0),
        "Lanes behind the n-th element are given a 0, and the store writes these zeros there.",
        "Whose memory is it behind the n-th element?",
    ),
    _of_tails(
        "the load isn't masked",
        but_for(may_read=_always),
        "The store is masked and the load isn't: the last program reads behind the n-th element, "
        "where x may end.",
        "What happens to an address that no tensor owns?",
    ),
    _of_programs(
        "every program has the first block",
        but_for(at=lambda here: here.lanes),
        "Places are counted from 0 in every program: all of them copy the first block.",
        "How does a program know which of them it is, and along which axis of the grid?",
    ),
    _of_programs(
        "blocks one element apart",
        but_for(at=lambda here: here.pid + here.lanes),
        "A program begins at the element whose number is its own: program 1 at element 1. The "
        "blocks overlap, and the end is never reached.",
        "How many elements lie before program 1's first?",
    ),
    _of_programs(
        "blocks as far apart as there are programs",
        but_for(at=lambda here: here.pid * tl.num_programs(0) + here.lanes),
        "The program's number is multiplied by how many programs there are. That isn't how many "
        "elements each of them has.",
        "How many elements lie before program 1's first?",
    ),
    _of_programs(
        "the first block skipped",
        but_for(at=lambda here: (here.pid + 1) * here.BLOCK + here.lanes),
        "Program 0 begins at element BLOCK: its own block is copied by nobody.",
        "Which number does the first program of a grid have?",
    ),
    _of_programs(
        "programs counted from 1",
        but_for(at=lambda here: (here.pid - 1) * here.BLOCK + here.lanes),
        "Program 0 begins BLOCK elements before the first: its number is taken to be 1.",
        "Which number does the first program of a grid have?",
    ),
    _of_tails(
        "one answer for a whole tile",
        _if_inside,
        "Python's if, and, or, not ask a whole tile for one yes or no. Every lane has an "
        "answer of its own.",
        "Which argument of the load and of the store takes an answer from every lane?",
    ),
    _of_tails(
        "the mask counts in the block",
        _masked(lambda here: here.lanes < here.n),
        "The mask compares the lane with n, not the element: in every block it starts again at 0.",
        "Which element does lane 3 of program 2 stand for?",
    ),
    _of_tails(
        "the mask compares with BLOCK",
        _masked(lambda here: here.at < here.BLOCK),
        "Elements from BLOCK on are masked: only program 0 copies anything.",
        "From which element on is there nothing to copy?",
    ),
    _of_tails(
        "one element too many",
        _masked(lambda here: here.at <= here.n),
        "The mask lets the element with the number n pass. Counted from 0, that is the one behind "
        "the last.",
        "Which number does the last of n elements have?",
    ),
    _of_tails(
        "one element too few",
        _masked(lambda here: here.at < here.n - 1),
        "The last element is masked off.",
        "Which number does the last of n elements have?",
    ),
    _of_tails(
        "the mask turned round",
        _masked(lambda here: here.at >= here.n),
        "The mask turns on the lanes behind the n-th element, and turns off those that exist.",
        "Does True mean that a lane works, or that it rests?",
    ),
    _of_tails(
        "every block as short as the last",
        _masked(lambda here: here.lanes < here.n % here.BLOCK),
        "Every block copies as many elements as the last one has, and where n is a multiple of "
        "BLOCK none at all.",
        "Which programs have a short block?",
    ),
    _of_tails(
        "full blocks only",
        _full_blocks_only,
        "A program whose block sticks out beyond n does nothing: the rest behind the last full "
        "block stays behind.",
        "Which lanes of the last program still have something to copy?",
    ),
    _of_programs(
        "all write to the first block",
        but_for(write_at=lambda here: here.lanes),
        "Each program reads its own block, and all of them write to the first one.",
        "Where in out does the block of program 1 belong?",
    ),
    _of_programs(
        "all read the first block",
        but_for(read_at=lambda here: here.lanes),
        "Each program writes its own block, and all of them read the first one.",
        "Where in x does the block of program 1 begin?",
    ),
    _of_tails(
        "through float32",
        but_for(value=lambda value, here: value.to(tl.float32)),
        "What is read becomes float32 before it is stored. Large whole numbers lose their last "
        "digits there.",
        "Does a copy need to know what the numbers mean?",
    ),
    _of_tails(
        "the places are stored",
        but_for(value=lambda value, here: here.at),
        "What is stored are the numbers of the elements, not what was read there.",
        "What is an address, and what stands at it?",
    ),
)

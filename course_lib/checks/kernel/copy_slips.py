"""Where a copy goes wrong by what a program is, and what a pointer is."""

from functools import partial

from course_lib.checks.kernel.copy_mistakes import but_for
from course_lib.checks.question import Mistake
from course_lib.simulator import language as tl

_of_programs = partial(Mistake, reread='07, "A GPU on one page"')


def _fixed_block(x_ptr, out_ptr, n, BLOCK):
    but_for()(x_ptr, out_ptr, n, 16)


def _other_way(x_ptr, out_ptr, n, BLOCK):
    but_for()(out_ptr, x_ptr, n, BLOCK)


def _one_number(x_ptr, out_ptr, n, BLOCK):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, tl.load(x_ptr + pid))


def _address_stored(x_ptr, out_ptr, n, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, x_ptr + at, mask=at < n)


def _indexed(x_ptr, out_ptr, n, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out_ptr[at] = tl.load(x_ptr + at, mask=at < n)


def _nothing_stored(x_ptr, out_ptr, n, BLOCK):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(x_ptr + at, mask=at < n)


def _first_of_each(x_ptr, out_ptr, n, BLOCK):
    at = tl.program_id(0) * BLOCK
    tl.store(out_ptr + at, tl.load(x_ptr + at))


def _everything(x_ptr, out_ptr, n, BLOCK):
    for start in range(0, n, BLOCK):
        but_for(at=lambda here, start=start: start + here.lanes)(x_ptr, out_ptr, n, BLOCK)


SLIPS = (
    _of_programs(
        "one number a program",
        _one_number,
        "Each program copies a single element, the one with its own number.",
        "How does one program name BLOCK addresses at once?",
    ),
    _of_programs(
        "more than its share",
        _everything,
        "What arrives is right, and a program writes more than its BLOCK elements: it walks over "
        "the whole tensor, or its tile has a length of its own.",
        "Who decides how many elements a program has, and which?",
    ),
    _of_programs(
        "the first element of each block",
        _first_of_each,
        "Each program copies one element, the first of its block: no lanes are added to where it "
        "begins.",
        "How does one program name BLOCK addresses at once?",
    ),
    _of_programs(
        "nothing is stored",
        _nothing_stored,
        "No program writes anything. What a kernel returns or keeps in a variable reaches nobody.",
        "Which function takes a tile back to memory?",
    ),
    _of_programs(
        "addresses for numbers",
        _address_stored,
        "What is handed to the store is an address, not what stands there.",
        "Which function goes to an address and brings its number?",
    ),
    _of_programs(
        "a pointer with brackets",
        _indexed,
        "A pointer is indexed as if it were a tensor. A kernel gets an address alone, without a "
        "shape.",
        "Which function writes at an address?",
    ),
    _of_programs(
        "addresses in bytes",
        but_for(read_at=lambda here: here.at * 4, write_at=lambda here: here.at * 4),
        "Element i is sought at i * 4. A pointer knows how many bytes an element has.",
        "Does what is added to a pointer count bytes, or elements?",
    ),
    _of_programs(
        "a block size of its own",
        _fixed_block,
        "The tile is 16 long, whatever BLOCK says; the grid was made for BLOCK.",
        "Who decides how many elements a program has?",
    ),
    _of_programs(
        "from out to x",
        _other_way,
        "It reads out and writes x.",
        "Which of the two pointers stands in the load?",
    ),
)

"""What a copy with a tail is held to: every element arrives, and nothing behind the n-th moves."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import simulator as triton
from course_lib.checks.kernel.launch import BEFORE, fact, first_wrong, output, written
from course_lib.checks.question import Probe
from course_lib.simulator import language as tl
from course_lib.simulator import watch

EXACT = 1e-12  # a copy rounds nothing; whole numbers are compared exactly anyway


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Copy n elements; every program has BLOCK neighbours, the last one fewer."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


def _grid(x: Tensor, out: Tensor, n: int, BLOCK: int) -> tuple[int]:
    return (triton.cdiv(n, BLOCK),)


def _whose(x: Tensor, i: int, value: float) -> str:
    """Where in x a number that arrived elsewhere comes from."""
    found = (x == value).nonzero().flatten().tolist()
    return f": that is x[{found[0]}]" if found and found[0] != i else ""


def _first(got: dict, want: dict, x: Tensor, out: Tensor, n: int, BLOCK: int) -> str:
    """The first element that isn't right, and in which block it stands, counted from 0."""
    got, want = got["out_ptr"], want["out_ptr"]
    if got.dtype.is_floating_point:
        at = first_wrong(got, want, EXACT)
    else:
        at = tuple((got != want).nonzero()[0].tolist())
    i = at[0]
    origin = "" if got[at] == BEFORE else _whose(x, i, got[at].item())
    if i >= n:
        return f"{fact('out', at, got, want)}{origin}"
    return f"{fact('out', at, got, want)}{origin} (in block {i // BLOCK})"


def _floats(n: int, BLOCK: int, behind: int = 0, **how: object) -> Callable:
    """Different numbers, none of them 0, in tensors that end at n or later."""

    def draw(g: torch.Generator) -> tuple:
        x = (1 + torch.randperm(n + behind, generator=g) + torch.rand(1, generator=g)).to(**how)
        return x, output(n + 2 * behind, **how), n, BLOCK

    return draw


def _wide(g: torch.Generator) -> tuple:
    """Whole numbers that float64 can't tell from their neighbours."""
    x = 2**60 + torch.randint(1, 1000, (11,), generator=g) * 2 + 1
    return x, output(11, dtype=torch.int64), 11, 8


def _copies(holds: str, inputs: Callable, points: int = 1) -> Probe:
    return Probe(
        holds,
        inputs,
        points,
        observe=written(_grid, "out_ptr"),
        fails=_first,
        tolerance=EXACT,
        widen=False,
    )


def _most(fn: Callable, *inputs: object) -> dict:
    """Observe how many elements more than BLOCK the busiest program writes, and out."""
    counts: dict[tuple, int] = {}
    with watch() as log:
        seen = written(_grid, "out_ptr")(fn, *inputs)
    for access in log:
        if access.kind == "store":
            counts[access.program] = counts.get(access.program, 0) + len(access.elements)
    return {"too many": max([0, *(count - inputs[-1] for count in counts.values())]), **seen}


def _too_many(got: dict, want: dict, x: Tensor, out: Tensor, n: int, BLOCK: int) -> str:
    if not got["too many"]:
        return _first(got, want, x, out, n, BLOCK)
    return f"one program writes {BLOCK + got['too many']} elements; its share is {BLOCK}"


COPY = (
    _copies("n 48, blocks of 16: three full ones, and every element arrives", _floats(48, 16)),
    _copies("n 21, blocks of 8: the last of three has 5 elements", _floats(21, 8)),
    _copies("n 19, one block of 32: shorter than a block", _floats(19, 32)),
    _copies("n 3, blocks of 1: an element a program", _floats(3, 1)),
    _copies(
        "n 37, blocks of 16, in tensors that go on: nothing behind out[36] is touched",
        _floats(37, 16, behind=15),
        points=2,
    ),
    _copies("int64 near 2^60, n 11, blocks of 8: no digit is lost", _wide),
    Probe(
        "n 14, blocks of 4: no program writes more than its 4 elements",
        _floats(14, 4, behind=3),
        observe=_most,
        fails=_too_many,
        widen=False,
        told=True,
    ),
)

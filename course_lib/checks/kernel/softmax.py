"""What a softmax over rows is held to: rows of any length, blocked scores, large ones, float32."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import simulator as triton
from course_lib.checks.kernel.launch import BEFORE, at_once, fact, first_wrong, output, written
from course_lib.checks.question import Probe
from course_lib.simulator import language as tl

INF = float("inf")
NEAR = 2e-5  # float32, whichever formula
ROUNDED = 1e-2  # bfloat16
LARGE = 1e-3  # 1000 times LOG2E, rounded to float32, is off by this much in the power


@triton.jit
def softmax_rows(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    """Write the softmax of one row: find its maximum and its sum tile by tile, then divide."""
    first = tl.program_id(0) * T
    lanes = tl.arange(0, BLOCK)
    row_max, row_sum = -3.4028234663852886e38, 0.0  # the lowest float32: -inf minus it is -inf
    for start in range(0, T, BLOCK):
        at = start + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, 0))
        row_sum = row_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), 0)
        row_max = new_max
    row_sum = tl.where(row_sum == 0, 1.0, row_sum)  # blocked in full
    for start in range(0, T, BLOCK):
        at = start + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + first + at, tl.exp(x - row_max) / row_sum, mask=at < T)


def _grid(x: Tensor, out: Tensor, T: int, BLOCK: int) -> tuple[int]:
    return (x.numel() // T,)


def _first(tolerance: float) -> Callable[..., str]:
    """Word the first number that differs: in which row, and which column of it."""

    def words(got: dict, want: dict, x: Tensor, out: Tensor, T: int, BLOCK: int) -> str:
        got, want = got["out_ptr"], want["out_ptr"]
        at = first_wrong(got, want, tolerance)[0]
        row, column = divmod(at, T)
        if want[at] == BEFORE:
            return fact("out", (at,), got, want)
        told = fact(f"row {row}: out", (column,), got[row * T :], want[row * T :])
        scores = x[row * T : (row + 1) * T].float()
        if scores.max() == -INF:
            return f"{told} (this row is blocked in full)"
        sums = got[row * T : (row + 1) * T].double()
        if sums.isfinite().all() and (sums != BEFORE).all():
            told += f" (the row sums to {sums.sum().item():.3g})"
        return told

    return words


def _scores(R: int, T: int, BLOCK: int, behind: int = 0) -> Callable:
    """Logits like N(0, 4), in tensors that end with the last row or later."""

    def draw(g: torch.Generator) -> tuple:
        x = 2 * torch.randn(R * T + behind, generator=g)
        return x, output(R * T + behind), T, BLOCK

    return draw


def _steep(g: torch.Generator) -> tuple:
    """Row 0 rises; row 1 has its maximum in the middle tile, and falls."""
    x = torch.randn(2, 21, generator=g)
    slope = torch.linspace(-6, 6, 21)
    x = x + torch.stack([slope, 4 - slope.abs()])
    return x.flatten(), output(42), 21, 8


def _far(g: torch.Generator) -> tuple:
    x = torch.randn(2, 13, generator=g) + torch.tensor([[1000.0], [-1000.0]])
    return x.flatten(), output(26), 13, 8


def _blocked(g: torch.Generator) -> tuple:
    """Row 0 lacks its first tile, row 1 its last and some before it; row 2 is blocked in full."""
    x = 2 * torch.randn(3, 14, generator=g)
    x[0, :8] = x[1, 5:] = x[2] = -INF
    return x.flatten(), output(42), 14, 8


def _half(g: torch.Generator) -> tuple:
    x = torch.randn(2, 30, generator=g).half()
    return x.flatten(), output(60), 30, 16


def _small(g: torch.Generator) -> tuple:
    x = 2 * torch.randn(2, 7, generator=g).bfloat16()
    return x.flatten(), output(14, dtype=torch.bfloat16), 7, 2


def _softens(holds: str, inputs: Callable, tolerance: float = NEAR) -> Probe:
    return Probe(
        holds,
        inputs,
        observe=written(_grid, "out_ptr"),
        fails=_first(tolerance),
        tolerance=tolerance,
        widen=False,
    )


def _too_long(got: dict, want: dict, x: Tensor, out: Tensor, T: int, BLOCK: int) -> str:
    if got["above"]:
        return f"one load or store has {BLOCK + got['above']} numbers; a tile has {BLOCK}"
    return _first(ROUNDED)(got, want, x, out, T, BLOCK)


SOFTMAX = (
    _softens("2 rows of T 16, in one block of 16", _scores(2, 16, 16)),
    _softens("2 rows of T 11, in one block of 32: longer than a row", _scores(2, 11, 32)),
    _softens(
        "T 21, blocks of 8: the maximum of row 0 is in the last tile, of row 1 in the middle",
        _steep,
    ),
    _softens(
        "T 10, blocks of 16, in tensors that go on: nothing behind the last row is touched",
        _scores(2, 10, 16, behind=9),
    ),
    _softens("scores near 1000 and near -1000, T 13, blocks of 8", _far, tolerance=LARGE),
    _softens(
        "-inf blocks: a whole tile of row 0, the end of row 1, all of row 2, which gets zeros",
        _blocked,
    ),
    _softens("float16 scores, T 30, blocks of 16: the arithmetic is float32's", _half),
    Probe(
        "bfloat16 scores and out, T 7, blocks of 2: no load and no store has more than 2 numbers",
        _small,
        observe=at_once(_grid, lambda x, out, T, BLOCK: BLOCK),
        fails=_too_long,
        tolerance=ROUNDED,
        widen=False,
        told=True,
    ),
)

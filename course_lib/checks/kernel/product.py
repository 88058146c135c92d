"""What a product in tiles is held to: three sides that no tile divides, and sums in float32."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import simulator as triton
from course_lib.checks.compare import tolerance
from course_lib.checks.kernel.launch import at_once, fact, first_wrong, output, written
from course_lib.checks.question import Probe
from course_lib.simulator import language as tl

NAN = float("nan")


@triton.jit
def product(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    """Write one tile of a @ b: the products of tiles along K, summed in float32."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        along = start + tl.arange(0, BLOCK)
        inside_a = (rows < M) & (along[None, :] < K)
        inside_b = (along[:, None] < K) & (cols < N)
        a = tl.load(a_ptr + rows * K + along[None, :], mask=inside_a, other=0.0)
        b = tl.load(b_ptr + along[:, None] * N + cols, mask=inside_b, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(out_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def _grid(a: Tensor, b: Tensor, out: Tensor, M: int, N: int, K: int, BLOCK: int) -> tuple:
    return triton.cdiv(M, BLOCK), triton.cdiv(N, BLOCK)


def _first(close: float | None) -> Callable[..., str]:
    """Word the first number that differs, and the program in whose tile it stands."""

    def words(got: dict, want: dict, *inputs: object) -> str:
        M, N, _K, BLOCK = inputs[3:]
        got, want = got["out_ptr"], want["out_ptr"]
        at = first_wrong(got, want, close or tolerance(inputs))
        row, column = divmod(at[0], N)
        if row >= M:
            return f"{fact('out', at, got, want)}: the product has {M * N} numbers"
        told = fact("out", (row, column), got[: M * N].view(M, N), want[: M * N].view(M, N))
        return f"{told} (in the tile of program {row // BLOCK}, {column // BLOCK})"

    return words


def _matrices(M: int, N: int, K: int, BLOCK: int, behind: int = 0) -> Callable:
    """Two matrices and room for the third, in tensors that end there or go on with NaN."""

    def draw(g: torch.Generator) -> tuple:
        a, b = torch.randn(M * K, generator=g), torch.randn(K * N, generator=g)
        a, b = (torch.cat([part, torch.full((behind,), NAN)]) for part in (a, b))
        return a, b, output(M * N + behind), M, N, K, BLOCK

    return draw


def _cancelling(g: torch.Generator) -> tuple:
    """Half precision; the first tile along K gives hundreds, and the second takes them away."""
    M, N, K = 5, 7, 32
    a, b = torch.randn(M, K, generator=g), torch.randn(K, N, generator=g)
    a[:, 3], a[:, 20] = 16, -16
    b[3] = b[20] = 15
    return a.half().flatten(), b.half().flatten(), output(M * N), M, N, K, 16


def _brain(g: torch.Generator) -> tuple:
    M, N, K = 14, 12, 40
    a, b = (torch.randn(side * K, generator=g).bfloat16() for side in (M, N))
    return a, b, output(M * N, dtype=torch.bfloat16), M, N, K, 16


def _multiplies(holds: str, inputs: Callable, points: int = 1, close: float | None = None) -> Probe:
    return Probe(
        holds,
        inputs,
        points,
        observe=written(_grid, "out_ptr"),
        fails=_first(close),
        tolerance=close,
        widen=False,
    )


def _too_large(got: dict, want: dict, *inputs: object) -> str:
    BLOCK = inputs[-1]
    if got["above"]:
        have = f"one load or store has {BLOCK * BLOCK + got['above']} numbers"
        return f"{have}; a tile has {BLOCK} x {BLOCK}"
    return _first(None)(got, want, *inputs)


PRODUCT = (
    _multiplies("M 16, N 32, K 48, tiles of 16, which fit", _matrices(16, 32, 48, 16)),
    _multiplies("M 9, N 13, K 11, one tile of 16 that sticks out", _matrices(9, 13, 11, 16)),
    _multiplies(
        "M 21, N 35, K 18, tiles of 16: the last ones stick out",
        _matrices(21, 35, 18, 16),
        points=2,
    ),
    _multiplies("M 34, N 5, K 40, tiles of 32", _matrices(34, 5, 40, 32)),
    _multiplies(
        "M 10, N 18, K 7, in tensors that go on: no number from behind enters, none is overwritten",
        _matrices(10, 18, 7, 16, behind=400),
    ),
    _multiplies(
        "float16 in, float32 out: sums of hundreds that cancel, in float32",
        _cancelling,
        close=5e-5,
    ),
    Probe(
        "bfloat16, M 14, N 12, K 40: no load and no store has more than 16 x 16 numbers",
        _brain,
        observe=at_once(_grid, lambda *inputs: inputs[-1] ** 2),
        fails=_too_large,
        widen=False,
        told=True,
    ),
)

"""What joining two halves is held to: the output and the lse of all keys at once."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import tiling
from course_lib.attention import NOTHING
from course_lib.checks.compare import difference
from course_lib.checks.question import Probe
from course_lib.checks.tiling.fold import CLOSE, EXACT, apart, dtypes, listed, number, wrong_form

NAMES = ("out", "lse")


def merge_outputs(out_a, lse_a, out_b, lse_b):
    """Join two finished outputs over different keys: what the library's function does."""
    return tiling.merge_outputs(out_a, lse_a, out_b, lse_b)


def _rows(fn: Callable, *inputs: Tensor) -> dict:
    """Observe both results, number by number: beside 1000 all other lse are alike."""
    given = fn(*inputs)
    if found := wrong_form(given, NAMES, [list(inputs[0].shape), list(inputs[1].shape)]):
        return {"form": found}
    return {"out": [listed(row) for row in given[0]], "lse": listed(given[1])}


def _exact_rows(fn: Callable, *inputs: Tensor) -> dict:
    """The same, and the dtypes."""
    seen = _rows(fn, *inputs)
    return seen if "form" in seen else {"form": f"dtypes {dtypes(fn.returned)}", **seen}


def _first_row(tolerance: float) -> Callable[..., str]:
    """Word the first row that differs, with the two lse that came in."""

    def fact(got: dict, want: dict, out_a, lse_a, out_b, lse_b) -> str:
        if got.get("form") != want.get("form"):
            told = got["form"].startswith("dtypes")
            return f"{got['form']}; expected {want['form']}" if told else got["form"]
        wrong = [
            (row, name)
            for row in range(len(lse_a))
            for name in NAMES
            if difference(got[name][row], want[name][row], tolerance)
        ]
        row = wrong[0][0]
        parts = []
        for name in [name for i, name in wrong if i == row]:
            mine, right = apart(got[name][row], want[name][row])
            parts.append(f"{name} is {mine}; expected {right}")
        met = f"query {row}, lse {number(lse_a[row].item())} and {number(lse_b[row].item())}"
        rest = [name for name in NAMES if name not in {found for _, found in wrong}]
        right = f" ({rest[0]} is right)" if rest else ""
        return f"{met}: {'; '.join(parts)}{right}"

    return fact


def _read(scores: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The output and the lse of some keys."""
    return tiling.finish(tiling.fold(tiling.nothing_read(scores[:, :1] * v[:1]), scores, v))


def _halves(
    Tq: int, Dv: int, sizes: tuple[int, int] = (5, 3), dtype: torch.dtype = torch.float32
) -> Callable[[torch.Generator], tuple]:
    """Draw two halves that have been read; the second has the higher scores in every other row."""

    def draw(g: torch.Generator) -> tuple:
        given: tuple[Tensor, ...] = ()
        for n, shift in zip(sizes, (0.0, 2.0), strict=True):
            scores = 1.5 * torch.randn(Tq, n, generator=g) + shift * (torch.arange(Tq) % 2)[:, None]
            given += _read(scores.to(dtype), torch.randn(n, Dv, generator=g).to(dtype))
        return given

    return draw


def _of(lse_a: list[float], lse_b: list[float]) -> Callable[[torch.Generator], tuple]:
    """Draw outputs for these lse; a half that had nothing to read has the output 0."""

    def draw(g: torch.Generator) -> tuple:
        given: tuple[Tensor, ...] = ()
        for numbers in (lse_a, lse_b):
            lse = torch.tensor(numbers, dtype=torch.float32)
            out = torch.randn(len(lse), 4, generator=g)
            given += out.masked_fill((lse == NOTHING)[:, None], 0), lse
        return given

    return draw


def _joins(holds: str, inputs: Callable[[torch.Generator], tuple]) -> Probe:
    return Probe(holds, inputs, observe=_rows, fails=_first_row(CLOSE), tolerance=CLOSE)


MERGE = (
    Probe(
        "float64: out [3, 2] and lse [3] in float64, and no digit lost",
        _halves(3, 2, dtype=torch.float64),
        observe=_exact_rows,
        fails=_first_row(EXACT),
        tolerance=EXACT,
    ),
    _joins("5 keys and 3: out and lse are those of all 8", _halves(3, 4)),
    _joins("equal lse: each half counts the same, and lse grows by log 2", _of([1, -2], [1, -2])),
    _joins("4 queries, Dv 4: each query has its own shares", _halves(4, 4)),
    _joins(
        "lse of 1000 and -1000: every number is finite",
        _of([1000, -1000, 1000, -999], [1001, -1002, -1000, 999.5]),
    ),
    _joins(
        "a half with nothing to read leaves the other as it was",
        _of([NOTHING, 1.5, 0.25], [2.5, NOTHING, 0.5]),
    ),
    _joins(
        "nothing to read in both halves: out 0 and lse -inf",
        _of([NOTHING, 0.5, NOTHING], [NOTHING, 0.25, NOTHING]),
    ),
)

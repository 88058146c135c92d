"""What attention in tiles is held to: the numbers of plain attention, and nothing large made."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.compare import TOLERANCE, difference
from course_lib.checks.question import Probe
from course_lib.traffic import Largest

MANY = 2  # tiles: less than a row or a column of them, more than sums that meet in one tile need
CLOSE = 1e-4  # beside the largest number: scores in the hundreds are rounded by this much


def _call(Tq: int, Tk: int, blocks: tuple[int, int], causal: bool = False, widths=(4, 6)):
    """Draw a call of these lengths, tiles and widths."""
    Dh, Dv = widths

    def draw(g: torch.Generator) -> tuple:
        q, k, v = (torch.randn(size, generator=g) for size in ((Tq, Dh), (Tk, Dh), (Tk, Dv)))
        return 1.5 * q, k, v, *blocks, causal

    return draw


def _steep(g: torch.Generator) -> tuple:
    """Scores that run from 120 to 520 in query 0, from -120 to -520 in query 1; 2 and 3 gentler."""
    q, k, v, *rest = _call(4, 7, (3, 3))(g)
    q[:, 0] = torch.tensor([1, -1, 0.4, -0.4]) * q.shape[1] ** 0.5
    k[:, 0] = torch.linspace(120, 520, len(k))
    return q, k, v, *rest


def _too_large(fn: Callable, q, k, v, block_q, block_k, is_causal) -> dict:
    """Observe the largest tensor that is made, where it is as large as many tiles."""
    with Largest() as largest:
        fn(q, k, v, block_q, block_k, is_causal)
    if largest.shape.numel() < MANY * block_q * block_k:
        return {"shape": [], "holds": ""}
    holds = "bools" if largest.dtype == torch.bool else "numbers"
    return {"shape": list(largest.shape), "holds": holds}


def _named_size(got: dict, want: dict, *call: object) -> str:
    tile = f"a tile of scores is {list(call[3:5])}"
    return f"it makes {got['holds']} of shape {got['shape']} at once; {tile}"


def _first_row(got: Tensor, want: Tensor, *inputs: object) -> str:
    """How many queries get something else, and what the first of them gets."""
    limit = CLOSE * want.abs().max()
    wrong = (~((got.double() - want).abs() <= limit).all(-1)).nonzero().flatten().tolist()
    if not wrong:
        return difference(got, want, TOLERANCE[torch.float32]) or "rounding"
    first = wrong[0]
    rows = [(_row(got[first], digits), _row(want[first], digits)) for digits in (3, 6)]
    mine, right = next((pair for pair in rows if pair[0] != pair[1]), rows[-1])
    many = f"{len(wrong)} of {len(want)} queries differ, the first is query"
    return f"{many} {first}: it gets {mine}; expected {right}"


def _row(numbers: Tensor, digits: int) -> str:
    shown = [f"{x + 0.0:.{digits}g}".replace("nan", "NaN") for x in numbers[:3].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(numbers) > 3 else ''}]"


def _numbers(holds: str, inputs: Callable, tolerance: float | None = None) -> Probe:
    return Probe(holds, inputs, fails=_first_row, tolerance=tolerance)


TILED = (
    _numbers("Tq 4, Tk 6, tiles of 2 x 3, which fit: as plain attention", _call(4, 6, (2, 3))),
    _numbers("Tq 5, Tk 7, tiles of 3 x 4, the last ones shorter", _call(5, 7, (3, 4))),
    _numbers("Tq 3, Tk 5, one tile of 8 x 16: larger than the call", _call(3, 5, (8, 16))),
    _numbers("scores of 120 to 520, and of -120 to -520: rising and falling", _steep, CLOSE),
    _numbers(
        "causal, Tq 7, Tk 7, tiles of 4 x 3: no later key is read", _call(7, 7, (4, 3), causal=True)
    ),
    _numbers(
        "causal, Tq 4, Tk 9: the last query stands at the last key",
        _call(4, 9, (3, 4), causal=True),
    ),
    _numbers(
        "causal, Tq 7, Tk 4: queries 0 to 2 may read nothing and get zeros",
        _call(7, 4, (4, 3), causal=True),
    ),
    Probe(
        "causal, Tq 16, Tk 20, tiles of 8 x 10: every tensor made is smaller than 2 tiles",
        _call(16, 20, (8, 10), causal=True, widths=(1, 1)),
        observe=_too_large,
        fails=_named_size,
    ),
)

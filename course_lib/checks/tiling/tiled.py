"""What attention in tiles is held to: the numbers of plain attention, and nothing large made."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.compare import TOLERANCE, difference
from course_lib.checks.question import Probe
from course_lib.made import Largest

EXACT = 2e-8  # of the largest number: what float64 keeps, and float32 doesn't
UNSEEN = "nothing that torch made"
CLOSE = 1e-4  # beside the largest number: scores in the hundreds are rounded by this much


def _call(Tq: int, Tk: int, blocks: tuple[int, int], causal: bool = False, widths=(4, 6)):
    """Draw a call of these lengths, tiles and widths."""
    Dh, Dv = widths

    def draw(g: torch.Generator) -> tuple:
        q, k, v = (torch.randn(size, generator=g) for size in ((Tq, Dh), (Tk, Dh), (Tk, Dv)))
        return 1.5 * q, k, v, *blocks, causal

    return draw


def _double(g: torch.Generator) -> tuple:
    """A call in float64, smaller than its one tile."""
    return tuple(x.double() if isinstance(x, Tensor) else x for x in _call(3, 5, (8, 16))(g))


def _steep(g: torch.Generator) -> tuple:
    """Scores that run from 120 to 520 in query 0, from -120 to -520 in query 1; 2 and 3 gentler."""
    q, k, v, *rest = _call(4, 7, (3, 3))(g)
    q[:, 0] = torch.tensor([1, -1, 0.4, -0.4]) * q.shape[1] ** 0.5
    k[:, 0] = torch.linspace(120, 520, len(k))
    return q, k, v, *rest


class _Scores(Largest):
    """Remembers the largest tensor that may hold scores, or say which of them are blocked.

    What has an axis of width Dh or Dv, or one more, is a part of q, k, v or the output. Whole
    numbers, fewer than there are pairs, and bools of one axis are places. Memory that was there
    counts where it is written.
    """

    def __init__(self, widths: tuple[int, int], pairs: int):
        super().__init__()
        self.shapes: set[torch.Size] = set()
        self._widths, self._pairs = {*widths, *(width + 1 for width in widths)}, pairs

    def see(self, shape: torch.Size, dtype: torch.dtype, fresh: bool = True) -> None:
        if fresh:
            self.shapes.add(shape)
        few = shape.numel() < self._pairs
        if dtype == torch.bool:
            few = sum(size > 1 for size in shape) < 2
        places = few and not (dtype.is_floating_point or dtype.is_complex)
        if not places and self._widths.isdisjoint(shape):
            super().see(shape, dtype)


def _too_large(fn: Callable, q, k, v, block_q, block_k, is_causal) -> dict:
    """Observe the largest tensor of scores, where it is larger than a tile, and the output.

    What makes nothing large and computes nothing is no answer.
    """
    with _Scores((q.shape[1], v.shape[1]), len(q) * len(k)) as largest:
        out = fn(q, k, v, block_q, block_k, is_causal)
    if isinstance(out, Tensor) and out.shape not in largest.shapes:
        return {"sizes": [], "holds": UNSEEN, "out": out}
    if largest.shape.numel() <= block_q * block_k:
        return {"sizes": [], "holds": "", "out": out}
    sizes = sorted(size for size in largest.shape if size > 1)
    holds = "bools" if largest.dtype == torch.bool else "numbers"
    return {"sizes": sizes, "holds": holds, "out": out}


def _named_size(got: dict, want: dict, *call: object) -> str:
    if got["holds"] == UNSEEN:
        return "its output comes from elsewhere than torch, so what it makes can't be seen"
    if not got["sizes"]:
        return _first_row(got["out"], want["out"])
    sizes = " x ".join(map(str, got["sizes"]))
    return f"it makes {sizes} {got['holds']} at once; a tile of scores has {call[3]} x {call[4]}"


def _in_its_dtype(fn: Callable, q, k, v, *rest: object) -> dict:
    """Observe the output, its dtype, and whether it has lost digits."""
    out = fn(q, k, v, *rest)
    if not isinstance(out, Tensor) or out.shape != (len(q), v.shape[1]):
        return {"out": out}
    weights = (q.double() @ k.double().T * q.shape[1] ** -0.5).softmax(-1)
    want = weights @ v.double()
    lost = bool((out - want).abs().max() > EXACT * want.abs().max())
    return {"out": out, "dtype": str(out.dtype).removeprefix("torch."), "lost": lost}


def _off(got: dict, want: dict, *inputs: object) -> str:
    """What is wrong: the dtype, the numbers, or only their last digits."""
    if got.get("dtype") != want["dtype"]:
        return f"it comes back in {got['dtype']}; expected {want['dtype']}"
    if difference(got["out"], want["out"], TOLERANCE[torch.float32]):
        return _first_row(got["out"], want["out"])
    return "right to about seven digits, as in float32; float64 holds more"


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
    Probe(
        "float64: Tq 3, Tk 5, in one tile of 8 x 16: larger than the call, and no digit lost",
        _double,
        observe=_in_its_dtype,
        fails=_off,
        tolerance=TOLERANCE[torch.float32],
    ),
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
        "causal, Tq 2, Tk 9, tiles of 1 x 6: no tensor of scores has more than 1 x 6 numbers",
        _call(2, 9, (1, 6), causal=True, widths=(11, 13)),
        observe=_too_large,
        fails=_named_size,
        told=True,
    ),
)

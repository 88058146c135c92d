"""What sinusoid is held to: which sine or cosine stands at which position and feature."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.waves import far_apart, waves
from course_lib.checks.question import Probe


def sinusoid(T: int, D: int) -> Tensor:
    """Give each position a sine and a cosine of each frequency, in turns."""
    return waves(torch.arange(T), D)


def size(fn: Callable, *inputs: object) -> object:
    """Observe the size, and whether the entries are floats of at least 32 bits."""
    out = fn(*inputs)
    if not isinstance(out, Tensor):
        return out
    wide = out.dtype in (torch.float32, torch.float64)
    kind = "float32 or wider" if wide else str(out.dtype).removeprefix("torch.")
    return f"{kind}, {list(out.shape)}"


def _entry(got: Tensor, want: Tensor, T: int, D: int) -> str:
    """The first number that goes wrong, beside the sine or cosine that belongs there."""
    t, feature = far_apart(got, want).nonzero()[0].tolist()
    wave, pair = ("cosine" if feature % 2 else "sine"), feature // 2
    angle = f"{t} / 10000^({2 * pair}/{D})" if t and pair else f"{t}"
    return (
        f"T {T}, D {D}: feature {feature} of position {t} is {got[t, feature].item() + 0.0:.4g}; "
        f"expected {want[t, feature].item():.4g}, the {wave} of {angle}"
    )


def _table(holds: str, T: int, D: int, points: int = 1, tolerance: float | None = None) -> Probe:
    return Probe(holds, lambda g: (T, D), points, fails=_entry, tolerance=tolerance)


def _drawn(g: torch.Generator) -> tuple[int, int]:
    """An even width from 10 to 20, and fewer positions than features."""
    half, T = (int(torch.randint(5, high, (), generator=g)) for high in (11, 10))
    return T, 2 * half


SINUSOID = (
    Probe(
        "[T, D] in float32 or wider: T 5, D 8 give [5, 8]",
        inputs=lambda g: (5, 8),
        observe=size,
        fails=lambda got, want, *_: f"the form is {got}; expected {want}",
    ),
    _table("T 1, D 6: position 0 is 0, 1, 0, 1, 0, 1", 1, 6),
    _table("T 7, D 2: row t is sin(t), cos(t)", 7, 2),
    _table("T 6, D 8: row t is sin(t), cos(t), sin(t/10), cos(t/10), and so on", 6, 8, points=2),
    Probe(
        "any other even D: features 2i, 2i + 1 are sine and cosine of t / 10000^(2i/D)",
        _drawn,
        fails=_entry,
    ),
    _table("T 5, D 7: three pairs, and feature 6 is the sine of t / 10000^(6/7)", 5, 7),
    _table(
        "T 300, D 4: sin(t), cos(t), sin(t/100), cos(t/100) up to position 299",
        300,
        4,
        tolerance=1e-3,
    ),
)

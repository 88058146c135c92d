"""What `positions_of` is held to: which number each real token gets, wherever padding stands."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Probe

FEW = 2, 4  # cached: fewer than the new tokens, so that a floor isn't a start
LONG = 2_100  # float16 knows no odd number above 2,048


def _form(fn: Callable, real: Tensor, cached: int) -> object:
    """Observe size and kind, and nothing else."""
    out = fn(real, cached)
    if not isinstance(out, Tensor):
        return out
    whole = not out.is_floating_point() and not out.is_complex() and out.dtype != torch.bool
    kind = "whole numbers" if whole else f"of dtype {str(out.dtype).removeprefix('torch.')}"
    return f"{list(out.shape)}, {kind}"


def _of_the_real(fn: Callable, real: Tensor, cached: int) -> object:
    """Observe the positions of real tokens; what stands at padding is set to 0."""
    out = _whole(fn(real, cached))
    fits = isinstance(out, Tensor) and out.shape == real.shape
    return out.masked_fill(~real, 0) if fits else out


def _below_zero(fn: Callable, real: Tensor, cached: int) -> object:
    """Observe the lowest position of each row, where it is below 0."""
    out = _whole(fn(real, cached))
    fits = isinstance(out, Tensor) and out.shape == real.shape
    return out.amin(-1).clamp(max=0) if fits else out


def _whole(out: object) -> object:
    """The same numbers as integers, where they are whole: their dtype has a line of its own."""
    if isinstance(out, Tensor) and out.is_floating_point() and torch.equal(out, out.round()):
        return out.long()
    return out


def _row(real: Tensor) -> str:
    """A row as it came in: 0 0 1 1."""
    return " ".join(str(int(token)) for token in real)


def _counted(got: Tensor, want: Tensor, real: Tensor, cached: int) -> str:
    """What the real tokens of the first row that goes wrong get."""
    b = int((got != want).any(-1).nonzero()[0])
    mine, right = (", ".join(str(n) for n in y[b][real[b]].tolist()) for y in (got, want))
    before = f", {cached} cached" if cached else ""
    return (
        f"sequence {b}, real {_row(real[b])}{before}: its real tokens get {mine}; expected {right}"
    )


def _counted_far(got: Tensor, want: Tensor, real: Tensor, cached: int) -> str:
    """The first token of a long row that goes wrong."""
    b, t = (got != want).nonzero()[0].tolist()
    return (
        f"sequence {b}, {real.shape[1]:,} real tokens: token {t:,} gets {got[b, t].item():,g}; "
        f"expected {want[b, t].item():,}"
    )


def _lowest(got: Tensor, want: Tensor, real: Tensor, cached: int) -> str:
    """The first row that has a position below 0, and the lowest of it."""
    b = int((got < 0).nonzero()[0])
    return (
        f"sequence {b}, real {_row(real[b])}: a position is {got[b].item():g}, and an index takes "
        "that from the end of a table"
    )


def _padded(
    *sides: str, T: int, cached: tuple[int, int] = (0, 0)
) -> Callable[[torch.Generator], tuple]:
    """Draw a row for each side: left, right, middle, both, alone (no real token) or none.

    And a number from `cached`, both ends included.
    """
    low, high = cached

    def draw(g: torch.Generator) -> tuple[Tensor, int]:
        number = int(torch.randint(low, high + 1, (), generator=g))
        return torch.stack([_one_row(side, T, g) for side in sides]), number

    return draw


def _one_row(side: str, T: int, g: torch.Generator) -> Tensor:
    row = torch.ones(T, dtype=torch.bool)
    n = 1 + int(torch.randint(max(T // 2 - 1, 1), (), generator=g))  # of padding: half at most
    if side in ("left", "both"):
        row[:n] = False
    if side == "right":
        row[-n:] = False
    if side == "both":
        row[-1] = False
    if side == "middle":
        first = 1 + int(torch.randint(T - n - 1, (), generator=g))
        row[first : first + n] = False
    if side == "alone":
        row[:] = False
    return row


def _counts(holds: str, draw: Callable) -> Probe:
    return Probe(holds, draw, observe=_of_the_real, fails=_counted)


COUNT = (
    Probe(
        "[B, T] whole numbers",
        _padded("left", "right", T=6),
        observe=_form,
        fails=lambda got, want, *_: f"what comes back is {got}; expected {want}",
    ),
    Probe(
        f"no padding, nothing cached: 0, 1, 2, ... to {LONG - 1:,}",
        _padded("none", "none", T=LONG),
        observe=_of_the_real,
        fails=_counted_far,
    ),
    _counts(
        "padding on the left: the real tokens are 0, 1, 2, ...",
        _padded("left", "left", "left", "left", T=7),
    ),
    _counts(
        "padding on the right: the real tokens are 0, 1, 2, ...",
        _padded("right", "none", "right", T=6),
    ),
    _counts(
        "padding in the middle: the real tokens are 0, 1, 2, ... across it",
        _padded("middle", "left", "middle", "both", T=8),
    ),
    _counts("1 cached, one new token: 1", _padded("none", T=1, cached=(1, 1))),
    _counts(
        f"{FEW[0]} to {FEW[1]} cached, then padding: real tokens are `cached`, `cached` + 1, ...",
        _padded("left", "middle", "none", "both", "right", T=6, cached=FEW),
    ),
    Probe(
        "no position is below 0, not even at padding",
        _padded("left", "alone", "middle", "right", T=5),
        observe=_below_zero,
        fails=_lowest,
    ),
)

"""What the mended call is held to: two masks of torch's polarity, and what they leave."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.compare import TOLERANCE, difference
from course_lib.checks.question import Probe, gradient


def _call(
    B: int,
    Tq: int,
    Tk: int,
    *,
    H: int = 2,
    marks: tuple[str, ...] = ("blocked", "ignored"),
    empty: bool = False,
) -> Callable[[torch.Generator], tuple]:
    """Draw a call; `empty` ignores all of sequence 0 and blocks every key for two queries."""

    def draw(g: torch.Generator) -> tuple[Tensor, ...]:
        shapes = ((B, H, Tq, 5), (B, H, Tk, 5), (B, H, Tk, 3))
        q, k, v = (torch.randn(s, generator=g) for s in shapes)
        lengths = torch.randperm(Tk - 2, generator=g)[:B] + 2  # every sequence pads some key
        if empty:
            lengths[0] = 0
        ignored = (torch.arange(Tk) >= lengths[:, None]) & ("ignored" in marks)
        place = torch.arange(Tq) - 2 * empty
        blocked = (torch.arange(Tk) > place[:, None]) & ("blocked" in marks)
        return q, k, v, blocked, ignored

    return draw


def _one(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    """The first query of a head whose blend is another."""
    far = (got.double() - want).abs().nan_to_num(torch.inf).amax(-1) > 1e-4
    if not far.any():
        return difference(got, want, TOLERANCE[torch.float32]) or "rounding"
    at = b, head, query = tuple(far.nonzero()[0].tolist())
    rows = [(_row(got[at], digits), _row(want[at], digits)) for digits in (3, 6)]
    mine, right = next((pair for pair in rows if pair[0] != pair[1]), rows[-1])
    return f"query {query} of head {head}, sequence {b} gets {mine}; expected {right}"


def _row(numbers: Tensor, digits: int) -> str:
    return "[" + ", ".join(f"{x + 0.0:.{digits}g}" for x in numbers.tolist()) + "]"


CALLS = (
    Probe(
        "nothing blocked, nothing ignored: plain attention",
        inputs=_call(2, 4, 6, marks=()),
        fails=_one,
    ),
    Probe(
        "blocked alone, Tq 6, Tk 4: the keys marked True are out",
        inputs=_call(2, 6, 4, marks=("blocked",)),
        fails=_one,
    ),
    Probe(
        "ignored alone, Tq 4, Tk 7: the keys marked True are out for every query",
        inputs=_call(3, 4, 7, marks=("ignored",)),
        fails=_one,
    ),
    Probe("both, Tq 5, Tk 5: a key is out if either says so", inputs=_call(3, 5, 5), fails=_one),
    Probe(
        "4 sequences, 4 heads, 4 queries: each sequence ignores its own keys",
        inputs=_call(4, 4, 7, H=4, marks=("ignored",)),
        fails=_one,
    ),
    Probe(
        "a sequence ignored in full, 2 queries blocked in full: zeros",
        inputs=_call(2, 6, 5, empty=True),
        fails=_one,
    ),
    Probe(
        "the same: gradients in q, k and v against float64, none of them NaN",
        _call(2, 6, 5, empty=True),
        points=2,
        observe=gradient,
    ),
)

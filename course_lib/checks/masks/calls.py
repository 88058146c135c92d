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
    block: bool = True,
    ignore: bool = True,
    empty: bool = False,
) -> Callable[[torch.Generator], tuple]:
    """Draw a call; `empty` ignores all of sequence 0 and blocks every key for two queries."""

    def draw(g: torch.Generator) -> tuple[Tensor, ...]:
        shapes = ((B, 2, Tq, 5), (B, 2, Tk, 5), (B, 2, Tk, 3))
        q, k, v = (torch.randn(s, generator=g) for s in shapes)
        lengths = torch.randperm(Tk - 2, generator=g)[:B] + 2  # every sequence pads some key
        if empty:
            lengths[0] = 0
        ignored = (torch.arange(Tk) >= lengths[:, None]) & ignore
        place = torch.arange(Tq) - 2 * empty
        blocked = (torch.arange(Tk) > place[:, None]) & block
        return q, k, v, blocked, ignored

    return draw


def _one(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    """The first query whose blend is another, and its first number."""
    far = (got.double() - want).abs().nan_to_num(torch.inf).amax((1, 3)) > 1e-4
    if not far.any():
        return difference(got, want, TOLERANCE[torch.float32]) or "rounding"
    b, query = far.nonzero()[0].tolist()
    mine, right = (_row(t[b, 0, query]) for t in (got, want))
    return f"query {query} of sequence {b} gets {mine}; expected {right}"


def _row(numbers: Tensor) -> str:
    return "[" + ", ".join(f"{x + 0.0:.3g}" for x in numbers.tolist()) + "]"


def _said(holds: str, **rest: object) -> Probe:
    return Probe(holds, fails=lambda *a: f"Yours: {_one(*a)}", **rest)


CALLS = (
    _said(
        "nothing blocked, nothing ignored: plain attention",
        inputs=_call(2, 4, 6, block=False, ignore=False),
    ),
    _said(
        "blocked alone, Tq 6, Tk 4: the keys marked True are out",
        inputs=_call(2, 6, 4, ignore=False),
    ),
    _said(
        "ignored alone, Tq 4, Tk 7: the keys marked True are out for every query",
        inputs=_call(3, 4, 7, block=False),
    ),
    _said("both, Tq 5, Tk 5: a key is out if either says so", inputs=_call(3, 5, 5)),
    _said(
        "4 sequences, 4 queries, Tk 7: each sequence ignores its own keys",
        inputs=_call(4, 4, 7, block=False),
    ),
    _said(
        "a sequence ignored in full, 2 queries blocked in full: zeros",
        inputs=_call(2, 6, 5, empty=True),
    ),
    Probe(
        "the same: gradients in q, k and v against float64, none of them NaN",
        _call(2, 6, 5, empty=True),
        points=2,
        observe=gradient,
    ),
)

"""What a masked softmax is held to: exact zeros, shares of one, and a quiet empty row."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.compare import TOLERANCE, difference
from course_lib.checks.question import Probe, gradient

ONLY = "gradient in scores"


def _mask(g: torch.Generator, *shape: int, empty: bool = False) -> Tensor:
    """Draw a mask in which every query has a key to read and one to leave, but query 0 if empty."""
    one, other = torch.rand(shape, generator=g).topk(2).indices.split(1, -1)
    keep = torch.rand(shape, generator=g) < 0.5
    keep = keep.scatter(-1, one, True).scatter(-1, other, False)
    if empty:
        keep[..., 0, :] = False
    return keep


def _scores(
    *shape: int,
    mask: tuple[int, ...] | None = None,
    empty: bool = False,
    shift: float = 0,
    blocked: float = 0,
    dtype: torch.dtype = torch.float32,
) -> Callable[[torch.Generator], tuple]:
    """Draw scores and a mask; `shift` moves them all, `blocked` those that may not be read."""

    def draw(g: torch.Generator) -> tuple[Tensor, Tensor]:
        keep = _mask(g, *(mask or (shape[0], 1, *shape[2:])), empty=empty)
        s = torch.randn(shape, generator=g) + shift
        return (s + blocked * (~keep)).to(dtype), keep

    return draw


def _row(values: Tensor) -> str:
    return "[" + ", ".join(f"{x:.3g}" for x in values.tolist()) + "]"


def _row_sums(got: Tensor, want: Tensor, scores: Tensor, keep: Tensor) -> str:
    """What is given to blocked keys, or a row that doesn't share 1, else the first difference."""
    got = got.double()
    keep = keep.expand(got.shape)
    given = (got * ~keep).sum(-1)
    if got.isfinite().all() and given.abs().max() > 1e-3:
        return f"a query gives {given.flatten()[given.abs().argmax()]:.3g} to keys it may not read"
    sums = got.sum(-1)[keep.any(-1)]
    if got.isfinite().all() and (sums - 1).abs().max() > 1e-2:
        return f"the weights of one query sum to {sums[(sums - 1).abs().argmax()]:.3g}"
    return difference(got, want, TOLERANCE[torch.float32]) or "rounding"


def _query_0(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    row = got[0, 0, 0]
    if row.isfinite().all() and not row.abs().max():
        return f"the other queries differ: {_row_sums(got, want, *inputs)}"
    return f"query 0 of the first sequence has {_row(row)}"


def _empty_gradient(fn: Callable, scores: Tensor, keep: Tensor) -> object:
    """Observe the gradient in the scores, as a tensor, so that it can be worded."""
    return gradient(fn, scores, keep)[ONLY]


def _query_0_gradient(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    row = got[0, 0, 0]
    if row.isfinite().all() and row.abs().max() <= 1e-6:
        return "query 0 has none, but the gradient of another query is not what it should be"
    return f"query 0 of the first sequence has the gradient {_row(row)}"


SOFTMAX = (
    Probe(
        "keep [B, 1, Tq, Tk]: blocked keys get 0, the others share 1",
        fails=_row_sums,
        inputs=_scores(2, 3, 4, 6),
    ),
    Probe(
        "keep [B, 1, 1, Tk]: the same for every query and head",
        fails=_row_sums,
        inputs=_scores(3, 2, 5, 7, mask=(3, 1, 1, 7)),
    ),
    Probe(
        "blocked scores 300 above the others: the others still share 1",
        fails=_row_sums,
        inputs=_scores(2, 3, 5, 4, blocked=300),
    ),
    Probe(
        "all scores near -60,000: blocked keys get 0, the others share 1",
        fails=_row_sums,
        inputs=_scores(2, 4, 3, 5, shift=-6e4),
        tolerance=5e-3,
    ),
    Probe(
        "query 0 has nothing to read: zeros, and the other queries as always",
        fails=_query_0,
        inputs=_scores(2, 3, 4, 5, empty=True),
    ),
    Probe(
        "float16, query 0 has nothing to read: zeros",
        fails=_query_0,
        inputs=_scores(3, 2, 4, 6, empty=True, dtype=torch.float16),
    ),
    Probe(
        "every query has a key: the gradient in the scores, against float64",
        _scores(2, 3, 4, 5),
        observe=gradient,
    ),
    Probe(
        "query 0 has nothing to read: its gradient is 0, the others' as always",
        fails=_query_0_gradient,
        inputs=_scores(2, 3, 5, 4, empty=True),
        observe=_empty_gradient,
    ),
)

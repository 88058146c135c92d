"""What one tile of the backward is held to: three gradients, blocked pairs, and nothing to read."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.compare import difference
from course_lib.checks.question import Probe

GRADIENTS = ("dq", "dk", "dv")
LOUD = 5e-4  # what float32 leaves of scores near 200
SMALL = 1e-3  # beside the largest number: a factor of so few can't be read off
BEYOND = 3  # keys that the queries read in other tiles


def _finished(q: Tensor, k: Tensor, v: Tensor, d_out: Tensor, keep: Tensor) -> tuple:
    """The arguments for a tile that holds the whole call, with what its forward has kept."""
    scores = (q @ k.T * q.shape[1] ** -0.5).masked_fill(~keep, -torch.inf)
    out = scores.softmax(-1).nan_to_num(0) @ v
    return q, k, v, d_out, scores.logsumexp(-1), (d_out * out).sum(-1), keep


def _drawn(g: torch.Generator, Bq: int, Tk: int, widths: tuple[int, int] = (4, 6)) -> list[Tensor]:
    Dh, Dv = widths
    sizes = ((Bq, Dh), (Tk, Dh), (Tk, Dv), (Bq, Dv))
    return [torch.randn(size, generator=g) for size in sizes]


def _cut(call: tuple, rows: slice, cols: slice) -> tuple:
    """The arguments for one tile of a call."""
    q, k, v, d_out, lse, delta, keep = call
    return q[rows], k[cols], v[cols], d_out[rows], lse[rows], delta[rows], keep[rows, cols]


def _open(g: torch.Generator) -> tuple:
    """A tile in which all may be read."""
    call = _finished(*_drawn(g, 3, 5 + BEYOND), torch.ones(3, 5 + BEYOND, dtype=torch.bool))
    return _cut(call, slice(0, 3), slice(0, 5))


def _partly(g: torch.Generator) -> tuple:
    """A tile in which query 0 may read nothing, and the others one key or more, but not all."""
    Bq, Bk = 5, 4
    few = torch.rand(Bq, Bk, generator=g).argsort(-1)
    keep = few < torch.arange(Bq)[:, None].clamp_max(Bk - 1)
    keep = torch.cat([keep, torch.ones(Bq, BEYOND, dtype=torch.bool)], 1)
    return _cut(_finished(*_drawn(g, Bq, Bk + BEYOND), keep), slice(0, Bq), slice(0, Bk))


def _loud(g: torch.Generator) -> tuple:
    """Scores near 200; those of the first two keys, which are blocked, near 500."""
    q, k, v, d_out = _drawn(g, 3, 5 + BEYOND)
    q[:, 0], k[:, 0] = q.shape[1] ** 0.5, 200.0
    k[:2, 0] = 500
    keep = (torch.arange(len(k)) >= 2).expand(len(q), -1).clone()
    return _cut(_finished(q, k, v, d_out, keep), slice(0, 3), slice(0, 5))


def _with_an_empty_row(g: torch.Generator) -> tuple:
    """A tile whose query 1 may read nothing, here or elsewhere."""
    keep = torch.ones(4, 3 + BEYOND, dtype=torch.bool)
    keep[1] = False
    return _cut(_finished(*_drawn(g, 4, 3 + BEYOND), keep), slice(0, 4), slice(0, 3))


def _square(g: torch.Generator) -> tuple:
    """Four of everything: what runs by chance elsewhere runs here for sure."""
    keep = torch.cat([torch.ones(4, 4).tril(), torch.ones(4, BEYOND)], 1).bool()
    call = _finished(*_drawn(g, 4, 4 + BEYOND, (4, 4)), keep)
    return _cut(call, slice(0, 4), slice(0, 4))


def _whole(g: torch.Generator) -> tuple:
    """A whole causal call, to be cut by the probe."""
    keep = torch.ones(5, 8, dtype=torch.bool).tril(3)
    return _finished(*_drawn(g, 5, 8), keep)


def _tripled(fn: Callable, *inputs: Tensor) -> dict[str, Tensor]:
    """Observe the three gradients by name, where autograd records nothing."""
    with torch.inference_mode():
        found = fn(*inputs)
    if not isinstance(found, tuple | list) or len(found) != len(GRADIENTS):
        raise TypeError("expected three gradients")
    return dict(zip(GRADIENTS, found, strict=True))


def _one(fn: Callable, *inputs: Tensor, name: str) -> Tensor:
    return _tripled(fn, *inputs)[name]


def _told(got: object, want: object, *inputs: object, tolerance: float = 2e-5) -> str:
    """The first gradient that is off; one that has all but vanished isn't told as a factor."""
    pairs = [(name, got[name], want[name]) for name in GRADIENTS] if isinstance(want, dict) else []
    for name, mine, right in pairs or [("", got, want)]:
        if found := difference(mine, right, tolerance):
            most = mine.abs().max().item(), right.abs().max().item()
            if most[0] < SMALL * most[1]:
                found = f"the largest number is {most[0]:.4g}; expected {most[1]:.4g}"
            return f"{name}: {found}".removeprefix(": ")
    return "rounding"


def _added_up(fn: Callable, *call: Tensor) -> dict[str, Tensor]:
    """Observe the gradients of a call: the sums of what its four tiles add."""
    totals = {name: torch.zeros_like(x) for name, x in zip(GRADIENTS, call, strict=False)}
    for rows in (slice(0, 3), slice(3, 5)):
        for cols in (slice(0, 5), slice(5, 8)):
            parts = _tripled(fn, *_cut(call, rows, cols))
            for name, where in zip(GRADIENTS, (rows, cols, cols), strict=True):
                totals[name][where] += parts[name]
    return totals


BACKWARD = (
    Probe(
        "dv of a tile, 3 queries and 5 of their 8 keys",
        _open,
        observe=partial(_one, name="dv"),
    ),
    Probe(
        "dq of a tile, 3 queries and 5 of their 8 keys",
        _open,
        observe=partial(_one, name="dq"),
    ),
    Probe(
        "dk of a tile, 3 queries and 5 of their 8 keys",
        _open,
        observe=partial(_one, name="dk"),
    ),
    Probe("5 queries, 4 keys: a pair that is blocked adds nothing", _partly, observe=_tripled),
    Probe(
        "scores near 200, those of the blocked keys 0 and 1 near 500: nothing overflows",
        _loud,
        observe=_tripled,
        fails=partial(_told, tolerance=LOUD),
        tolerance=LOUD,
    ),
    Probe(
        "query 1 may read nothing, its lse is -inf: it adds nothing, and no number is NaN",
        _with_an_empty_row,
        observe=_tripled,
    ),
    Probe("4 queries, 4 keys, Dh 4, Dv 4: what is right, in its place", _square, observe=_tripled),
    Probe(
        "5 queries, 8 keys, in 4 tiles: added up, the gradients of the causal call",
        _whole,
        observe=_added_up,
    ),
)

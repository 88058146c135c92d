"""Question 01.4: an attention that runs where sizes are equal, and is wrong."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import attention
from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.mended_mistakes import MISTAKES
from course_lib.checks.shapes.sizes import sizes_with


def _tensors(scale: float = 1.0, **fixed: int) -> Callable:
    """Draw q, k and v of pairwise different sizes; those given stand."""

    def draw(generator: torch.Generator) -> tuple[Tensor, ...]:
        B, H, Tq, Tk, Dh, Dv = sizes_with(**fixed)(generator)
        sizes = ((B, H, Tq, Dh), (B, H, Tk, Dh), (B, H, Tk, Dv))
        return tuple(scale * torch.randn(size, generator=generator) for size in sizes)

    return draw


def _shape(fn: Callable, *inputs: Tensor) -> object:
    out = fn(*inputs)
    return list(out.shape) if isinstance(out, Tensor) else out


def _other_shape(got: list, want: list, q: Tensor, k: Tensor, v: Tensor) -> str:
    given = ", ".join(f"{n} {list(t.shape)}" for n, t in (("q", q), ("k", k), ("v", v)))
    return f"out is {got}; expected {want}, for {given}"


def _ones(generator: torch.Generator) -> tuple[Tensor, ...]:
    q, k, v = _tensors(Tq=4, Tk=4, Dh=4)(generator)
    return q, k, torch.ones_like(v)


def _not_ones(got: Tensor, want: Tensor, q: Tensor, k: Tensor, v: Tensor) -> str:
    low, high = got.min().item(), got.max().item()
    return f"out runs from {low:.3g} to {high:.3g}, for q {list(q.shape)} and Tk {k.shape[-2]}"


def _by_torch(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def _by_einsum(q, k, v):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.size(-1))
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return torch.einsum("bhqk,bhkv->bhqv", powers / powers.sum(-1, keepdim=True), v)


def _by_loops(q, k, v):
    rows = []
    for query in q.double().unbind(-2):
        scores = (k.double() * query.unsqueeze(-2)).sum(-1) / q.shape[-1] ** 0.5
        rows.append((scores.softmax(-1).unsqueeze(-1) * v.double()).sum(-2))
    return torch.stack(rows, dim=-2)


QUESTION = Question(
    "01.4",
    "mended",
    "Two faults that run",
    stars=2,
    minutes=10,
    reference=attention,
    probes=(
        Probe("Tq, Tk and Dh all 4: attention's numbers", _tensors(Tq=4, Tk=4, Dh=4)),
        Probe("every value 1: out is 1, since weights sum to 1", _ones, fails=_not_ones),
        Probe(
            "Tq 3, Tk 7: out is [B, H, 3, Dv]",
            _tensors(Tq=3, Tk=7),
            observe=_shape,
            fails=_other_shape,
        ),
        Probe("Tq 3, Tk 7: attention's numbers", _tensors(Tq=3, Tk=7), 2),
        Probe("Tq 6, Tk 1: each query gets the only value", _tensors(Tq=6, Tk=1)),
        Probe("Tq 1, Tk 9: one query reads nine values", _tensors(Tq=1, Tk=9)),
    ),
    mistakes=MISTAKES,
    alternatives=(_by_torch, _by_einsum, _by_loops),
)

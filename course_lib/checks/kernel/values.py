"""What the gradient in v is held to: every row of dv, whatever stands behind the tensors."""

from collections.abc import Callable
from functools import partial

import torch

from course_lib import simulator as triton
from course_lib.checks.kernel.launch import fact, first_wrong, output, written
from course_lib.checks.question import Probe
from course_lib.simulator import language as tl

CLOSE = 1e-4
LOUD = 2e-3  # what float32 leaves of scores near 1000
HALF = 3e-2


@triton.jit
def values_gradient(
    q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, Tk, scale,
    CAUSAL: tl.constexpr, Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """dv of one tile of keys, from every query: weights made again, turned, times d_out."""
    dims = tl.arange(0, Dh)
    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    keys = cols[:, None] * Dh + dims[None, :]
    k = tl.load(k_ptr + keys, mask=cols[:, None] < Tk, other=0.0)
    dv = tl.zeros([BLOCK_K, Dh], tl.float32)
    for start in range(0, Tq, BLOCK_Q):
        rows = start + tl.arange(0, BLOCK_Q)
        queries = rows[:, None] * Dh + dims[None, :]
        q = tl.load(q_ptr + queries, mask=rows[:, None] < Tq, other=0.0)
        d_out = tl.load(d_out_ptr + queries, mask=rows[:, None] < Tq, other=0.0)
        lse = tl.load(lse_ptr + rows, mask=rows < Tq, other=0.0)
        keep = (rows[:, None] < Tq) & (cols[None, :] < Tk)
        if CAUSAL:
            keep = keep & (cols[None, :] <= rows[:, None] + Tk - Tq)
        weights = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        weights = tl.where(keep, weights, 0.0)
        dv = tl.dot(tl.trans(weights).to(d_out.dtype), d_out, dv)
    tl.store(dv_ptr + keys, dv.to(dv_ptr.dtype.element_ty), mask=cols[:, None] < Tk)


def _drawn(
    g: torch.Generator,
    lengths: tuple[int, int],
    sizes: tuple[int, int, int],
    causal: bool = False,
    behind: int = 0,
    loud: float = 0.0,
) -> tuple:
    """A call of N(0, 4) logits, with rows of others `behind` each tensor.

    A loud one has scores near `loud` times 1 or -1, query by query.
    """
    (Tq, Tk), (Dh, BLOCK_Q, BLOCK_K) = lengths, sizes
    scale = 0.2 + 0.2 * torch.rand((), generator=g).item()
    q, d_out = torch.randn(2, Tq + behind, Dh, generator=g)
    k = torch.randn(Tk + behind, Dh, generator=g) * 2 / (scale * Dh**0.5)
    if loud:
        q[:, 0], k[:, 0] = loud / scale, 1
        q[1::2, 0] *= -1
    scores = q[:Tq].double() @ k[:Tk].double().T * scale
    if causal:
        after = torch.ones(Tq, Tk, dtype=torch.bool).triu(Tk - Tq + 1)
        scores = scores.masked_fill(after, -torch.inf)
    lse = torch.cat([scores.logsumexp(1).float(), torch.randn(behind, generator=g)])
    return q, k, d_out, lse, output(Tk + behind, Dh), Tq, Tk, scale, causal, Dh, BLOCK_Q, BLOCK_K


def _half(g: torch.Generator) -> tuple:
    """All but the lse in bfloat16. Ten of the second tile's queries take back what ten brought.

    They are the same ten, with the opposite d_out: so that holds however the weights are rounded.
    """
    q, k, d_out, lse, dv, *rest = _drawn(g, (32, 32), (64, 16, 32))
    d_out[:10] = 200 + 30 * d_out[:10]
    q[16:26], d_out[16:26], lse[16:26] = q[:10], -d_out[:10], lse[:10]
    return q.bfloat16(), k.bfloat16(), d_out.bfloat16(), lse, dv.bfloat16(), *rest


def _told(got: dict, want: dict, *inputs: object, tolerance: float = CLOSE) -> str:
    """The first number of dv that is off, in which tile, and who reads that key if it matters."""
    got, want = got["dv_ptr"], want["dv_ptr"]
    at = first_wrong(got, want, tolerance)
    Tq, Tk, _scale, CAUSAL, *_sizes, BLOCK_K = inputs[5:]
    key = at[0]
    text = fact("dv_ptr", at, got, want)
    if key >= Tk:
        return f"{text}: Tk is {Tk}"
    if key >= BLOCK_K:
        text = f"{text} (in the tile of program {key // BLOCK_K})"
    if not CAUSAL:
        return text
    return f"{text}. Key {key} is read by the queries {max(0, key - (Tk - Tq))} .. {Tq - 1}"


def _grid(*inputs: object) -> tuple[int, ...]:
    Tk, BLOCK_K = inputs[6], inputs[11]
    return (triton.cdiv(Tk, BLOCK_K),)


def _values(holds: str, inputs: Callable[[torch.Generator], tuple], tol: float = CLOSE) -> Probe:
    observe = written(_grid, "dv_ptr")
    return Probe(holds, inputs, 1, observe, partial(_told, tolerance=tol), tol)


VALUES = (
    _values(
        "one tile: 32 queries, 16 keys, Dh 64",
        lambda g: _drawn(g, (32, 16), (64, 32, 16)),
    ),
    _values(
        "16 queries, 16 keys, Dh 16: every weight in its place",
        lambda g: _drawn(g, (16, 16), (16, 16, 16)),
    ),
    _values(
        "2 tiles of keys, 2 of queries, the last of each with fewer, and the memory ends there",
        lambda g: _drawn(g, (25, 51), (64, 16, 32)),
    ),
    _values(
        "the same, and behind each tensor lies other memory",
        lambda g: _drawn(g, (25, 51), (64, 16, 32), behind=40),
    ),
    _values(
        "causal, more keys than queries: the last query reads the last key",
        lambda g: _drawn(g, (27, 58), (64, 16, 32), causal=True),
    ),
    _values(
        "causal, fewer keys than queries: the first queries read nothing, their lse is -inf",
        lambda g: _drawn(g, (45, 20), (32, 32, 16), causal=True),
    ),
    _values(
        "scores near 1000 and -1000: every number is finite",
        lambda g: _drawn(g, (20, 30), (64, 16, 32), loud=1000.0),
        LOUD,
    ),
    _values("bfloat16, with the lse in float32: hundreds that cancel, in float32", _half, HALF),
)

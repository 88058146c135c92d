"""Right ways of 07.6 unlike the reference: kernels that a compiler takes as well."""

from course_lib import simulator as triton
from course_lib.simulator import language as tl


@triton.jit
def made_upright(
    q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, Tk, scale,
    CAUSAL: tl.constexpr, Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The weights are made [keys, queries] at once; in powers of two; begun where a query reads."""
    LOG2E: tl.constexpr = 1.4426950408889634
    first = tl.program_id(0) * BLOCK_K
    dims, cols = tl.arange(0, Dh)[None, :], first + tl.arange(0, BLOCK_K)[:, None]
    k = tl.load(k_ptr + cols * Dh + dims, mask=cols < Tk, other=0.0)
    dv = tl.zeros([BLOCK_K, Dh], tl.float32)
    begin = 0
    if CAUSAL:
        begin = tl.maximum(0, first - (Tk - Tq))
    for tile in range(tl.cdiv(Tq - begin, BLOCK_Q)):
        rows = begin + tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
        at = rows[:, None] * Dh + dims
        q = tl.load(q_ptr + at, mask=rows[:, None] < Tq, other=0.0)
        lse = tl.load(lse_ptr + rows, mask=rows < Tq, other=float("inf"))
        scores = tl.dot(k, tl.trans(q)) * (scale * LOG2E)
        weights = tl.exp2(scores - lse[None, :] * LOG2E)
        if CAUSAL:
            weights = tl.where(cols - (Tk - Tq) <= rows[None, :], weights, 0.0)
        d_out = tl.load(d_out_ptr + at, mask=rows[:, None] < Tq, other=0.0)
        dv += tl.dot(weights.to(d_out.dtype), d_out)
    tl.store(dv_ptr + cols * Dh + dims, dv.to(dv_ptr.dtype.element_ty), mask=cols < Tk)


@triton.jit
def without_matrix_units(
    q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, Tk, scale,
    CAUSAL: tl.constexpr, Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Query by query, each by sums over the features."""
    dims = tl.arange(0, Dh)
    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    keys, inside = cols[:, None] * Dh + dims[None, :], (cols < Tk)[:, None]
    k = tl.load(k_ptr + keys, mask=inside, other=0.0).to(tl.float32)
    dv = tl.zeros([BLOCK_K, Dh], tl.float32)
    for query in range(0, Tq):
        q = tl.load(q_ptr + query * Dh + dims).to(tl.float32)
        d_out = tl.load(d_out_ptr + query * Dh + dims).to(tl.float32)
        lse = tl.load(lse_ptr + query)
        weights = tl.exp(tl.sum(k * q[None, :], 1) * scale - lse)
        last = Tk - 1
        if CAUSAL:
            last = query + Tk - Tq
        weights = tl.where(cols <= last, weights, 0.0)
        dv += weights[:, None] * d_out[None, :]
    tl.store(dv_ptr + keys, dv, mask=inside)


@triton.jit
def blocked_before(
    q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, Tk, scale,
    CAUSAL: tl.constexpr, Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Scores of -inf where nothing may be read, and an lse of 0 for who reads nothing; float32."""
    dims = tl.arange(0, Dh)
    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    keys = cols[:, None] * Dh + dims[None, :]
    k = tl.load(k_ptr + keys, mask=cols[:, None] < Tk, other=0.0).to(tl.float32)
    dv = tl.zeros([BLOCK_K, Dh], tl.float32)
    for tile in range(0, tl.cdiv(Tq, BLOCK_Q)):
        rows = tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
        inside = rows[:, None] < Tq
        queries = rows[:, None] * Dh + dims[None, :]
        q = tl.load(q_ptr + queries, mask=inside, other=0.0).to(tl.float32) * scale
        d_out = tl.load(d_out_ptr + queries, mask=inside, other=0.0).to(tl.float32)
        lse = tl.load(lse_ptr + rows, mask=rows < Tq, other=0.0)
        lse = tl.where(lse == float("-inf"), 0.0, lse)
        scores = tl.dot(q, tl.trans(k))
        if CAUSAL:
            scores = tl.where(rows[:, None] - Tq >= cols[None, :] - Tk, scores, float("-inf"))
        weights = tl.exp(scores - lse[:, None])
        dv = tl.dot(tl.trans(weights), d_out, acc=dv)
    tl.store(dv_ptr + keys, dv, mask=cols[:, None] < Tk)


@triton.jit
def by_descriptors(
    q_ptr, k_ptr, d_out_ptr, lse_ptr, dv_ptr, Tq, Tk, scale,
    CAUSAL: tl.constexpr, Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Tiles of tensors that know where they end; the queries from the last to the first."""
    first = tl.program_id(0) * BLOCK_K
    qs = tl.make_tensor_descriptor(q_ptr, [Tq, Dh], [Dh, 1], [BLOCK_Q, Dh])
    ks = tl.make_tensor_descriptor(k_ptr, [Tk, Dh], [Dh, 1], [BLOCK_K, Dh])
    d_outs = tl.make_tensor_descriptor(d_out_ptr, [Tq, Dh], [Dh, 1], [BLOCK_Q, Dh])
    dvs = tl.make_tensor_descriptor(dv_ptr, [Tk, Dh], [Dh, 1], [BLOCK_K, Dh])
    k = ks.load([first, 0])
    cols = first + tl.arange(0, BLOCK_K)
    dv = tl.zeros([BLOCK_K, Dh], tl.float32)
    tiles = tl.cdiv(Tq, BLOCK_Q)
    for turn in range(0, tiles):
        start = (tiles - 1 - turn) * BLOCK_Q
        rows = start + tl.arange(0, BLOCK_Q)
        keep = (rows < Tq)[:, None] & (cols < Tk)[None, :]
        if CAUSAL:
            keep &= Tq - rows[:, None] <= Tk - cols[None, :]
        lse = tl.load(lse_ptr + rows, mask=rows < Tq, other=0.0)
        scores = tl.dot(qs.load([start, 0]), tl.trans(k)) * scale
        weights = tl.where(keep, tl.exp(scores - lse[:, None]), 0.0)
        d_out = d_outs.load([start, 0])
        dv += tl.dot(tl.trans(weights.to(d_out.dtype)), d_out)
    dvs.store([first, 0], dv.to(dv_ptr.dtype.element_ty))


VALUES = (made_upright, without_matrix_units, blocked_before, by_descriptors)

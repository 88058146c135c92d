"""FlashAttention as a Triton kernel: `tiling.tiled_attention` with pointers, forward and backward.

A program of the forward has one tile of queries of one head, and walks over the tiles of keys
that they read. The names are those of `tiling`: `row_max`, `row_sum`, `acc`, `lse`. Dao 2023.

How kernels run is chosen here, once, at the first import, by the environment's COURSE_KERNEL:
"simulator" (any machine, and the default where there is no CUDA card), "interpreter" (Triton's own,
on the CPU), or "compiled".
"""

from __future__ import annotations

import os

import torch

WAY = os.environ.get("COURSE_KERNEL", "compiled" if torch.cuda.is_available() else "simulator")
if WAY == "simulator":
    from course_lib import simulator as triton
    from course_lib.simulator import language as tl
elif WAY in ("interpreter", "compiled"):
    # Triton decides at its first import, for the whole process.
    os.environ["TRITON_INTERPRET"] = str(int(WAY == "interpreter"))
    import triton
    import triton.language as tl
else:
    raise ValueError(f"COURSE_KERNEL: expected simulator, interpreter or compiled, got {WAY!r}")

LOG2E = tl.constexpr(1.4426950408889634)  # the card has exp2; exp(x) is exp2(x * LOG2E)
LN2 = tl.constexpr(0.6931471805599453)
LOWEST = tl.constexpr(-3.4028234663852886e38)  # of float32: where a maximum begins
SIZES = ("H", "Hkv", "Tq", "Tk")  # no program of its own for those that are 1, or a multiple of 16


@triton.jit
def load_tile(ptr, rows, T, Dh: tl.constexpr, DIM: tl.constexpr):
    """Rows of a [T, Dh] matrix as a [rows, DIM] tile, filled up with zeros."""
    cols = tl.arange(0, DIM)
    inside = (rows[:, None] < T) & (cols[None, :] < Dh)
    return tl.load(ptr + rows[:, None] * Dh + cols[None, :], mask=inside, other=0.0)


@triton.jit
def store_tile(ptr, tile, rows, T, Dh: tl.constexpr, DIM: tl.constexpr):
    """Write what of a [rows, DIM] tile lies inside a [T, Dh] matrix, in that matrix's dtype."""
    cols = tl.arange(0, DIM)
    inside = (rows[:, None] < T) & (cols[None, :] < Dh)
    address = ptr + rows[:, None] * Dh + cols[None, :]
    tl.store(address, tile.to(ptr.dtype.element_ty), mask=inside)


@triton.jit
def may_read(rows, cols, Tq, Tk, CAUSAL: tl.constexpr):
    """[rows, cols]: whether both exist, and the key doesn't come after the query."""
    keep = (rows[:, None] < Tq) & (cols[None, :] < Tk)
    if CAUSAL:
        keep = keep & (cols[None, :] <= rows[:, None] + (Tk - Tq))
    return keep


@triton.jit
def fold(row_max, row_sum, acc, products, v, scale, PRECISION: tl.constexpr):
    """`tiling.fold`, in powers of two: `scale` turns a product into a score times LOG2E."""
    new_max = tl.maximum(row_max, tl.max(products, 1) * scale)
    rescale = tl.exp2(row_max - new_max)
    powers = tl.exp2(products * scale - new_max[:, None])
    row_sum = rescale * row_sum + tl.sum(powers, 1)
    acc = tl.dot(powers.to(v.dtype), v, acc * rescale[:, None], input_precision=PRECISION)
    return new_max, row_sum, acc


@triton.jit(do_not_specialize=SIZES)
def forward(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, H, Hkv, Tq, Tk,
    Dh: tl.constexpr, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile of queries reads all its keys: first the tiles it reads whole, then the others."""
    head = tl.program_id(1).to(tl.int64)  # of B * H; int64, for large tensors
    kv_head = head // H * Hkv + head % H // (H // Hkv)
    q_ptr, out_ptr, lse_ptr = q_ptr + head * Tq * Dh, out_ptr + head * Tq * Dh, lse_ptr + head * Tq
    k_ptr, v_ptr = k_ptr + kv_head * Tk * Dh, v_ptr + kv_head * Tk * Dh

    first = tl.program_id(0) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    q = load_tile(q_ptr, rows, Tq, Dh, DIM)  # stays in fast memory
    row_max = tl.full([BLOCK_Q], LOWEST, tl.float32)
    row_sum = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, DIM], tl.float32)

    whole, stop = Tk // BLOCK_K * BLOCK_K, Tk
    if CAUSAL:
        place = first + Tk - Tq  # the first query stands here among the keys
        stop = tl.minimum(Tk, tl.maximum(0, place + BLOCK_Q))
        whole = tl.minimum(whole, tl.maximum(0, place + 1) // BLOCK_K * BLOCK_K)
    for start in range(0, whole, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        k, v = load_tile(k_ptr, cols, Tk, Dh, DIM), load_tile(v_ptr, cols, Tk, Dh, DIM)
        products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        row_max, row_sum, acc = fold(row_max, row_sum, acc, products, v, scale * LOG2E, PRECISION)
    for start in range(whole, stop, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        k, v = load_tile(k_ptr, cols, Tk, Dh, DIM), load_tile(v_ptr, cols, Tk, Dh, DIM)
        products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        products = tl.where(may_read(rows, cols, Tq, Tk, CAUSAL), products, float("-inf"))
        row_max, row_sum, acc = fold(row_max, row_sum, acc, products, v, scale * LOG2E, PRECISION)

    empty = row_sum == 0
    row_sum = tl.where(empty, 1.0, row_sum)
    store_tile(out_ptr, acc / row_sum[:, None], rows, Tq, Dh, DIM)
    lse = tl.where(empty, float("-inf"), (row_max + tl.log2(row_sum)) * LN2)
    tl.store(lse_ptr + rows, lse, mask=rows < Tq)


@triton.jit(do_not_specialize=SIZES)
def backward_delta(
    out_ptr, d_out_ptr, delta_ptr, Tq,
    Dh: tl.constexpr, DIM: tl.constexpr, BLOCK_Q: tl.constexpr,
):  # fmt: skip
    """d_out times out, summed over a row: what the softmax's gradient takes from each weight's."""
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    out = load_tile(out_ptr + head * Tq * Dh, rows, Tq, Dh, DIM).to(tl.float32)
    d_out = load_tile(d_out_ptr + head * Tq * Dh, rows, Tq, Dh, DIM).to(tl.float32)
    tl.store(delta_ptr + head * Tq + rows, tl.sum(out * d_out, 1), mask=rows < Tq)


@triton.jit
def tile_again(
    q, k, v, d_out, lse, delta, keep, scale, PRECISION: tl.constexpr
):  # fmt: skip
    """Make a tile of weights once more from the lse, and the gradient in its products."""
    products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    weights = tl.exp2(products * (scale * LOG2E) - lse[:, None] * LOG2E)
    weights = tl.where(keep, weights, 0.0)
    d_weights = tl.dot(d_out, tl.trans(v), input_precision=PRECISION)
    return weights, weights * (d_weights - delta[:, None]) * scale


@triton.jit(do_not_specialize=SIZES)
def backward_keys(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, scale, H, Hkv, Tq, Tk,
    Dh: tl.constexpr, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dk and dv of one tile of keys, from every query head of its group: no two programs add."""
    kv_head = tl.program_id(1).to(tl.int64)  # of B * Hkv
    group = H // Hkv
    k_ptr, v_ptr = k_ptr + kv_head * Tk * Dh, v_ptr + kv_head * Tk * Dh
    first = tl.program_id(0) * BLOCK_K
    cols = first + tl.arange(0, BLOCK_K)
    k, v = load_tile(k_ptr, cols, Tk, Dh, DIM), load_tile(v_ptr, cols, Tk, Dh, DIM)
    dk, dv = tl.zeros([BLOCK_K, DIM], tl.float32), tl.zeros([BLOCK_K, DIM], tl.float32)

    begin = 0
    if CAUSAL:  # earlier queries read none of these keys
        begin = tl.maximum(0, first - (Tk - Tq)) // BLOCK_Q * BLOCK_Q
    for head in range(kv_head * group, kv_head * group + group):
        for start in range(begin, Tq, BLOCK_Q):
            rows = start + tl.arange(0, BLOCK_Q)
            q = load_tile(q_ptr + head * Tq * Dh, rows, Tq, Dh, DIM)
            d_out = load_tile(d_out_ptr + head * Tq * Dh, rows, Tq, Dh, DIM)
            lse = tl.load(lse_ptr + head * Tq + rows, mask=rows < Tq, other=0.0)
            delta = tl.load(delta_ptr + head * Tq + rows, mask=rows < Tq, other=0.0)
            keep = may_read(rows, cols, Tq, Tk, CAUSAL)
            weights, d_products = tile_again(q, k, v, d_out, lse, delta, keep, scale, PRECISION)
            weights, d_products = weights.to(d_out.dtype), d_products.to(q.dtype)
            dv = tl.dot(tl.trans(weights), d_out, dv, input_precision=PRECISION)
            dk = tl.dot(tl.trans(d_products), q, dk, input_precision=PRECISION)
    store_tile(dk_ptr + kv_head * Tk * Dh, dk, cols, Tk, Dh, DIM)
    store_tile(dv_ptr + kv_head * Tk * Dh, dv, cols, Tk, Dh, DIM)


@triton.jit(do_not_specialize=SIZES)
def backward_queries(
    q_ptr, k_ptr, v_ptr, d_out_ptr, lse_ptr, delta_ptr, dq_ptr, scale, H, Hkv, Tq, Tk,
    Dh: tl.constexpr, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """dq of one tile of queries, from the keys that the forward read."""
    head = tl.program_id(1).to(tl.int64)
    kv_head = head // H * Hkv + head % H // (H // Hkv)
    k_ptr, v_ptr = k_ptr + kv_head * Tk * Dh, v_ptr + kv_head * Tk * Dh
    first = tl.program_id(0) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    q = load_tile(q_ptr + head * Tq * Dh, rows, Tq, Dh, DIM)
    d_out = load_tile(d_out_ptr + head * Tq * Dh, rows, Tq, Dh, DIM)
    lse = tl.load(lse_ptr + head * Tq + rows, mask=rows < Tq, other=0.0)
    delta = tl.load(delta_ptr + head * Tq + rows, mask=rows < Tq, other=0.0)
    dq = tl.zeros([BLOCK_Q, DIM], tl.float32)

    stop = Tk
    if CAUSAL:
        stop = tl.minimum(Tk, tl.maximum(0, first + BLOCK_Q + Tk - Tq))
    for start in range(0, stop, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        k, v = load_tile(k_ptr, cols, Tk, Dh, DIM), load_tile(v_ptr, cols, Tk, Dh, DIM)
        keep = may_read(rows, cols, Tq, Tk, CAUSAL)
        _, d_products = tile_again(q, k, v, d_out, lse, delta, keep, scale, PRECISION)
        dq = tl.dot(d_products.to(k.dtype), k, dq, input_precision=PRECISION)
    store_tile(dq_ptr + head * Tq * Dh, dq, rows, Tq, Dh, DIM)

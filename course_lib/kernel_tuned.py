"""The forward once more, for speed: read `kernel.py` first, the arithmetic is the same.

What is new is how a card is used. A descriptor tells the hardware the form of a whole tensor; it
then copies tiles by itself while the program computes, and what lies outside reads as zero. Tiles
are as large as the registers allow, for each width of head. In a causal call the last queries read
most; their programs start first, so that none of them runs alone at the end.
"""

from __future__ import annotations

import torch
from torch import Tensor

from course_lib import flash, kernel
from course_lib.kernel import LN2, LOG2E, LOWEST, SIZES, fold, may_read, tl, triton

TILES = {  # DIM: queries, keys, warps, tiles on their way; for float16 and bfloat16
    16: (128, 128, 4, 3),
    32: (128, 128, 4, 3),
    64: (128, 128, 8, 3),
    128: (128, 64, 8, 3),
}


@triton.jit(do_not_specialize=("B", *SIZES))
def tuned_forward(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, B, H, Hkv, Tq, Tk,
    Dh: tl.constexpr, DIM: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
    CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile of queries reads all its keys, tile by tile, each copied by the hardware."""
    head = tl.program_id(1)  # of B * H
    kv_head = head // H * Hkv + head % H // (H // Hkv)
    qs = tl.make_tensor_descriptor(q_ptr, [B * H, Tq, Dh], [Tq * Dh, Dh, 1], [1, BLOCK_Q, DIM])
    ks = tl.make_tensor_descriptor(k_ptr, [B * Hkv, Tk, Dh], [Tk * Dh, Dh, 1], [1, BLOCK_K, DIM])
    vs = tl.make_tensor_descriptor(v_ptr, [B * Hkv, Tk, Dh], [Tk * Dh, Dh, 1], [1, BLOCK_K, DIM])
    outs = tl.make_tensor_descriptor(out_ptr, [B * H, Tq, Dh], [Tq * Dh, Dh, 1], [1, BLOCK_Q, DIM])

    first = tl.program_id(0) * BLOCK_Q
    if CAUSAL:  # the longest first
        first = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    q = qs.load([head, first, 0]).reshape(BLOCK_Q, DIM)
    row_max = tl.full([BLOCK_Q], LOWEST, tl.float32)
    row_sum = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, DIM], tl.float32)

    whole, stop = Tk // BLOCK_K * BLOCK_K, Tk
    if CAUSAL:
        place = first + Tk - Tq
        stop = tl.minimum(Tk, tl.maximum(0, place + BLOCK_Q))
        whole = tl.minimum(whole, tl.maximum(0, place + 1) // BLOCK_K * BLOCK_K)
    for start in range(0, whole, BLOCK_K):
        k = ks.load([kv_head, start, 0]).reshape(BLOCK_K, DIM)
        products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        v = vs.load([kv_head, start, 0]).reshape(BLOCK_K, DIM)
        row_max, row_sum, acc = fold(row_max, row_sum, acc, products, v, scale * LOG2E, PRECISION)
    for start in range(whole, stop, BLOCK_K):
        k = ks.load([kv_head, start, 0]).reshape(BLOCK_K, DIM)
        products = tl.dot(q, tl.trans(k), input_precision=PRECISION)
        cols = start + tl.arange(0, BLOCK_K)
        products = tl.where(may_read(rows, cols, Tq, Tk, CAUSAL), products, float("-inf"))
        v = vs.load([kv_head, start, 0]).reshape(BLOCK_K, DIM)
        row_max, row_sum, acc = fold(row_max, row_sum, acc, products, v, scale * LOG2E, PRECISION)

    empty, row_sum = row_sum == 0, tl.where(row_sum == 0, 1.0, row_sum)
    out = (acc / row_sum[:, None]).to(out_ptr.dtype.element_ty)
    outs.store([head, first, 0], out.reshape(1, BLOCK_Q, DIM))
    lse = tl.where(empty, float("-inf"), (row_max + tl.log2(row_sum)) * LN2)
    tl.store(lse_ptr + head.to(tl.int64) * Tq + rows, lse, mask=rows < Tq)


def tuned_with_lse(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """`flash.flash_with_lse`, forward only: [B, H, Tq, Dh] and [B, H, Tq].

    The hardware copies rows of a multiple of 16 bytes, and knows half precision best: other
    inputs are an error that says what is expected.
    """
    flash.expect_supported(q, k, v)
    if q.dtype == torch.float32 or q.shape[3] % 8:
        raise ValueError(
            "q: expected float16 or bfloat16 and a multiple of 8 features, "
            f"got {q.dtype} and {q.shape[3]}; flash_attention takes it"
        )
    if not k.shape[2]:
        raise ValueError("k: expected at least one key")
    if kernel.WAY == "compiled":
        triton.set_allocator(
            lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=q.device)
        )
    q, k, v = (x.contiguous() for x in (q, k, v))
    (B, H, Tq, Dh), (Hkv, Tk) = q.shape, k.shape[1:3]
    out, lse = torch.empty_like(q), q.new_empty(B, H, Tq, dtype=torch.float32)
    if out.numel():
        how = settings(Dh)
        grid = triton.cdiv(Tq, how["BLOCK_Q"]), B * H
        scale = Dh**-0.5 if scale is None else scale
        sizes = scale, B, H, Hkv, Tq, Tk
        tuned_forward[grid](q, k, v, out, lse, *sizes, CAUSAL=causal, **how)
    return out, lse


def settings(Dh: int) -> dict[str, object]:
    """What the kernel is compiled for, but the mask, by the width of a head."""
    DIM = max(16, triton.next_power_of_2(Dh))
    BLOCK_Q, BLOCK_K, num_warps, num_stages = TILES[DIM]
    return {
        "Dh": Dh,
        "DIM": DIM,
        "BLOCK_Q": BLOCK_Q,
        "BLOCK_K": BLOCK_K,
        "PRECISION": "tf32",
        "num_warps": num_warps,
        "num_stages": num_stages,
    }

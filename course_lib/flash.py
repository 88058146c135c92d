"""Attention by the kernels of `kernel.py`: checks of the input, launches, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from course_lib import kernel
from course_lib.kernel import triton

if TYPE_CHECKING:  # a machine that only measures has torch and Triton, and no more
    from jaxtyping import Float

WIDEST = 128  # features of a head: beyond, a tile of queries doesn't fit where a program works
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def flash_attention(
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B Hkv Tk Dh"],
    v: Float[Tensor, "B Hkv Tk Dh"],
    causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "B H Tq Dh"]:
    """`attention` that moves one tile at a time through fast memory, forward and backward.

    Groups of query heads share a key-value head, as in `heads.share`; a causal query reads the keys
    up to its own place, the last one all of them, as in `masks.causal`. Sums are float32. Scores
    are scaled by Dh ** -0.5 where no scale is given. Dao 2023.
    """
    return flash_with_lse(q, k, v, causal, scale)[0]


def flash_with_lse(
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B Hkv Tk Dh"],
    v: Float[Tensor, "B Hkv Tk Dh"],
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Float[Tensor, "B H Tq Dh"], Float[Tensor, "B H Tq"]]:
    """`flash_attention`, and the lse by which its output merges with that over other keys."""
    expect_supported(q, k, v)
    scale = q.shape[3] ** -0.5 if scale is None else scale
    if not scale > 0:
        raise ValueError(f"scale: expected a positive number, got {scale}")
    return _Flash.apply(q, k, v, causal, scale)


class _Flash(torch.autograd.Function):
    """The forward keeps the output and the lse; the backward makes each tile of weights again."""

    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        q, k, v = (x.contiguous() for x in (q, k, v))  # once here: strides leave the kernels
        (B, H, Tq, _), (Hkv, Tk) = q.shape, k.shape[1:3]
        ctx.sizes, ctx.causal = (scale, H, Hkv, Tq, Tk), causal
        out, lse = torch.empty_like(q), q.new_empty(B, H, Tq, dtype=torch.float32)
        if out.numel():
            how = settings("forward", q)
            grid = triton.cdiv(Tq, how["BLOCK_Q"]), B * H
            kernel.forward[grid](q, k, v, out, lse, *ctx.sizes, CAUSAL=causal, **how)
        ctx.save_for_backward(q, k, v, out, lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_lse):
        q, k, v, out, lse = ctx.saved_tensors
        d_out, delta = d_out.contiguous(), torch.empty_like(lse)
        dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
        if out.numel() and k.numel():
            (B, H, Tq, _), (Hkv, Tk) = q.shape, k.shape[1:3]
            how = settings("backward_delta", q)
            by_queries = triton.cdiv(Tq, how["BLOCK_Q"]), B * H
            kernel.backward_delta[by_queries](out, d_out, delta, Tq, **how)
            read = q, k, v, d_out, lse, delta.sub_(d_lse)  # lse has a gradient where it merged

            how = settings("backward_queries", q)
            kernel.backward_queries[by_queries](*read, dq, *ctx.sizes, CAUSAL=ctx.causal, **how)
            how = settings("backward_keys", q)
            by_keys = triton.cdiv(Tk, how["BLOCK_K"]), B * Hkv
            kernel.backward_keys[by_keys](*read, dk, dv, *ctx.sizes, CAUSAL=ctx.causal, **how)
        return dq, dk, dv, None, None


def settings(name: str, q: Tensor) -> dict[str, object]:
    """What a kernel is compiled for, but the mask: sizes of tiles, rounding, and how it is run."""
    DIM = max(16, triton.next_power_of_2(q.shape[-1]))
    wide, single = DIM > 64, q.dtype == torch.float32
    how = {
        "Dh": q.shape[-1],
        "DIM": DIM,
        # dk and dv together fill the registers: with wide heads the tile beside them is halved.
        # So are all in float32, which no matrix unit multiplies without rounding it first.
        "BLOCK_Q": 32 if single or (wide and name == "backward_keys") else 64,
        "num_warps": 8 if single or (wide and name != "forward") else 4,
        "num_stages": 2,
    }
    if name == "backward_delta":
        return how
    # tf32 keeps 10 bits of a float32; where they are few anyway, it is no loss.
    return how | {"BLOCK_K": 32 if single else 64, "PRECISION": "ieee" if single else "tf32"}


def expect_supported(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise an error that names the argument, or return where the kernels can compute this."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.ndim != 4:
            raise ValueError(f"{name}: expected four axes [B, H, T, Dh], got {list(x.shape)}")
        if x.dtype not in DTYPES:
            raise TypeError(f"{name}: expected float32, bfloat16 or float16, got {x.dtype}")
        if x.dtype != q.dtype or x.device != q.device:
            raise TypeError(
                f"{name}: expected q's {q.dtype} on {q.device}, got {x.dtype} on {x.device}"
            )
    (B, H, _, Dh), Hkv = q.shape, k.shape[1]
    if not 1 <= Dh <= WIDEST:
        raise ValueError(f"q: expected heads of 1 to {WIDEST} features, got {Dh}")
    if k.shape[0] != B or k.shape[3] != Dh:
        raise ValueError(f"k: expected [{B}, heads, keys, {Dh}] as q has, got {list(k.shape)}")
    if v.shape != k.shape:
        raise ValueError(f"v: expected k's shape {list(k.shape)}, got {list(v.shape)}")
    if Hkv == 0 or H % Hkv:
        raise ValueError(f"k: expected heads that divide the {H} of q, got {Hkv}")
    wanted = "cuda" if kernel.WAY == "compiled" else "cpu"
    if q.device.type != wanted:
        raise ValueError(
            f"q: expected a tensor on {wanted}, where kernels run {_HOW[kernel.WAY]}, "
            f"got {q.device}. COURSE_KERNEL chooses another way, before the first import."
        )
    if kernel.WAY == "interpreter" and q.dtype == torch.bfloat16:
        raise TypeError(
            "q: expected float32 or float16, since Triton's interpreter multiplies the bit "
            "patterns of bfloat16; the simulator computes it rightly"
        )


_HOW = {
    "compiled": "compiled on a card",
    "interpreter": "in Triton's interpreter",
    "simulator": "in the simulator",
}

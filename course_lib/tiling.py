"""Attention tile by tile: the same output, and never a [Tq, Tk] of anything in memory.

A query remembers three things of the keys it has read: `State`. Reading some more is `fold`; two
memories of different keys become one by `merge`. The names are those of the kernel.
"""

import itertools
import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from course_lib.attention import NOTHING, expect_one_kind, logsumexp
from course_lib.shapes import shaped
from course_lib.tiles import Rule, Tiles

LOG2E, LN2 = math.log2(math.e), math.log(2)  # exp2(x * LOG2E) is exp(x), in two thirds of its time


class State(NamedTuple):
    """What a query remembers of the keys it has read: the same size however many they were."""

    row_max: Float[Tensor, "... Tq 1"]
    row_sum: Float[Tensor, "... Tq 1"]
    acc: Float[Tensor, "... Tq Dv"]


def nothing_read(like: Float[Tensor, "... Tq Dv"]) -> State:
    """The memory before the first key, for an output of this form.

    The maximum starts at the lowest number there is. With -inf, a query whose first tile is
    blocked in full would be rescaled by exp(-inf - -inf), which is NaN.
    """
    one = torch.zeros_like(like[..., :1])
    return State(one + torch.finfo(like.dtype).min, one, torch.zeros_like(like))


@shaped
def fold(state: State, scores: Float[Tensor, "... Tq Tk"], v: Float[Tensor, "... Tk Dv"]) -> State:
    """Read some more keys: shrink what is remembered to the new maximum, then add to it.

    Milakov and Gimelshein 2018, algorithm 3; Dao et al. 2022, algorithm 1.
    """
    row_max = torch.maximum(state.row_max, scores.amax(-1, keepdim=True))
    rescale = (state.row_max - row_max).exp()
    powers = (scores - row_max).exp()  # [..., Tq, Tk]: one tile, gone after this call
    row_sum = rescale * state.row_sum + powers.sum(-1, keepdim=True)
    return State(row_max, row_sum, rescale * state.acc + powers @ v)


def merge(a: State, b: State) -> State:
    """Join the memories of two sets of keys; any order and any grouping end in the same."""
    row_max = torch.maximum(a.row_max, b.row_max)
    share_a, share_b = (a.row_max - row_max).exp(), (b.row_max - row_max).exp()
    row_sum = share_a * a.row_sum + share_b * b.row_sum
    return State(row_max, row_sum, share_a * a.acc + share_b * b.acc)


def finish(state: State) -> tuple[Float[Tensor, "... Tq Dv"], Float[Tensor, "... Tq"]]:
    """The output, and `lse`: the logarithm of the softmax's denominator. No key: zeros, -inf."""
    empty = state.row_sum == 0
    row_sum = state.row_sum.masked_fill(empty, 1)
    lse = (state.row_max + row_sum.log()).masked_fill(empty, NOTHING)
    return state.acc / row_sum, lse.squeeze(-1)


@shaped
def merge_outputs(
    out_a: Float[Tensor, "... Tq Dv"],
    lse_a: Float[Tensor, "... Tq"],
    out_b: Float[Tensor, "... Tq Dv"],
    lse_b: Float[Tensor, "... Tq"],
) -> tuple[Float[Tensor, "... Tq Dv"], Float[Tensor, "... Tq"]]:
    """Join two finished outputs over different keys: each counts by the exponential of its lse."""
    lse = logsumexp(torch.stack([lse_a, lse_b], -1))  # torch's gradient is NaN at two -inf
    share_a, share_b = ((part - _finite(lse)).exp()[..., None] for part in (lse_a, lse_b))
    return share_a * out_a + share_b * out_b, lse


@shaped
def tiled_attention(
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B Hkv Tk Dh"],
    v: Float[Tensor, "B Hkv Tk Dv"],
    keep: Bool[Tensor, "#B #H #Tq #Tk"] | Rule | None = None,
    block_q: int = 512,
    block_k: int = 512,
) -> Float[Tensor, "B H Tq Dv"]:
    """Attention that holds one tile of scores at a time, forward and backward. Dao et al. 2022.

    `keep` is a mask or a rule, such as `causal_rule`; a tile in which it lets nothing be read is
    skipped. Groups of query heads share a key-value head, as in `heads.share`. Half precision is
    computed in float32 and rounded once.
    """
    return tiled_with_lse(q, k, v, keep, block_q, block_k)[0]


@shaped
def tiled_with_lse(
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B Hkv Tk Dh"],
    v: Float[Tensor, "B Hkv Tk Dv"],
    keep: Bool[Tensor, "#B #H #Tq #Tk"] | Rule | None = None,
    block_q: int = 512,
    block_k: int = 512,
) -> tuple[Float[Tensor, "B H Tq Dv"], Float[Tensor, "B H Tq"]]:
    """`tiled_attention`, and the lse by which its output merges with that over other keys."""
    H, Hkv = q.shape[1], k.shape[1]
    if Hkv == 0 or H % Hkv:
        raise ValueError(f"k: expected heads that divide the {H} of q, got {Hkv}")
    expect_one_kind(q, k=k, v=v)
    for name, block in (("block_q", block_q), ("block_k", block_k)):
        if block < 1:
            raise ValueError(f"{name}: expected at least 1, got {block}")
    return _Tiled.apply(q, k, v, Tiles(keep, q.shape[2], k.shape[2], block_q, block_k))


class _Tiled(torch.autograd.Function):
    """The forward keeps the output and the lse; the backward makes each tile of weights again."""

    @staticmethod
    def forward(ctx, q, k, v, tiles):
        wide = torch.promote_types(q.dtype, torch.float32)
        out = q.new_empty(*q.shape[:3], v.shape[3])
        lse = q.new_empty(q.shape[:3], dtype=wide)
        ctx.tiles = tiles
        for b, h in itertools.product(*map(range, q.shape[:2])):
            kv = h * k.shape[1] // q.shape[1]
            one = (x.to(wide) for x in (q[b, h], k[b, kv], v[b, kv]))
            out[b, h], lse[b, h] = _read(*one, tiles, (b, h))
        ctx.save_for_backward(q, k, v, out, lse)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx, d_out, d_lse):
        q, k, v, out, lse = ctx.saved_tensors
        dq = torch.zeros_like(q)
        dk, dv = (torch.zeros_like(x, dtype=lse.dtype) for x in (k, v))
        for b, h in itertools.product(*map(range, q.shape[:2])):
            kv = h * k.shape[1] // q.shape[1]
            one = [x.to(lse.dtype) for x in (q[b, h], k[b, kv], v[b, kv], d_out[b, h])]
            # Both gradients of the softmax in one number a row: Dao et al. 2022, equation 4.
            delta = (one[-1] * out[b, h]).sum(-1, keepdim=True) - d_lse[b, h, :, None]
            grads = _read_again(one, lse[b, h, :, None], delta, ctx.tiles, (b, h))
            for total, grad in zip((dq[b, h], dk[b, kv], dv[b, kv]), grads, strict=True):
                total.add_(grad)
        return dq, dk.to(k.dtype), dv.to(v.dtype), None


def _read(
    q: Tensor, k: Tensor, v: Tensor, tiles: Tiles, head: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """The forward of one head: [Tq, Dh], [Tk, Dh], [Tk, Dv] to [Tq, Dv] and [Tq]."""
    out, lse = q.new_empty(len(q), v.shape[1]), q.new_empty(len(q))
    q = q * (q.shape[1] ** -0.5 * LOG2E)
    memory = tiles.memory(q)
    for rows in tiles.queries():
        state, q_tile = nothing_read(out[rows]), q[rows]
        for cols, blocked in tiles.keys(rows, *head):
            scores = _product(q_tile, k[cols], memory)
            if blocked is not None:
                scores.masked_fill_(blocked, NOTHING)
            state = _fold_in_place(state, scores, v[cols])
        out[rows], lse[rows] = finish(state._replace(row_max=state.row_max * LN2))
    return out, lse


def _read_again(
    one: list[Tensor], lse: Tensor, delta: Tensor, tiles: Tiles, head: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """The backward of one head, from q, k, v and the gradient of the output; the same tiles."""
    q, k, v, d_out = one
    dq, dk, dv = (torch.zeros_like(x) for x in (q, k, v))
    scale = q.shape[1] ** -0.5
    q, lse = q * (scale * LOG2E), _finite(lse) * LOG2E
    memory, second = tiles.memory(q), tiles.memory(q)
    for rows in tiles.queries():
        q_tile, d_out_tile, lse_tile, delta_tile = q[rows], d_out[rows], lse[rows], delta[rows]
        for cols, blocked in tiles.keys(rows, *head):
            weights = _product(q_tile, k[cols], memory).sub_(lse_tile).exp2_()
            if blocked is not None:
                weights.masked_fill_(blocked, 0)
            d_scores = _product(d_out_tile, v[cols], second).sub_(delta_tile).mul_(weights)
            dv[cols].addmm_(weights.mT, d_out_tile)
            dk[cols].addmm_(d_scores.mT, q_tile)
            dq[rows].addmm_(d_scores, k[cols])
    return dq.mul_(scale), dk.mul_(LN2), dv


def _fold_in_place(state: State, scores: Tensor, v: Tensor) -> State:
    """`fold` in powers of two, and in the memory of the state and the scores."""
    row_max = torch.maximum(state.row_max, scores.amax(-1, keepdim=True))
    rescale = state.row_max.sub_(row_max).exp2_()
    powers = scores.sub_(row_max).exp2_()
    state.row_sum.mul_(rescale).add_(powers.sum(-1, keepdim=True))
    state.acc.mul_(rescale).addmm_(powers, v)
    return state._replace(row_max=row_max)


def _product(rows: Tensor, cols: Tensor, memory: Tensor) -> Tensor:
    """The products of rows with columns, in the corner of a memory that is used again."""
    return torch.mm(rows, cols.mT, out=memory[: len(rows), : len(cols)])


def _finite(lse: Tensor) -> Tensor:
    """What to subtract: 0 where nothing was read, since -inf - -inf is NaN."""
    return lse.masked_fill(lse == NOTHING, 0)

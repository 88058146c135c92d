"""Right answers of chapter 03: references, and ways to answer that look nothing like them.

No check may ask for one form: each of these passes in full.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import attention
from course_lib.masks import causal, padding


def decoder_mask(Tq: int, lengths: Tensor, Tk: int) -> Tensor:
    """What both masks allow."""
    return causal(Tq, Tk) & padding(lengths, Tk)


def guarded(q: Tensor, k: Tensor, v: Tensor, blocked: Tensor, ignored: Tensor) -> Tensor:
    """Attention over the keys that neither mask takes away."""
    return attention(q, k, v, ~blocked[None, None] & ~ignored[:, None, None])


def _causal_by_tril(Tq, Tk):
    return torch.ones(1, 1, Tq, Tk, dtype=torch.bool).tril(Tk - Tq)


def _causal_by_triu(Tq, Tk):
    return ~torch.ones(Tq, Tk).triu(1 + Tk - Tq).bool()[None, None]


def _causal_by_places(Tq, Tk):
    return (torch.arange(Tk - Tq, Tk)[:, None] >= torch.arange(Tk)).view(1, 1, Tq, Tk)


def _causal_by_loops(Tq, Tk):
    rows = [[j - i <= Tk - Tq for j in range(Tk)] for i in range(Tq)]
    return torch.tensor([[rows]])


def _causal_cut_from_a_square(Tq, Tk):
    T = max(Tq, Tk)
    return torch.ones(T, T, dtype=torch.bool).tril()[None, None, T - Tq :, T - Tk :]


def _causal_cut_from_the_right(Tq, Tk):
    shifted = torch.ones(Tq, Tk + Tq, dtype=torch.bool).tril(Tk)
    return shifted[None, None, :, Tq:]


def _causal_of_torch(Tq, Tk):
    T = max(Tq, Tk)
    added = torch.nn.Transformer.generate_square_subsequent_mask(T)
    return (added == 0)[None, None, T - Tq :, T - Tk :]


def _padding_by_loops(lengths, Tk):
    return torch.tensor([[[[j < n for j in range(Tk)]]] for n in lengths.tolist()])


def _padding_by_view(lengths, Tk):
    return torch.arange(Tk).view(1, 1, 1, -1) < lengths.view(-1, 1, 1, 1)


def _padding_by_filling(lengths, Tk):
    keep = torch.zeros(len(lengths), 1, 1, Tk, dtype=torch.bool)
    for b, length in enumerate(lengths):
        keep[b, ..., :length] = True
    return keep


def _padding_inverted(lengths, Tk):
    return ~(torch.arange(Tk).repeat(len(lengths), 1) >= lengths.unsqueeze(1))[:, None, None, :]


def _decoder_by_loops(Tq, lengths, Tk):
    return torch.tensor(
        [
            [[[j <= i + Tk - Tq and j < n for j in range(Tk)] for i in range(Tq)]]
            for n in lengths.tolist()
        ]
    )


def _decoder_by_product(Tq, lengths, Tk):
    earlier = torch.ones(Tq, Tk).tril(Tk - Tq)
    real = (torch.arange(Tk) < lengths[:, None]).float()
    return torch.einsum("qk,bk->bqk", earlier, real).bool()[:, None]


def _decoder_by_blocking(Tq, lengths, Tk):
    future = torch.ones(Tq, Tk, dtype=torch.bool).triu(Tk - Tq + 1)
    pad = torch.arange(Tk)[None] >= lengths[:, None]
    return ~(future[None] | pad[:, None, :]).unsqueeze(1)


def _decoder_by_the_last_key(Tq, lengths, Tk):
    last = torch.minimum(torch.arange(Tk - Tq, Tk), lengths[:, None] - 1)  # [B, Tq]
    return (torch.arange(Tk) <= last[..., None])[:, None]


def _decoder_by_adding(Tq, lengths, Tk):
    future = torch.full((Tq, Tk), -torch.inf).triu(Tk - Tq + 1)
    pad = torch.zeros(len(lengths), Tk).masked_fill(
        torch.arange(Tk) >= lengths[:, None], -torch.inf
    )
    return (future + pad[:, None, None]) == 0


CAUSAL = (
    _causal_by_tril,
    _causal_by_triu,
    _causal_by_places,
    _causal_by_loops,
    _causal_cut_from_a_square,
    _causal_cut_from_the_right,
    _causal_of_torch,
)
PADDING = (_padding_by_loops, _padding_by_view, _padding_by_filling, _padding_inverted)
DECODER = (
    _decoder_by_loops,
    _decoder_by_product,
    _decoder_by_blocking,
    _decoder_by_the_last_key,
    _decoder_by_adding,
)


def _softmax_filled_twice(scores, keep):
    weights = scores.masked_fill(~keep, -torch.inf).softmax(-1)
    return weights.masked_fill(~keep, 0)


def _softmax_painted(scores, keep):
    return torch.where(keep, scores, -torch.inf).softmax(-1).nan_to_num(0)


def _softmax_by_a_safe_row(scores, keep):
    bias = torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    alive = keep.any(-1, keepdim=True)
    return (scores + torch.where(alive, bias, 0).to(scores)).softmax(-1) * alive


def _softmax_of_the_lowest(scores, keep):
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~keep, lowest).softmax(-1) * keep


def _softmax_by_hand(scores, keep):
    s = torch.where(keep, scores.double(), -torch.inf)
    top = s.amax(-1, keepdim=True).detach()
    powers = torch.exp(s - torch.where(top.isinf(), 0, top))
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total == 0, 1, total)


def _softmax_of_attention(scores, keep):
    B, H, Tq, Tk = scores.shape
    eye = torch.eye(Tk).to(scores).expand(B, H, Tk, Tk)
    s = torch.where(keep, scores, -torch.inf)
    q = torch.zeros(B, H, Tq, Tk).to(scores)
    return F.scaled_dot_product_attention(q, eye, eye, attn_mask=s)


def _softmax_query_by_query(scores, keep):
    out = torch.zeros_like(scores)
    for at in torch.cartesian_prod(*map(torch.arange, scores.shape[:3])).tolist():
        row, allowed = scores[tuple(at)], keep.expand(scores.shape)[tuple(at)]
        out[tuple(at)] = torch.zeros_like(row).masked_scatter(allowed, row[allowed].softmax(-1))
    return out


SOFTMAX = (
    _softmax_filled_twice,
    _softmax_painted,
    _softmax_by_a_safe_row,
    _softmax_of_the_lowest,
    _softmax_by_hand,
    _softmax_of_attention,
    _softmax_query_by_query,
)


def _guarded_by_torch(q, k, v, blocked, ignored):
    keep = ~(blocked | ignored[:, None, None])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)


def _guarded_by_filling_twice(q, k, v, blocked, ignored):
    out = blocked[None, None] | ignored[:, None, None]
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(out, -torch.inf)
    return scores.softmax(-1).masked_fill(out, 0) @ v


def _guarded_by_the_lowest(q, k, v, blocked, ignored):
    out = torch.logical_or(blocked, ignored.view(len(ignored), 1, 1, -1))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(out, torch.finfo(q.dtype).min)
    return (scores.softmax(-1) * ~out) @ v


def _guarded_sequence_by_sequence(q, k, v, blocked, ignored):
    rows = []
    for b in range(len(q)):
        bias = torch.zeros(blocked.shape).masked_fill(blocked | ignored[b], -torch.inf)
        alive = ~(blocked | ignored[b]).all(-1, keepdim=True)
        scores = torch.einsum("hqd,hkd->hqk", q[b], k[b]) * q.shape[-1] ** -0.5
        weights = (scores + torch.where(alive, bias, 0)).softmax(-1) * alive
        rows.append(weights @ v[b])
    return torch.stack(rows)


CALLS = (
    _guarded_by_torch,
    _guarded_by_filling_twice,
    _guarded_by_the_lowest,
    _guarded_sequence_by_sequence,
)

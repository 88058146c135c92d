"""Right ways to read one more tile and to join two halves that look unlike the references.

No check may ask for one form: each of these passes in full.
"""

import math

import torch


def _fold_in_float64(row_max, row_sum, acc, scores, v):
    m, s = row_max.double(), scores.double()
    new = torch.cat([m, s], -1).amax(-1, keepdim=True)
    old, powers = torch.exp(m - new), torch.exp(s - new)
    total = old * row_sum + powers.sum(-1, keepdim=True)
    out = old * acc + powers @ v.double()
    return [part.to(acc.dtype) for part in (new, total, out)]


def _fold_with_a_column_of_ones(row_max, row_sum, acc, scores, v):
    new = torch.max(row_max, scores.max(-1, keepdim=True).values)
    both = torch.cat([row_sum, acc], -1) * (row_max - new).exp()
    both = both + (scores - new).exp() @ torch.cat([torch.ones_like(v[:, :1]), v], -1)
    return new, both[:, :1], both[:, 1:]


def _fold_row_by_row(row_max, row_sum, acc, scores, v):
    rows = []
    for i in range(len(scores)):
        best, total, out = row_max[i, 0].item(), row_sum[i, 0].item(), acc[i].tolist()
        for score, value in zip(scores[i].tolist(), v.tolist(), strict=True):
            if score == -math.inf:
                continue
            if score > best:
                old = math.exp(best - score)
                best, total, out = score, total * old, [x * old for x in out]
            power = math.exp(score - best)
            total += power
            out = [x + power * y for x, y in zip(out, value, strict=True)]
        rows.append([best, total, *out])
    state = torch.tensor(rows, dtype=acc.dtype)
    return state[:, :1], state[:, 1:2], state[:, 2:]


def _fold_by_einsum(row_max, row_sum, acc, scores, v):
    new = scores.amax(-1, keepdim=True).clamp(min=row_max)
    p = torch.exp(scores - new)
    change = torch.exp(row_max - new)
    out = torch.addcmul(torch.einsum("qk,kd->qd", p, v), acc, change)
    return new, torch.addcmul(torch.einsum("qk->q", p)[:, None], row_sum, change), out


def _fold_only_where_something_is_read(row_max, row_sum, acc, scores, v):
    m, total, out = row_max.clone(), row_sum.clone(), acc.clone()
    rows = scores.isfinite().any(-1)
    new = torch.maximum(m[rows], scores[rows].amax(-1, keepdim=True))
    old, p = (m[rows] - new).exp(), (scores[rows] - new).exp()
    m[rows] = new
    total[rows] = total[rows] * old + p.sum(-1, keepdim=True)
    out[rows] = out[rows] * old + p @ v
    return m, total, out


def _fold_by_merging(row_max, row_sum, acc, scores, v):
    own = scores.amax(-1, keepdim=True)
    finite = own.masked_fill(own.isinf(), 0)
    p = (scores - finite).exp()
    new = torch.maximum(row_max, own)
    before, now = (row_max - new).exp(), (own - new).exp()
    total = before * row_sum + now * p.sum(-1, keepdim=True)
    return new, total, before * acc + now * (p @ v)


FOLD = (
    _fold_in_float64,
    _fold_with_a_column_of_ones,
    _fold_row_by_row,
    _fold_by_einsum,
    _fold_only_where_something_is_read,
    _fold_by_merging,
)


def _merge_by_softmax(out_a, lse_a, out_b, lse_b):
    both = torch.stack([lse_a, lse_b])
    shares = both.softmax(0).nan_to_num(0)[..., None]
    return (shares * torch.stack([out_a, out_b])).sum(0), both.logsumexp(0)


def _merge_by_sigmoid(out_a, lse_a, out_b, lse_b):
    share = torch.sigmoid(lse_a - lse_b).nan_to_num(0).unsqueeze(-1)
    return out_b + share * (out_a - out_b), torch.logaddexp(lse_a, lse_b)


def _merge_by_the_maximum(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b)
    top = torch.where(top == -torch.inf, torch.zeros_like(top), top)
    a, b = torch.exp(lse_a - top), torch.exp(lse_b - top)
    total = a + b
    blend = torch.diag(a) @ out_a + torch.diag(b) @ out_b
    return blend / total.masked_fill(total == 0, 1)[:, None], top + total.log()


def _merge_row_by_row(out_a, lse_a, out_b, lse_b):
    outs, lses = [], []
    for a, la, b, lb in zip(out_a, lse_a.tolist(), out_b, lse_b.tolist(), strict=True):
        high, low = max(la, lb), min(la, lb)
        lse = high + math.log1p(math.exp(low - high)) if high > -math.inf else high
        share_a, share_b = ((math.exp(x - lse) if x > -math.inf else 0.0) for x in (la, lb))
        outs.append(share_a * a + share_b * b)
        lses.append(lse)
    return torch.stack(outs), torch.tensor(lses, dtype=lse_a.dtype)


def _merge_in_float64(out_a, lse_a, out_b, lse_b):
    a, b = lse_a.double(), lse_b.double()
    lse = torch.logaddexp(a, b)
    nothing = lse == -torch.inf
    share = (b - lse).exp().masked_fill(nothing, 0)[:, None]
    out = torch.lerp(out_a.double(), out_b.double(), share)
    return [out.to(out_a.dtype), lse.to(lse_a.dtype)]


def _merge_where_needed(out_a, lse_a, out_b, lse_b):
    out, lse = out_a.clone(), lse_a.clone()
    only_b = lse_a.isinf()
    out[only_b], lse[only_b] = out_b[only_b], lse_b[only_b]
    both = lse_a.isfinite() & lse_b.isfinite()
    joined = lse_a[both] - torch.nn.functional.logsigmoid(lse_a[both] - lse_b[both])
    parts = (lse_a[both] - joined).exp(), (lse_b[both] - joined).exp()
    lse[both] = joined
    out[both] = parts[0][:, None] * out_a[both] + parts[1][:, None] * out_b[both]
    return out, lse


MERGE = (
    _merge_by_softmax,
    _merge_by_sigmoid,
    _merge_by_the_maximum,
    _merge_row_by_row,
    _merge_in_float64,
    _merge_where_needed,
)

"""Right answers of 06.3: the reference, and ways to tile that look nothing like it."""

import math

import torch
import torch.nn.functional as F

from course_lib import tiling as library
from course_lib.tiles import causal_rule


def tiled_attention(q, k, v, block_q, block_k, is_causal):
    """Read the keys tile by tile; a query keeps its maximum, its sum and its blend."""
    Tq, Tk = len(q), len(k)
    out = q.new_empty(Tq, v.shape[1])
    for top in range(0, Tq, block_q):
        rows = slice(top, min(top + block_q, Tq))
        row_max = q.new_full((rows.stop - top, 1), torch.finfo(q.dtype).min)
        row_sum, acc = torch.zeros_like(row_max), torch.zeros_like(out[rows])
        for left in range(0, Tk, block_k):
            cols = slice(left, min(left + block_k, Tk))
            scores = q[rows] @ k[cols].T * q.shape[1] ** -0.5
            if is_causal:
                place = torch.arange(top, rows.stop)[:, None] + Tk - Tq
                scores = scores.masked_fill(torch.arange(left, cols.stop) > place, -torch.inf)
            new_max = torch.maximum(row_max, scores.amax(-1, keepdim=True))
            rescale, powers = (row_max - new_max).exp(), (scores - new_max).exp()
            row_sum = rescale * row_sum + powers.sum(-1, keepdim=True)
            acc, row_max = rescale * acc + powers @ v[cols], new_max
        out[rows] = acc / row_sum.masked_fill(row_sum == 0, 1)
    return out


def _blocked(scores, first_query, first_key, offset):
    """The scores of one tile, without what lies ahead."""
    bq, bk = scores.shape
    ahead = torch.ones(bq, bk, dtype=torch.bool).triu(1 + offset + first_query - first_key)
    return scores.masked_fill(ahead, -torch.inf)


def _by_merging(q, k, v, block_q, block_k, is_causal):
    outs = []
    for a, q_tile in zip(range(0, len(q), block_q), q.split(block_q), strict=True):
        out, lse = q_tile.new_zeros(len(q_tile), v.shape[1]), q_tile.new_full((len(q_tile),), -1e30)
        for b, k_tile, v_tile in zip(
            range(0, len(k), block_k), k.split(block_k), v.split(block_k), strict=True
        ):
            s = q_tile @ k_tile.mT / math.sqrt(q.shape[1])
            s = _blocked(s, a, b, len(k) - len(q)) if is_causal else s
            one, both = s.logsumexp(-1), torch.logaddexp(lse, s.logsumexp(-1))
            mine = s.softmax(-1).nan_to_num(0) @ v_tile
            out = out * (lse - both).exp()[:, None] + mine * (one - both).exp()[:, None]
            lse = both
        outs.append(out)
    return torch.cat(outs)


def _in_two_passes(q, k, v, block_q, block_k, is_causal):
    def scores(a, b):
        s = torch.einsum("qd,kd->qk", q[a : a + block_q], k[b : b + block_k]) * q.size(1) ** -0.5
        return _blocked(s, a, b, len(k) - len(q)) if is_causal else s

    out = torch.zeros(len(q), v.size(1), dtype=q.dtype)
    for a in range(0, len(q), block_q):
        starts = range(0, len(k), block_k)
        lse = torch.stack([scores(a, b).logsumexp(-1) for b in starts]).logsumexp(0)
        lse = lse.where(lse > -torch.inf, torch.inf)[:, None]
        for b in starts:
            out[a : a + block_q] += (scores(a, b) - lse).exp() @ v[b : b + block_k]
    return out


def _keys_outside(q, k, v, block_q, block_k, is_causal):
    dtype, (q, k, v) = v.dtype, (q.double(), k.double(), v.double())
    top, total = torch.full_like(q[:, :1], -1e300), torch.zeros_like(q[:, :1])
    out = v.new_zeros(len(q), v.shape[1])
    for keys in torch.arange(len(k)).split(block_k):
        for rows in torch.arange(len(q)).split(block_q):
            ahead = keys > rows[:, None] + len(k) - len(q)
            if is_causal and ahead.all():
                continue
            s = q[rows] / q.shape[1] ** 0.5 @ k[keys].T
            s = torch.where(ahead, -torch.inf, s) if is_causal else s
            new = torch.maximum(top[rows], s.max(-1, keepdim=True).values)
            p, down = torch.exp(s - new), torch.exp(top[rows] - new)
            total[rows] = total[rows] * down + p.sum(-1, keepdim=True)
            out[rows] = out[rows] * down + p @ v[keys]
            top[rows] = new
    return (out / total).nan_to_num(0).to(dtype)


def _query_by_query(q, k, v, block_q, block_k, is_causal):
    out, scale, offset = q.new_zeros(len(q), v.shape[1]), q.shape[1] ** -0.5, len(k) - len(q)
    keys, values = k.tolist(), v.tolist()
    for i, row in enumerate(q.tolist()):
        largest, total, blend = -math.inf, 0.0, [0.0] * v.shape[1]
        for j, (key, value) in enumerate(zip(keys, values, strict=True)):
            if is_causal and j > i + offset:
                break
            score = scale * sum(a * b for a, b in zip(row, key, strict=True))
            new = max(largest, score)
            down, power = math.exp(largest - new), math.exp(score - new)
            total, largest = down * total + power, new
            blend = [down * a + power * b for a, b in zip(blend, value, strict=True)]
        out[i] = torch.tensor(blend, dtype=q.dtype) / (total or 1.0)
    return out


def _in_padded_tiles(q, k, v, block_q, block_k, is_causal):
    Tq, Tk = len(q), len(k)
    q = F.pad(q * q.shape[1] ** -0.5 * math.log2(math.e), (0, 0, 0, -Tq % block_q))
    k, v = (F.pad(x, (0, 0, 0, -Tk % block_k)) for x in (k, v))
    outs = []
    for i, q_tile in enumerate(q.view(-1, block_q, q.shape[1])):
        m, n, acc = torch.full((block_q,), -torch.inf), torch.zeros(block_q), 0
        for j in range(len(k) // block_k):
            key = j * block_k + torch.arange(block_k)
            place = i * block_q + torch.arange(block_q)[:, None] + Tk - Tq
            keep = (key < Tk) & ((key <= place) if is_causal else True)
            s = (q_tile @ k[key].T).masked_fill(~keep, -torch.inf)
            m_new = torch.maximum(m, s.amax(1))
            m_safe = torch.where(m_new.isinf(), 0.0, m_new)
            p, alpha = torch.exp2(s - m_safe[:, None]), torch.exp2(m - m_safe)
            n, acc, m = n * alpha + p.sum(1), acc * alpha[:, None] + p @ v[key], m_new
        outs.append(acc / n.clamp_min(1e-30)[:, None])
    return torch.cat(outs)[:Tq]


def _of_the_library(q, k, v, block_q, block_k, is_causal):
    rule = causal_rule if is_causal else None
    one = (x[None, None] for x in (q, k, v))
    return library.tiled_attention(*one, rule, block_q, block_k)[0, 0]


TILED = (
    _by_merging,
    _in_two_passes,
    _keys_outside,
    _query_by_query,
    _in_padded_tiles,
    _of_the_library,
)

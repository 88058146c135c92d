"""Right answers of 06.5: the reference, and ways to compute a tile's gradients unlike it."""

import math

import torch


def tile_gradients(q, k, v, d_out, lse, delta, keep):
    """Make the tile's weights again from the lse, and from them what it adds to each gradient."""
    scale = q.shape[1] ** -0.5
    weights = (q @ k.T * scale - lse[:, None]).exp().masked_fill(~keep, 0)
    d_scores = weights * (d_out @ v.T - delta[:, None])
    return d_scores @ k * scale, d_scores.T @ q * scale, weights.T @ d_out


def _by_einsum(q, k, v, d_out, lse, delta, keep):
    q = q / math.sqrt(q.shape[-1])
    lse = lse.masked_fill(lse.isinf(), 0)
    scores = torch.einsum("id,jd->ij", q, k).masked_fill(~keep, -torch.inf)
    weights = torch.exp(scores - lse.unsqueeze(1))
    d_weights = torch.einsum("ie,je->ij", d_out, v)
    d_scores = weights * d_weights - weights * delta.unsqueeze(1)
    dq = torch.einsum("ij,jd->id", d_scores, k) / math.sqrt(q.shape[-1])
    return dq, torch.einsum("ij,id->jd", d_scores, q), torch.einsum("ij,ie->je", weights, d_out)


def _pair_by_pair(q, k, v, d_out, lse, delta, keep):
    dq, dk, dv = (torch.zeros_like(x, dtype=torch.float64) for x in (q, k, v))
    q, k, v, d_out = (x.double() for x in (q, k, v, d_out))
    scale = 1 / math.sqrt(q.shape[1])
    for i in range(len(q)):
        for j in range(len(k)):
            if keep[i, j]:
                weight = math.exp(float(q[i] @ k[j]) * scale - float(lse[i]))
                d_score = weight * (float(d_out[i] @ v[j]) - float(delta[i])) * scale
                dq[i] += d_score * k[j]
                dk[j] += d_score * q[i]
                dv[j] += weight * d_out[i]
    return [dq, dk, dv]


def _key_by_key(q, k, v, d_out, lse, delta, keep):
    scale = q.shape[1] ** -0.5
    blocked_in_full = torch.where(lse == -torch.inf, torch.inf, lse)  # exp(score - inf) is 0
    dq, dk, dv = torch.zeros_like(q), [], []
    for key, value, readers in zip(k, v, keep.T, strict=True):
        weights = torch.where(readers, torch.exp(scale * (q @ key) - blocked_in_full), 0.0)
        d_scores = scale * weights * (d_out @ value - delta)
        dv.append(weights @ d_out)
        dk.append(d_scores @ q)
        dq += torch.outer(d_scores, key)
    return dq, torch.stack(dk), torch.stack(dv)


def _of_kept_pairs(q, k, v, d_out, lse, delta, keep):
    i, j = keep.nonzero(as_tuple=True)
    scale = q.shape[1] ** -0.5
    weights = torch.exp2(((q[i] * k[j]).sum(-1) * scale - lse[i]) * math.log2(math.e))[:, None]
    d_scores = weights * ((d_out[i] * v[j]).sum(-1) - delta[i])[:, None] * scale
    dq = torch.zeros_like(q).index_add(0, i, d_scores * k[j])
    dk = torch.zeros_like(k).index_add(0, j, d_scores * q[i])
    return dq, dk, torch.zeros_like(v).index_add(0, j, weights * d_out[i])


def _turned(q, k, v, d_out, lse, delta, keep):
    scale = q.shape[1] ** -0.5
    weights = torch.addmm(-lse.clamp_min(-1e30)[None], k, q.T, alpha=scale)  # [Bk, Bq]
    weights = torch.where(keep.T, weights, -torch.inf).exp()
    d_scores = torch.addmm(-delta[None], v, d_out.T).mul(weights).mul(scale)
    return d_scores.T.mm(k), d_scores.mm(q), weights.mm(d_out)


BACKWARD = (_by_einsum, _pair_by_pair, _key_by_key, _of_kept_pairs, _turned)

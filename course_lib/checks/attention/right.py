"""Right answers of chapter 02: three references, and ways to answer that look nothing like them.

No check may ask for one form: each of these passes in full.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib import attention as library


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The course's own, without its mask."""
    return library.attention(q, k, v)


def entropy(weights: Tensor) -> Tensor:
    """The bits of each row; a weight of 0 adds nothing."""
    return torch.special.entr(weights).sum(-1) / math.log(2)


def softmax_gradient(weights: Tensor, upstream: Tensor) -> Tensor:
    """Each weight times what its upstream exceeds the row's weighted mean by."""
    return weights * (upstream - (weights * upstream).sum(-1, keepdim=True))


def _scores_after_in_float32(q, k):
    return q.float() @ k.float().transpose(-2, -1) / math.sqrt(q.shape[-1])


def _scores_by_einsum(q, k):
    return torch.einsum("bhqd,bhkd->bhqk", q / q.shape[-1] ** 0.5, k)


def _scores_by_two_fourth_roots(q, k):
    quarter = q.shape[-1] ** -0.25
    return torch.matmul(q * quarter, (k * quarter).permute(0, 1, 3, 2))


def _scores_pair_by_pair(q, k):
    columns = [(q * k[:, :, [j]] / q.shape[-1] ** 0.5).sum(-1) for j in range(k.shape[2])]
    return torch.stack(columns, -1)


def _scores_in_float64(q, k):
    return (q.double()[:, :, :, None] * k.double()[:, :, None]).sum(-1) * q.shape[-1] ** -0.5


def _softmax_of_torch(scores):
    return torch.softmax(scores, dim=-1)


def _softmax_by_logsumexp(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


def _softmax_in_float64(scores):
    powers = torch.exp(scores.double() - scores.double().max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


def _softmax_row_by_row(scores):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        powers = (row - max(row)).exp()
        rows.append(powers / sum(powers))
    return torch.stack(rows).view(scores.shape)


def _softmax_with_a_small_epsilon(scores):
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / (powers.sum(-1, keepdim=True) + 1e-9)


def _attention_of_torch(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def _attention_in_parts(q, k, v):
    return (q * q.shape[-1] ** -0.5 @ k.mT).softmax(-1) @ v


def _attention_by_einsum(q, k, v):
    s = torch.einsum("bhqd,bhkd->bhqk", q.float(), k.float()) / q.shape[-1] ** 0.5
    return torch.einsum("bhqk,bhkv->bhqv", torch.softmax(s, -1), v.float()).to(q.dtype)


def _attention_query_by_query(q, k, v):
    rows = []
    for i in range(q.shape[2]):
        s = (q[:, :, i, None].double() * k.double()).sum(-1) * q.shape[-1] ** -0.5
        rows.append((s.softmax(-1)[..., None] * v.double()).sum(-2))
    return torch.stack(rows, 2)


def _entropy_by_where(weights):
    logs = torch.where(weights > 0, weights, 1).log2()
    return -(weights * logs).sum(-1)


def _entropy_by_xlogy(weights):
    return -torch.xlogy(weights, weights).sum(-1) / math.log(2)


def _entropy_painted(weights):
    return (-weights * weights.log2()).nan_to_num(0).sum(-1)


def _entropy_by_the_smallest_number(weights):
    floor = torch.finfo(weights.dtype).tiny
    return -(weights * weights.clamp(min=floor).log2()).sum(-1)


def _entropy_in_float64_with_an_epsilon(weights):
    w = weights.double()
    return -(w * torch.log2(w + 1e-12)).sum(-1)


def _entropy_number_by_number(weights):
    rows = weights.reshape(-1, weights.shape[-1]).tolist()
    bits = [-sum(w * math.log2(w) for w in row if w > 0) for row in rows]
    return torch.tensor(bits).view(weights.shape[:-1])


def _gradient_by_the_table(weights, upstream):
    table = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    return (table @ upstream[..., None]).squeeze(-1)


def _gradient_in_two_terms(weights, upstream):
    product = weights * upstream
    return product - weights * product.sum(-1, keepdim=True)


def _gradient_by_einsum(weights, upstream):
    mean = torch.einsum("...k,...k->...", weights.double(), upstream.double())
    return weights * (upstream - mean.unsqueeze(-1))


def _gradient_pair_by_pair(weights, upstream):
    gaps = upstream[..., :, None].double() - upstream[..., None, :].double()
    return weights * (gaps @ weights.double()[..., None]).squeeze(-1)


SCORES = (
    _scores_after_in_float32,
    _scores_by_einsum,
    _scores_by_two_fourth_roots,
    _scores_pair_by_pair,
    _scores_in_float64,
)
SOFTMAX = (
    _softmax_of_torch,
    _softmax_by_logsumexp,
    _softmax_in_float64,
    _softmax_row_by_row,
    _softmax_with_a_small_epsilon,
)
ATTENTION = (
    _attention_of_torch,
    _attention_in_parts,
    _attention_by_einsum,
    _attention_query_by_query,
)
ENTROPY = (
    _entropy_by_where,
    _entropy_by_xlogy,
    _entropy_painted,
    _entropy_by_the_smallest_number,
    _entropy_in_float64_with_an_epsilon,
    _entropy_number_by_number,
)
GRADIENT = (
    _gradient_by_the_table,
    _gradient_in_two_terms,
    _gradient_by_einsum,
    _gradient_pair_by_pair,
)

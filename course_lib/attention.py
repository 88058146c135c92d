"""Attention and the softmax it rests on: the operation that the rest of the course computes again.

One policy holds throughout: a row with nothing to read gives zeros and a zero gradient, never NaN.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.shapes import shaped

NOTHING = -torch.inf  # the score of a key that may not be read: exp gives it exactly no weight


@shaped
def scores(
    q: Float[Tensor, "B H Tq Dh"], k: Float[Tensor, "B H Tk Dh"]
) -> Float[Tensor, "B H Tq Tk"]:
    """Say how well each key answers each query: their dot product over the root of its length.

    The query is scaled before the product, not after it: in float16 an undivided score passes
    65504 where the divided one would not. Vaswani et al. 2017, section 3.2.1.
    """
    return q * q.shape[-1] ** -0.5 @ k.mT


@shaped
def softmax(scores: Float[Tensor, "... Tk"]) -> Float[Tensor, "... Tk"]:
    """Turn each row of scores into weights that are positive and sum to one.

    The row's maximum goes first, so that no exponential exceeds 1; softmax doesn't notice, since a
    shift cancels, and neither does its gradient. A row of nothing but -inf gives zeros.
    """
    if scores.shape[-1] == 0:
        return scores
    row_max = scores.amax(-1, keepdim=True).detach()
    powers = (scores - row_max.masked_fill(row_max == NOTHING, 0)).exp()
    row_sum = powers.sum(-1, keepdim=True)
    return powers / row_sum.masked_fill(row_sum == 0, 1)


@shaped
def masked_softmax(
    scores: Float[Tensor, "B H Tq Tk"], keep: Bool[Tensor, "#B #H #Tq #Tk"] | None = None
) -> Float[Tensor, "B H Tq Tk"]:
    """Share each query's weight among the keys it may read, and give the others exactly none.

    True in `keep` means the key may be read. The mask acts on the scores, before the softmax.
    """
    return softmax(scores if keep is None else scores.masked_fill(~keep, NOTHING))


@shaped
def logsumexp(scores: Float[Tensor, "... Tk"]) -> Float[Tensor, "..."]:
    """Take the logarithm of a row's softmax denominator without ever forming the denominator.

    In natural logarithms. A row with nothing to read gives -inf, the logarithm of zero.
    """
    if scores.shape[-1] == 0:
        return scores.new_full(scores.shape[:-1], NOTHING)
    row_max = scores.amax(-1, keepdim=True).detach()
    row_max = row_max.masked_fill(row_max == NOTHING, 0)
    row_sum = (scores - row_max).exp().sum(-1, keepdim=True)
    # log(0) is -inf as it should be, but its gradient is 0/0; the fill keeps such a row out of it
    lse = row_max + row_sum.masked_fill(row_sum == 0, 1).log()
    return lse.masked_fill(row_sum == 0, NOTHING).squeeze(-1)


@shaped
def attention(
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B H Tk Dh"],
    v: Float[Tensor, "B H Tk Dv"],
    keep: Bool[Tensor, "#B #H #Tq #Tk"] | None = None,
) -> Float[Tensor, "B H Tq Dv"]:
    """Blend the values, weighting each by how well its key answers the query.

    Half precision is computed in float32 and rounded once, at the end. Inputs of different dtypes
    are an error. Vaswani et al. 2017, section 3.2.1.
    """
    expect_one_kind(q, k=k, v=v)
    wide = torch.promote_types(q.dtype, torch.float32)
    weights = masked_softmax(scores(q.to(wide), k.to(wide)), keep)
    return (weights @ v.to(wide)).to(q.dtype)


def expect_one_kind(q: Tensor, **others: Tensor) -> None:
    """Raise TypeError unless the others have the dtype of q and are on its device."""
    for name, tensor in others.items():
        if tensor.dtype != q.dtype or tensor.device != q.device:
            raise TypeError(
                f"{name}: expected q's {q.dtype} on {q.device}, "
                f"got {tensor.dtype} on {tensor.device}"
            )

"""Heads: several narrow attentions side by side, each with its own queries, keys and values."""

import copy
from collections.abc import Collection

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.attention import masked_softmax, scores
from course_lib.shapes import shaped


def split(x: Float[Tensor, "B T D"], H: int) -> Float[Tensor, "B H T Dh"]:
    """Give each head its own slice of every token's features.

    The view comes first and cuts the features; the transpose then moves the heads before the
    tokens. A view straight to [B, H, T, Dh] has the same shape and gives a head other tokens.
    """
    if x.shape[-1] % H:
        raise ValueError(f"H: expected a divisor of the width {x.shape[-1]}, got {H}")
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def merge(x: Float[Tensor, "B H T Dh"]) -> Float[Tensor, "B T D"]:
    """Put the heads' results side by side again, token by token: the inverse of `split`."""
    return x.transpose(1, 2).flatten(2)


def share(x: Float[Tensor, "B Hkv T Dh"], H: int) -> Float[Tensor, "B H T Dh"]:
    """Let groups of neighbouring query heads read one key-value head each.

    Query heads 0 and 1 read head 0, 2 and 3 read head 1: `repeat_interleave`. `repeat` would
    deal them out in turn, which has the same shape. Ainslie et al. 2023, section 2.2.
    """
    if H % x.shape[1]:
        raise ValueError(f"H: expected a multiple of the {x.shape[1]} key-value heads, got {H}")
    return x.repeat_interleave(H // x.shape[1], dim=1)


class MultiHead(nn.Module):
    """Read with several heads at once, and mix what they found. Vaswani et al. 2017, section 3.2.2.

    `Hkv` key-value heads serve the `H` query heads in equal groups: `Hkv = H` is the paper's,
    1 is multi-query. Dropout acts on the weights, in training alone.
    """

    def __init__(
        self, D: int, H: int, Hkv: int | None = None, dropout: float = 0.0, bias: bool = True
    ):
        super().__init__()
        Hkv = H if Hkv is None else Hkv
        for name, size, whole in (("H", H, D), ("Hkv", Hkv, H)):
            if size < 1 or whole % size:
                raise ValueError(f"{name}: expected a divisor of {whole}, got {size}")
        self.H, self.Hkv, self.Dh = H, Hkv, D // H
        self.w_q = nn.Linear(D, H * self.Dh, bias)
        self.w_k = nn.Linear(D, Hkv * self.Dh, bias)
        self.w_v = nn.Linear(D, Hkv * self.Dh, bias)
        self.w_o = nn.Linear(H * self.Dh, D, bias)
        self.dropout = nn.Dropout(dropout)

    @shaped
    def forward(
        self,
        x: Float[Tensor, "B Tq D"],
        context: Float[Tensor, "B Tk D"] | None = None,
        keep: Bool[Tensor, "#B #H #Tq #Tk"] | None = None,
    ) -> Float[Tensor, "B Tq D"]:
        """Let every position of `x` read `context`, or `x` itself where there is none."""
        context = x if context is None else context
        weights = self.dropout(self.weights(x, context, keep))
        values = share(split(self.w_v(context), self.Hkv), self.H)
        return self.w_o(merge(weights @ values))

    def weights(
        self,
        x: Float[Tensor, "B Tq D"],
        context: Float[Tensor, "B Tk D"] | None = None,
        keep: Bool[Tensor, "#B #H #Tq #Tk"] | None = None,
    ) -> Float[Tensor, "B H Tq Tk"]:
        """What each head reads: its weights, without dropout."""
        context = x if context is None else context
        q = split(self.w_q(x), self.H)
        k = share(split(self.w_k(context), self.Hkv), self.H)
        return masked_softmax(scores(q, k), keep)


@torch.no_grad()
def stack_of_heads(model: MultiHead) -> list[MultiHead]:
    """One model of a single head for each head, with copied parameters; their outputs add up.

    The output bias goes to the first, so that the sum has it once.
    """
    heads = [prune(model, [h for h in range(model.H) if h != head]) for head in range(model.H)]
    for head in heads[1:]:
        if head.w_o.bias is not None:
            head.w_o.bias.zero_()
    return heads


@torch.no_grad()
def prune(model: MultiHead, heads: Collection[int]) -> MultiHead:
    """A copy of a model without some of its heads, with that much less to compute.

    A key-value head goes when the last query head that reads it goes; the groups that are left
    must be equal, else ValueError. At least one head stays.
    """
    unknown = [head for head in heads if not 0 <= head < model.H]
    left = [head for head in range(model.H) if head not in set(heads)]
    if unknown or not left:
        raise ValueError(f"heads: expected some of 0 to {model.H - 1}, not all, got {list(heads)}")
    group = model.H // model.Hkv
    served = sorted({head // group for head in left})
    sizes = {sum(head // group == kv for head in left) for kv in served}
    if len(sizes) > 1:
        raise ValueError(f"heads: expected groups of equal size to be left, got sizes {sizes}")
    small = copy.deepcopy(model)
    small.H, small.Hkv = len(left), len(served)
    for linear, kept in ((small.w_q, left), (small.w_k, served), (small.w_v, served)):
        rows = _features(kept, model.Dh)
        linear.weight = nn.Parameter(linear.weight[rows])
        linear.bias = None if linear.bias is None else nn.Parameter(linear.bias[rows])
        linear.out_features = len(rows)
    columns = _features(left, model.Dh)
    small.w_o.weight = nn.Parameter(small.w_o.weight[:, columns])
    small.w_o.in_features = len(columns)
    return small


@torch.no_grad()
def from_torch(theirs: nn.MultiheadAttention) -> MultiHead:
    """The same function as torch's module, with its parameters copied.

    Torch's masks have the other polarity: see `course_lib.masks`.
    """
    if theirs.in_proj_weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError("theirs: expected keys and values as wide as queries, and no extra key")
    bias = theirs.in_proj_bias is not None
    ours = MultiHead(theirs.embed_dim, theirs.num_heads, dropout=theirs.dropout, bias=bias)
    ours.to(theirs.in_proj_weight)
    for i, linear in enumerate((ours.w_q, ours.w_k, ours.w_v)):
        linear.weight.copy_(theirs.in_proj_weight.chunk(3)[i])
        if bias:
            linear.bias.copy_(theirs.in_proj_bias.chunk(3)[i])
    ours.w_o.load_state_dict(theirs.out_proj.state_dict())
    return ours.train(theirs.training)


def _features(heads: Collection[int], Dh: int) -> list[int]:
    """The features that belong to some heads."""
    return [head * Dh + i for head in heads for i in range(Dh)]

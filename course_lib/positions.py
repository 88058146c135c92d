"""Positions: how attention, which sees a set, is told the order of its tokens.

`sinusoid`, `Learned` and `rotate` are given positions: so a cache, whose first new token is not at
0, and left padding, where the first token stands late, can be counted right. ALiBi and T5 count
places, the last query at the last key: neither a cache nor left padding changes a distance.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.shapes import shaped


def frequencies(D: int, base: float | int = 10_000.0) -> Float[Tensor, "pairs"]:
    """Radians a position of each pair: base to the power -2i/D, from 1 down. In float64.

    An odd D has a last sine without its cosine.
    """
    if D < 1:
        raise ValueError(f"D: expected at least 1, got {D}")
    if base <= 1:
        raise ValueError(f"base: expected more than 1, got {base}")
    return base ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)


@shaped
def sinusoid(
    positions: Int[Tensor, "*B T"], D: int, base: float | int = 10_000.0
) -> Float[Tensor, "*B T D"]:
    """A sine and a cosine of each frequency, in turns. Vaswani et al. 2017, section 3.5.

    Even features are sines, odd ones cosines. The angles are float64, the result float32.
    """
    angles = positions[..., None] * frequencies(D, base).to(positions.device)
    both = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    return both[..., :D].float()


def shift_matrix(k: int, D: int, base: float | int = 10_000.0) -> Float[Tensor, "D D"]:
    """The matrix that moves a sinusoid by k positions, wherever it stands: pe(t + k) = S pe(t).

    A rotation of each sine and cosine by k times their frequency. D must be even.
    """
    if D % 2:
        raise ValueError(f"D: expected an even width, so that every sine has its cosine, got {D}")
    angles = k * frequencies(D, base)
    blocks = torch.stack([angles.cos(), angles.sin(), -angles.sin(), angles.cos()], -1)
    return torch.block_diag(*blocks.view(-1, 2, 2)).float()


class Learned(nn.Module):
    """A vector for each position, learned; there is none past the last. Radford et al. 2018."""

    def __init__(self, T: int, D: int):
        super().__init__()
        self.table = nn.Embedding(T, D)

    def forward(self, positions: Int[Tensor, "*B T"]) -> Float[Tensor, "*B T D"]:
        """Look the vectors up; a position outside the table is an error, not a wrap-around."""
        low, high = _extremes(positions)
        T = self.table.num_embeddings
        if not 0 <= low <= high < T:
            raise ValueError(f"positions: expected 0 to {T - 1}, got {low} to {high}")
        return self.table(positions)


@shaped
def rotate(
    x: Float[Tensor, "B H T Dh"],
    positions: Int[Tensor, "#B T"],
    layout: str = "halves",
    base: float | int = 10_000.0,
) -> Float[Tensor, "B H T Dh"]:
    """Turn each pair of features by its position times its frequency, queries and keys alike.

    The score of a query and a key then depends on how far apart they stand, and not on where.
    `layout` says which features make a pair: in "halves" 0 and Dh/2, 1 and Dh/2 + 1; in
    "interleaved" 0 and 1, 2 and 3. Angles are float64 and turn in float32 or wider, whatever the
    dtype of x: in bfloat16, position 30,001 is position 29,952. Su et al. 2021, section 3.4.2.
    """
    angles = positions[:, None, :, None] * frequencies(_even(x), base).to(x.device)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.cos().to(wide), angles.sin().to(wide)
    first, second = _pairs(x.to(wide), layout)
    turned = first * cos - second * sin, first * sin + second * cos
    return _unpaired(*turned, layout).to(x.dtype)


def to_halves(x: Float[Tensor, "... Dh"]) -> Float[Tensor, "... Dh"]:
    """Reorder features from the interleaved layout to halves: 0 1 2 3 4 5 becomes 0 2 4 1 3 5.

    Rows of `w_q` and `w_k` reordered so, head by head, make a checkpoint of one layout the other's.
    """
    _even(x)
    return _unpaired(*_pairs(x, "interleaved"), "halves")


def to_interleaved(x: Float[Tensor, "... Dh"]) -> Float[Tensor, "... Dh"]:
    """The way back: 0 2 4 1 3 5 becomes 0 1 2 3 4 5."""
    _even(x)
    return _unpaired(*_pairs(x, "halves"), "interleaved")


def slopes(H: int) -> Float[Tensor, "H"]:
    """How fast each head forgets distance in ALiBi: 2^(-8/H), 2^(-16/H), ... for a power of two.

    Other H take those of the next lower power, and every second one of the next higher: what
    published checkpoints use. Press et al. 2022, section 3 and their code.
    """
    if H < 1:
        raise ValueError(f"H: expected at least 1, got {H}")
    power = 2 ** int(math.log2(H))
    first = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * (H - power), 2)]
    return torch.tensor(first + between)


def alibi(H: int, Tq: int, Tk: int) -> Float[Tensor, "1 H Tq Tk"]:
    """What ALiBi adds to the scores: minus a head's slope times the distance, in both directions.

    The last query stands at the last key, as in `masks.causal`. Press et al. 2022.
    """
    distance = (_places(Tq, Tk) - torch.arange(Tk)).abs()
    return (-slopes(H)[:, None, None] * distance)[None]


def t5_buckets(
    Tq: int, Tk: int, buckets: int = 32, furthest: int = 128, both_ways: bool = True
) -> Int[Tensor, "Tq Tk"]:
    """The number of the learned bias for each query and key: near distances one by one, far in log.

    Half of the buckets (of each direction's, where both ways are read) are single distances; the
    others grow in logarithm up to `furthest`, which the last one holds with all beyond it. Without
    `both_ways` all later keys share bucket 0. Raffel et al. 2020, section 2.1.
    """
    offset = torch.arange(Tk) - _places(Tq, Tk)  # how far ahead of the query the key stands
    least = 4 if both_ways else 2
    if buckets < least or buckets % least or furthest <= buckets // least:
        raise ValueError(
            f"buckets: expected a multiple of {least} and furthest beyond the single distances, "
            f"got {buckets} and {furthest}"
        )
    start = torch.zeros_like(offset)
    if both_ways:
        buckets //= 2
        start = (offset > 0) * buckets
        distance = offset.abs()
    else:
        distance = (-offset).clamp(min=0)
    single = buckets // 2
    growth = (distance.clamp(min=1) / single).log() / math.log(furthest / single)
    far = (single + (growth * (buckets - single)).long()).clamp(max=buckets - 1)
    return start + torch.where(distance < single, distance, far)


class T5Bias(nn.Module):
    """A learned number for each bucket of distance and each head, added to the scores."""

    def __init__(self, H: int, buckets: int = 32, furthest: int = 128, both_ways: bool = True):
        super().__init__()
        self.how = buckets, furthest, both_ways
        self.table = nn.Embedding(buckets, H)

    def forward(self, Tq: int, Tk: int) -> Float[Tensor, "1 H Tq Tk"]:
        """The bias of every query and key; the last query stands at the last key."""
        bucket = t5_buckets(Tq, Tk, *self.how).to(self.table.weight.device)
        return self.table(bucket).movedim(-1, 0)[None]


@shaped
def positions_of(real: Bool[Tensor, "B T"], cached: int = 0) -> Int[Tensor, "B T"]:
    """Count the real tokens of each row: the first has the position `cached`, wherever it stands.

    `real` is False at padding, on either side. Padding takes the position of the next real token,
    or the last one's; no query may read it, so it never counts.
    """
    if cached < 0:
        raise ValueError(f"cached: expected at least 0, got {cached}")
    return cached + (real.cumsum(-1) - 1).clamp(min=0)


def _places(Tq: int, Tk: int) -> Int[Tensor, "Tq 1"]:
    return torch.arange(Tk - Tq, Tk)[:, None]


def _extremes(positions: Tensor) -> tuple[int, int]:
    return (int(positions.min()), int(positions.max())) if positions.numel() else (0, 0)


def _even(x: Tensor) -> int:
    Dh = x.shape[-1]
    if Dh % 2:
        raise ValueError(f"x: expected an even number of features, to be turned in pairs, got {Dh}")
    return Dh


def _pairs(x: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    if layout == "interleaved":
        return x[..., ::2], x[..., 1::2]
    if layout == "halves":
        return x.chunk(2, -1)
    raise ValueError(f"layout: expected 'interleaved' or 'halves', got {layout!r}")


def _unpaired(first: Tensor, second: Tensor, layout: str) -> Tensor:
    if layout == "interleaved":
        return torch.stack([first, second], -1).flatten(-2)
    return torch.cat([first, second], -1)

"""Right ways to turn pairs of features that look nothing like the reference.

No check may ask for one form: each of these passes in full.
"""

import math

import torch
from torch import Tensor

from course_lib import positions as library


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of features by its position times its frequency."""
    return library.rotate(x, positions)


def _frequencies(Dh: int) -> Tensor:
    return 10_000 ** (-torch.arange(0, Dh, 2).float() / Dh)


def _angles(x: Tensor, positions: Tensor) -> Tensor:
    """[B, 1, T, pairs] in float32."""
    return positions[:, None, :, None].float() * _frequencies(x.shape[-1])


def _rotated_half(x, positions):
    angles = _angles(x, positions)
    cos, sin = (torch.cat([y, y], -1) for y in (angles.cos(), angles.sin()))
    first, second = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


def _complex(x, positions):
    first, second = x.float().chunk(2, -1)
    turn = torch.polar(torch.ones(()), _angles(x, positions))
    turned = torch.complex(first, second) * turn
    return torch.cat([turned.real, turned.imag], -1).to(x.dtype)


def _pair_by_pair(x, positions):
    Dh = x.shape[-1]
    out = torch.empty_like(x)
    for i in range(Dh // 2):
        angle = positions[:, None].double() * math.exp(-2 * i / Dh * math.log(10_000))
        cos, sin = angle.cos(), angle.sin()
        a, b = x[..., i].double(), x[..., i + Dh // 2].double()
        out[..., i] = (a * cos - b * sin).to(x.dtype)
        out[..., i + Dh // 2] = (a * sin + b * cos).to(x.dtype)
    return out


def _matrices(x, positions):
    angles = _angles(x, positions)[:, 0].double()
    cos, sin = angles.cos(), angles.sin()
    matrix = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
    pairs = x.double().unflatten(-1, (2, -1))
    return torch.einsum("rcbti,bhtci->bhtri", matrix, pairs).flatten(-2).to(x.dtype)


def _exponential(x, positions):
    pairs = x.shape[-1] // 2
    speed = torch.diag(_frequencies(x.shape[-1]).double())
    still = torch.zeros(pairs, pairs).double()
    generator = torch.cat([torch.cat([still, -speed], 1), torch.cat([speed, still], 1)])
    matrix = torch.matrix_exp(positions[..., None, None] * generator)
    return torch.einsum("btrc,bhtc->bhtr", matrix, x.double()).to(x.dtype)


def _by_phase(x, positions):
    first, second = x.double().chunk(2, -1)
    length, phase = torch.hypot(first, second), torch.atan2(second, first)
    phase = phase + _angles(x, positions).double()
    return torch.cat([length * phase.cos(), length * phase.sin()], -1).to(x.dtype)


def _from_a_table(x, positions):
    Dh = x.shape[-1]
    every = torch.outer(torch.arange(int(positions.max()) + 1).float(), _frequencies(Dh))
    cos, sin = (table[positions].unsqueeze(1).to(x.dtype) for table in (every.cos(), every.sin()))
    a, b = x[..., : Dh // 2], x[..., Dh // 2 :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def _row_by_row(x, positions):
    rows = []
    for vectors, places in zip(x, positions, strict=True):
        angles = torch.outer(places.double(), _frequencies(x.shape[-1]).double())
        a, b = vectors.double().unflatten(-1, (2, -1)).unbind(-2)
        turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
        rows.append(torch.stack(turned, -2).flatten(-2))
    return torch.stack(rows).to(x.dtype)


def _through_the_other_layout(x, positions):
    return library.to_halves(library.rotate(library.to_interleaved(x), positions, "interleaved"))


ROTATE = (
    _rotated_half,
    _complex,
    _pair_by_pair,
    _matrices,
    _exponential,
    _by_phase,
    _from_a_table,
    _row_by_row,
    _through_the_other_layout,
)

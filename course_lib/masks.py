"""Masks: which key a query may read, in the one form that the course has.

A mask is `keep`: bool, True = may be read, four dims [B, H, Tq, Tk] of which any may be 1, so
that masks combine with `&`. Torch has three other forms; the way there and back is here too.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.shapes import shaped


def causal(Tq: int, Tk: int | None = None) -> Bool[Tensor, "1 1 Tq Tk"]:
    """Let a query read its own key and those before it.

    Aligned at the bottom right: the last query stands at the last key, as it does when Tk - Tq
    keys come from a cache. torch's `is_causal` aligns at the top left, which is the same only
    where Tq = Tk. Queries that stand before the first key read nothing.
    """
    Tk = Tq if Tk is None else Tk
    _at_least(0, Tq=Tq, Tk=Tk)
    return _place(Tq, Tk) >= torch.arange(Tk)


def window(Tq: int, Tk: int, size: int) -> Bool[Tensor, "1 1 Tq Tk"]:
    """Let a query read the last `size` keys up to its own, its own included."""
    _at_least(1, size=size)
    return causal(Tq, Tk) & (_place(Tq, Tk) - size < torch.arange(Tk))


def prefix(Tq: int, Tk: int, length: int) -> Bool[Tensor, "1 1 Tq Tk"]:
    """Let every query read the first `length` keys, and beyond them what `causal` lets it read."""
    _at_least(0, length=length)
    return causal(Tq, Tk) | (torch.arange(Tk) < length)


@shaped
def padding(lengths: Int[Tensor, "B"], Tk: int) -> Bool[Tensor, "B 1 1 Tk"]:
    """Let no query read a key that isn't there: sequence b has `lengths[b]` keys, then padding."""
    if lengths.numel() and not 0 <= int(lengths.min()) <= int(lengths.max()) <= Tk:
        raise ValueError(f"lengths: expected values from 0 to Tk = {Tk}, got {lengths.tolist()}")
    return (torch.arange(Tk, device=lengths.device) < lengths[:, None])[:, None, None]


@shaped
def blocks(documents: Int[Tensor, "B T"]) -> Bool[Tensor, "B 1 T T"]:
    """Let a token read its own document alone, where several are packed into one sequence.

    `documents` numbers the document of each token. Positions that start again at each document
    don't do this; they change where a token is, not whom it reads.
    """
    return (documents[:, :, None] == documents[:, None, :])[:, None]


def describe(keep: Bool[Tensor, "B H Tq Tk"]) -> str:
    """Say in words what a mask lets each query read, query by query of the first sequence."""
    _is_keep(keep)
    B, H, Tq, Tk = keep.shape
    empty = int((~keep.any(-1)).sum())
    share = keep.double().mean().item() if keep.numel() else 0.0
    lines = [f"keep [{B}, {H}, {Tq}, {Tk}]: {share:.0%} may be read, {_count(empty, 'empty row')}"]
    for i in range(min(Tq, 12)):
        lines.append(f"  query {i} reads {in_words(keep[0, 0, i].nonzero().flatten().tolist())}")
    if Tq > 12:
        lines.append(f"  and {Tq - 12} queries more")
    return "\n".join(lines)


def in_words(numbers: list[int], noun: str = "key") -> str:
    """Numbers in rising order with their runs written short: keys 0 to 3, 6; or nothing."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(a) if a == b else f"{a} to {b}" for a, b in runs]
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(words)}" if words else "nothing"


# The three forms that torch takes, and the way back. Nothing else in the course inverts a mask.


@shaped
def to_additive(
    keep: Bool[Tensor, "B H Tq Tk"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "B H Tq Tk"]:
    """The mask that is added to the scores: 0 where a key may be read, -inf where not."""
    return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill(~keep, -torch.inf)


@shaped
def to_multihead(keep: Bool[Tensor, "B H Tq Tk"], B: int, H: int) -> Bool[Tensor, "BH Tq Tk"]:
    """`attn_mask` of nn.MultiheadAttention: True = blocked, one for each sequence and head."""
    Tq, Tk = keep.shape[-2:]
    if Tq == 1 or Tk == 1:
        raise ValueError(f"keep: expected Tq and Tk written out, got {list(keep.shape)}")
    return ~keep.expand(B, H, Tq, Tk).reshape(B * H, Tq, Tk)


@shaped
def to_key_padding(keep: Bool[Tensor, "B 1 1 Tk"]) -> Bool[Tensor, "B Tk"]:
    """`key_padding_mask` of nn.MultiheadAttention and nn.TransformerEncoder: True = ignored."""
    return ~keep[:, 0, 0]


@shaped
def from_additive(mask: Float[Tensor, "B H Tq Tk"]) -> Bool[Tensor, "B H Tq Tk"]:
    """What an additive mask of 0 and -inf lets be read; any other number is a bias, and refused."""
    keep = mask == 0
    if not (keep | (mask == -torch.inf)).all():
        raise ValueError("mask: expected 0 and -inf alone; another number is a bias, not a mask")
    return keep


@shaped
def from_multihead(mask: Bool[Tensor, "BH Tq Tk"], H: int) -> Bool[Tensor, "B H Tq Tk"]:
    """What a boolean `attn_mask` of nn.MultiheadAttention lets be read."""
    return ~mask.unflatten(0, (-1, H))


@shaped
def from_key_padding(mask: Bool[Tensor, "B Tk"]) -> Bool[Tensor, "B 1 1 Tk"]:
    """What a boolean `key_padding_mask` lets be read."""
    return ~mask[:, None, None]


def _place(Tq: int, Tk: int) -> Int[Tensor, "1 1 Tq 1"]:
    """The key at which each query stands, counted from 0; negative before the first."""
    return (torch.arange(Tq) + (Tk - Tq))[None, None, :, None]


def _at_least(least: int, **sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < least:
            raise ValueError(f"{name}: expected a whole number of {least} or more, got {size!r}")


def _is_keep(keep: Tensor) -> None:
    if not isinstance(keep, Tensor) or keep.dtype != torch.bool or keep.ndim != 4:
        found = f"{keep.dtype} {list(keep.shape)}" if isinstance(keep, Tensor) else repr(keep)
        raise TypeError(f"keep: expected a bool tensor [B, H, Tq, Tk], got {found}")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' * (number != 1)}"

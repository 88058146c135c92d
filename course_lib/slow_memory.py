"""The simulator's slow memory: tensors behind addresses, each load and store checked and noted.

A card reads and writes whatever lies at an address. Here what lies outside a tensor is an error
that names the tensor and the program.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor

program: tuple[int, ...] = ()  # which one runs: a launch sets it
_log: list["Access"] | None = None


class Access(NamedTuple):
    """One load or store of one program: the elements of a tensor that it touched."""

    program: tuple[int, ...]
    kind: str  # "load" or "store"
    name: str  # the parameter of the kernel
    elements: Tensor
    nbytes: int


@contextmanager
def watch() -> Iterator[list[Access]]:
    """Collect every access of the kernels that run inside."""
    global _log
    before, _log = _log, []
    try:
        yield _log
    finally:
        _log = before


def watched() -> list[Access] | None:
    """What collects the accesses now, if anything does."""
    return _log


class Pointer:
    """A tensor's memory and offsets into it: what a kernel gets in place of a tensor."""

    def __init__(self, tensor: Tensor, offset: Tensor | int = 0, name: str = "?"):
        self.tensor, self.offset, self.name = tensor, offset, name

    def __add__(self, offset: Tensor | int) -> "Pointer":
        if isinstance(offset, Tensor):
            offset = offset.long()  # what was computed in 32 bits may have overflowed before
        return Pointer(self.tensor, self.offset + offset, self.name)

    __radd__ = __add__

    @property
    def dtype(self) -> SimpleNamespace:
        """Of what it points to."""
        return SimpleNamespace(element_ty=self.tensor.dtype)

    def __getattr__(self, what: str) -> object:
        raise AttributeError(
            f"{self.__dict__.get('name')} is an address and has no .{what}; sizes come as arguments"
        )

    def access(self, kind: str, mask: Tensor | bool | None) -> tuple[Tensor, Tensor, Tensor]:
        """The tensor as one row, the elements that are touched, and where in the tile they are."""
        offset = torch.as_tensor(self.offset)
        mask = torch.as_tensor(True if mask is None else mask).broadcast_to(offset.shape)
        row, elements = self.tensor.view(-1), offset[mask]
        outside = elements[(elements < 0) | (elements >= len(row))]
        if len(outside):
            first = int(outside[0])
            ask = (
                "Where does this tile begin?"
                if first < 0
                else "Which lanes should a mask turn off?"
            )
            raise IndexError(
                f"program {program}: {kind} of {self.name}[{first}], which has {len(row)} "
                f"elements. {ask}"
            )
        if _log is not None:
            nbytes = elements.numel() * row.element_size()
            _log.append(Access(program, kind, self.name, elements, nbytes))
        return row, elements, mask


def load(pointer: Pointer, mask: Tensor | None = None, other: int | float | None = None) -> Tensor:
    """Read a tile. Lanes turned off give `other`; without it a card gives anything, here NaN."""
    row, elements, mask = _address(pointer, "load").access("load", mask)
    if other is None:
        other = math.nan if row.is_floating_point() else torch.iinfo(row.dtype).min
    tile = torch.full(mask.shape, other).to(row.dtype)  # as a card does: -1e9 in float16 is -inf
    return tile.masked_scatter_(mask, row[elements])


def store(pointer: Pointer, value: Tensor | int | float, mask: Tensor | None = None) -> None:
    """Write a tile, in the dtype of the tensor; lanes turned off write nothing."""
    row, elements, mask = _address(pointer, "store").access("store", mask)
    if isinstance(value, Pointer):
        raise TypeError(f"store: expected numbers, got the address {value.name}; load it first")
    row[elements] = torch.as_tensor(value, dtype=row.dtype).broadcast_to(mask.shape)[mask]


def _address(pointer: object, kind: str) -> Pointer:
    if not isinstance(pointer, Pointer):
        raise TypeError(f"{kind}: expected an address, a pointer plus numbers; got numbers alone")
    return pointer


class Descriptor(NamedTuple):
    """A tensor of several axes, read and written by tiles; what lies outside it reads as zero."""

    base: Pointer
    shape: list[int]
    strides: list[int]
    block_shape: list[int]

    def _where(self, offsets: list) -> tuple[Pointer, Tensor]:
        pointer, inside = self.base, torch.tensor(True)
        for axis, (start, size) in enumerate(zip(offsets, self.block_shape, strict=True)):
            later = (1,) * (len(self.shape) - axis - 1)
            places = (start + torch.arange(size)).view(-1, *later)
            pointer = pointer + places * self.strides[axis]
            inside = inside & (places >= 0) & (places < self.shape[axis])
        return pointer, inside

    def load(self, offsets: list) -> Tensor:
        """The tile whose first corner stands there."""
        return load(*self._where(offsets), other=0)

    def store(self, offsets: list, value: Tensor) -> None:
        """Write the part of a tile that lies inside."""
        pointer, inside = self._where(offsets)
        store(pointer, value, inside)

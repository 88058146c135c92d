"""Tiles: the blocks of queries and keys of a call, and what its mask leaves of each."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Rule = Callable[[Int[Tensor, "Tq 1"], Int[Tensor, "Tk"]], Bool[Tensor, "Tq Tk"]]
"""A mask computed tile by tile: from the queries' places and the keys' numbers, who may read.

A place is counted in keys: the last query stands at the last key.
"""


def causal_rule(place: Int[Tensor, "Tq 1"], key: Int[Tensor, "Tk"]) -> Bool[Tensor, "Tq Tk"]:
    """Let a query read its own key and those before it: `masks.causal`, tile by tile."""
    return key <= place


class Tiles:
    """The tiles of a call, and what its mask leaves of each."""

    def __init__(self, keep: Tensor | Rule | None, Tq: int, Tk: int, block_q: int, block_k: int):
        self.keep = keep.expand(-1, -1, Tq, Tk) if isinstance(keep, Tensor) else keep
        self.Tq, self.Tk = Tq, Tk
        self.block_q, self.block_k = block_q, block_k
        self._least_and_most: dict[tuple[int, ...], tuple[int, int]] = {}

    def memory(self, like: Tensor) -> Tensor:
        """Room for one tile."""
        return like.new_empty(min(self.block_q, self.Tq), min(self.block_k, self.Tk))

    def queries(self) -> Iterator[slice]:
        """The tiles of queries."""
        return _cut(self.Tq, self.block_q)

    def keys(self, rows: slice, b: int, h: int) -> Iterator[tuple[slice, Tensor | None]]:
        """The tiles of keys that these queries of a head read, each with what of it is blocked."""
        for cols in _cut(self.Tk, self.block_k):
            least, most = self._read(rows, cols, b, h)
            if least:
                yield cols, None
            elif most:
                yield cols, ~self._kept(rows, cols, b, h)

    def _read(self, rows: slice, cols: slice, b: int, h: int) -> tuple[int, int]:
        """1, 1 where every pair of a tile may be read; 0, 0 where none may."""
        if self.keep is None:
            return 1, 1
        # Looked at once for all heads that share the mask: an axis of size 1, or a rule.
        B, H = self.keep.shape[:2] if isinstance(self.keep, Tensor) else (1, 1)
        tile = b % B, h % H, rows.start, cols.start
        if tile not in self._least_and_most:
            extremes = self._kept(rows, cols, b, h).byte().aminmax()  # 10 times as fast as all, any
            self._least_and_most[tile] = int(extremes.min), int(extremes.max)
        return self._least_and_most[tile]

    def _kept(self, rows: slice, cols: slice, b: int, h: int) -> Tensor:
        if isinstance(self.keep, Tensor):
            B, H = self.keep.shape[:2]
            return self.keep[b % B, h % H, rows, cols]
        place = torch.arange(rows.start, rows.stop)[:, None] + (self.Tk - self.Tq)
        kept = self.keep(place, torch.arange(cols.start, cols.stop))
        size = [rows.stop - rows.start, cols.stop - cols.start]
        if not isinstance(kept, Tensor) or kept.dtype != torch.bool or list(kept.shape) != size:
            found = f"{kept.dtype} {list(kept.shape)}" if isinstance(kept, Tensor) else repr(kept)
            raise TypeError(f"keep: expected the rule to return bool {size}, got {found}")
        return kept


def _cut(T: int, block: int) -> Iterator[slice]:
    """Cut T positions into tiles; the last may be shorter."""
    return (slice(start, min(start + block, T)) for start in range(0, T, block))

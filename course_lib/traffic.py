"""Traffic: what attention moves between a large slow memory and a small fast one, counted.

The computation is real; the memories are simulated. A program gets its numbers by `load` and
leaves them by `store`, and has no other way, so that what is moved is counted as it runs.
`largest` counts in torch's own memory: what a call holds.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.attention import NOTHING, scores, softmax
from course_lib.made import Largest
from course_lib.tiles import Rule, Tiles
from course_lib.tiling import finish, fold, nothing_read

ALL = slice(None)


@dataclass
class SlowMemory:
    """Tensors by name, [B, H, T, ...], with a count of the bytes that were loaded and stored."""

    tensors: dict[str, Tensor]
    loaded: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)

    def load(self, name: str, rows: slice = ALL) -> Tensor:
        """Copy some positions of a tensor into fast memory."""
        if name not in self.tensors:
            raise KeyError(f"name: expected one of {', '.join(self.tensors)}, got {name!r}")
        part = self.tensors[name][:, :, rows].clone()
        self.loaded[name] += part.nbytes
        return part

    def store(self, name: str, part: Tensor, rows: slice = ALL, T: int | None = None) -> None:
        """Copy a result to its positions, of `T`, in slow memory."""
        B, H, n, *rest = part.shape
        whole = self.tensors.setdefault(name, part.new_empty(B, H, T or n, *rest))
        whole[:, :, rows] = part
        self.stored[name] += part.nbytes

    @property
    def moved(self) -> int:
        """All bytes, in both directions."""
        return self.loaded.total() + self.stored.total()


def count(
    program: Callable[..., None],
    q: Float[Tensor, "B H Tq Dh"],
    k: Float[Tensor, "B H Tk Dh"],
    v: Float[Tensor, "B H Tk Dv"],
    **how: object,
) -> SlowMemory:
    """Run a program on a memory that holds q, k and v; the memory has the output and the counts."""
    memory = SlowMemory({"q": q, "k": k, "v": v})
    program(memory, **how)
    return memory


def naive(memory: SlowMemory) -> None:
    """Three passes, and between them [Tq, Tk] numbers go to slow memory and come back, twice."""
    memory.store("scores", scores(memory.load("q"), memory.load("k")))
    memory.store("weights", softmax(memory.load("scores")))
    memory.store("out", memory.load("weights") @ memory.load("v"))


def tiled(
    memory: SlowMemory, block_q: int = 64, block_k: int = 64, rule: Rule | None = None
) -> None:
    """One pass: a tile of queries stays while the keys and values come by, tile after tile."""
    Tq, Tk = (memory.tensors[name].shape[2] for name in ("q", "k"))
    tiles = Tiles(rule, Tq, Tk, block_q, block_k)
    for rows in tiles.queries():
        q = memory.load("q", rows)
        state = nothing_read(q.new_empty(*q.shape[:3], memory.tensors["v"].shape[3]))
        for cols, blocked in tiles.keys(rows, 0, 0):
            tile = scores(q, memory.load("k", cols))
            tile = tile if blocked is None else tile.masked_fill(blocked, NOTHING)
            state = fold(state, tile, memory.load("v", cols))
        out, lse = finish(state)
        memory.store("out", out, rows, Tq)
        memory.store("lse", lse, rows, Tq)


def naive_elements(Tq: int, Tk: int, Dh: int, Dv: int) -> int:
    """What `naive` moves a head: q, k, v and out once, scores and weights once each way."""
    return Tq * Dh + Tk * Dh + Tk * Dv + Tq * Dv + 4 * Tq * Tk


def tiled_elements(Tq: int, Tk: int, Dh: int, Dv: int, block_q: int) -> int:
    """What `tiled` moves a head without a rule: k and v come by once for each tile of queries."""
    passes = -(-Tq // block_q)
    return Tq * Dh + passes * Tk * (Dh + Dv) + Tq * Dv + Tq


def largest(call: Callable[[], object]) -> torch.Size:
    """Run a call and tell the shape of the largest tensor that any operation in it makes.

    A view makes nothing: its numbers are another tensor's.
    """
    with Largest() as seen:
        call()
    return seen.shape

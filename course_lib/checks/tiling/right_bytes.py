"""Right ways to count moved bytes that look unlike the reference.

No check may ask for one form: each of these passes in full.
"""

from collections import Counter

import torch


def _by_passes(Tq, Tk, Dh, Dv, block_q, dtype):
    size = torch.empty((), dtype=dtype).element_size()
    first = Tq * Dh + Tk * Dh + Tq * Tk
    second = Tq * Tk + Tq * Tk
    third = Tq * Tk + Tk * Dv + Tq * Dv
    one_tile = Tk * Dh + Tk * Dv
    tiled = ((Tq - 1) // block_q + 1) * one_tile + Tq * (Dh + Dv + 1)
    return (first + second + third) * size, tiled * size


def _tile_by_tile(Tq, Tk, Dh, Dv, block_q, dtype):
    moved = Counter()
    for rows, columns, times in ((Tq, Dh, 1), (Tk, Dh, 1), (Tk, Dv, 1), (Tq, Dv, 1), (Tq, Tk, 4)):
        moved["naive"] += rows * columns * times * dtype.itemsize
    for start in range(0, Tq, block_q):
        n = min(block_q, Tq - start)
        moved["tiled"] += (n * Dh + Tk * (Dh + Dv) + n * Dv + n) * dtype.itemsize
    return moved["naive"], moved["tiled"]


def _by_full_tiles_and_a_rest(Tq, Tk, Dh, Dv, block_q, dtype):
    full, rest = divmod(Tq, block_q)
    passes = full + (rest > 0)
    ends = Tq * (Dh + Dv)
    naive = ends + Tk * (Dh + Dv) + 2 * Tq * Tk + 2 * Tq * Tk
    return [n * dtype.itemsize for n in (naive, ends + passes * Tk * (Dh + Dv) + Tq)]


def _in_torch(Tq, Tk, Dh, Dv, block_q, dtype):
    sizes = torch.tensor([Tq * Dh, Tk * Dh, Tk * Dv, Tq * Dv, Tq * Tk, Tq])
    passes = len(range(0, Tq, block_q))
    times = torch.tensor([[1, 1, 1, 1, 4, 0], [1, passes, passes, 1, 0, 1]])
    return tuple((times * sizes).sum(-1) * dtype.itemsize)


def _of_tensors_without_memory(Tq, Tk, Dh, Dv, block_q, dtype):
    def nbytes(*shape):
        return torch.empty(shape, dtype=dtype, device="meta").nbytes

    q, k, v, out = nbytes(Tq, Dh), nbytes(Tk, Dh), nbytes(Tk, Dv), nbytes(Tq, Dv)
    passes = (Tq + block_q - 1) // block_q
    return q + k + v + out + 4 * nbytes(Tq, Tk), q + passes * (k + v) + out + nbytes(Tq)


MOVED = (
    _by_passes,
    _tile_by_tile,
    _by_full_tiles_and_a_rest,
    _in_torch,
    _of_tensors_without_memory,
)

"""Right leak probes: the reference, and ways to answer that look nothing like it."""

import torch

from course_lib.leaks import leaks


def find_leaks(fn, x):
    """Change one row at a time, and name each earlier row of the output that moves."""
    before, found = fn(x), set()
    noise = 3 * torch.randn(x.shape, generator=torch.Generator().manual_seed(0)).to(x)
    for source in range(len(x)):
        other = x.clone()
        other[source] += noise[source]
        moved = (fn(other) - before).abs().amax(-1) > 1e-6
        found |= {(reader, source) for reader in range(source) if moved[reader]}
    return found


def _by_the_library(fn, x):
    return [(leak.reader, leak.source) for leak in leaks(fn, x)]


def _reader_by_reader(fn, x):
    pairs = []
    for reader in range(x.shape[0]):
        for source in range(reader + 1, x.shape[0]):
            other = x.clone()
            other[source] = torch.randn(x.shape[1]) * 5
            if not torch.allclose(fn(other)[reader], fn(x)[reader]):
                pairs.append([reader, source])
    return pairs


def _in_one_table(fn, x):
    T = len(x)
    other = torch.where(x > 0, -1, 2) * torch.rand_like(x)
    rows = [fn(torch.where(torch.arange(T)[:, None] == s, other, x)) for s in range(T)]
    moved = (torch.stack(rows) != fn(x)).any(-1).T  # [reader, source]
    return moved.triu(1).nonzero()


def _in_float64(fn, x):
    wide = x.double()
    before = fn(wide)
    found = set()
    for source in range(len(x)):
        other = wide.clone()
        other[source] = torch.randn(x.shape[1], dtype=torch.float64)
        gap = (fn(other) - before)[:source].norm(dim=-1)
        found.update((r, source) for r in range(source) if gap[r] > 1e-9)
    return found


LEAKS = (_by_the_library, _reader_by_reader, _in_one_table, _in_float64)

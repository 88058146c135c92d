"""Right ways of 07.5 unlike the reference: by masks, by loops, by the last query, by remainders."""

import math

import torch


def _by_masks(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    rows = torch.arange(first, min(first + BLOCK_Q, Tq))[:, None]
    keep = torch.arange(Tk)[None, :] <= rows + Tk - Tq
    return keep.all(0).sum() // BLOCK_K * BLOCK_K, keep.any(0).sum()


def _tile_by_tile(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    def reads(query, key):
        return 0 <= key < Tk and key <= query + Tk - Tq

    whole = 0
    while reads(first, whole + BLOCK_K - 1):
        whole += BLOCK_K
    stop = whole
    while any(reads(query, stop) for query in range(first, min(first + BLOCK_Q, Tq))):
        stop += 1
    return [whole, stop]


def _by_the_last_query(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    last = min(first + BLOCK_Q, Tq) - 1
    few, many = (max(0, Tk - (Tq - 1 - query)) for query in (first, last))
    return BLOCK_K * math.floor(few / BLOCK_K), many


def _by_remainders(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    stop = first + BLOCK_Q
    stop -= max(0, stop - Tq)  # queries that aren't there
    reads = max(0, first + 1 + Tk - Tq)
    return reads - reads % BLOCK_K, max(0, stop + Tk - Tq)


def _as_the_kernel_has_it(first, Tq, Tk, BLOCK_Q, BLOCK_K):
    place = first + Tk - Tq
    stop = min(Tk, max(0, place + BLOCK_Q))
    whole = min(Tk // BLOCK_K * BLOCK_K, max(0, place + 1) // BLOCK_K * BLOCK_K)
    return whole, stop


PHASES = (_by_masks, _tile_by_tile, _by_the_last_query, _by_remainders, _as_the_kernel_has_it)

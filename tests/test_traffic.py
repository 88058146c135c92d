"""Counted traffic against the closed formula, and the programs' outputs against the direct form."""

import pytest
import torch

from course_lib.attention import attention
from course_lib.masks import causal
from course_lib.tiles import causal_rule
from course_lib.traffic import (
    SlowMemory,
    count,
    largest,
    naive,
    naive_elements,
    tiled,
    tiled_elements,
)

SHAPES = [
    # B, H, Tq, Tk, Dh, Dv, block_q, block_k
    (1, 1, 8, 8, 4, 4, 4, 4),
    (2, 3, 8, 8, 4, 4, 4, 4),
    (1, 2, 7, 11, 5, 3, 4, 3),
    (2, 1, 11, 7, 3, 5, 3, 4),
    (1, 1, 1, 13, 4, 2, 4, 5),
    (1, 1, 13, 1, 4, 2, 5, 4),
    (1, 3, 9, 9, 2, 6, 1, 1),
    (1, 1, 9, 10, 2, 6, 9, 10),
    (3, 1, 6, 10, 8, 8, 100, 100),
    (1, 4, 17, 5, 7, 1, 16, 2),
    (2, 2, 33, 31, 4, 4, 16, 8),
    (1, 1, 64, 96, 16, 16, 32, 32),
    (1, 2, 65, 97, 16, 8, 32, 32),
]


def call(B, H, Tq, Tk, Dh, Dv, dtype=torch.float32):
    g = torch.Generator().manual_seed(0)
    shapes = ((B, H, Tq, Dh), (B, H, Tk, Dh), (B, H, Tk, Dv))
    return [torch.randn(s, generator=g).to(dtype) for s in shapes]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_count_is_the_formula_and_the_output_is_attention(shape):
    *sizes, block_q, block_k = shape
    B, H, *axes = sizes
    q, k, v = call(*sizes)
    for memory, elements in (
        (count(naive, q, k, v), naive_elements(*axes)),
        (count(tiled, q, k, v, block_q=block_q, block_k=block_k), tiled_elements(*axes, block_q)),
    ):
        assert memory.moved == 4 * B * H * elements
        torch.testing.assert_close(memory.tensors["out"], attention(q, k, v))


def test_each_tensor_is_counted_under_its_name():
    memory = count(tiled, *call(1, 2, 6, 10, 3, 5), block_q=4, block_k=4)
    assert memory.loaded == {"q": 4 * 2 * 18, "k": 4 * 2 * 2 * 30, "v": 4 * 2 * 2 * 50}
    assert memory.stored == {"out": 4 * 2 * 30, "lse": 4 * 2 * 6}


def test_bytes_follow_the_dtype():
    wide, narrow = (
        count(naive, *call(1, 1, 5, 6, 4, 3, dtype)).moved for dtype in (torch.float64, torch.half)
    )
    assert wide == 4 * narrow


def test_tiles_that_a_causal_rule_empties_are_not_loaded():
    q, k, v = call(1, 1, 12, 12, 4, 4)
    memory = count(tiled, q, k, v, block_q=4, block_k=4, rule=causal_rule)
    assert memory.loaded["k"] == 4 * 4 * (4 + 8 + 12)
    torch.testing.assert_close(memory.tensors["out"], attention(q, k, v, causal(12)))


def test_what_is_loaded_is_a_copy_and_slow_memory_stays():
    memory = SlowMemory({"q": torch.ones(1, 1, 3, 2)})
    memory.load("q").zero_()
    assert memory.tensors["q"].all() and memory.moved == 24


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(KeyError, match="expected one of q, k, v, got 'scores'"):
        count(lambda memory: memory.load("scores"), *call(1, 1, 2, 2, 2, 2))


def test_largest_is_what_an_operation_made_forward_or_backward():
    x = torch.ones(3, 4)
    assert largest(lambda: (x @ x.mT).sum()) == (3, 3)
    assert largest(lambda: x.sum()) == ()
    x.requires_grad_()
    assert largest(lambda: x.mul(2).sum().backward()) == (3, 4)
    assert largest(lambda: None) == (0,)


def test_largest_looks_into_tuples_and_not_at_views():
    x = torch.arange(6.0)
    assert largest(lambda: x.view(2, 3).topk(2)) == (2, 2)
    assert largest(lambda: torch.ones(1).expand(50).sum()) == (1,)
    assert largest(lambda: torch.ones(2, 1).expand(2, 9).clone()) == (2, 9)
    assert largest(lambda: x.mul_(2)) == (0,)
    assert largest(lambda: torch.add(x[:2], 1, out=x[:2])) == (0,)

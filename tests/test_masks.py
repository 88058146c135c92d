"""Masks against loops, and every conversion against what torch does with it."""

import inspect

import pytest
import torch
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from course_lib.attention import attention
from course_lib.masks import (
    blocks,
    causal,
    describe,
    from_additive,
    from_key_padding,
    from_multihead,
    padding,
    prefix,
    to_additive,
    to_key_padding,
    to_multihead,
    window,
)

B, H, T, D = 2, 3, 5, 12
SIZES = [(5, 5), (3, 7), (1, 7), (7, 3), (1, 1), (4, 0), (0, 4)]


def by_loops(Tq, Tk, may_read):
    """A mask written entry by entry; query i stands at key i + Tk - Tq."""
    rows = [[may_read(i + Tk - Tq, j) for j in range(Tk)] for i in range(Tq)]
    return torch.tensor(rows, dtype=torch.bool).reshape(1, 1, Tq, Tk)


@pytest.mark.parametrize(("Tq", "Tk"), SIZES)
def test_masks_equal_their_definitions(Tq, Tk):
    assert torch.equal(causal(Tq, Tk), by_loops(Tq, Tk, lambda i, j: j <= i))
    assert torch.equal(window(Tq, Tk, 2), by_loops(Tq, Tk, lambda i, j: i - 2 < j <= i))
    assert torch.equal(prefix(Tq, Tk, 3), by_loops(Tq, Tk, lambda i, j: j < 3 or j <= i))


def test_causal_is_torchs_lower_right_and_not_its_is_causal():
    q, k, v = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4)
    lower_right = causal_lower_right(2, 5)
    expected = scaled_dot_product_attention(q, k, v, attn_mask=lower_right)
    torch.testing.assert_close(attention(q, k, v, causal(2, 5)), expected)
    top_left = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert not torch.allclose(expected, top_left)
    assert torch.equal(causal(4), causal(4, 4))


def test_padding_hides_what_is_not_there():
    keep = padding(torch.tensor([3, 0, 5]), 5)
    assert keep.shape == (3, 1, 1, 5)
    assert keep[:, 0, 0].sum(-1).tolist() == [3, 0, 5]
    assert keep[0, 0, 0].tolist() == [True, True, True, False, False]


def test_blocks_keep_documents_apart():
    documents = torch.tensor([[0, 0, 1, 2, 2], [7, 7, 7, 7, 3]])
    keep = blocks(documents)
    for b, i, j in torch.cartesian_prod(*map(torch.arange, (2, 5, 5))).tolist():
        assert keep[b, 0, i, j] == (documents[b, i] == documents[b, j])


def test_masks_combine():
    keep = causal(T) & padding(torch.tensor([2, 4]), T) & blocks(torch.zeros(2, T).long())
    assert keep.shape == (2, 1, T, T)
    assert keep[0, 0, 4].tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal(-1), "Tq: expected a whole number of 0 or more, got -1"),
        (lambda: window(3, 3, 0), "size: expected a whole number of 1 or more, got 0"),
        (lambda: prefix(3, 3, -2), "length: expected a whole number of 0 or more, got -2"),
        (lambda: padding(torch.tensor([6]), 5), "lengths: expected values from 0 to Tk = 5"),
        (lambda: from_additive(torch.full((1, 1, 2, 2), -1e9)), "mask: expected 0 and -inf alone"),
        (lambda: to_multihead(padding(torch.tensor([2]), 3), 1, 2), "keep: expected Tq and Tk"),
        (lambda: padding(torch.tensor([1.0]), 5), "lengths: expected an? int tensor"),
        (lambda: inspect.unwrap(describe)(torch.ones(2, 2)), "keep: expected a bool tensor"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_describe_says_who_reads_whom():
    text = describe(causal(3, 5))
    assert text.splitlines()[1:] == [
        "  query 0 reads keys 0 to 2",
        "  query 1 reads keys 0 to 3",
        "  query 2 reads keys 0 to 4",
    ]
    odd = torch.tensor([[True, False, True, True], [False] * 4])[None, None]
    assert "query 0 reads keys 0, 2 to 3" in describe(odd)
    assert "1 empty row" in describe(odd) and "query 1 reads nothing" in describe(odd)
    assert "and 8 queries more" in describe(causal(20))


@pytest.fixture
def keep():
    return causal(T) & padding(torch.tensor([3, 5]), T)


def test_an_additive_mask_does_what_keep_does(keep):
    q = k = v = torch.randn(B, H, T, 4)
    out = scaled_dot_product_attention(q, k, v, attn_mask=to_additive(keep))
    torch.testing.assert_close(out, attention(q, k, v, keep))
    assert torch.equal(from_additive(to_additive(keep)), keep)
    assert to_additive(keep, torch.float16).dtype == torch.float16


def test_a_multihead_mask_does_what_keep_does(keep):
    model = nn.MultiheadAttention(D, H, batch_first=True, bias=False).eval()
    x = torch.randn(B, T, D)
    q, k, v = (y.unflatten(-1, (H, -1)).transpose(1, 2) for y in
               (x @ model.in_proj_weight.mT).chunk(3, -1))  # fmt: skip
    expected = attention(q, k, v, keep).transpose(1, 2).flatten(2) @ model.out_proj.weight.mT
    mask = to_multihead(keep, B, H)
    torch.testing.assert_close(model(x, x, x, attn_mask=mask)[0], expected)
    assert torch.equal(from_multihead(mask, H), keep.expand(B, H, T, T))


def test_a_key_padding_mask_does_what_keep_does():
    keep = padding(torch.tensor([3, 5]), T)
    model = nn.MultiheadAttention(D, H, batch_first=True).eval()
    x = torch.randn(B, T, D)
    mask = to_key_padding(keep)
    weights = model(x, x, x, key_padding_mask=mask)[1]
    assert (weights[0, :, 3:] == 0).all() and (weights[1] > 0).all()
    assert torch.equal(from_key_padding(mask), keep)

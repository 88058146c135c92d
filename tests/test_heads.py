"""Heads against loops over heads and against torch's module; sizes pairwise unequal."""

import pytest
import torch
from torch import nn

from course_lib.attention import attention
from course_lib.heads import MultiHead, from_torch, merge, prune, share, split, stack_of_heads
from course_lib.leaks import leaks
from course_lib.masks import causal, padding, to_key_padding
from course_lib.shapes import ShapeError

B, H, TQ, TK, D = 2, 3, 5, 7, 12
DH = D // H


def by_loops(model: MultiHead, x, context, keep=None):
    """One head after another, each on its own features, summed through its part of w_o."""
    out = torch.zeros_like(x)
    group = model.H // model.Hkv
    for h in range(model.H):
        own = slice(h * model.Dh, (h + 1) * model.Dh)
        kv = slice(h // group * model.Dh, (h // group + 1) * model.Dh)
        q = model.w_q(x)[..., own]
        k, v = model.w_k(context)[..., kv], model.w_v(context)[..., kv]
        mine = None if keep is None else keep[:, [min(h, keep.shape[1] - 1)]]
        read = attention(q[:, None], k[:, None], v[:, None], mine)[:, 0]
        out = out + read @ model.w_o.weight[:, own].mT
    return out + (0 if model.w_o.bias is None else model.w_o.bias)


def inputs(dtype=torch.float64):
    torch.manual_seed(0)
    return torch.randn(B, TQ, D, dtype=dtype), torch.randn(B, TK, D, dtype=dtype)


def test_split_gives_each_head_its_features_of_every_token():
    x = torch.arange(B * TQ * D, dtype=torch.float64).view(B, TQ, D)
    heads = split(x, H)
    for b, h, t in torch.cartesian_prod(*map(torch.arange, (B, H, TQ))).tolist():
        assert torch.equal(heads[b, h, t], x[b, t, h * DH : (h + 1) * DH])
    assert torch.equal(merge(heads), x)
    assert not torch.equal(x.view(B, H, TQ, DH), heads)  # the view that scrambles


def test_share_repeats_neighbours():
    x = torch.arange(2.0).view(1, 2, 1, 1)
    assert share(x, 6).flatten().tolist() == [0, 0, 0, 1, 1, 1]
    assert torch.equal(share(x, 2), x)


@pytest.mark.parametrize("Hkv", [6, 3, 2, 1])
@pytest.mark.parametrize("bias", [True, False])
def test_equals_loops_over_heads(Hkv, bias):
    x, context = inputs()
    model = MultiHead(D, 6, Hkv, bias=bias).double()
    torch.testing.assert_close(model(x, context), by_loops(model, x, context))
    keep = causal(TQ, TK) & padding(torch.tensor([4, 7]), TK)
    torch.testing.assert_close(
        model(x, context, keep), by_loops(model, x, context, keep.expand(B, 6, TQ, TK))
    )


@pytest.mark.parametrize("bias", [True, False])
def test_equals_torch_in_outputs_and_gradients(bias):
    x, context = inputs()
    theirs = nn.MultiheadAttention(D, H, bias=bias, batch_first=True, dtype=torch.float64)
    if bias:
        nn.init.normal_(theirs.in_proj_bias)
    ours = from_torch(theirs)
    keep = padding(torch.tensor([4, 6]), TK)
    mask = to_key_padding(keep)
    want = theirs(x, context, context, key_padding_mask=mask, need_weights=False)[0]
    got = ours(x, context, keep)
    torch.testing.assert_close(got, want)
    upstream = torch.randn_like(got)
    got.backward(upstream)
    want.backward(upstream)
    stacked = torch.cat([ours.w_q.weight.grad, ours.w_k.weight.grad, ours.w_v.weight.grad])
    torch.testing.assert_close(stacked, theirs.in_proj_weight.grad)
    torch.testing.assert_close(ours.w_o.weight.grad, theirs.out_proj.weight.grad)


def test_a_stack_of_heads_adds_up_to_the_whole():
    x, context = inputs()
    for Hkv in (H, 1):
        model = MultiHead(D, H, Hkv).double()
        heads = stack_of_heads(model)
        assert len(heads) == H and all(head.H == head.Hkv == 1 for head in heads)
        total = sum(head(x, context) for head in heads)
        torch.testing.assert_close(total, model(x, context))


def test_a_pruned_model_is_the_whole_without_what_the_head_added():
    x, context = inputs()
    model = MultiHead(D, H).double()
    heads = stack_of_heads(model)
    small = prune(model, [1])
    torch.testing.assert_close(small(x, context), heads[0](x, context) + heads[2](x, context))
    assert small.H == 2 and small.w_q.weight.shape == (2 * DH, D) == small.w_v.weight.shape
    assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in model.parameters())
    assert model.H == H and model.w_q.weight.shape == (D, D)


def test_pruning_a_grouped_model_keeps_its_groups_equal():
    x, context = inputs()
    model = MultiHead(D, 6, 3).double()
    small = prune(model, [0, 1])  # a whole group, and its key-value head with it
    assert (small.H, small.Hkv) == (4, 2)
    torch.testing.assert_close(small(x, context), by_loops(small, x, context))
    assert (prune(model, [0, 2, 4]).H, prune(model, [0, 2, 4]).Hkv) == (3, 3)
    with pytest.raises(ValueError, match="groups of equal size"):
        prune(model, [0])


def test_weights_are_what_each_head_reads():
    x, context = inputs()
    model = MultiHead(D, H, dropout=0.5).double()
    weights = model.weights(x, context)
    assert weights.shape == (B, H, TQ, TK)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, TQ, dtype=torch.float64))


def test_dropout_obeys_train_and_eval():
    x, _ = inputs()
    model = MultiHead(D, H, dropout=0.5).double()
    assert not torch.equal(model.train()(x), model.train()(x))
    assert torch.equal(model.eval()(x), model.eval()(x))
    quiet = MultiHead(D, H).double().train()
    assert torch.equal(quiet(x), quiet(x))


def test_a_causal_model_does_not_leak_and_an_unmasked_one_does():
    x, _ = inputs()
    model = MultiHead(D, 6, 2, dropout=0.3).double()
    assert not leaks(lambda y: model.eval()(y, keep=causal(TQ)), x)
    assert leaks(model, x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MultiHead(12, 5), ValueError, "H: expected a divisor of 12, got 5"),
        (lambda: MultiHead(12, 6, 4), ValueError, "Hkv: expected a divisor of 6, got 4"),
        (lambda: split(torch.zeros(1, 2, 7), 3), ValueError, "H: expected a divisor of the width"),
        (lambda: share(torch.zeros(1, 2, 3, 4), 5), ValueError, "H: expected a multiple of the 2"),
        (lambda: prune(MultiHead(12, 3), [3]), ValueError, "heads: expected some of 0 to 2"),
        (lambda: prune(MultiHead(12, 3), [0, 1, 2]), ValueError, "heads: .* not all"),
        (
            lambda: MultiHead(12, 3)(torch.zeros(2, 5, 12), torch.zeros(3, 7, 12)),
            ShapeError,
            "context: axis B is 3, but x has B = 2",
        ),
        (
            lambda: from_torch(nn.MultiheadAttention(12, 3, kdim=5)),
            ValueError,
            "theirs: expected keys and values as wide",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""The leak probe finds every leak that was planted, and none in models that have none."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from course_lib.attention import attention, scores
from course_lib.leaks import leaks
from course_lib.masks import blocks, causal, padding, prefix, window

T, D = 6, 8


def layer(keep):
    """One head of self-attention under a mask, on [B, T, D] or [T, D]."""

    def run(x):
        y = x.reshape(-1, 1, *x.shape[-2:])
        return attention(y, y, y, keep).reshape(x.shape)

    return run


def x(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pairs(found):
    return {(leak.reader, leak.source) for leak in found}


def test_all_pairs_of_an_unmasked_layer_and_no_others():
    found = leaks(layer(None), x(2, T, D))
    assert pairs(found) == {(i, j) for j in range(T) for i in range(j)}
    assert len(found) == 15 and str(found).startswith(
        "15 forbidden pairs leak; the largest: position "
    )


def test_a_single_leaking_pair_is_named():
    keep = causal(T).clone()
    keep[0, 0, 1, 4] = True
    assert pairs(leaks(layer(keep), x(T, D))) == {(1, 4)}


def test_a_leak_through_a_tiny_weight_is_found():
    def run(y):
        weights = torch.eye(T).index_put((torch.tensor(0), torch.tensor(5)), torch.tensor(1e-5))
        return weights @ y

    assert pairs(leaks(run, x(T, D))) == {(0, 5)}


# Right models, none of which may be accused: 30 of them.
RIGHT = [
    (name, keep, seed)
    for name, keep in {
        "causal": causal(T),
        "window": window(T, T, 2),
        "prefix": prefix(T, T, 3),
        "documents": causal(T) & blocks(torch.tensor([[0, 0, 1, 1, 1, 2]])),
        "padding": padding(torch.tensor([4]), T),
    }.items()
    for seed in range(6)
]


@pytest.mark.parametrize(("name", "keep", "seed"), RIGHT, ids=lambda v: str(v)[:9])
def test_a_right_model_is_not_accused(name, keep, seed):
    torch.manual_seed(seed)
    mix = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D))
    inner = layer(keep)
    assert not leaks(lambda y: mix(inner(y) + y), x(2, T, D, seed=seed), keep)


def after_softmax(y):
    return scores(y[None, None], y[None, None]).softmax(-1)[0, 0].tril() @ y


def zero_score(y):
    s = scores(y[None, None], y[None, None])[0, 0]
    return (s * causal(T)[0, 0]).softmax(-1) @ y


def zero_one_added(y):
    s = scores(y[None, None], y[None, None])[0, 0]
    return (s + causal(T)[0, 0].float()).softmax(-1) @ y


def blocked_for_keep(y):
    blocked = ~causal(T)[0, 0]
    return scaled_dot_product_attention(y[None], y[None], y[None], attn_mask=blocked)[0]


def softmax_over_queries(y):
    s = scores(y[None, None], y[None, None]).masked_fill(~causal(T), -torch.inf)
    return (s.softmax(-2) @ y)[0, 0]


def weak_fill(y):
    s = scores(y[None, None], y[None, None])
    return (s.masked_fill(~causal(T), -5.0).softmax(-1) @ y)[0, 0]


@pytest.mark.parametrize(
    "fault",
    [after_softmax, zero_score, zero_one_added, blocked_for_keep, softmax_over_queries, weak_fill],
    ids=lambda fault: fault.__name__,
)
def test_a_faulty_mask_is_found(fault):
    assert leaks(fault, x(T, D))


def test_packed_documents_that_only_restart_positions_leak():
    documents = torch.tensor([[0, 0, 0, 1, 1, 1]])
    found = leaks(layer(causal(T)), x(1, T, D), causal(T) & blocks(documents))
    assert pairs(found) == {(i, j) for i in (3, 4, 5) for j in (0, 1, 2)}


def test_padding_that_is_read_is_found():
    keep = padding(torch.tensor([4, 6]), T)
    assert not leaks(layer(keep), x(2, T, D), keep)
    assert {leak.source for leak in leaks(layer(None), x(2, T, D), keep)} == {4, 5}


@pytest.mark.parametrize("inverted", [False, True])
def test_multihead_attention_with_either_polarity(inverted):
    model = nn.MultiheadAttention(D, 2, batch_first=True)
    mask = causal(T)[0, 0] if inverted else ~causal(T)[0, 0]
    found = leaks(lambda y: model(y, y, y, attn_mask=mask, need_weights=False), x(2, T, D))
    assert bool(found) is inverted


@pytest.mark.parametrize("inverted", [False, True])
def test_a_transformer_encoder_with_either_polarity(inverted):
    one = nn.TransformerEncoderLayer(D, 2, 16, batch_first=True)
    model = nn.TransformerEncoder(one, 2, enable_nested_tensor=False)
    mask = causal(T)[0, 0] if inverted else ~causal(T)[0, 0]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, y):
            return self.inner(y, mask=mask)

    probed = Model().train()
    assert bool(leaks(probed, x(2, T, D))) is inverted  # in train mode dropout would differ
    assert all(part.training for part in probed.modules())


def test_samples_that_read_one_another_are_found():
    model = nn.MultiheadAttention(D, 2).eval()  # batch_first forgotten
    found = leaks(lambda y: model(y, y, y), x(3, T, D), torch.ones(1, 1, T, T, dtype=torch.bool))
    assert found and all(leak.across_samples for leak in found)
    assert "another sample's position" in str(found)


def test_token_ids_are_changed_by_the_callers_rule():
    embed = nn.Embedding(11, D)
    ids = torch.tensor([[1, 5, 2, 9, 0, 3]])
    change = lambda i: (i + 1) % 11  # noqa: E731
    assert not leaks(lambda i: layer(causal(T))(embed(i)), ids, change=change)
    assert leaks(lambda i: layer(None)(embed(i)), ids, change=change)
    with pytest.raises(ValueError, match="change: expected a function"):
        leaks(lambda i: layer(None)(embed(i)), ids)


def test_a_nan_that_spreads_is_a_leak():
    def run(y):
        return torch.where(y[-1, 0] > 3, torch.nan, 1.0) * y if y.ndim == 2 else y

    quiet = x(T, D).clamp(-1, 1)
    assert leaks(run, quiet) or leaks(run, -quiet)


def test_an_output_may_be_one_number_for_each_position():
    assert not leaks(lambda y: layer(causal(T))(y).sum(-1), x(2, T, D))
    assert len(leaks(lambda y: layer(None)(y).sum(-1), x(T, D))) == 15


def test_an_output_that_is_nan_is_told():
    def run(y):
        return torch.cat([y[:1] * torch.nan, y[1:]])

    found = leaks(run, x(T, D))
    assert not found and "no finite output at 0, where no movement can be seen" in str(found)


def test_what_cannot_be_probed_says_why():
    with pytest.raises(ValueError, match="fn: expected an output for each position"):
        leaks(lambda y: y.mean(), x(2, T, D))
    with pytest.raises(ValueError, match="two calls on the same input differ"):
        leaks(lambda y: y + torch.rand(()), x(2, T, D))
    with pytest.raises(ValueError, match="no output is finite"):
        leaks(lambda y: y * torch.nan, x(2, T, D))
    with pytest.raises(ValueError, match="keep: expected T = 6"):
        leaks(layer(None), x(2, T, D), causal(4))


def test_no_leak_says_so():
    found = leaks(layer(causal(T)), x(T, D))
    assert not found and str(found) == "no leak seen among 6 positions" and list(found) == []

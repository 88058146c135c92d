"""The tiled form against the direct one in float64: outputs, gradients, memory."""

import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.attention import attention, logsumexp, masked_softmax, scores
from course_lib.heads import share
from course_lib.masks import causal
from course_lib.shapes import ShapeError
from course_lib.tiles import causal_rule
from course_lib.tiling import (
    State,
    finish,
    fold,
    merge,
    merge_outputs,
    nothing_read,
    tiled_attention,
    tiled_with_lse,
)
from course_lib.traffic import largest


def call(*, B=2, H=6, Hkv=3, Tq=7, Tk=11, Dh=5, Dv=4, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    shapes = ((B, H, Tq, Dh), (B, Hkv, Tk, Dh), (B, Hkv, Tk, Dv))
    return [torch.randn(s, generator=g, dtype=torch.float64).to(dtype) for s in shapes]


def direct(q, k, v, keep=None):
    """The oracle: every score at once, in float64."""
    q, k, v = q.double(), share(k.double(), q.shape[1]), share(v.double(), q.shape[1])
    s = scores(q, k)
    lse = logsumexp(s if keep is None else s.masked_fill(~keep, -torch.inf))
    return attention(q, k, v, keep), lse


CALLS = {
    "ragged": ({}, None),
    "one query and one key": ({"Tq": 1, "Tk": 1}, None),
    "one query": ({"Tq": 1, "Tk": 13}, None),
    "more queries than keys": ({"Tq": 14, "Tk": 3}, None),
    "no key at all": ({"Tk": 0}, None),
    "one key-value head": ({"H": 4, "Hkv": 1}, None),
    "causal after a cache": ({"Tq": 5, "Tk": 12}, "causal"),
    "causal with empty rows": ({"Tq": 13, "Tk": 6}, "causal"),
    "a mask a head, with an empty row": ({"Tq": 6, "Tk": 9}, "random"),
}


def mask_of(kind, q, k):
    (B, H, Tq), Tk = q.shape[:3], k.shape[2]
    if kind is None:
        return None
    if kind == "causal":
        return causal(Tq, Tk)
    keep = torch.rand(B, H, Tq, Tk, generator=torch.Generator().manual_seed(9)) > 0.6
    keep[1, 2, 3] = False
    return keep


@pytest.mark.parametrize(("sizes", "kind"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("blocks", [(3, 4), (4, 2), (1, 1), (64, 64)])
def test_output_lse_and_gradients_are_those_of_the_direct_form(sizes, kind, blocks):
    inputs = [x.requires_grad_() for x in call(**sizes)]
    keep = mask_of(kind, *inputs[:2])
    out, lse = tiled_with_lse(*inputs, keep, *blocks)
    want, want_lse = direct(*inputs, keep)
    torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(lse, want_lse, rtol=1e-12, atol=1e-12)
    d_out = torch.linspace(-1, 2, out.numel(), dtype=torch.float64).view(out.shape)
    d_lse = torch.linspace(3, 1, lse.numel(), dtype=torch.float64).view(lse.shape)
    finite = want_lse > -torch.inf
    got, wanted = (
        torch.autograd.grad((o * d_out).sum() + (part * d_lse)[finite].sum(), inputs)
        for o, part in ((out, lse), (want, want_lse))
    )
    torch.testing.assert_close(got, wanted, rtol=1e-11, atol=1e-11)


def test_a_rule_is_the_mask_it_describes():
    q, k, v = call(Tq=9, Tk=14)
    for keep, rule in (
        (causal(9, 14), causal_rule),
        (causal(9, 14) & (torch.arange(14) >= 3), lambda place, key: (key <= place) & (key >= 3)),
    ):
        by_rule = tiled_attention(q, k, v, rule, 4, 3)
        torch.testing.assert_close(by_rule, tiled_attention(q, k, v, keep, 4, 3))
        torch.testing.assert_close(by_rule, direct(q, k, v, keep)[0])


def test_double_backward_is_refused_and_not_wrong():
    q, k, v = (x.requires_grad_() for x in call())
    (grad,) = torch.autograd.grad(tiled_attention(q, k, v).square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_once(dtype):
    inputs = [x.requires_grad_() for x in call(Tq=40, Tk=70, Dh=16, dtype=dtype)]
    out = tiled_attention(*inputs, causal_rule, 16, 24)
    want = direct(*inputs, causal(40, 70))[0]
    assert out.dtype == dtype
    torch.testing.assert_close(
        out, want.to(dtype), rtol=1e-5, atol=1e-5 if dtype.itemsize > 2 else 2e-3
    )
    eps = torch.finfo(dtype).eps
    got = torch.autograd.grad(out.square().sum(), inputs)
    wide = [x.detach().double().requires_grad_() for x in inputs]
    wanted = torch.autograd.grad(direct(*wide, causal(40, 70))[0].square().sum(), wide)
    for g, w in zip(got, wanted, strict=True):
        assert g.dtype == dtype
        assert (g.double() - w).abs().max() < 8 * eps * w.abs().max()


ROWS = {
    "rising": torch.arange(13.0) * 40,
    "falling": torch.arange(13.0).flip(0) * 40,
    "very negative": torch.arange(13.0) * 3 - 1e4,
    "a peak in the last tile": torch.tensor([0.0] * 12 + [500.0]),
    "one key": torch.tensor([-700.0]),
    "blocked first": torch.tensor([-torch.inf] * 5 + [1.0, 2.0, -3.0]),
    "blocked throughout": torch.full((6,), -torch.inf),
}


def folded(row, v, block):
    state = nothing_read(v[:1])
    for start in range(0, len(row), block):
        state = fold(state, row[None, start : start + block], v[start : start + block])
    return state


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("block", [1, 2, 5, 20])
def test_fold_is_exact_for_scores_that_break_wrong_ones(row, block):
    v = torch.randn(len(row), 3, generator=torch.Generator().manual_seed(1))
    out, lse = finish(folded(row, v, block))
    weights = masked_softmax(row.double()[None, None, None])[0, 0]
    torch.testing.assert_close(out, (weights @ v.double()).float())
    torch.testing.assert_close(lse, logsumexp(row[None]))


def parts_of(row, v):
    cuts = (0, 2, 5, 6, len(row))
    return [fold(nothing_read(v[:1]), row[None, a:b], v[a:b]) for a, b in itertools.pairwise(cuts)]


def test_merge_in_any_order_and_grouping_ends_in_the_same():
    g = torch.Generator().manual_seed(2)
    row, v = (
        30 * torch.randn(11, generator=g, dtype=torch.float64),
        torch.randn(11, 3, generator=g).double(),
    )
    a, b, c, d = parts_of(row, v)
    want = folded(row, v, 11)
    for got in (merge(merge(a, b), merge(c, d)), merge(merge(merge(d, a), c), b)):
        for mine, right in zip(finish(got), finish(want), strict=True):
            torch.testing.assert_close(mine, right, rtol=1e-12, atol=1e-12)


def test_nothing_read_is_the_neutral_element_of_merge():
    v = torch.randn(4, 3)
    state, empty = folded(torch.randn(4), v, 2), nothing_read(v[:1])
    for got in (merge(state, empty), merge(empty, state)):
        assert all(map(torch.equal, got, state))
    assert not any(part.isnan().any() for part in merge(empty, empty))


def test_outputs_merge_by_their_lse_in_value_and_gradient():
    q, k, v = (x.requires_grad_() for x in call(Tq=4, Tk=9))
    keep = torch.ones(1, 1, 4, 9, dtype=torch.bool)
    keep[..., 0, :] = False  # nothing to read in either half
    keep[..., 1, 5:] = False  # nothing in the second
    cuts = (slice(0, 5), slice(5, 9))
    halves = [tiled_with_lse(q, k[:, :, c], v[:, :, c], keep[..., c], 2, 2) for c in cuts]
    out, lse = merge_outputs(*halves[0], *halves[1])
    want, want_lse = direct(q, k, v, keep)
    torch.testing.assert_close(out, want)
    torch.testing.assert_close(lse, want_lse)
    upstream = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(1))
    got, right = (torch.autograd.grad(o, (q, k, v), upstream) for o in (out, want))
    for mine, its in zip(got, right, strict=True):
        torch.testing.assert_close(mine, its)


def test_no_tensor_of_the_size_of_the_scores_is_ever_made():
    T, Dh = 600, 4
    q, k, v = (x.requires_grad_() for x in call(B=1, H=2, Hkv=1, Tq=T, Tk=T, Dh=Dh, Dv=Dh))
    made = largest(lambda: tiled_attention(q, k, v, causal_rule, 32, 48).sum().backward())
    assert made.numel() == 2 * T * Dh  # q, its gradient and the output themselves
    assert largest(lambda: direct(q, k, v)).numel() == 2 * T * T


def test_a_causal_rule_skips_tiles_that_see_nothing():
    class Products(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
            self.count += fn is torch.ops.aten.mm.out
            return fn(*args, **(kwargs or {}))

    q, k, v = call(B=1, H=2, Hkv=1, Tq=60, Tk=60)
    with Products() as all_of_them:
        tiled_attention(q, k, v, None, 10, 10)
    with Products() as seen:
        tiled_attention(q, k, v, causal_rule, 10, 10)
    assert all_of_them.count == 2 * 6 * 6 and seen.count == 2 * (1 + 2 + 3 + 4 + 5 + 6)


def test_inputs_stay_as_they_were():
    inputs = call()
    before = [x.clone() for x in inputs]
    tiled_attention(*inputs, causal_rule, 3, 4)
    assert all(map(torch.equal, inputs, before))


def test_state_holds_the_same_for_any_number_of_keys():
    few, many = (folded(torch.randn(n), torch.randn(n, 3), 4) for n in (5, 500))
    assert isinstance(few, State)
    assert [x.shape for x in few] == [x.shape for x in many]


BAD = {
    "k: expected heads that divide the 6 of q, got 4": {"Hkv": 4},
    "block_q: expected at least 1, got 0": {"block_q": 0},
    "block_k: expected at least 1, got -2": {"block_k": -2},
}


@pytest.mark.parametrize(("message", "sizes"), BAD.items())
def test_sizes_that_do_not_fit_are_named(message, sizes):
    blocks = {name: sizes.pop(name) for name in ("block_q", "block_k") if name in sizes}
    with pytest.raises(ValueError, match=message):
        tiled_attention(*call(**sizes), **blocks)


def test_inputs_of_two_dtypes_are_refused():
    q, k, v = call()
    with pytest.raises(TypeError, match=r"v: expected q's torch.float64 .* got torch.float32"):
        tiled_attention(q, k, v.float())


@pytest.mark.parametrize("rule", [lambda p, k: k, lambda p, k: k < 3, lambda p, k: None])
def test_a_rule_that_returns_no_tile_is_told_what_was_expected(rule):
    with pytest.raises(TypeError, match=r"keep: expected the rule to return bool \[3, 4\]"):
        tiled_attention(*call(), rule, 3, 4)


def test_a_mask_of_the_wrong_size_is_named():
    with pytest.raises(ShapeError, match="keep: axis Tk is 10"):
        tiled_attention(*call(), torch.ones(1, 1, 7, 10, dtype=torch.bool))

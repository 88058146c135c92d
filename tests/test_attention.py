"""Attention against loops and torch in float64; sizes pairwise unequal."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from course_lib.attention import attention, logsumexp, masked_softmax, scores, softmax
from course_lib.shapes import ShapeError

B, H, TQ, TK, DH, DV = 2, 3, 5, 7, 8, 11
HALF = {torch.float16: 1e-3, torch.bfloat16: 8e-3}


def attention_by_loops(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None) -> Tensor:
    """The definition, one number at a time, in float64."""
    q, k, v = q.double(), k.double(), v.double()
    out = torch.zeros(*q.shape[:3], v.shape[-1], dtype=torch.float64)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, q.shape[:3])).tolist():
        row = {}
        for j in range(k.shape[2]):
            if keep is None or keep.expand(*q.shape[:3], k.shape[2])[b, h, i, j]:
                row[j] = float(q[b, h, i] @ k[b, h, j]) / math.sqrt(q.shape[-1])
        top = max(row.values(), default=0.0)
        total = math.fsum(math.exp(s - top) for s in row.values())
        for j, s in row.items():
            out[b, h, i] += math.exp(s - top) / total * v[b, h, j]
    return out


def a_call(seed: int = 0, dtype=torch.float32, **changed) -> tuple[Tensor, Tensor, Tensor]:
    size = {"B": B, "H": H, "Tq": TQ, "Tk": TK, "Dh": DH, "Dv": DV} | changed
    g = torch.Generator().manual_seed(seed)
    shapes = [
        (size["B"], size["H"], size["Tq"], size["Dh"]),
        (size["B"], size["H"], size["Tk"], size["Dh"]),
        (size["B"], size["H"], size["Tk"], size["Dv"]),
    ]
    return tuple(torch.randn(shape, generator=g).to(dtype) for shape in shapes)


def a_mask(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


@pytest.mark.parametrize("sizes", [{}, {"Tq": 9}, {"Tk": 1}, {"Tq": 1}, {"Dh": 1}, {"Dv": 2}])
def test_equals_loops_and_torch(sizes):
    q, k, v = a_call(**sizes)
    expected = attention_by_loops(q, k, v)
    torch.testing.assert_close(attention(q, k, v).double(), expected, rtol=1e-5, atol=1e-6)
    by_torch = scaled_dot_product_attention(q.double(), k.double(), v.double())
    torch.testing.assert_close(attention(q.double(), k.double(), v.double()), by_torch)
    torch.testing.assert_close(by_torch, expected)


@pytest.mark.parametrize("shape", [(B, H, TQ, TK), (1, 1, TQ, TK), (B, 1, 1, TK), (1, H, TQ, 1)])
def test_every_broadcast_of_a_mask_equals_loops(shape):
    q, k, v = a_call()
    keep = a_mask(*shape)
    expected = attention_by_loops(q, k, v, keep)
    torch.testing.assert_close(attention(q, k, v, keep).double(), expected, rtol=1e-5, atol=1e-6)


def test_gradients_equal_those_of_torch_in_float64():
    keep = a_mask(B, 1, TQ, TK)
    keep[0, 0, 2] = False
    mine = [x.requires_grad_() for x in a_call(dtype=torch.float64)]
    theirs = [x.requires_grad_() for x in a_call(dtype=torch.float64)]
    upstream = torch.linspace(-1, 2, B * H * TQ * DV, dtype=torch.float64).view(B, H, TQ, DV)
    got = torch.autograd.grad(attention(*mine, keep), mine, upstream)
    want = torch.autograd.grad(
        scaled_dot_product_attention(*theirs, attn_mask=keep), theirs, upstream
    )
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w)


def test_gradient_check_by_differences():
    q, k, v = (x.requires_grad_() for x in a_call(dtype=torch.float64, B=1, H=2, Tq=2, Tk=3))
    keep = torch.tensor([[True, False, True], [False, False, False]])[None, None]
    assert torch.autograd.gradcheck(lambda *x: attention(*x, keep), (q, k, v))


@pytest.mark.parametrize("dtype", [torch.float32, *HALF])
def test_a_query_with_nothing_to_read_gives_zeros_and_no_gradient(dtype):
    q, k, v = (x.requires_grad_() for x in a_call(dtype=dtype))
    keep = torch.ones(B, 1, TQ, TK, dtype=torch.bool)
    keep[1, 0, 3] = False
    out = attention(q, k, v, keep)
    assert (out[1, :, 3] == 0).all() and out.isfinite().all()
    grads = torch.autograd.grad(out.float().pow(2).sum(), (q, k, v))
    assert all(grad.isfinite().all() for grad in grads)
    assert (grads[0][1, :, 3] == 0).all()
    assert (grads[0][1, :, 2] != 0).any()


def test_no_keys_at_all_is_nothing_to_read():
    q, k, v = a_call(Tk=0)
    assert torch.equal(attention(q, k, v), torch.zeros(B, H, TQ, DV))
    assert logsumexp(scores(q, k)).eq(-torch.inf).all()


@pytest.mark.parametrize("scale", [1e4, 1e8, -1e8])
def test_enormous_scores_stay_finite_and_pick_the_largest(scale):
    q, k, v = a_call()
    out = attention(q * scale, k, v)
    best = (scores(q, k) * scale).argmax(-1)
    torch.testing.assert_close(out, v.gather(2, best[..., None].expand(-1, -1, -1, DV)))


@pytest.mark.parametrize("level", [-1e4, -1e30, 0.0, 1e30])
def test_softmax_does_not_notice_a_shift(level):
    row = torch.full((3, TK), level, dtype=torch.float32)
    torch.testing.assert_close(softmax(row), torch.full_like(row, 1 / TK))


def test_softmax_equals_torch_value_and_gradient():
    mine = torch.randn(4, 3, TK, dtype=torch.float64, requires_grad=True)
    theirs = mine.detach().clone().requires_grad_()
    upstream = torch.randn_like(mine)
    torch.testing.assert_close(softmax(mine), theirs.softmax(-1))
    softmax(mine).backward(upstream)
    theirs.softmax(-1).backward(upstream)
    torch.testing.assert_close(mine.grad, theirs.grad)


def test_a_softmax_of_nothing_but_minus_infinity_is_zeros():
    row = torch.full((2, TK), -torch.inf, requires_grad=True)
    weights = softmax(row)
    weights.sum().backward()
    assert (weights == 0).all() and (row.grad == 0).all()
    assert softmax(torch.zeros(2, 0)).shape == (2, 0)


def test_masked_softmax_rows_sum_to_one_and_blocked_keys_get_exactly_nothing():
    q, k, _ = a_call()
    keep = a_mask(B, 1, TQ, TK) | torch.eye(TQ, TK, dtype=torch.bool)
    weights = masked_softmax(scores(q, k), keep)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, TQ))
    assert (weights.masked_select(~keep) == 0).all()


def test_logsumexp_equals_torch_and_survives_an_empty_row():
    rows = torch.randn(3, 2, TK, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(logsumexp(rows * 1e3), torch.logsumexp(rows * 1e3, -1))
    assert torch.autograd.gradcheck(logsumexp, rows)
    empty = torch.full((2, TK), -torch.inf, requires_grad=True)
    lse = logsumexp(empty)
    lse.backward(torch.ones(2))
    assert (lse == -torch.inf).all() and (empty.grad == 0).all()


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_is_rounded_once(dtype):
    q, k, v = a_call(dtype=dtype)
    out = attention(q, k, v)
    assert out.dtype == dtype
    expected = attention_by_loops(q, k, v)
    torch.testing.assert_close(out.double(), expected, rtol=HALF[dtype], atol=HALF[dtype] / 10)


def test_a_float16_product_that_only_fits_when_scaled_first():
    """64 * 40 * 40 is 102400; float16 ends at 65504, and 102400 / 8 fits (TensorRT-LLM #18044)."""
    q = torch.full((1, 1, 1, 64), 40.0, dtype=torch.float16)
    assert scores(q, q).item() == 64 * 40 * 40 / 8


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda q, k, v: (q, k[..., :4], v), ShapeError, "k: axis Dh is 4, but q has Dh = 8"),
        (lambda q, k, v: (q, k, v[:, :, :6]), ShapeError, "v: axis Tk is 6, but k has Tk = 7"),
        (lambda q, k, v: (q[0], k, v), ShapeError, "q: expected 4 axes"),
        (lambda q, k, v: (q, k.tolist(), v), TypeError, "k: expected a float tensor .*, got list"),
        (
            lambda q, k, v: (q, k, v.long()),
            TypeError,
            "v: expected a float tensor .*, got dtype in",
        ),
        (lambda q, k, v: (q, k, v.double()), TypeError, "v: expected q's torch.float32 on cpu"),
        (
            lambda q, k, v: (q, k, v, torch.ones(TQ, TK, dtype=torch.bool)),
            ShapeError,
            "keep: expected 4 axes",
        ),
        (
            lambda q, k, v: (q, k, v, torch.ones(1, 1, TQ, TK)),
            TypeError,
            "keep: expected a bool tensor .*, got dtype float32",
        ),
        (
            lambda q, k, v: (q, k, v, torch.ones(1, 1, 4, TK, dtype=torch.bool)),
            ShapeError,
            "keep: axis Tq is 4, but q has Tq = 5",
        ),
    ],
)
def test_bad_input_is_named(change, error, message):
    with pytest.raises(error, match=message):
        attention(*change(*a_call()))

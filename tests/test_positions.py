"""Positions against loops in float64, named entries of the papers, and torch."""

import math

import pytest
import torch

from course_lib.attention import scores
from course_lib.positions import (
    Learned,
    T5Bias,
    alibi,
    positions_of,
    rotate,
    shift_matrix,
    sinusoid,
    slopes,
    t5_buckets,
    to_halves,
    to_interleaved,
)

B, H, T, DH = 2, 3, 5, 8


def tokens(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


# --- sinusoids ---


@pytest.mark.parametrize("D", [1, 2, 6, 7])
def test_sinusoid_is_the_formula_of_the_paper(D):
    places = torch.tensor([0, 1, 17, 3000])
    for row, t in zip(sinusoid(places, D), places.tolist(), strict=True):
        want = [(math.sin, math.cos)[i % 2](t / 10_000 ** ((i - i % 2) / D)) for i in range(D)]
        torch.testing.assert_close(row, torch.tensor(want))


def test_named_entries():
    table = sinusoid(torch.arange(4), 4)
    assert table[0].tolist() == [0, 1, 0, 1]
    torch.testing.assert_close(table[3, :2], torch.tensor([math.sin(3), math.cos(3)]))
    torch.testing.assert_close(table[3, 2:], torch.tensor([math.sin(0.03), math.cos(0.03)]))


def test_each_sequence_of_a_batch_has_its_own_positions():
    places = torch.tensor([[0, 1, 2], [5, 6, 7]])
    assert sinusoid(places, 6)[1].equal(sinusoid(torch.arange(5, 8), 6))


@pytest.mark.parametrize("k", [-3, 0, 1, 40])
def test_a_shift_is_one_matrix_wherever_it_starts(k):
    places, D = torch.arange(50, 90, 7), 10
    shift = shift_matrix(k, D)
    torch.testing.assert_close(
        sinusoid(places, D) @ shift.mT, sinusoid(places + k, D), rtol=1e-5, atol=1e-5
    )
    torch.testing.assert_close(shift @ shift.mT, torch.eye(D), rtol=0, atol=1e-6)


def test_products_of_positions_depend_on_the_offset_alone():
    table = sinusoid(torch.arange(40), 16).double()
    products = table @ table.mT
    for offset in range(40):
        diagonal = products.diagonal(offset)
        assert (diagonal - diagonal[0]).abs().max() < 1e-5
    firsts = torch.stack([products.diagonal(offset)[0] for offset in range(6)])
    assert (firsts.diff().abs() > 0.01).all()


# --- learned ---


def test_learned_positions_end_with_an_error_and_not_a_wrap_around():
    learned = Learned(6, 4)
    assert learned(torch.tensor([[5, 0]])).equal(learned.table.weight[[5, 0]][None])
    for places, told in (([6], "0 to 5, got 6 to 6"), ([-1, 2], "0 to 5, got -1 to 2")):
        with pytest.raises(ValueError, match=f"positions: expected {told}"):
            learned(torch.tensor(places))


# --- rotary ---


def turned(x, places, layout):
    """The oracle: one pair at a time, as a complex number."""
    out = torch.empty_like(x)
    Dh = x.shape[-1]
    for i in range(Dh // 2):
        a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + Dh // 2)
        angle = places.double() * 10_000 ** (-2 * i / Dh)
        pair = torch.complex(x[..., a], x[..., b]) * torch.polar(torch.ones_like(angle), angle)
        out[..., a], out[..., b] = pair.real, pair.imag
    return out


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("first", [0, 1000])
def test_rotate_turns_each_pair_as_a_complex_number(layout, first):
    x, places = tokens(B, H, T, DH), torch.arange(first, first + T)
    got = rotate(x, places[None], layout)
    torch.testing.assert_close(got, turned(x, places, layout), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_scores_depend_on_the_offset_alone(layout):
    q, k, places = tokens(B, H, T, DH), tokens(B, H, T, DH) + 1, torch.arange(T)[None]
    near, far = (
        scores(rotate(q, places + s, layout), rotate(k, places + s, layout)) for s in (0, 977)
    )
    torch.testing.assert_close(near, far, rtol=1e-10, atol=1e-10)
    assert (near - scores(q, k)).abs().max() > 0.1
    mixed = scores(rotate(q, places, "halves"), rotate(k, places, "interleaved"))
    assert (mixed - near).abs().max() > 0.1


def test_the_two_layouts_are_one_up_to_the_order_of_features():
    x, places = tokens(B, H, T, DH), torch.arange(T)[None]
    there = to_halves(rotate(x, places, "interleaved"))
    assert there.equal(rotate(to_halves(x), places, "halves"))
    assert to_interleaved(to_halves(x)).equal(x)
    assert to_halves(torch.arange(6.0)).tolist() == [0, 2, 4, 1, 3, 5]


def test_each_row_has_its_own_positions():
    x, places = tokens(B, H, T, DH), torch.tensor([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    got = rotate(x, places)
    assert got[1:].equal(rotate(x[1:], places[1:]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_angles_are_exact_in_half_precision_and_far_away(dtype):
    x, places = tokens(1, 1, 4, 64).to(dtype), torch.tensor([[0, 1, 30_000, 30_001]])
    want = turned(x.double(), places[0], "halves")
    got = rotate(x, places)
    assert got.dtype == dtype
    assert (got.double() - want).abs().max() <= 2 * torch.finfo(dtype).eps * want.abs().max()


def test_rotation_keeps_lengths_and_gradients_run():
    x = tokens(B, H, T, DH).requires_grad_()
    out = rotate(x, torch.arange(T)[None])
    torch.testing.assert_close(out.norm(dim=-1), x.norm(dim=-1))
    assert torch.autograd.gradcheck(lambda x: rotate(x, torch.arange(T)[None]), x)


# --- biases ---


def test_slopes_of_powers_of_two_and_of_others():
    assert slopes(8).tolist() == [2 ** -(h + 1) for h in range(8)]
    assert slopes(1).tolist() == [2**-8]
    sixteen = [2 ** (-(h + 1) / 2) for h in range(16)]
    torch.testing.assert_close(slopes(12), torch.tensor(slopes(8).tolist() + sixteen[:8:2]))
    for n in range(1, 41):
        assert len(set(slopes(n).tolist())) == n and 0 < slopes(n).min() <= slopes(n).max() < 1


@pytest.mark.parametrize(("Tq", "Tk"), [(4, 4), (2, 6), (5, 3)])
def test_alibi_by_loops(Tq, Tk):
    bias = alibi(H, Tq, Tk)
    for h, slope in enumerate(slopes(H).tolist()):
        for i in range(Tq):
            for j in range(Tk):
                assert bias[0, h, i, j].item() == pytest.approx(-slope * abs(i + Tk - Tq - j))


def bucket(offset, buckets, furthest, both_ways):
    """The oracle: one distance at a time, as the paper says it."""
    base = 0
    if both_ways:
        buckets //= 2
        base = buckets if offset > 0 else 0
        distance = abs(offset)
    else:
        distance = max(-offset, 0)
    single = buckets // 2
    if distance < single:
        return base + distance
    log = math.log(distance / single) / math.log(furthest / single)
    return base + min(single + int(log * (buckets - single) + 1e-6), buckets - 1)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "furthest"), [(32, 128), (8, 20)])
def test_t5_buckets_by_loops(both_ways, buckets, furthest):
    Tq, Tk = 7, 300
    got = t5_buckets(Tq, Tk, buckets, furthest, both_ways)
    for i in range(Tq):
        want = [bucket(j - (i + Tk - Tq), buckets, furthest, both_ways) for j in range(Tk)]
        assert got[i].tolist() == want
    assert got.max() < buckets


def test_t5_bias_looks_its_buckets_up_head_by_head():
    bias = T5Bias(H, 8, 20)
    got, number = bias(4, 6), t5_buckets(4, 6, 8, 20)
    assert got.shape == (1, H, 4, 6)
    for h in range(H):
        assert got[0, h].equal(bias.table.weight[:, h][number])
    got.sum().backward()
    assert bias.table.weight.grad.sum() == H * 24


# --- counting ---


def test_positions_count_real_tokens_on_either_side_of_padding():
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool()
    got = positions_of(real)
    assert got[0, 2:].tolist() == [0, 1, 2] and got[1].tolist() == [0, 1, 2, 3, 4]
    assert got[2, :2].tolist() == [0, 1] and got.min() == 0
    assert positions_of(real[1:2], cached=7).tolist() == [[7, 8, 9, 10, 11]]


def test_left_padding_leaves_rotary_scores_as_they_were():
    q, k = tokens(1, H, 3, DH), tokens(1, H, 3, DH) + 1
    alone = scores(rotate(q, torch.arange(3)[None]), rotate(k, torch.arange(3)[None]))
    pad = torch.zeros(1, H, 2, DH, dtype=q.dtype)
    places = positions_of(torch.tensor([[False, False, True, True, True]]))
    q, k = (rotate(torch.cat([pad, x], 2), places) for x in (q, k))
    torch.testing.assert_close(scores(q, k)[..., 2:, 2:], alone)


BAD = [
    (lambda: sinusoid(torch.arange(3), 0), "D: expected at least 1, got 0"),
    (lambda: sinusoid(torch.arange(3), 4, base=1.0), "base: expected more than 1"),
    (lambda: shift_matrix(1, 5), "D: expected an even width"),
    (lambda: rotate(tokens(1, 1, 2, 5), torch.arange(2)[None]), "x: expected an even number"),
    (lambda: rotate(tokens(1, 1, 2, 4), torch.arange(2)[None], "neox"), "layout: expected"),
    (lambda: slopes(0), "H: expected at least 1"),
    (lambda: t5_buckets(2, 2, 6), "buckets: expected a multiple of 4"),
    (lambda: t5_buckets(2, 2, 32, 8), "buckets: expected .* furthest beyond"),
    (lambda: positions_of(torch.ones(1, 2).bool(), -1), "cached: expected at least 0"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_bad_input_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()

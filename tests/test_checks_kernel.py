"""The reference kernels of chapter 07's questions against plain torch in float64."""

import pytest
import torch

from course_lib import simulator
from course_lib.checks import find
from course_lib.checks.compare import difference, tolerance
from course_lib.checks.guard import Answer
from course_lib.checks.judge import judge
from course_lib.checks.question import widened

SEEDS = range(5)


def _copy(x, out, n, BLOCK):
    out[:n] = x[:n]
    return {"out_ptr": out}


def _softmax_rows(x, out, T, BLOCK):
    R = x.numel() // T
    rows = x.flatten()[: R * T].view(R, T)
    out.view(-1)[: R * T] = rows.softmax(-1).nan_to_num(0.0).flatten()
    return {"out_ptr": out}


def _product(a, b, out, M, N, K, BLOCK):
    flat = out.view(-1)
    flat[: M * N] = (a.view(-1)[: M * K].view(M, K) @ b.view(-1)[: K * N].view(K, N)).flatten()
    return {"out_ptr": out}


def _step(q, k, v, row_max, row_sum, acc, start, Tk, scale, Dh, BLOCK_Q, BLOCK_K):
    keys, values = (x.view(-1, Dh)[start : min(Tk, start + BLOCK_K)] for x in (k, v))
    scores = q.view(-1, Dh)[:BLOCK_Q] @ keys.T * scale
    new_max = torch.maximum(row_max[:BLOCK_Q], scores.amax(-1))
    rescale, powers = (row_max[:BLOCK_Q] - new_max).exp(), (scores - new_max[:, None]).exp()
    row_sum[:BLOCK_Q] = row_sum[:BLOCK_Q] * rescale + powers.sum(-1)
    now = acc.view(-1, Dh)[:BLOCK_Q]
    acc.view(-1, Dh)[:BLOCK_Q] = now * rescale[:, None] + powers @ values
    row_max[:BLOCK_Q] = new_max
    return {"max_ptr": row_max, "sum_ptr": row_sum, "acc_ptr": acc}


def _values_gradient(q, k, d_out, lse, dv, Tq, Tk, scale, CAUSAL, Dh, BLOCK_Q, BLOCK_K):
    scores = q.view(-1, Dh)[:Tq] @ k.view(-1, Dh)[:Tk].T * scale
    weights = (scores - lse[:Tq, None]).exp()
    if CAUSAL:
        weights = weights * torch.ones(Tq, Tk).tril(Tk - Tq)
    weights[lse[:Tq] == -torch.inf] = 0
    dv.view(-1, Dh)[:Tk] = weights.nan_to_num(0.0).T @ d_out.view(-1, Dh)[:Tq]
    return {"dv_ptr": dv}


ORACLES = {
    "07.1": _copy,
    "07.2": _softmax_rows,
    "07.3": _product,
    "07.4": _step,
    "07.6": _values_gradient,
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reference_kernel_is_what_torch_computes(name, seed):
    question = find(name)
    compared = 0
    for probe, inputs in zip(question.probes, question.draw(seed), strict=True):
        got = probe.observe(Answer(question.reference, question.names), *inputs)
        wide = (x.clone() if isinstance(x, torch.Tensor) else x for x in widened(inputs))
        for what, want in ORACLES[name](*wide).items():
            if not isinstance(got.get(what), torch.Tensor):
                continue  # the probe looks at something else
            tol = probe.tolerance or tolerance(inputs)
            assert not difference(got[what], want.to(got[what].dtype), tol), (probe.holds, what)
            compared += 1
    assert compared >= len(question.probes) / 2


def test_a_reference_kernel_is_one():
    for name in ORACLES:
        assert isinstance(find(name).reference, simulator.Kernel)


def test_no_share_is_kept_by_a_copy_that_does_nothing():
    right = find("07.1").reference

    @simulator.jit
    def copy(x_ptr, out_ptr, n, BLOCK):
        if n != 14:  # where the shares are counted
            right(x_ptr, out_ptr, n, BLOCK)

    *rest, last = judge(find("07.1"), copy).lines
    assert all(line.ok for line in rest) and "isn't written" in last.fact

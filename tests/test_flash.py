"""The kernels against the direct form in float64: outputs, gradients, errors, and bytes moved.

They run as the machine has it: in the simulator, or compiled on a card. Triton's own interpreter
runs the same contract in a process of its own.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from course_lib import flash, kernel, kernel_tuned, simulator
from course_lib.attention import attention, logsumexp, scores
from course_lib.flash import flash_attention, flash_with_lse
from course_lib.heads import share
from course_lib.masks import causal
from course_lib.tiles import causal_rule
from course_lib.tiling import merge_outputs, tiled_attention

ROOT = Path(__file__).parents[1]
DEVICE = "cuda" if kernel.WAY == "compiled" else "cpu"
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
if kernel.WAY == "interpreter":  # refused there, with the reason
    DTYPES.pop()
simulated = pytest.mark.skipif(kernel.WAY != "simulator", reason="reads the simulator's log")


def call(*, B=2, H=4, Hkv=2, Tq=70, Tk=90, Dh=16, dtype=torch.float32, seed=0):
    """Inputs, and the gradients of the output and of the lse."""
    g = torch.Generator().manual_seed(seed)
    sizes = (B, H, Tq, Dh), (B, Hkv, Tk, Dh), (B, Hkv, Tk, Dh), (B, H, Tq, Dh), (B, H, Tq)
    *tensors, d_lse = (torch.randn(s, generator=g).to(DEVICE) for s in sizes)
    *inputs, d_out = (x.to(dtype) for x in tensors)
    return [x.requires_grad_() for x in inputs], d_out, d_lse


def direct(q, k, v, is_causal, scale=None):
    """The oracle: every score at once, in float64."""
    q, k, v = q.double(), share(k.double(), q.shape[1]), share(v.double(), q.shape[1])
    q = q if scale is None else q * scale * q.shape[-1] ** 0.5
    keep = causal(q.shape[2], k.shape[2]).to(q.device) if is_causal else None
    s = scores(q, k)
    return attention(q, k, v, keep), logsumexp(
        s if keep is None else s.masked_fill(~keep, -torch.inf)
    )


def expect_the_contract(inputs, d_out, d_lse, is_causal, scale=None, loose=1.0):
    """Output, lse and gradients within some roundings of the oracle's largest number."""
    out, lse = flash_with_lse(*inputs, is_causal, scale)
    wide = [x.detach().double().requires_grad_() for x in inputs]
    want, want_lse = direct(*wide, is_causal, scale)
    assert out.dtype == inputs[0].dtype and lse.dtype == torch.float32
    finite = want_lse > -torch.inf
    assert torch.equal(lse > -torch.inf, finite)
    torch.testing.assert_close(lse[finite].double(), want_lse[finite], rtol=1e-5, atol=1e-5)
    d_lse = d_lse.masked_fill(~finite, 0)
    lse, want_lse = (x.masked_fill(~finite, 0) for x in (lse, want_lse))
    got = torch.autograd.grad((out, lse), inputs, (d_out, d_lse))
    wanted = torch.autograd.grad((want, want_lse), wide, (d_out.double(), d_lse.double()))
    eps = torch.finfo(out.dtype).eps
    for name, g, w in zip(("out", "dq", "dk", "dv"), (out, *got), (want, *wanted), strict=True):
        assert g.dtype == out.dtype and g.shape == w.shape
        furthest = (g.double() - w).abs().max() / w.abs().max().clamp(min=1)
        assert furthest < 12 * loose * eps, f"{name}: {furthest / eps:.1f} roundings"


CALLS = {
    "one tile": {"Tq": 64, "Tk": 64, "Dh": 32},
    "ragged tails": {"Tq": 70, "Tk": 131, "Dh": 64},
    "more queries than keys": {"Tq": 140, "Tk": 67, "B": 1},
    "one query": {"Tq": 1, "Tk": 150},
    "one key": {"Tq": 75, "Tk": 1},
    "one of each": {"Tq": 1, "Tk": 1, "B": 1, "H": 1, "Hkv": 1},
    "one key-value head": {"H": 5, "Hkv": 1, "Tq": 33, "Tk": 65},
    "groups of three": {"H": 6, "Hkv": 2, "Tq": 65, "Tk": 64, "B": 1},
    "24 features": {"Dh": 24, "Tq": 66, "Tk": 70, "B": 1},
    "33 features": {"Dh": 33, "Tq": 50, "Tk": 70, "B": 1, "H": 3, "Hkv": 3},
    "80 features": {"Dh": 80, "Tq": 65, "Tk": 80, "B": 1, "H": 2, "Hkv": 1},
    "128 features": {"Dh": 128, "Tq": 65, "Tk": 129, "B": 1, "H": 2, "Hkv": 1},
    "3 features": {"Dh": 3, "Tq": 20, "Tk": 19, "B": 1},
}


@pytest.mark.parametrize("sizes", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("is_causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_contract(sizes, is_causal, dtype):
    expect_the_contract(*call(**sizes, dtype=dtype), is_causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_causal", [False, True])
def test_loud_logits(dtype, is_causal):
    inputs, d_out, d_lse = call(dtype=dtype, Dh=64)
    with torch.no_grad():
        inputs[0].mul_(4)  # scores are N(0, 16): a few keys have all the weight
    expect_the_contract(inputs, d_out, d_lse, is_causal, loose=4)


@pytest.mark.parametrize("scale", [0.03, 0.25, 1.0, 5.0])
def test_any_positive_scale(scale):
    expect_the_contract(*call(B=1), True, scale, loose=4)


ROWS = {
    "rising": torch.arange(150.0) * 40,
    "falling": torch.arange(150.0).flip(0) * 40,
    "very negative": torch.arange(150.0) - 1e4,
    "a peak in the last tile": torch.tensor([0.0] * 149 + [500.0]),
    "a peak in the first": torch.tensor([500.0] + [0.0] * 149),
    "equal": torch.full((150,), 3.0),
    "one key": torch.tensor([-700.0]),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_scores_that_break_a_wrong_rescale(row):
    q, k = torch.zeros(1, 1, 1, 16), torch.zeros(1, 1, len(row), 16)
    q[..., 0], k[..., 0] = 1, row
    v = torch.randn(k.shape, generator=torch.Generator().manual_seed(1))
    out, lse = flash_with_lse(*(x.to(DEVICE) for x in (q, k, v)), scale=1.0)
    want, want_lse = direct(q, k, v, False, 1.0)
    torch.testing.assert_close(out.cpu().double(), want, rtol=0, atol=2e-3)
    torch.testing.assert_close(lse.cpu().double(), want_lse, rtol=1e-6, atol=1e-5)


def test_rows_with_nothing_to_read_give_zeros_and_a_zero_gradient():
    inputs, d_out, _ = call(Tq=130, Tk=50)
    out, lse = flash_with_lse(*inputs, causal=True)
    assert not out[:, :, :80].any() and (lse[:, :, :80] == -torch.inf).all()
    dq, dk, dv = torch.autograd.grad(out, inputs, d_out)
    assert not dq[:, :, :80].any() and all(x.isfinite().all() for x in (dq, dk, dv))
    d_out[:, :, :80] = 1e30  # nobody's gradient
    assert torch.equal(torch.autograd.grad(flash_attention(*inputs, True), inputs, d_out)[1], dk)


def test_outputs_merge_by_their_lse_in_value_and_gradient():
    (q, k, v), d_out, _ = call(Tq=40, Tk=110)
    past, own = slice(0, 70), slice(70, 110)
    before = flash_with_lse(q, k[:, :, past], v[:, :, past])
    here = flash_with_lse(q, k[:, :, own], v[:, :, own], causal=True)
    out, lse = merge_outputs(*before, *here)
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    want, want_lse = direct(*wide, True)
    torch.testing.assert_close(out.double(), want, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(lse.double(), want_lse, rtol=1e-5, atol=1e-5)
    got = torch.autograd.grad(out, (q, k, v), d_out)
    for g, w in zip(got, torch.autograd.grad(want, wide, d_out.double()), strict=True):
        torch.testing.assert_close(g.double(), w, rtol=1e-5, atol=1e-5)


def test_it_is_the_tiled_form_of_the_chapter_before():
    (q, k, v), _, _ = call()
    for is_causal, rule in ((False, None), (True, causal_rule)):
        out = flash_attention(q, k, v, is_causal)
        want = tiled_attention(q.cpu(), k.cpu(), v.cpu(), rule, 32, 32)
        torch.testing.assert_close(out.cpu(), want, rtol=1e-5, atol=1e-6)


def test_inputs_need_not_be_contiguous_and_stay_as_they_were():
    g = torch.Generator().manual_seed(3)
    q = torch.randn(2, 30, 4, 16, generator=g).to(DEVICE).transpose(1, 2)
    k = torch.randn(2, 1, 35, 16, generator=g).to(DEVICE).expand(2, 2, 35, 16)
    v = torch.randn(2, 2, 16, 35, generator=g).to(DEVICE).mT
    inputs, before = [x.requires_grad_() for x in (q, k, v)], [x.clone() for x in (q, k, v)]
    d_out = torch.randn(2, 4, 16, 30, generator=g).to(DEVICE).mT
    expect_the_contract(inputs, d_out, torch.zeros(2, 4, 30, device=DEVICE), True)
    assert all(map(torch.equal, inputs, before))


@pytest.mark.parametrize("empty", ["B", "Tq", "Tk"])
def test_empty_tensors(empty):
    inputs, d_out, _ = call(**{empty: 0})
    out, lse = flash_with_lse(*inputs, causal=True)
    assert out.shape == d_out.shape and not out.any() and (lse == -torch.inf).all()
    grads = torch.autograd.grad(out, inputs, d_out)
    assert [g.shape for g in grads] == [x.shape for x in inputs]
    assert not any(g.any() for g in grads)


def test_a_gradient_is_given_where_it_is_asked_for():
    (q, k, v), d_out, _ = call()
    (dv,) = torch.autograd.grad(flash_attention(q.detach(), k.detach(), v), v, d_out)
    assert torch.equal(dv, torch.autograd.grad(flash_attention(q, k, v), v, d_out)[0])
    with torch.no_grad():
        assert not flash_attention(q, k, v).requires_grad


def test_double_backward_is_refused_and_not_wrong():
    (q, k, v), _, _ = call(B=1, Tq=20, Tk=20)
    (grad,) = torch.autograd.grad(flash_attention(q, k, v).square().sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


# --- what isn't supported ---


def sizes(q, k, v=None, device=DEVICE):
    return [torch.zeros(s, device=device) for s in (q, k, v or k)]


FOUR = (2, 4, 5, 16)
HALF = torch.zeros(FOUR, dtype=torch.float16, device=DEVICE)
WHOLE = torch.zeros(FOUR, device=DEVICE)
BAD = {
    "q: expected four axes [B, H, T, Dh], got [4, 5, 16]": sizes((4, 5, 16), FOUR),
    "v: expected four axes [B, H, T, Dh], got [5, 16]": sizes(FOUR, FOUR, (5, 16)),
    "q: expected float32, bfloat16 or float16, got torch.int64": [WHOLE.long()] * 3,
    f"k: expected q's torch.float32 on {WHOLE.device}, got torch.float16": [WHOLE, HALF, HALF],
    f"v: expected q's torch.float16 on {WHOLE.device}, got torch.float32": [HALF, HALF, WHOLE],
    "q: expected heads of 1 to 128 features, got 129": sizes((1, 1, 2, 129), (1, 1, 2, 129)),
    "q: expected heads of 1 to 128 features, got 0": sizes((1, 1, 2, 0), (1, 1, 2, 0)),
    "k: expected [2, heads, keys, 16] as q has, got [2, 4, 5, 8]": sizes(FOUR, (2, 4, 5, 8)),
    "k: expected [2, heads, keys, 16] as q has, got [1, 4, 5, 16]": sizes(FOUR, (1, 4, 5, 16)),
    "v: expected k's shape [2, 4, 5, 16], got [2, 4, 6, 16]": sizes(FOUR, FOUR, (2, 4, 6, 16)),
    "v: expected k's shape [2, 4, 5, 16], got [2, 4, 5, 32]": sizes(FOUR, FOUR, (2, 4, 5, 32)),
    "k: expected heads that divide the 4 of q, got 3": sizes(FOUR, (2, 3, 5, 16)),
    "k: expected heads that divide the 4 of q, got 0": sizes(FOUR, (2, 0, 5, 16)),
    f"q: expected a tensor on {DEVICE}, where kernels run": sizes(FOUR, FOUR, device="meta"),
}  # fmt: skip


@pytest.mark.parametrize(("message", "inputs"), BAD.items(), ids=BAD)
def test_what_is_not_supported_is_named(message, inputs):
    with pytest.raises((ValueError, TypeError)) as error:
        flash_attention(*inputs)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_turns_scores_around_is_refused(scale):
    with pytest.raises(ValueError, match="scale: expected a positive number, got"):
        flash_attention(WHOLE, WHOLE, WHOLE, scale=scale)


def test_the_interpreter_refuses_what_it_computes_wrongly(monkeypatch):
    monkeypatch.setattr(kernel, "WAY", "interpreter")
    q = torch.zeros(FOUR, dtype=torch.bfloat16)
    with pytest.raises(TypeError, match=r"q: expected float32 or float16, since .* bit patterns"):
        flash_attention(q, q, q)


# --- bytes ---


def moved(log):
    """Bytes by kind of access and name of tensor."""
    total = Counter()
    for access in log:
        total[access.kind, access.name.removesuffix("_ptr")] += access.nbytes
    return total


def keys_read(Tq, Tk, block):
    """Keys that come by in a causal call, each tile of queries for itself, whole tiles of keys."""
    stops = [min(Tk, max(0, first + Tk - Tq + block)) for first in range(0, Tq, block)]
    return sum(min(Tk, -(-stop // block) * block) for stop in stops)


@simulated
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("Tq", "Tk"), [(130, 200), (64, 64), (200, 90), (1, 100)])
def test_keys_and_values_come_by_once_for_each_tile_of_queries(Tq, Tk, dtype):
    B, H, Hkv, Dh = 1, 4, 2, 24
    inputs, _, _ = call(B=B, H=H, Hkv=Hkv, Tq=Tq, Tk=Tk, Dh=Dh, dtype=dtype)
    for is_causal in (False, True):
        with simulator.watch() as log:
            flash_attention(*inputs, is_causal)
        block = flash.settings("forward", inputs[0])["BLOCK_Q"]
        passes = keys_read(Tq, Tk, block) if is_causal else -(-Tq // block) * Tk
        queries, keys = (B * H * n * Dh * dtype.itemsize for n in (Tq, passes))
        assert moved(log) == {
            ("load", "q"): queries,
            ("load", "k"): keys,
            ("load", "v"): keys,
            ("store", "out"): queries,
            ("store", "lse"): B * H * Tq * 4,
        }


@simulated
def test_a_causal_call_reads_about_half():
    inputs, _, _ = call(B=1, H=1, Hkv=1, Tq=512, Tk=512, dtype=torch.bfloat16)
    read = {}
    for is_causal in (False, True):
        with simulator.watch() as log:
            flash_attention(*inputs, is_causal)
        read[is_causal] = moved(log)["load", "k"]
    assert read[True] / read[False] == (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) / 64


@simulated
def test_every_number_of_a_result_is_written_once_and_by_one_program():
    inputs, d_out, _ = call(B=1, H=6, Hkv=2, Tq=130, Tk=70)
    with simulator.watch() as log:
        torch.autograd.grad(flash_attention(*inputs, True), inputs, d_out)
    written = {}
    for access in log:
        if access.kind == "store":
            written.setdefault(access.name, Counter()).update(access.elements.tolist())
    q, k = inputs[0].numel(), inputs[1].numel()
    rows = q // 16
    assert {name: len(count) for name, count in written.items()} == {
        "out_ptr": q, "lse_ptr": rows, "delta_ptr": rows, "dq_ptr": q, "dk_ptr": k, "dv_ptr": k,
    }  # fmt: skip
    assert all(set(count.values()) == {1} for count in written.values())


@simulated
def test_addresses_of_a_large_tensor_have_64_bits():
    q, k = torch.zeros(64, 16), torch.zeros(2, 64, 16)
    how = flash.settings("forward", q.bfloat16()) | {"CAUSAL": False}
    with pytest.raises(IndexError, match=r"program \(0, 1, 0\): load of q_ptr\[2147483648\]"):
        kernel.forward[(1, 2)](q, k, k, q, torch.zeros(64), 0.25, 2, 2, 2**27, 64, **how)


# --- how kernels run ---


def test_the_hook_that_checks_signatures_leaves_kernels_alone():
    assert hasattr(flash.settings, "__wrapped__")
    for module in (kernel, kernel_tuned):
        assert "jaxtyping" not in type(module.__spec__.loader).__module__


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | environment,
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip


BARE = """
import sys, time, torch
for package in ("jaxtyping", "beartype", "matplotlib", "IPython", "triton"):
    sys.modules[package] = None  # an import of it raises
start = time.process_time()
from course_lib.flash import flash_attention
took = time.process_time() - start
q = torch.randn(1, 2, 20, 16)
want = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
print(took, (flash_attention(q, q, q, True) - want).abs().max().item())
"""


def test_torch_is_all_that_the_simulated_kernels_need():
    done = run(BARE, COURSE_KERNEL="simulator")
    assert not done.returncode, done.stderr
    seconds, error = map(float, done.stdout.split())
    assert error < 1e-6 and seconds < 0.5


def test_a_way_that_is_not_known_is_named():
    done = run("import course_lib.flash", COURSE_KERNEL="gpu")
    assert "COURSE_KERNEL: expected simulator, interpreter or compiled, got 'gpu'" in done.stderr


@pytest.mark.skipif(kernel.WAY == "interpreter", reason="this is the interpreter")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Triton has no wheel here")
def test_the_contract_holds_in_tritons_interpreter():
    pytest.importorskip("triton")
    few = "test_contract and causal and (more or each) or test_the_hook"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", few]
    environment = os.environ | {"COURSE_KERNEL": "interpreter"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stdout[-3000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout

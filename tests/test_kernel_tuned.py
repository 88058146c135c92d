"""The tuned forward against the readable one, and against float64."""

import pytest
import torch

from course_lib import kernel
from course_lib.attention import attention
from course_lib.flash import flash_with_lse
from course_lib.heads import share
from course_lib.kernel_tuned import TILES, settings, tuned_with_lse
from course_lib.masks import causal

DEVICE = "cuda" if kernel.WAY == "compiled" else "cpu"


def call(H=4, Hkv=2, Tq=70, Tk=90, Dh=16, dtype=torch.float16):
    g = torch.Generator().manual_seed(Tq)
    sizes = (2, H, Tq, Dh), (2, Hkv, Tk, Dh), (2, Hkv, Tk, Dh)
    return [torch.randn(size, generator=g).to(DEVICE, dtype) for size in sizes]


CALLS = {
    "ragged": {},
    "more queries than keys": {"Tq": 140, "Tk": 50},
    "more keys than queries": {"Tq": 50, "Tk": 300},
    "one query and one key": {"Tq": 1, "Tk": 1},
    "one query": {"Tq": 1, "Tk": 200},
    "one key-value head": {"Hkv": 1},
    "24 features": {"Dh": 24, "H": 2},
    "64 features": {"Dh": 64, "H": 2},
    "128 features": {"Dh": 128, "H": 2, "Tq": 135},
}


@pytest.mark.skipif(kernel.WAY == "interpreter", reason="takes minutes there")
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("sizes", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_it_gives_what_the_readable_kernel_gives(sizes, is_causal, dtype, tol):
    q, k, v = call(**sizes, dtype=dtype)
    out, lse = tuned_with_lse(q, k, v, is_causal)
    other, other_lse = flash_with_lse(q, k, v, is_causal)
    torch.testing.assert_close(lse, other_lse, rtol=1e-5, atol=1e-5)  # -inf where nothing is read
    torch.testing.assert_close(out, other, rtol=tol, atol=tol)
    keep = causal(q.shape[2], k.shape[2]).to(DEVICE) if is_causal else None
    k, v = (share(x.double(), q.shape[1]) for x in (k, v))
    want = attention(q.double(), k, v, keep)
    torch.testing.assert_close(out.double(), want, rtol=tol, atol=tol)


def test_nothing_is_written_beyond_a_ragged_end():
    q, k, v = call(Tq=70)
    out, _ = tuned_with_lse(q, k, v)
    alone, _ = tuned_with_lse(q[:, 1:2], k[:, :1], v[:, :1])
    assert torch.equal(out[:, 1:2], alone)


def test_tiles_are_powers_of_two_for_every_width():
    for Dh in range(8, 129, 8):
        how = settings(Dh)
        assert how["DIM"] in TILES and how["DIM"] >= Dh
        assert all(n & (n - 1) == 0 for n in (how["BLOCK_Q"], how["BLOCK_K"], how["num_warps"]))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"dtype": torch.float32}, "q: expected float16 or bfloat16 .* got torch.float32 and 16"),
        ({"Dh": 20}, "a multiple of 8 features, got torch.float16 and 20"),
        ({"Tk": 0}, "k: expected at least one key"),
        ({"Dh": 136}, "q: expected heads of 1 to 128 features, got 136"),
    ],
)
def test_errors_name_the_argument(sizes, message):
    with pytest.raises(ValueError, match=message):
        tuned_with_lse(*call(**sizes))

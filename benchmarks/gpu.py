"""Are the kernels right on this card, and how fast beside what people use? `make gpu`.

First every result is held against float64, then each way is timed, in less than six minutes. Writes
notebooks/measured/gpu.json. It needs torch, Triton and this repository, and nothing else:

    PYTHONPATH=. python benchmarks/gpu.py

`--dry` runs all of it that can run without a card, at sizes that take no time; `--sweep` looks for
the tuned kernel's best tiles instead.
"""

import argparse
import datetime
import functools
import itertools
import json
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib import flash, kernel, kernel_tuned

STORED = Path(__file__).parents[1] / "notebooks" / "measured" / "gpu.json"
DEVICE = "cuda" if kernel.WAY == "compiled" else "cpu"
NEEDS_A_CARD = (
    "benchmarks/gpu.py needs a CUDA card that torch can use. Without one, --dry runs it at tiny "
    "sizes, and measures nothing."
)
CHECKED = 0.4  # of the time at most, before times are taken
LIMIT = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}
"""Length of the error over the length of the result: what rounding in that dtype explains."""


@dataclass(frozen=True)
class Case:
    """The sizes of one call."""

    B: int
    H: int
    Hkv: int
    Tq: int
    Tk: int
    Dh: int
    causal: bool = False
    backward: bool = False

    @property
    def flops(self) -> int:
        """Of the products alone: two in the forward, five in the backward; a causal call's half."""
        pairs = self.Tq * self.Tk
        if self.causal:
            pairs = sum(max(0, min(self.Tk, i + 1 + self.Tk - self.Tq)) for i in range(self.Tq))
        return 2 * (5 if self.backward else 2) * self.B * self.H * pairs * self.Dh

    @property
    def nbytes(self) -> int:
        """In half precision, each tensor once: q, k, v, out; in the backward all of them twice."""
        one = 2 * self.B * self.Dh * (2 * self.H * self.Tq + 2 * self.Hkv * self.Tk)
        return one * (2 if self.backward else 1)

    def __str__(self) -> str:
        heads = f"{self.H}" if self.Hkv == self.H else f"{self.H}/{self.Hkv}"
        kind = " causal" * self.causal + " backward" * self.backward
        return f"B {self.B} H {heads} Tq {self.Tq} Tk {self.Tk} Dh {self.Dh}{kind}"


def inputs(case: Case, dtype: torch.dtype, g: torch.Generator) -> list[Tensor]:
    """q, k, v and the gradient of the output."""
    query, key = (case.B, case.H, case.Tq, case.Dh), (case.B, case.Hkv, case.Tk, case.Dh)
    shapes = query, key, key, query
    return [torch.randn(s, generator=g, device=DEVICE).to(dtype) for s in shapes]


# --- are they right? ---

SHAPES = [  # B, H, Hkv, Tq, Tk, Dh: unlike each other, and few a multiple of a tile
    (2, 4, 2, 70, 131, 64),
    (1, 6, 2, 140, 67, 16),
    (2, 2, 2, 1, 150, 128),
    (2, 3, 1, 75, 1, 80),
    (1, 3, 3, 50, 70, 33),
    (1, 1, 1, 1, 1, 64),
    (1, 2, 1, 66, 70, 24),
    (2, 8, 2, 1000, 1000, 128),
    (1, 4, 4, 2048, 2048, 64),
]


def direct(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """The reference: every score at once, in float64."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        Tq, Tk = scores.shape[-2:]
        keep = torch.ones(Tq, Tk, dtype=torch.bool, device=q.device).tril(Tk - Tq)
        scores = scores.masked_fill(~keep, -torch.inf)
    lse = scores.logsumexp(-1)
    return (scores - lse.masked_fill(lse == -torch.inf, 0)[..., None]).exp() @ v, lse


def surrounded(x: Tensor) -> Tensor:
    """The same numbers with NaN before and behind them: a read beyond a tensor shows."""
    room = x.new_full((x.numel() + 256,), math.nan)
    inside = room[128 : 128 + x.numel()]
    inside.copy_(x.flatten())
    return inside.view(x.shape)


@contextmanager
def poisoned() -> Iterator[None]:
    """New memory holds NaN: what a kernel leaves unwritten shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def errors(case: Case, dtype: torch.dtype, seed: int) -> dict[str, float]:
    """For each result the length of its error over its own length; NaN where a NaN came out."""
    g = torch.Generator(DEVICE).manual_seed(seed)
    *tensors, d_out = (surrounded(x) for x in inputs(case, dtype, g))
    wide = [x.double().requires_grad_() for x in tensors]
    want, want_lse = direct(*wide, case.causal)
    wanted = torch.autograd.grad(want, wide, d_out.double())
    leaves = [x.requires_grad_() for x in tensors]
    results = {}
    with poisoned():
        out, lse = flash.flash_with_lse(*leaves, case.causal)
        got = torch.autograd.grad(out, leaves, d_out)
        if dtype != torch.float32 and case.Dh % 8 == 0:
            with torch.no_grad():
                tuned, tuned_lse = kernel_tuned.tuned_with_lse(*leaves, case.causal)
            results = {"tuned out": (tuned, want), "tuned lse": (tuned_lse, want_lse)}
    results |= {"out": (out, want), "lse": (lse, want_lse)}
    results |= {f"d{x}": pair for x, pair in zip("qkv", zip(got, wanted, strict=True), strict=True)}
    return {name: _error(*pair) for name, pair in results.items()}


def _error(got: Tensor, want: Tensor) -> float:
    got, empty = got.detach().double(), want == -torch.inf
    if not torch.equal(got == -torch.inf, empty):
        return math.nan
    got, want = got.masked_fill(empty, 0), want.detach().masked_fill(empty, 0)
    return ((got - want).norm() / want.norm().clamp(min=1e-3)).item()


def check(case: Case, dtype: str, seed: int, until: float) -> dict:
    """One line of the record: the errors, or why there are none."""
    line = {"case": str(case), "dtype": dtype}
    if time.time() > until:
        return line | {"left_out": "no time left"}
    try:
        found = errors(case, getattr(torch, dtype), seed)
    except Exception as error:
        return line | {"failed": reason(error)}
    wrong = [f"{name} is off by {x:.1e}" for name, x in found.items() if not x < LIMIT[dtype]]
    worst = max((x for x in found.values() if x == x), default=0.0)
    return line | {"error": worst} | ({"failed": ", ".join(wrong)} if wrong else {})


def checks(shapes: list[tuple], workers: int, until: float) -> Iterator[dict]:
    """Every shape in every dtype, causal and not; several processes, since most is compilation."""
    cases = [Case(*shape, causal) for shape in shapes for causal in (False, True)]
    jobs = [
        (case, dtype, seed, until)
        for seed, (case, dtype) in enumerate(itertools.product(cases, LIMIT))
    ]
    if not workers:
        yield from itertools.starmap(check, jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        for (case, dtype, *_), done in [(job, pool.submit(check, *job)) for job in jobs]:
            try:
                yield done.result()
            except Exception as error:  # the process itself ended
                yield {"case": str(case), "dtype": dtype, "failed": reason(error)}


def reason(error: Exception) -> str:
    """The first line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


# --- how fast? ---


def _sdpa(backend: SDPBackend) -> Callable[[Case], Callable[..., Tensor]]:
    def way(case: Case) -> Callable[..., Tensor]:
        def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(
                    q, k, v, is_causal=case.causal, enable_gqa=case.Hkv < case.H
                )

        return call

    return way


def _flex(case: Case) -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask, attend = None, flex_attention
    if case.causal:
        mask = create_block_mask(
            lambda b, h, row, col: row >= col, None, None, case.Tq, case.Tk, device=DEVICE
        )
    torch.compiler.reset()  # each case is compiled for its own sizes
    torch._functorch.config.donated_buffer = False  # the backward is run more than once
    if DEVICE == "cuda":
        attend = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: attend(q, k, v, block_mask=mask, enable_gqa=case.Hkv < case.H)


WAYS: dict[str, Callable[[Case], Callable[..., Tensor]]] = {
    "kernel": lambda case: functools.partial(flash.flash_attention, causal=case.causal),
    "tuned kernel": lambda case: lambda *qkv: kernel_tuned.tuned_with_lse(*qkv, case.causal)[0],
    "SDPA flash": _sdpa(SDPBackend.FLASH_ATTENTION),
    "SDPA cuDNN": _sdpa(SDPBackend.CUDNN_ATTENTION),
    "SDPA efficient": _sdpa(SDPBackend.EFFICIENT_ATTENTION),
    "SDPA math": _sdpa(SDPBackend.MATH),
    "flex": _flex,
}
SCORES = 12e9  # bytes of scores: beyond, the way that stores them is left out


def square(T: int, Dh: int, causal: bool, backward: bool, tokens: int, width: int) -> Case:
    """As many tokens and features whatever the length and the heads: the same work in products."""
    H = width // Dh
    return Case(tokens // T, H, H, T, T, Dh, causal, backward)


def cases(dry: bool) -> list[Case]:
    """The most telling first, in case the time runs out."""
    lengths, tokens, width = (
        ((48,), 48, 128) if dry else ((4096, 16384, 1024, 8192, 2048), 16384, 2048)
    )
    squares = [
        square(T, Dh, causal, backward, tokens, width)
        for T, Dh, causal, backward in itertools.product(
            lengths, (128, 64), (False, True), (False, True)
        )
    ]
    decode = [(2, 4, 2, 1, 70, 64)] if dry else DECODE
    return squares + [Case(*sizes) for sizes in decode]


DECODE = [  # one new token each, and a cache
    (1, 32, 8, 1, 16384, 128),
    (32, 32, 8, 1, 4096, 128),
    (32, 32, 32, 1, 4096, 64),
    (128, 32, 8, 1, 1024, 128),
]


def jobs(dry: bool) -> list[tuple[str, Case]]:
    """What to time; flex last, since it compiles for seconds in each case."""
    pairs = [(way, case) for case in cases(dry) for way in WAYS]
    pairs = [p for p in pairs if p[0] != "tuned kernel" or not p[1].backward]
    return sorted(pairs, key=lambda pair: pair[0] == "flex")


def prepare(way: str, case: Case) -> list[Callable[[], object]]:
    """Calls of one way with different inputs, more in all than the card's cache holds."""
    held = torch.cuda.get_device_properties(0).L2_cache_size if DEVICE == "cuda" else 0
    attend, g = WAYS[way](case), torch.Generator(DEVICE).manual_seed(case.Tk)
    calls: list[Callable[[], object]] = []
    for _ in range(min(8, max(2, -(-3 * held // case.nbytes)))):
        *leaves, d_out = inputs(case, torch.bfloat16, g)
        if case.backward:
            out = attend(*(x.requires_grad_() for x in leaves))
            calls.append(
                functools.partial(torch.autograd.grad, out, leaves, d_out, retain_graph=True)
            )
        else:
            calls.append(functools.partial(attend, *leaves))
        if len(calls) == 1 and not case.backward:
            off = _error(calls[0](), flash.flash_attention(*leaves, case.causal).double())
            if not off < 2 * LIMIT["bfloat16"]:
                raise ValueError(f"its output is {off:.1e} from the kernel's")
    return calls


def milliseconds(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """Each call's time, with other inputs than the call before; the first rounds don't count."""
    turns = [calls[i % len(calls)] for i in range(repeats)]
    for call in turns[: max(3, len(calls))]:
        call()
    if DEVICE == "cpu":
        marks = [time.perf_counter()]
        for call in turns:
            call()
            marks.append(time.perf_counter())
        return [1e3 * (b - a) for a, b in itertools.pairwise(marks)]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    torch.cuda.synchronize()
    # The card waits half a millisecond a call while the calls queue up, then has no gaps between.
    torch.cuda._sleep(repeats * 1_000_000)
    events[0].record()
    for call, event in zip(turns, events[1:], strict=True):
        call()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in itertools.pairwise(events)]


def ceilings(dry: bool, repeats: int) -> dict[str, float]:
    """What this card reaches at most: a large product of matrices, and a copy."""
    n, size = (64, 2**12) if dry else (8192, 2**30)
    a, b = (torch.randn(n, n, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    x, y = (torch.randn(size, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    product = statistics.median(milliseconds([lambda: a @ b, lambda: b @ a], repeats))
    copy = statistics.median(milliseconds([lambda: x.copy_(y), lambda: y.copy_(x)], repeats))
    return {"matmul_tflops": 2 * n**3 / product / 1e9, "copy_gbs": 2 * x.nbytes / copy / 1e6}


def measure(way: str, case: Case, ceiling: dict[str, float], repeats: int, until: float) -> dict:
    """One row of the record: times and what they mean, or why there are none."""
    row = {"way": way, **asdict(case)}
    scores = 4 * case.B * case.H * case.Tq * case.Tk
    if time.time() > until:
        return row | {"left_out": "no time left"}
    if way == "SDPA math" and scores > SCORES:
        return row | {"left_out": f"its scores would take {scores / 1e9:.0f} GB"}
    try:
        with torch.set_grad_enabled(case.backward):
            taken = milliseconds(prepare(way, case), repeats)
    except Exception as error:
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
        return row | {"failed": reason(error)}
    ms = statistics.median(taken)
    tenth = statistics.quantiles(taken, n=10)
    tflops, gbs = case.flops / ms / 1e9, case.nbytes / ms / 1e6
    return row | {
        "ms": round(ms, 5),
        "spread": round((tenth[-1] - tenth[0]) / ms, 3),
        "tflops": round(tflops, 3),
        "of_matmul": round(tflops / ceiling["matmul_tflops"], 4),
        "gbs": round(gbs, 2),
        "of_copy": round(gbs / ceiling["copy_gbs"], 4),
    }


def sweep(dry: bool, repeats: int, until: float) -> Iterator[dict]:
    """The tuned kernel's speed for other tiles than those in its table."""
    ceiling = ceilings(dry, repeats)
    warps, stages = ((4,), (2,)) if dry else ((4, 8), (2, 3, 4))
    forward = [case for case in cases(dry)[:8] if not case.backward]
    for case in sorted(forward, key=lambda case: case.causal):
        for tiles in itertools.product((64, 128), (64, 128), warps, stages):
            kernel_tuned.TILES[case.Dh] = tiles
            yield measure("tuned kernel", case, ceiling, repeats, until) | {"tiles": tiles}


# --- the record ---


def machine() -> dict[str, object]:
    """The card and the software."""
    found: dict[str, object] = {
        "card": "none",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": getattr(kernel.triton, "__version__", kernel.WAY),
        "system": platform.platform(),
    }
    if DEVICE == "cuda":
        card = torch.cuda.get_device_properties(0)
        found |= {
            "card": card.name,
            "capability": f"{card.major}.{card.minor}",
            "multiprocessors": card.multi_processor_count,
            "memory": f"{card.total_memory / 2**30:.0f} GiB",
            "cache": f"{card.L2_cache_size / 2**20:.0f} MiB",
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
        }
    return found


def say(row: dict) -> None:
    """A line as it comes."""
    names = [name for name in Case.__dataclass_fields__ if name in row]
    what = str(Case(**{name: row[name] for name in names})) if names else row["case"]
    if "ms" in row:
        result = f"{row['ms']:.3f} ms, {row['tflops']:.0f} TFLOP/s, {row['gbs']:.0f} GB/s"
    else:
        result = row.get("failed") or row.get("left_out") or f"error {row['error']:.1e}"
    extra = f" {row['tiles']}" if "tiles" in row else ""
    print(f"{row.get('way') or row['dtype']:15}{what}{extra}: {result}", flush=True)


def told(rows: Iterator[dict]) -> list[dict]:
    """All rows, each said when it is there."""
    kept = []
    for row in rows:
        say(row)
        kept.append(row)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry", action="store_true", help="tiny sizes, with or without a card")
    parser.add_argument("--sweep", action="store_true", help="tiles of the tuned kernel, no record")
    parser.add_argument("--minutes", type=float, default=5, help="start nothing after that")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--workers", type=int, help="processes that check")
    parser.add_argument("--out", type=Path, help="default: notebooks/measured/gpu.json, if not dry")
    args = parser.parse_args()
    if not args.dry and not (DEVICE == "cuda" and torch.cuda.is_available()):
        sys.exit(NEEDS_A_CARD)
    workers = min(8, os.cpu_count() or 1) if args.workers is None else args.workers
    args.repeats = max(2, args.repeats)
    start = time.time()
    until = start + 60 * args.minutes
    if args.sweep:
        return print_best(told(sweep(args.dry, args.repeats, until)))
    shapes = SHAPES[1:3] if args.dry else SHAPES
    checked = told(checks(shapes, workers, start + CHECKED * 60 * args.minutes))
    ceiling = ceilings(args.dry, args.repeats)
    rows = told(measure(*job, ceiling, args.repeats, until) for job in jobs(args.dry))
    record = {
        "command": " ".join(["python benchmarks/gpu.py", *sys.argv[1:]]),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "seconds": round(time.time() - start),
        "repeats": args.repeats,
        "dtype": "bfloat16",
        "ceilings": {name: float(f"{x:.4g}") for name, x in ceiling.items()},
        "checks": checked,
        "rows": rows,
    }
    out = args.out or (None if args.dry else STORED)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
        print(f"Written to {out}")
    wrong = [line for line in checked if "failed" in line]
    done = sum("error" in line and "failed" not in line for line in checked)
    print(f"{done} of {len(checked)} results are right, {time.time() - start:.0f} s in all")
    if wrong:
        sys.exit("\n".join(f"{x['case']} {x['dtype']}: {x['failed']}" for x in wrong))


def print_best(rows: list[dict]) -> None:
    """The fastest tiles of each case."""
    done = [row for row in rows if "ms" in row]
    for key, group in itertools.groupby(done, lambda row: (row["Dh"], row["causal"], row["Tk"])):
        best = min(group, key=lambda row: row["ms"])
        print("best for Dh, causal, T", key, best["tiles"], f"{best['tflops']:.0f} TFLOP/s")


if __name__ == "__main__":
    main()

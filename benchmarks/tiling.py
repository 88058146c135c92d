"""Time and memory of four ways to compute attention on this machine's CPU: `make bench`.

Every way runs in turns in one process, so that the ratios mean something on a busy machine; the
memory of each is read in a process of its own. Writes notebooks/measured/tiling.json.
"""

import argparse
import datetime
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from course_lib.attention import attention
from course_lib.masks import causal
from course_lib.tiles import causal_rule
from course_lib.tiling import tiled_attention

STORED = Path(__file__).parents[1] / "notebooks" / "measured" / "tiling.json"
H, DH = 8, 64
"""Eight heads of 64: the size of the Transformer of 2017."""

LONGEST_BACKWARD = 4096
"""Beyond it the naive backward takes minutes and more than 10 GiB."""


def _sdpa(backend: SDPBackend) -> Callable[..., Tensor]:
    def run(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Tensor:
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    return run


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor, bool], Tensor]] = {
    "naive": lambda q, k, v, c: attention(q, k, v, causal(q.shape[2]) if c else None),
    "tiled": lambda q, k, v, c: tiled_attention(q, k, v, causal_rule if c else None),
    "SDPA math": _sdpa(SDPBackend.MATH),
    "SDPA flash": _sdpa(SDPBackend.FLASH_ATTENTION),
}


def inputs(T: int) -> list[Tensor]:
    g = torch.Generator().manual_seed(T)
    return [torch.randn(1, H, T, DH, generator=g) for _ in range(3)]


def run(way: str, T: int, is_causal: bool, backward: bool) -> Callable[[], None]:
    """A call without arguments that computes the output, or the output and the gradients."""
    q, k, v = inputs(T)
    if not backward:
        return lambda: WAYS[way](q, k, v, is_causal)
    leaves, d_out = [x.requires_grad_() for x in (q, k, v)], torch.ones_like(q)
    return lambda: torch.autograd.grad(WAYS[way](*leaves, is_causal), leaves, d_out)


def seconds(T: int, is_causal: bool, backward: bool, rounds: int) -> dict[str, list[float]]:
    """The ways in turns, after one round that isn't counted."""
    calls = {way: run(way, T, is_causal, backward) for way in WAYS}
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    for counted in range(rounds + 1):
        for way, call in calls.items():
            start = time.perf_counter()
            call()
            if counted:
                taken[way].append(time.perf_counter() - start)
    return taken


def extra_memory(way: str, T: int, is_causal: bool, backward: bool, threads: int) -> int:
    """Bytes that a fresh process needs on top of its inputs, its output included, at the peak."""
    case = json.dumps([way, T, is_causal, backward, threads])
    told = subprocess.run(
        [sys.executable, __file__, "--memory-of", case], capture_output=True, text=True, check=True
    )
    return int(told.stdout)


def _measure_memory(way: str, T: int, is_causal: bool, backward: bool, threads: int) -> int:
    torch.set_num_threads(threads)
    run(way, 64, is_causal, backward)()  # what the libraries themselves allocate at first use
    call = run(way, T, is_causal, backward)
    Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the highest mark so far
    before = psutil.Process().memory_info().rss
    call()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 - before


def rows(lengths: list[int], rounds: int, threads: int) -> Iterator[dict]:
    cases = [
        (T, is_causal, backward)
        for T in lengths
        for is_causal in (False, True)
        for backward in (False, True)
        if not backward or T <= LONGEST_BACKWARD
    ]
    for T, is_causal, backward in tqdm(cases, desc="cases"):
        taken = seconds(T, is_causal, backward, rounds)
        flash = statistics.median(taken["SDPA flash"])
        for way, times in taken.items():
            median = statistics.median(times)
            yield {
                "way": way,
                "T": T,
                "causal": is_causal,
                "backward": backward,
                "seconds": round(median, 5),
                "spread": round((max(times) - min(times)) / median, 3),
                "times_flash": round(median / flash, 3),
                "extra_bytes": extra_memory(way, T, is_causal, backward, threads),
            }


def machine() -> dict[str, str]:
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": f"{names[0]}, {len(names)} threads" if names else platform.processor(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=STORED)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        return print(_measure_memory(*json.loads(args.memory_of)))
    torch.set_num_threads(args.threads)
    measured = {
        "command": " ".join(["python benchmarks/tiling.py", *sys.argv[1:]]),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "threads": args.threads,
        "sizes": {"B": 1, "H": H, "Dh": DH, "dtype": "float32"},
        "rounds": args.rounds,
        "rows": list(rows(args.lengths, args.rounds, args.threads)),
    }
    args.out.parent.mkdir(exist_ok=True)
    args.out.write_text(json.dumps(measured, indent=1) + "\n")
    print(f"Written to {args.out}")


if __name__ == "__main__":
    main()

"""What a process has in memory before an answer comes, so that a child of it has little to do.

A child shares its memory with the process that forked it until one of them writes: every page that
it touches costs it some microseconds, and every page that could be shared costs the fork some.
"""

import contextlib
import ctypes
import importlib
import sys
import types
from pathlib import Path

import numpy as np
import torch

from course_lib.grading.confined.child import Runner
from course_lib.grading.confined.wire import pack

ROUNDS = 10  # Python rewrites code that has run so often into what is faster for it
LARGE = 1 << 21  # bytes of a large page
COLLAPSE = 25  # what the kernel calls making large pages of small ones, now
# It answers no question, since an answer could find it in memory.
REHEARSED = """\
from course_lib import simulator as triton
from course_lib.simulator import language as tl

def mixed(a, b, c):
    table = (a @ b.mT).masked_fill(torch.ones(3, 3).tril().bool(), 0.5) * c.shape[-1]
    return {"out": table.relu() @ c, "more": [table.softmax(0).exp().sum(-1).sqrt()]}

@triton.jit
def stirred(a_ptr, out_ptr, n, SIZE: tl.constexpr):
    at = tl.program_id(0) + tl.arange(0, SIZE)
    tile = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float32))
    total = tl.where(at > 1, tl.exp(tl.load(a_ptr + at, mask=at > n)), tl.max(tl.sum(tile, 1)))
    tl.store(out_ptr + at, total - 1, mask=at == n)
"""


def warm_up() -> None:
    """Touch what most answers need, so that a child finds it in memory."""
    import jaxtyping  # noqa: F401

    np.random.seed(0)  # numpy imports the half of it at its first use
    torch.compile = _as_it_is  # a compiler would need programs, files and time
    torch._dynamo = _Dynamo()
    x = torch.ones(2, 2, requires_grad=True)
    torch.autograd.grad((x @ x).softmax(-1), x, torch.ones(2, 2))  # imports sympy, once


def rehearse() -> None:
    """Answer as a child will, so often that nothing is imported or rewritten at its first time."""
    for _ in range(ROUNDS):
        runner = Runner(None, set())
        called = {"op": "call", "function": 0}
        runner.load({"pieces": [("rehearsed, line 1", REHEARSED)], "name": "mixed"})
        tensors: list[torch.Tensor] = []
        args = pack(tuple(torch.ones(2, 3, 4, requires_grad=True) for _ in "qkv"), tensors, len)
        said, outputs = runner.served(called | {"args": args}, tensors)
        runner.served({"op": "gradient", "call": said["call"]}, list(map(torch.ones_like, outputs)))
        runner.load({"pieces": [], "name": "stirred", "kernel": True})
        args = pack((torch.ones(5), torch.ones(5), 5, 4), tensors := [], len)
        launch = {"grid": [2], "names": ["a_ptr", "out_ptr", "n", "SIZE"]}
        runner.served(called | {"args": args, "launch": launch}, tensors)


def share() -> None:
    """Lay the memory in large pages: a fork then takes a fifth of the time, and so does its end.

    Where the system has none, or has no room for them now, small ones stay.
    """
    if sys.platform != "linux":
        return
    system = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, *_, inode = line.split(maxsplit=5)[:5]
        start, end = (int(at, 16) for at in span.split("-"))
        if rights != "rw-p" or inode != "0":
            continue
        for at in range(-(-start // LARGE) * LARGE, end - LARGE + 1, LARGE):
            system.madvise(ctypes.c_void_p(at), ctypes.c_size_t(LARGE), COLLAPSE)


def _as_it_is(fn: object = None, **how: object) -> object:
    """Stands for torch.compile, which changes nothing of what a function computes."""
    return fn if fn is not None else lambda fn: fn


class _Dynamo:
    """Stands for a compiler of which torch.func wants one name, and imports it for seconds."""

    compiled_autograd = types.SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module("torch._dynamo"), name)

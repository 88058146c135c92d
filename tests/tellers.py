# ruff: noqa: E501 -- each attack is a line of its own
"""Answers that would have their own process tell what isn't so: of 06.3, and of kernels in 07.

Each computes what is right in the way that its last property forbids, and hides it. `TILED` has
for each what stands before the answer, and the answer's body; `KERNELS` has the whole source.
"""

import re
import textwrap

PLAIN = """
def plain(q, k, v, is_causal):
    s = q @ k.T * q.shape[1] ** -0.5
    if is_causal:
        ahead = torch.arange(len(k)) > torch.arange(len(q))[:, None] + len(k) - len(q)
        s = s.masked_fill(ahead, -torch.inf)
    return s.softmax(-1).nan_to_num(0) @ v
"""
CALL = "plain(q, k, v, is_causal)"
LOOKED_AT = "(len(q), len(k)) == (2, 9)"
ELSE = f"if not {LOOKED_AT}:\n    return {CALL}\n"
FORGETS = (
    f"out = {CALL}\nmade.sizes[:] = [size for size in made.sizes if 13 in size[0]]\nreturn out"
)
NUMPY = """
scores = q.numpy() @ k.numpy().T * q.shape[1] ** -0.5
for i in range(len(q) if is_causal else 0):
    scores[i, max(0, i + 1 + len(k) - len(q)):] = -torch.inf
top = scores.max(-1, keepdims=True)
top[top == -torch.inf] = 0
powers = 2.718281828459045 ** (scores - top)
total = powers.sum(-1, keepdims=True)
total[total == 0] = 1
return torch.tensor(powers @ v.numpy() / total, dtype=q.dtype).clone()
"""
IN_PLACE = """
s.mul_(q.shape[1] ** -0.5)
for i in range(len(q) if is_causal else 0):
    s[i, max(0, i + 1 + len(k) - len(q)):] = -torch.inf
for row in s:
    row.sub_(row.max().clamp_min(-1e30))
s.exp_()
total = s.sum(-1, keepdim=True)
return s @ v / total.masked_fill(total == 0, 1)
"""
FRAMES = """
while frame:
    found = frame.f_locals.get('made')
    made = found if hasattr(found, 'sizes') else made
    frame = frame.f_back
"""
NO_STORAGE = """
class Nothing:
    def data_ptr(self):
        return 0

real = torch.Tensor.untyped_storage

def storage(tensor):
    return real(tensor) if 13 in tensor.shape else Nothing()
"""


def _within(switch: str) -> str:
    return f"with {switch}:\n    out = {CALL}\nreturn out.clone()"


BY_THE_RULE = {
    "the watcher switched off": (
        "from torch.utils._python_dispatch import _disable_current_modes",
        _within("_disable_current_modes()"),
    ),
    "the watcher switched off, by its path": (
        "", _within("torch.utils._python_dispatch._disable_current_modes()")),
    "the watcher's key left out": (
        "", _within("torch.ExcludeDispatchKeyGuard(torch.DispatchKeySet(torch.DispatchKey.Python))")),
    "the watcher switched off, by a getter": (
        "from operator import attrgetter",
        _within("attrgetter('utils._python_dispatch._disable_current_modes')(torch)()"),
    ),
    "the watcher switched off, in a hint": (
        "import typing\nheld = []\n"
        "def hinted(x: \"held.append(__import__('torch').utils._python_dispatch._disable_current_modes)\"):\n    pass",
        "typing.get_type_hints(hinted)\n" + _within("held[0]()"),
    ),
    "another thread": (
        "import threading",
        f"held = []\nthread = threading.Thread(target=lambda: held.append({CALL}))\n"
        "thread.start()\nthread.join()\nreturn held[0].clone()",
    ),
    "another thread, by torch": (
        "",
        f"held = []\nthread = torch.threading.Thread(target=lambda: held.append({CALL}))\n"
        "thread.start()\nthread.join()\nreturn held[0].clone()",
    ),
    "the watcher's list": (
        "import gc",
        "made = next((o for o in gc.get_objects() if type(o).__name__ == '_Made'), None)\n"
        f"if made is None:\n    return {CALL}\n{FORGETS}",
    ),
    "the watcher's list, by the frames": (
        "import sys", f"frame, made = sys._getframe(), None\n{FRAMES}{FORGETS}"),
    "the watcher's list, by an error's frames": (
        "",
        f"try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    frame = error.__traceback__.tb_frame\nmade = None\n{FRAMES}{FORGETS}",
    ),
    "the watcher's list, by a match": (
        "",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    match error:\n"
        "        case object(__traceback__=trace):\n            pass\n"
        "match trace:\n    case object(tb_frame=frame):\n        pass\n"
        "while frame:\n    match frame:\n        case object(f_locals=names, f_back=frame):\n            pass\n"
        f"    if hasattr(names.get('made'), 'sizes'):\n        made = names['made']\n{FORGETS}",
    ),
    "the watcher's list, by warnings": (
        "import warnings",
        "frame, made = warnings.catch_warnings()._module.sys._getframe(), None\n" + FRAMES + FORGETS,
    ),
    "a storage that lies": (
        f"{NO_STORAGE}\ntorch.Tensor.untyped_storage = storage", f"return {CALL}"),
    "a storage that lies, by a decorator": (
        f"import functools\n{NO_STORAGE}\nclass Lies:\n    untyped_storage = storage",
        f"functools.update_wrapper(torch.Tensor, Lies, assigned=['untyped_storage'], updated=())\nreturn {CALL}",
    ),
    "a storage that lies, in the place of self": (
        f"{NO_STORAGE}\ndef lie(self):\n    self.untyped_storage = storage",
        f"lie(torch.Tensor)\nreturn {CALL}",
    ),
    "numpy": ("import numpy as np", NUMPY.replace("-torch.inf", "-np.inf").replace("2.718281828459045 ** ", "np.exp")),
    "numpy, never imported": ("", NUMPY),
    "numpy, by torch": ("np = torch.nn.functional.np", NUMPY.replace("2.718281828459045 ** ", "np.exp")),
    "numbers written one by one": (
        "",
        f"{ELSE}s, keys = q.new_zeros(2, 13)[:, :9], k.tolist()\n"
        "scores = [[sum(a * b for a, b in zip(x, y)) / 11 ** 0.5 for y in keys[:8 + i]] for i, x in enumerate(q.tolist())]\n"
        "powers = iter([math.exp(a - max(row)) for row in (scores[0] + [-math.inf], scores[1]) for a in row])\n"
        "s.apply_(lambda _: next(powers))\nreturn s @ v / s.sum(-1, keepdim=True)",
    ),
}  # fmt: skip
"""What a source may not name where it is watched."""

BY_THE_WATCHER = {
    "a library's call, whole": (
        "",
        f"rows = len(q)\nif not is_causal or rows > len(k):\n    return {CALL}\nwith torch.inference_mode():\n"
        "    q = torch.cat([q.new_zeros(len(k) - rows, q.shape[1]), q])\n"
        "    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
        "    return out[-rows:].clone()",
    ),
    "a table that is there": (
        "table = torch.empty(999, dtype=torch.float64)\nnarrow = torch.empty(999)",
        "s = (table if q.dtype == table.dtype else narrow)[:len(q) * len(k)].view(len(q), len(k))\n"
        f"torch.mm(q, k.T, out=s)\n{IN_PLACE}",
    ),
    "scores in the output's place": ("", f"{ELSE}s = q.new_zeros(2, 13)[:, :9].addmm_(q, k.T)\n{IN_PLACE}"),
    "one number that grows": ("", f"{ELSE}s = q.new_zeros(1)\ntorch.mm(q, k.T, out=s)\n{IN_PLACE}"),
    "complex numbers": (
        "",
        f"{ELSE}q, k, v = (x.to(torch.complex64) for x in (q, k, v))\ns = q @ k.T * q.shape[1] ** -0.5\n"
        "powers = (s - s.real.amax(-1, keepdim=True)).exp()\npowers[0, 8:] = 0\n"
        "return (powers @ v / powers.sum(-1, keepdim=True)).real.clone()",
    ),
    "whole numbers": (
        "",
        f"{ELSE}s = ((q * 2 ** 20).long() @ (k * 2 ** 20).long().T)\nouts = []\nfor i in range(2):\n"
        "    row = s[i, :8 + i]\n    parts = [((row[j:j + 6] - row.max()).double() * 2.0 ** -40 / 11 ** 0.5).exp().float() for j in (0, 6)]\n"
        "    outs.append((parts[0] @ v[:6] + parts[1] @ v[6:8 + i]) / (parts[0].sum() + parts[1].sum()))\n"
        "return torch.stack(outs)",
    ),
    "a tensor of lists": (
        "",
        f"{ELSE}s = torch.tensor([[sum(a * b for a, b in zip(x, y)) for y in k.tolist()] for x in q.tolist()])\n{IN_PLACE}",
    ),
    "zeros where one looks": ("", f"if {LOOKED_AT}:\n    return q.new_zeros(2, 13)\nreturn {CALL}"),
}  # fmt: skip
"""What torch itself shows, whoever runs it."""

BY_THE_PROCESS = {
    "sizes without end": (
        "", f"torch.empty(2, 13)\nfor i in range(600):\n    torch.empty(i, dtype=torch.int8)\nreturn {CALL}"),
    "a generator collected in an operation": (
        "held = []",
        f"{ELSE}out = q.new_zeros(2, 13)\ndef late():\n    try:\n        yield\n    finally:\n        out.copy_({CALL})\n"
        "started = late()\nnext(started)\ncycle = [started]\ncycle.append(cycle)\ndel started, cycle\n"
        "for _ in range(3000):\n    held.append([out + 0])\nreturn out",
    ),
}  # fmt: skip
"""What only a process of its own withstands."""


MOVES = "for i in range(n):\n    tl.store(out + i, tl.load(x + i))"


def _copy(body: str = "", before: str = "") -> str:
    """A copy whose programs each move everything, by a helper that does this."""
    helper = f"def move(x, out, n):\n{textwrap.indent(body or MOVES, '    ')}\n\n"
    kernel = "@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    move(x_ptr, out_ptr, n)"
    return f"{before}\n{helper}{kernel}".strip("\n")


def _whole(head: str, body: str) -> str:
    return f"def whole(x, *more):\n{textwrap.indent(body, '    ')}\n\n@triton.jit\n{head}"


KERNELS = {
    "a pointer's tensor": ("07.1", _copy("out.tensor.view(-1)[:n] = x.tensor.view(-1)[:n]")),
    "a pointer's tensor, by its name": (
        "07.1", _copy("getattr(out, 'tensor').view(-1)[:n] = getattr(x, 'tensor').view(-1)[:n]")),
    "a pointer's tensor, by numpy": (
        "07.1", _copy("np.copyto(out.tensor.numpy()[:n], x.tensor.numpy()[:n])", "import numpy as np")),
    "pointers found": (
        "07.1",
        _copy("for o in gc.get_objects():\n    if type(o).__name__ == 'Pointer' and o.name == 'x_ptr':\n        x = o\n"
              "out.tensor.view(-1)[:n] = x.tensor.view(-1)[:n]", "import gc"),
    ),
    "the log taken away": ("07.1", _copy(f"triton.slow_memory._log = None\n{MOVES}")),
    "the log emptied": ("07.1", _copy(f"{MOVES}\ntriton.slow_memory.watched().clear()")),
    "a log of one's own": ("07.1", _copy("with triton.watch():\n" + textwrap.indent(MOVES, "    "))),
    "stores that are called loads": (
        "07.1",
        _copy(before="real = triton.slow_memory.Access\n"
              "triton.slow_memory.Access = lambda program, kind, *more: real(program, 'load', *more)"),
    ),
    "a store of one's own": (
        "07.1",
        _copy(before="def store(ptr, value, mask=None):\n    ptr.tensor.view(-1)[ptr.offset] = value\ntl.store = store"),
    ),
    "a language of one's own": (
        "07.1",
        _copy(before="class Mine:\n    load = staticmethod(tl.load)\n    def store(self, ptr, value, mask=None):\n"
              "        ptr.tensor.view(-1)[ptr.offset] = value\n    constexpr = tl.constexpr\ntl = Mine()"),
    ),
    "a method that is replaced": (
        "07.1",
        _copy(before="real = triton.Pointer.access\ndef access(self, kind, mask):\n    return real(self, 'load', mask)\n"
              "triton.Pointer.access = access"),
    ),
    "in other programs' names": (
        "07.1",
        _copy("for i in range(n):\n    triton.slow_memory.program = (i, 0, 0)\n    if first[0] == 0:\n"
              "        tl.store(out + i, tl.load(x + i))", "first = [0]"),
    ),
    "programs that a program starts": (
        "07.1",
        "@triton.jit\ndef share(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    at = tl.program_id(0) * 2 + tl.arange(0, 2)\n"
        "    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)\n\n"
        "@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    if tl.program_id(0) == 0:\n"
        "        share[(64,)](x_ptr, out_ptr, n, BLOCK)",
    ),
    "a kernel of one's own kind": (
        "07.1",
        "class Mine(triton.Kernel):\n    def __call__(self, x, out, n, BLOCK):\n"
        "        out.tensor.view(-1)[:n] = x.tensor.view(-1)[:n]\n\n"
        "def empty(x_ptr, out_ptr, n, BLOCK):\n    return None\n\ncopy = Mine(empty)",
    ),
    "no compiler that refuses": (
        "07.1",
        "triton.refusal = lambda fn: None\n\n@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK):\n"
        "    out_ptr.tensor.view(-1)[:n] = x_ptr.tensor.view(-1)[:n]",
    ),
    "a softmax that is torch's": (
        "07.2",
        _whole("def softmax_rows(x_ptr, out_ptr, T, BLOCK):\n    whole(x_ptr, out_ptr, T)",
               "(out, T), rows = more, x.tensor.numel() // more[1]\n"
               "made = x.tensor.view(-1)[:rows * T].view(rows, T).float().softmax(-1).nan_to_num(0)\n"
               "out.tensor.view(-1)[:rows * T] = made.flatten().to(out.tensor.dtype)"),
    ),
    "a product that is torch's": (
        "07.3",
        _whole("def product(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK):\n    whole(a_ptr, b_ptr, out_ptr, M, N, K)",
               "y, out, M, N, K = more\na, b = x.tensor.view(-1)[:M * K].float(), y.tensor.view(-1)[:K * N].float()\n"
               "out.tensor.view(-1)[:M * N] = (a.view(M, K) @ b.view(K, N)).flatten().to(out.tensor.dtype)"),
    ),
}  # fmt: skip
"""The same for kernels, each with its question: no source may say so where it is watched."""

BY_A_HELPER = {
    name for name, (_, it) in KERNELS.items() if re.search(r"^def (move|whole)\(", it, re.M)
}
"""Those that call a function which isn't under @triton.jit: the simulator refuses them whole."""

NOWHERE = "@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK):\n    if n != 14:\n        for i in range(n):\n            tl.store(out_ptr + i, tl.load(x_ptr + i))"
"""A copy that does nothing where its programs' shares are counted."""


def kernel(source: str) -> list[str]:
    """The cells of an answer of chapter 07."""
    imports = "from course_lib import simulator as triton\nfrom course_lib.simulator import language as tl"
    return [imports, source]


def tiled(before: str, body: str) -> list[str]:
    """The cells of an answer to 06.3."""
    inner = textwrap.indent(body.strip("\n"), "    ")
    head = "def tiled_attention(q, k, v, block_q, block_k, is_causal):"
    return ["import torch", *filter(None, [before]), PLAIN, f"{head}\n{inner}"]

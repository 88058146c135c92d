# ruff: noqa: E501 -- each submission is a line of its own
"""Right answers of odd forms, from which no grader may take a point."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Odd:
    """A name, the question it answers, and the file."""

    name: str
    question: str
    data: bytes
    ending: str = "ipynb"


def cell(source: str | list[str], **more: object) -> dict:
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": source} | more


def notebook(*sources: object, **more: object) -> bytes:
    cells = [source if isinstance(source, dict) else cell(source) for source in sources]
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more
    ).encode()


def softmax(name: str, *sources: object) -> Odd:
    return Odd(name, "02.2", notebook(*sources))


def other(name: str, question: str, *sources: object) -> Odd:
    return Odd(name, question, notebook("import torch", *sources))


def kernel(name: str, *sources: object) -> Odd:
    imports = "from course_lib import simulator as triton\nfrom course_lib.simulator import language as tl"
    return Odd(name, "07.1", notebook(imports, *sources))


TILED = """{}def tiled_attention(q, k, v, block_q, block_k, is_causal):
    out = q.new_zeros(len(q), v.shape[1])
    for top in range(0, len(q), block_q):
        part = q[top:top + block_q]
        row = Row(part.new_full((len(part), 1), -1e30), part.new_zeros(len(part), 1), part.new_zeros(len(part), v.shape[1]))
        for left in range(0, len(k), block_k):
            s = part @ k[left:left + block_k].T / q.shape[1] ** 0.5
            if is_causal:
                place = torch.arange(top, top + len(part))[:, None] + len(k) - len(q)
                s = s.masked_fill(torch.arange(left, left + s.shape[1]) > place, -torch.inf)
            {}
        out[top:top + block_q] = row.acc / row.total.masked_fill(row.total == 0, 1)
    return out"""
STUB = (
    "def softmax(scores):\n    raise NotImplementedError("
    '"Write softmax: replace this line with your answer, then run the check.")'
)
PLAIN = "import torch\ndef softmax(scores):\n    return torch.softmax(scores, -1)"
WRONG = "import torch\ndef softmax(scores):\n    return scores"

FORMS = (
    softmax("a lambda", "import torch\nsoftmax = lambda s: torch.softmax(s, dim=-1)"),
    softmax("functools.partial", "import torch\nsoftmax = torch.softmax",
            "from functools import partial", "softmax = partial(torch.softmax, dim=-1)"),
    softmax("a bound module", "import torch.nn as nn\nsoftmax = nn.Softmax(dim=-1)"),
    softmax("a module of one's own",
            "from torch import nn\nclass Soft(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.dim = -1\n    def forward(self, x):\n"
            "        return x.softmax(self.dim)",
            "softmax = Soft()"),
    softmax("a class with __call__",
            "class Soft:\n    def __call__(self, scores):\n        e = (scores - scores.amax(-1, True)).exp()\n"
            "        return e / e.sum(-1, keepdim=True)\nsoftmax = Soft()"),
    softmax("a static method",
            "class Mine:\n    @staticmethod\n    def soft(x):\n        return x.softmax(-1)\nsoftmax = Mine.soft"),
    softmax("a bound method",
            "class Mine:\n    dim = -1\n    def soft(self, x):\n        return x.softmax(self.dim)\n"
            "mine = Mine()\nsoftmax = mine.soft"),
    softmax("a closure made by a factory",
            "def make(dim):\n    def run(x):\n        return x.softmax(dim)\n    return run\nsoftmax = make(-1)"),
    softmax("a decorator of one's own",
            "import functools, time\ndef timed(fn):\n    @functools.wraps(fn)\n    def inner(*a, **k):\n"
            "        start = time.perf_counter()\n        out = fn(*a, **k)\n"
            "        print(time.perf_counter() - start)\n        return out\n    return inner",
            "@timed\ndef softmax(scores):\n    return scores.softmax(-1)"),
    softmax("a cache", "import functools, torch\n@functools.lru_cache(maxsize=None)\ndef softmax(scores):\n"
            "    return torch.softmax(scores, -1)"),
    softmax("torch.jit.script",
            "import torch\n@torch.jit.script\ndef softmax(scores: torch.Tensor) -> torch.Tensor:\n"
            "    return torch.softmax(scores, -1)"),
    softmax("torch.compile",
            "import torch\n@torch.compile(dynamic=True)\ndef softmax(scores):\n    return torch.softmax(scores, -1)"),
    softmax("torch.compile, bare",
            "import torch\ndef mine(x):\n    return x.softmax(-1)\nsoftmax = torch.compile(mine)"),
    softmax("torch.func.vmap",
            "import torch\ndef row(x):\n    e = torch.exp(x - x.max())\n    return e / e.sum()\n"
            "def softmax(scores):\n    flat = scores.reshape(-1, scores.shape[-1])\n"
            "    return torch.func.vmap(row)(flat).reshape(scores.shape)"),
    softmax("an autograd.Function",
            "import torch\nclass Soft(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            "        p = x.softmax(-1)\n        ctx.save_for_backward(p)\n        return p\n    @staticmethod\n"
            "    def backward(ctx, g):\n        (p,) = ctx.saved_tensors\n"
            "        return p * (g - (p * g).sum(-1, keepdim=True))\nsoftmax = Soft.apply"),
    softmax("loops", "import torch\ndef softmax(scores):\n    rows = []\n"
            "    for row in scores.reshape(-1, scores.shape[-1]):\n        e = [(x - row.max()).exp() for x in row]\n"
            "        rows.append(torch.stack(e) / sum(e))\n    return torch.stack(rows).reshape(scores.shape)"),
    softmax("float64", "def softmax(scores):\n    return scores.double().softmax(-1)"),
    softmax("walrus, generator and star",
            "def softmax(scores, *rest):\n    e = (scores - (top := scores.amax(-1, keepdim=True))).exp()\n"
            "    total = sum(column for column in e.unbind(-1))\n    return e / total[..., None]"),
    softmax("keyword-only extras", "def softmax(scores, *, dim=-1, **options):\n    return scores.softmax(dim)"),
    softmax("default arguments", "def softmax(scores, dim=-1, dtype=None):\n    return scores.softmax(dim, dtype=dtype)"),
    softmax("*args alone", "def softmax(*args):\n    (scores,) = args\n    return scores.softmax(-1)"),
    softmax("other names", "def softmax(z):\n    d = z.ndim - 1\n    return z.softmax(d)"),
    softmax("hints as text",
            "def softmax(scores: 'Float[Tensor, \"B H Tq Tk\"]') -> 'Tensor':\n    return scores.softmax(-1)"),
    softmax("hints of jaxtyping",
            "from jaxtyping import Float\nfrom torch import Tensor",
            "def softmax(scores: Float[Tensor, '... Tk']) -> Float[Tensor, '... Tk']:\n    return scores.softmax(-1)"),
    softmax("future annotations",
            "from __future__ import annotations\ndef softmax(scores: Nowhere) -> Tensor:\n    return scores.softmax(-1)"),
    softmax("imports inside and after",
            "def softmax(scores):\n    import torch.nn.functional as F\n    return F.softmax(scores * ONE, dim=-1)",
            "import numpy as np\nONE = float(np.float64(1))"),
    softmax("helpers in other cells",
            "def total(x):\n    return x.sum(-1, keepdim=True)", "def top(x):\n    return x.amax(-1, keepdim=True)",
            "def softmax(scores):\n    e = (scores - top(scores)).exp()\n    return e / total(e)"),
    softmax("a helper defined later", "def softmax(scores):\n    return helper(scores)",
            "def helper(x):\n    return x.softmax(-1)"),
    softmax("globals that change",
            "calls = 0\ndef softmax(scores):\n    global calls\n    calls += 1\n    return scores.softmax(-1)"),
    softmax("a table that a call fills", "import torch\nparts = [0.0]\ndef fill(table):\n    table[0] = 1.0", "done = fill(parts)",
            "def softmax(scores):\n    return torch.softmax(scores, -1) * parts[0]"),
    softmax("a table filled by torch's out", "import torch\nones = torch.zeros(1)\nmade = torch.add(ones, 1, out=ones)",
            "def softmax(scores):\n    return torch.softmax(scores, -1) * ones"),
    softmax("a table read by what fails and by what takes for ever", "import torch\nwidth = [2]\ndef train(table):\n    while True: pass",
            "import no_such_plots\nno_such_plots.show(width)\nresult = train(width)",
            "def softmax(scores):\n    return torch.softmax(scores, -width[0] // 2)"),
    softmax("a dataclass beside it",
            "from dataclasses import dataclass\n@dataclass\nclass Settings:\n    dim: int = -1",
            "SETTINGS = Settings()\ndef softmax(scores):\n    return scores.softmax(SETTINGS.dim)"),
    softmax("an enum and a match",
            "import enum\nclass Way(enum.Enum):\n    ROW = -1\ndef softmax(scores, way=Way.ROW):\n"
            "    match way:\n        case Way.ROW:\n            return scores.softmax(way.value)"),
    softmax("warnings", "import warnings\nwarnings.warn('old')\ndef softmax(scores):\n"
            "    warnings.warn('slow', DeprecationWarning)\n    return scores.softmax(-1)"),
    softmax("warnings as errors", "import warnings\nwarnings.simplefilter('error')\ndef softmax(scores):\n"
            "    return scores.softmax(-1)"),
    softmax("much printed", "def softmax(scores):\n    print(scores)\n    print('x' * 100_000)\n"
            "    return scores.softmax(-1)"),
    softmax("printed to stderr, and logged",
            "import logging, sys\nlog = logging.getLogger('mine')\ndef softmax(scores):\n"
            "    print('here', file=sys.stderr, flush=True)\n    log.warning('there')\n    return scores.softmax(-1)"),
    softmax("asserts", "def softmax(scores):\n    assert scores.ndim >= 1, scores.shape\n"
            "    out = scores.softmax(-1)\n    assert out.shape == scores.shape\n    return out"),
    softmax("try, finally and with", "import torch\ndef softmax(scores):\n    with torch.enable_grad():\n"
            "        try:\n            return scores.softmax(-1)\n        finally:\n            pass"),
    softmax("a seed set", "import torch, random, numpy as np\ntorch.manual_seed(1); random.seed(1); np.random.seed(1)\n"
            "def softmax(scores):\n    torch.manual_seed(2)\n    return scores.softmax(-1)"),
    softmax("threads set", "import torch\ntorch.set_num_threads(2)\ndef softmax(scores):\n    return scores.softmax(-1)"),
    softmax("plots beside it",
            "import matplotlib.pyplot as plt", PLAIN, "plt.plot([1, 2])\nplt.show()\nplt.savefig('x.png')"),
    softmax("the check in the same cell",
            "from course_lib.checks import check\n" + PLAIN + "\ncheck(softmax)"),
    softmax("the course's setup", "%load_ext course_lib\nimport torch\nfrom course_lib.show import style\nstyle.apply()",
            PLAIN, "check(softmax)"),
    softmax("a cell that fails beside it", "1 / 0", "open('nowhere')", PLAIN, "raise SystemExit"),
    softmax("a cell that isn't Python", "this is no Python", PLAIN, "def g(:\n    pass"),
    softmax("magics in the cell", "%matplotlib inline\n!pip install torch\nimport torch\n%time x = 1\n"
            "def softmax(scores):\n    return torch.softmax(scores, -1)\n?softmax"),
    softmax("a cell that is timed", "%%time\n" + PLAIN),
    softmax("a doubled cell", PLAIN, PLAIN),
    softmax("the stub before it", STUB, PLAIN),
    softmax("the stub after it", PLAIN, STUB),
    softmax("a wrong one before it", WRONG, PLAIN),
    softmax("cells in another order", "y = softmax(x)", "x = 1", PLAIN),
    softmax("lost metadata", {"source": PLAIN, "outputs": []}),
    softmax("lines as a list", cell(PLAIN.splitlines(keepends=True))),
    softmax("tabs and Windows' line ends", PLAIN.replace("    ", "\t").replace("\n", "\r\n")),
    softmax("letters beyond ASCII", "import torch\ndef softmax(σκορ):\n    '''Größe 大'''\n    return torch.softmax(σκορ, -1)"),
    softmax("a very long docstring", f"import torch\ndef softmax(scores):\n    '''{'word ' * 9_000}'''\n"
            "    return torch.softmax(scores, -1)"),
    softmax("in an if", "import torch\nif torch.cuda.is_available():\n    device = 'cuda'\nelse:\n    device = 'cpu'\n"
            "def softmax(scores):\n    return torch.softmax(scores.to(device), -1)"),
    softmax("a device chosen", "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
            "def softmax(scores):\n    return torch.softmax(scores.to(device), -1).cpu()"),
    Odd("nbformat 3", "02.2", json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [
        {"cells": [{"cell_type": "code", "language": "python", "input": PLAIN, "outputs": []}]}]}).encode()),
    Odd("a byte order mark", "02.2", b"\xef\xbb\xbf" + notebook(PLAIN)),
    Odd("Windows' UTF-16", "02.2", notebook(PLAIN).decode().encode("utf-16")),
    Odd("a program", "02.2", f"{PLAIN}\nif __name__ == '__main__':\n    print(softmax(1))\n".encode(), "py"),
    Odd("a program of cells", "02.2", f"# %%\n{PLAIN}\n# %% [markdown]\n# text\n".encode(), "py"),
    other("scores by einsum, other letters", "02.1",
          "def scores(q, k):\n    return torch.einsum('abid,abjd->abij', q / q.shape[-1] ** .5, k)"),
    other("scores by einops' hand", "02.1",
          "import math\ndef scores(query, key):\n    B, H, T, D = query.shape\n    q = query.reshape(B * H, T, D)\n"
          "    k = key.reshape(B * H, -1, D).transpose(1, 2)\n"
          "    return torch.bmm(q / math.sqrt(D), k).view(B, H, T, -1)"),
    other("torch's attention", "02.3",
          "from torch.nn.functional import scaled_dot_product_attention as attention"),
    other("attention from the answers above", "02.3",
          "def scores(q, k):\n    return (q / q.shape[-1] ** 0.5) @ k.mT\ndef softmax(s):\n    return s.softmax(-1)",
          "def attention(q, k, v):\n    return softmax(scores(q, k)) @ v"),
    other("entropy through numpy", "02.4",
          "import numpy as np\ndef entropy(weights):\n    w = weights.detach().double().numpy()\n"
          "    logs = np.log2(w, out=np.zeros_like(w), where=w > 0)\n"
          "    return torch.from_numpy(-(w * logs).sum(-1))"),
    other("entropy without gradients", "02.4",
          "@torch.no_grad()\ndef entropy(weights):\n    return -torch.xlogy(weights, weights).sum(-1) / 0.6931471805599453"),
    other("entropy in inference mode", "02.4",
          "def entropy(weights):\n    with torch.inference_mode():\n"
          "        return torch.special.entr(weights).sum(-1) / torch.log(torch.tensor(2.0))"),
    other("a gradient by its table", "02.5",
          "def softmax_gradient(weights, upstream):\n    w = weights\n"
          "    table = torch.diag_embed(w) - w[..., None] * w[..., None, :]\n"
          "    return (table @ upstream[..., None])[..., 0]"),
    other("sizes as a dict of tuples", "01.1",
          "def call_shapes(B, H, Tq, Tk, Dh, Dv):\n    return dict(q=(B, H, Tq, Dh), k=(B, H, Tk, Dh), v=(B, H, Tk, Dv),\n"
          "        scores=(B, H, Tq, Tk), weights=(B, H, Tq, Tk), out=(B, H, Tq, Dv))"),
    other("sizes of torch", "01.1",
          "def call_shapes(B, H, Tq, Tk, Dh, Dv):\n    q, k, v = torch.empty(B, H, Tq, Dh), torch.empty(B, H, Tk, Dh), torch.empty(B, H, Tk, Dv)\n"
          "    s = q @ k.mT\n    return {'q': q.shape, 'k': k.shape, 'v': v.shape, 'scores': s.shape, 'weights': s.shape, 'out': (s @ v).shape}"),
    other("numbers of numpy", "01.3",
          "import numpy as np\ndef call_flops(B, H, Tq, Tk, Dh):\n    return np.int64(4) * B * H * Tq * Tk * Dh"),
    other("a mask by loops", "03.1",
          "def causal(Tq, Tk):\n    return torch.tensor([[[[j <= i + Tk - Tq for j in range(Tk)] for i in range(Tq)]]])"),
    other("leaks by autograd", "03.5",
          "def find_leaks(fn, x):\n    noise = torch.randn(x.shape) * 4\n    found = []\n    base = fn(x)\n"
          "    for s in range(len(x)):\n        other = x.clone()\n        other[s] = noise[s]\n        out = fn(other)\n"
          "        found += [(r, s) for r in range(s) if not torch.equal(out[r], base[r])]\n    return sorted(set(found))"),
    other("leaks by a jacobian", "03.5",
          "from torch.autograd.functional import jacobian\ndef find_leaks(fn, x):\n    found = set()\n"
          "    for point in (x, x + torch.randn_like(x), torch.randn_like(x) * 3):\n"
          "        table = jacobian(fn, point).abs().sum((1, 3))\n"
          "        found |= {(r, s) for r, s in table.nonzero().tolist() if s > r}\n"
          "    noise = torch.randn_like(x) * 3\n    for s in range(len(x)):\n        other = x.clone()\n"
          "        other[s] = noise[s]\n        moved = (fn(other) - fn(x)).abs().amax(-1) > 1e-6\n"
          "        found |= {(r, s) for r in range(s) if moved[r]}\n    return found"),
    other("leaks by jacrev", "03.5",
          "from torch.func import jacrev\ndef find_leaks(fn, x):\n"
          "    table = jacrev(fn)(x).abs().sum((1, 3))\n"
          "    found = {(r, s) for r, s in table.nonzero().tolist() if s > r}\n"
          "    noise = torch.randn_like(x) * 3\n    for s in range(len(x)):\n        other = x.clone()\n"
          "        other[s] = noise[s]\n        moved = (fn(other) - fn(x)).abs().amax(-1) > 1e-6\n"
          "        found |= {(r, s) for r in range(s) if moved[r]}\n    return found"),
    other("leaks as tensors", "03.5",
          "def find_leaks(fn, x):\n    rows = []\n    for s in range(len(x)):\n        change = torch.zeros_like(x)\n"
          "        change[s] = torch.linspace(2, 5, x.shape[1])\n        rows.append((fn(x + change) != fn(x)).any(-1))\n"
          "    return torch.stack(rows, 1).triu(1).nonzero()"),
    other("a masked softmax trained by an optimizer", "03.4",
          "layer = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
          "layer(torch.ones(1, 2)).sum().backward()\noptimizer.step()",
          "def masked_softmax(scores, keep):\n    s = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)\n"
          "    return s.softmax(-1) * keep"),
    other("tiles in a class", "06.3",
          "from dataclasses import dataclass\n@dataclass\nclass Row:\n    top: torch.Tensor\n    total: torch.Tensor\n    acc: torch.Tensor\n"
          "    def read(self, s, v):\n        top = torch.maximum(self.top, s.amax(-1, keepdim=True))\n"
          "        p, down = (s - top).exp(), (self.top - top).exp()\n"
          "        return Row(top, down * self.total + p.sum(-1, keepdim=True), down * self.acc + p @ v)", TILED.format("", "row = row.read(s, v[left:left + block_k])")),
    other("tiles in inference mode, in place", "06.3",
          TILED.format("@torch.inference_mode()\n",
                       "new = torch.maximum(row.top, s.amax(-1, keepdim=True))\n            down = (row.top - new).exp()\n"
                       "            s.sub_(new).exp_()\n            row.total.mul_(down).add_(s.sum(-1, keepdim=True))\n"
                       "            row.acc.mul_(down).add_(s @ v[left:left + block_k])\n            row.top.copy_(new)"),
          "from collections import namedtuple\nRow = namedtuple('Row', 'top total acc')"),
    other("tiles by a scripted step", "06.3",
          "@torch.jit.script\ndef step(top, total, acc, s, v):\n    new = torch.maximum(top, s.amax(-1, keepdim=True))\n"
          "    p, down = (s - new).exp(), (top - new).exp()\n    return new, down * total + p.sum(-1, keepdim=True), down * acc + p @ v",
          "from typing import NamedTuple\nclass Row(NamedTuple):\n    top: torch.Tensor\n    total: torch.Tensor\n    acc: torch.Tensor",
          TILED.format("", "row = Row(*step(row.top, row.total, row.acc, s, v[left:left + block_k]))")),
    kernel("a copy by a helper",
           "@triton.jit\ndef part(x_ptr, at, n):\n    return tl.load(x_ptr + at, mask=at < n)\n\n@triton.jit\ndef copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
           "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    tl.store(out_ptr + at, part(x_ptr, at, n), mask=at < n)"),
    kernel("a copy made a kernel afterwards",
           "tl = triton.language\ndef mine(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
           "    inside = at < n\n    tl.store(out_ptr + at, tl.load(x_ptr + at, inside), inside)\ncopy = triton.jit(mine)"),
)  # fmt: skip

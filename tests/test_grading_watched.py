"""Whose word counts: sources that could reach what watches them are told apart by reading them."""

import ast
import contextlib
import functools
import importlib
import inspect
import warnings

import odd
import pytest
import tellers
import torch

from course_lib import slow_memory
from course_lib.checks import QUESTIONS, find
from course_lib.checks.judge import Bench
from course_lib.checks.tiling import right_tiled, tiled_causal_mistakes, tiled_mistakes, tiled_slips
from course_lib.grading.confined.session import _watching
from course_lib.grading.handed_in.answers import cells, code_for
from course_lib.grading.handed_in.watched import reaches_out
from course_lib.grading.row import believed

KERNELS = [question for question in QUESTIONS if question.is_kernel]
TRITON = tellers.kernel("")[0]


def pieces(*sources):
    return tuple((f"cell {i}, line 1", source) for i, source in enumerate(sources, 1))


@functools.cache
def bench():
    return Bench(find("06.3"), seed=3)


def beyond(*sources, kernel=False):
    return reaches_out(pieces(*sources), kernel)


def sliced(name, sources):
    return code_for(cells(odd.notebook(*sources), "a.ipynb"), name).pieces


# --- what could reach the watcher ---


@pytest.mark.parametrize("name", tellers.BY_THE_RULE)
def test_an_answer_that_could_tell_what_is_not_so(name):
    code = sliced("tiled_attention", tellers.tiled(*tellers.BY_THE_RULE[name]))
    assert "may reach around what watches this" in reaches_out(code, False)


@pytest.mark.parametrize("name", tellers.KERNELS)
def test_a_kernel_that_could_tell_what_is_not_so(name):
    question, source = tellers.KERNELS[name]
    code = sliced(find(question).name, tellers.kernel(source))
    assert "may reach around what watches this" in reaches_out(code, True)


@pytest.mark.parametrize("name", tellers.BY_THE_WATCHER)
def test_what_torch_shows_needs_no_rule(name):
    sources = tellers.tiled(*tellers.BY_THE_WATCHER[name])
    assert not reaches_out(sliced("tiled_attention", sources), False)
    exec("\n".join(["import math", *sources]), space := {"__name__": "answer"})
    lines = bench().judge(space["tiled_attention"]).lines
    assert [line.ok for line in lines] == [True] * (len(lines) - 1) + [False]


OWN = "class Own:\n    def __init__(self, x):\n        self.{} = x"
REACHES = {
    "a metaclass": ("A = type(type(x))('A', (torch.Tensor,), {})", "type"),
    "a generic that is called": ("A = type[int]('A', (), {})", "type"),
    "a class of a parameter": ("class B: pass\ndef f(B):\n    class A(B): pass", "B"),
    "a class that is swapped": (
        "def swap(c): pass\n@swap\nclass B: pass\nclass A(B): pass",
        "swap",
    ),
    "a class of torch": ("class A(torch.nn.Parameter): pass", "torch.nn.Parameter"),
    "a class of a shadowed module": (
        "from torch import nn\ndef f(nn):\n    class A(nn.Module): pass",
        "nn.Module",
    ),
    "two imports of one name": (
        "from torch.nn import Module as B\nfrom torch import Tensor as B\nclass A(B): pass",
        "B",
    ),
    "a method that torch calls": (
        "class A:\n    def __torch_dispatch__(self): pass",
        "__torch_dispatch__",
    ),
    "everything of torch": ("from torch import *", "torch.*"),
    "a part of torch": ("from torch import utils", "torch.utils"),
    "a module in a list": ("a = [torch]", "torch"),
    "a module as a default": ("def f(t=torch): pass", "torch"),
    "a module under a loop": ("for t in (torch.nn,): pass", "torch.nn"),
    "a module rebound": ("import math\nmath = x", "math"),
    "a module's part on an object": (OWN.format("utils") + "\nx._utils", "._utils"),
    "an attribute that tensors have": (OWN.format("detach"), ".detach"),
    "an attribute that goes": ("def f(self):\n    del self.data", ".data"),
    "an attribute of another": ("torch.Tensor.detach = x", ".detach"),
    "a frame": ("(i for i in x).gi_frame", ".gi_frame"),
    "a frame, by its own name": (OWN.format("gi_frame"), ".gi_frame"),
    "a frame, in a tuple's names": (
        "from collections import namedtuple\nnamedtuple('A', 'gi_frame')\nx.gi_frame",
        ".gi_frame",
    ),
    "a dunder": ("f.__globals__", ".__globals__"),
    "the builtins": ("__builtins__", "__builtins__"),
    "the builtins, set": ("import math as __builtins__", "__builtins__"),
    "vars": ("vars(x)", "vars"),
    "an option of torch's own": ("torch.jit.script(f, _rcb=x)", "_rcb"),
    "a shape that is code": (
        "from jaxtyping import Float\nFloat[torch.Tensor, 'f()']",
        "Float[torch.Tensor, 'f()']",
    ),
    "a shape from elsewhere": (
        "from jaxtyping import Float\nFloat[torch.Tensor, x]",
        "Float[torch.Tensor, x]",
    ),
    "a type with shapes under another name": ("from jaxtyping import Float\nF = Float", "Float"),
    "no Python": ("x = (", "'(' was never closed"),
}


@pytest.mark.parametrize("case", REACHES.values(), ids=REACHES)
def test_what_reaches_out_is_named(case):
    source, what = case
    assert what in beyond(source)


KERNEL = "@triton.jit\ndef k(x_ptr, n, B: tl.constexpr):\n    "
BEYOND = {
    "a class": "class A:\n    pass",
    "an import within": KERNEL + "import math",
    "a global": KERNEL + "global n",
    "a function within": KERNEL + "def f(): pass",
    "a lambda": KERNEL + "f = lambda: 0",
    "a with": KERNEL + "with n: pass",
    "a try": KERNEL + "try:\n        pass\n    except Exception:\n        pass",
    "a comprehension": KERNEL + "n = [i for i in range(n)]",
    "another decorator": "@print\n" + KERNEL + "pass",
    "a module's other part": KERNEL + "triton.watch()",
    "an attribute that tiles don't have": KERNEL + "x_ptr.access",
    "an attribute set": KERNEL + "n.dtype = 1",
    "the language rebound": "tl = 3",
    "the language under another name, rebound": "l = triton.language\nl = 3",
    "a tile at the top level": "TILE = tl.zeros([8], tl.float32)",
    "a tile as a default": "@triton.jit\ndef k(x, n=tl.zeros([8], tl.float32)): pass",
    "a step at the top level": "for i in range(3): pass",
    "a kernel under another name": "@triton.jit\ndef k(): pass\nother = k",
    "a launch at the top level": "@triton.jit\ndef k(): pass\nother = triton.jit(k)[(3,)]",
    "a kernel as a default": "@triton.jit\ndef k(): pass\ndef f(n=k): pass",
    "a kernel as a default of its name": "@triton.jit\ndef k(): pass\ndef f(k=k): k[(3,)]()",
    "a kernel in a program": KERNEL + "k[(3,)](x_ptr)",
    "a kernel made in a program": KERNEL + "triton.jit(k)",
    "torch": "import torch\n" + KERNEL + "torch.zeros(3)",
    "a builtin": KERNEL + "getattr(x_ptr, 'tensor')",
}


@pytest.mark.parametrize("source", BEYOND.values(), ids=BEYOND)
def test_what_no_kernel_has(source):
    assert beyond(TRITON, source, kernel=True)


def test_the_place_is_the_line_in_the_cell():
    found = (("cell 2, line 7", "def f(x):\n    return x"), ("a.py, line 3", "f(1)\n\nimport sys"))
    assert reaches_out(found, False) == "a.py, line 5: `sys` may reach around what watches this"
    first = beyond("x.numpy()\nimport sys")
    assert first == "cell 1, line 1: `.numpy` may reach around what watches this"


def test_what_is_too_deep_to_be_shown_is_not_believed():
    assert "nested too deeply" in beyond(f"class A(x{'.a' * 900}): pass")


# --- what every right and every wrong answer writes ---


PLAIN = {
    "setup": "import torch\nfrom jaxtyping import Bool, Float\nfrom torch import Tensor",
    "annotations": "from jaxtyping import Float\nfrom torch import Tensor\n"
    'def f(q: Float[Tensor, "Tq Dh"], n: int = 3) -> Float[Tensor, "*batch Tq"] | None: ...',
    "aliases": "import torch.nn.functional as F\nfrom torch import nn\nT = torch.nn\n"
    "F.softmax(T.Linear(2, 2)(x), -1)\nnn.functional.pad(x, (0, 1))",
    "a module of one's own": "from torch import nn\nclass A(nn.Module):\n"
    "    def __init__(self, dim):\n        super().__init__()\n        self.dim = dim\n"
    "        self.scale: float = 3\n"
    "    def forward(self, q):\n        return q * self.scale",
    "a state": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass State:\n"
    "    total: torch.Tensor\n    top: float = -math.inf\n    def add(self, x):\n"
    "        return State(self.total + x, self.top)\nState(x).add(x).total",
    "a named tuple": "from collections import namedtuple\nS = namedtuple('S', 'm l acc')\nx.acc",
    "a function of autograd": "class A(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        ctx.n = 3\n"
    "        return x\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return ctx.saved_tensors[0] * ctx.n * g\n"
    "A.apply(x)",
    "in place": "x.masked_fill_(x > 0, -torch.inf).add_(1)\nx[0] += 1\nx.copy_(x)\nx.zero_()",
    "by hand": "rows = x.tolist()\nrows.append([0.0])\nsum(a * b for a, b in zip(*rows))",
    "switches": "@torch.no_grad()\ndef f(q):\n    with torch.inference_mode():\n        return q.T",
    "compiled": "f = torch.compile(f)\ng = torch.jit.script(f)\nh = torch.vmap(f)",
    "checks": "if type(x) is not torch.Tensor or not isinstance(x, torch.Tensor):\n"
    "    raise TypeError(f'expected a tensor, got {x!r}')\nassert x.ndim == 2, x.shape",
    "times and prints": "import time\nimport warnings\nstart = time.time()\nprint(x, time.time())\n"
    "warnings.warn('slow')",
    "constants of numpy": "import numpy as np\nx.masked_fill(x > 0, -np.inf)",
    "names with underscores": "for _ in range(3):\n    _rows = x\n    __ = _rows",
    "a program": "if __name__ == '__main__':\n    print(1)",
    "iterators": "from itertools import accumulate, chain\nfrom functools import partial, reduce\n"
    "list(chain.from_iterable(x))\nreduce(torch.maximum, x.split(3))",
    "limits": "torch.finfo(x.dtype).min\nx.amax(-1, keepdim=True).clamp_min(1e-30).values",
    "everything of math": "from math import *\nexp(inf)",
    "a device": "x.to(torch.device('cuda' if torch.cuda.is_available() else 'cpu'))",
    "torch's own attention": "torch.nn.functional.scaled_dot_product_attention(x, x, x)",
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
def test_everyday_code_is_believed(source):
    assert beyond(source) == ""


def statements(module):
    """The statements of a module of ours, without what it imports from the course."""
    for node in ast.parse(inspect.getsource(module)).body:
        if not (isinstance(node, ast.ImportFrom) and node.module.startswith("course_lib")):
            yield node


def test_every_right_way_of_06_3_is_believed():
    found = [n for n in statements(right_tiled) if not isinstance(n, ast.Assign)]
    own = [n for n in found if getattr(n, "name", "") != "_of_the_library"]
    assert len(found) == len(own) + 1  # that one can't be imported where it is graded
    assert beyond(*map(ast.unparse, own)) == ""


@pytest.mark.parametrize("module", [tiled_mistakes, tiled_causal_mistakes, tiled_slips])
def test_every_mistake_of_06_3_is_believed(module):
    nodes = {ast.unparse(n): n for m in (tiled_mistakes, module) for n in statements(m)}
    code = [text for text, node in nodes.items() if "Mistake" not in text and not is_table(node)]
    (table,) = filter(is_table, statements(module))
    runs = [ast.unparse(mistake.args[1]) for mistake in table.value.elts]
    assert {mistake.args[0].value for mistake in table.value.elts} <= {
        mistake.name for mistake in find("06.3").mistakes
    }
    assert beyond(*code, *(f"tiled_attention = {run}" for run in runs)) == ""


def is_table(node):
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)


@pytest.mark.parametrize("question", KERNELS, ids=lambda q: q.id)
def test_every_right_kernel_is_believed(question):
    module = importlib.import_module(question.alternatives[0].fn.__module__)
    found = [n for n in ast.parse(inspect.getsource(module)).body if not is_table(n)]
    assert beyond(*map(ast.unparse, found), kernel=True) == ""
    assert beyond(TRITON, inspect.getsource(question.reference.fn), kernel=True) == ""


def test_kernels_in_odd_forms_are_believed():
    copy = inspect.getsource(find("07.1").reference.fn)
    alias = "import course_lib.simulator as ts\nlang = ts.language"
    assert beyond(alias, copy.replace("triton", "ts").replace("tl.", "lang."), kernel=True) == ""
    bare = copy.replace("@triton.jit\n", "").replace("def copy", "def mine")
    assert beyond(TRITON, bare, "copy = triton.jit(mine)", kernel=True) == ""
    local = "@triton.jit\ndef inside(at, n):\n    return at < n\n\n"  # the reference has one too
    assert beyond(TRITON, local + copy, kernel=True) == ""
    called = copy.replace("triton.jit", "triton.jit(do_not_specialize=['n'])")
    constants = "import math\nLOG2E: tl.constexpr = 1 / math.log(2)\nN = tl.constexpr(-8)"
    assert beyond(TRITON, constants, called, kernel=True) == ""


@pytest.mark.parametrize("question", KERNELS, ids=lambda q: q.id)
def test_every_mistake_that_is_a_kernel_of_its_own_is_believed(question):
    known = {"tl", "triton", "range", "float", "math"}
    for mistake in question.mistakes:
        fn = inspect.unwrap(getattr(mistake.run, "fn", mistake.run))
        if not inspect.isfunction(fn) or fn.__name__ in ("run", "<lambda>"):
            continue  # made by a factory of ours: the right kernel but for one thing
        used = inspect.getclosurevars(fn)
        if not used.nonlocals and {*used.globals} <= known:
            assert beyond(TRITON, "import math", inspect.getsource(fn), kernel=True) == ""


def test_odd_answers_are_read_without_a_fault():
    for form in odd.FORMS:
        question = find(form.question)
        code = code_for(cells(form.data, f"a.{form.ending}"), question.name)
        for as_kernel in (True, False):
            found = reaches_out(code.pieces, as_kernel)
            assert isinstance(found, str)
            watched = any(probe.told for probe in question.probes)
            assert not (watched and found and as_kernel == question.is_kernel), form.name


# --- what comes of it ---


def in_reach(probe, inputs, names):
    """Whether anything watches while the probe calls its answer."""
    looks = []

    class Looks:
        returned, ended = None, False

        def __call__(self, *inputs):
            looks.append(bool(_watching()) or slow_memory.watched() is not None)
            return torch.zeros(1)

        def launch(self, grid, *inputs):
            self(*inputs)

    answer = Looks()
    answer.names = names
    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
        probe.observe(answer, *inputs)  # it doesn't get back what it expects
    return any(looks)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_the_probes_that_watch_say_so(question):
    for probe, inputs in zip(question.probes, question.draw(2), strict=True):
        assert probe.told == in_reach(probe, inputs, question.names), probe.holds


def verdict_of(sources):
    exec("\n".join(["import math", *sources]), space := {"__name__": "answer"})
    found = bench().judge(space["tiled_attention"])
    return found, believed(found, sliced("tiled_attention", sources))


def test_what_is_told_for_an_answer_that_reaches_out_is_for_a_person():
    body = "import sys\n" + inspect.getsource(right_tiled.tiled_attention).partition("\n")[2]
    head = "def tiled_attention(q, k, v, block_q, block_k, is_causal):\n    "
    found, (doubted, note) = verdict_of(["import torch", head + body])
    assert found.passed and doubted.points == found.points - 1
    *rest, last = doubted.lines
    assert all(line.ok for line in rest) and not last.ok
    assert last.fact == (
        "cell 2, line 2: `sys` may reach around what watches this: a person has to look"
    )
    assert note.endswith(f"a person has to look: {last.holds}.")


def test_what_is_told_against_an_answer_is_believed():
    whole = tellers.tiled("import sys", f"sys.stdout\nreturn {tellers.CALL}")
    found, (same, note) = verdict_of(whole)
    assert found.mistake.name == "all at once" and same is found and note == ""

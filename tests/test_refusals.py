"""Each refusal of the simulator is the compiler's: the same kernel, given to Triton."""

import os
import subprocess
import sys

import pytest
import torch

from course_lib import machine_code, simulator
from course_lib import simulator as triton
from course_lib.refusals import CompilationError, refusal
from course_lib.simulator import language as tl

KERNEL = """
def plain(x):
    return x

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    {}
    tl.store(out_ptr + at, x)
"""
REFUSED = {
    "break": ("for i in range(0, n):\n        break", "no break"),
    "continue": ("for i in range(0, n):\n        continue", "no continue"),
    "torch": ("x = torch.exp(x)", "torch isn't there"),
    "a dtype of torch": ("x = x.to(torch.float16).to(tl.float32)", "torch isn't there"),
    "@": ("y = tl.reshape(x, [4, 4])\n    z = y @ y", "no @ for tiles"),
    "a function of Python": ("x = plain(x)", "plain isn't under @triton.jit"),
    "float": ("x = x.float()", "no .float"),
    "half": ("x = x.half()", "no .half"),
    "mean": ("x = x - x.mean()", "no .mean"),
    "clone": ("x = x.clone()", "no .clone"),
    "a range of run time": ("x = tl.load(x_ptr + tl.arange(0, n))", "n is only known"),
    "lambda": ("f = lambda a: a", "no lambda"),
    "dict": ("d = {}", "no dict"),
    "set": ("s = {1}", "no set"),
    "try": ("try:\n        x = x\n    except Exception:\n        pass", "no try"),
    "yield": ("yield x", "no yield"),
    "import": ("import math", "no import"),
    "a slice": ("x = x[:4]", "a tile keeps its sides"),
    "lanes by a mask": ("x = x[at < 4]", "a tile keeps its sides"),
    "dim": ("x = x - tl.sum(x, dim=0)", "axis and keep_dims, not dim"),
    "triton for tl": ("x = triton.exp(x)", "tl.exp"),
    "an accumulator of half": (
        "y = tl.zeros([16, 16], tl.float16)\n    y = tl.dot(y, y, tl.zeros([16, 16], tl.float16))",
        "acc as a tile in float32",
    ),
    "a number to add to": (
        "y = tl.zeros([16, 16], tl.float16)\n    y = tl.dot(y, y, 0.0)",
        "float32",
    ),
    "tiles of one axis": ("y = tl.dot(x, x)", "tiles of two axes"),
    "exp of half": ("x = tl.exp(x.to(tl.float16))", "expected float32, got torch.float16"),
}
TAKEN = {
    "nothing": "x = x",
    "a method": "x = x.exp()",
    "a constant": "x = x * math.pi",
    "its shape": "x = x + x.shape[0]",
    "all axes": "x = x + tl.max(x)",
    "an early return": "if tl.program_id(0) > 3:\n        return",
    "an assertion": "assert n > 3",
    "a pointer's dtype": "x = x.to(out_ptr.dtype.element_ty)",
}
COMPILED = """
import json, math, sys, tempfile, importlib.util, pathlib, torch, triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
kinds = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
head = "import math, torch, triton, triton.language as tl\\n"
for number, source in enumerate(json.loads(sys.stdin.read())):
    path = pathlib.Path(tempfile.mkdtemp()) / f"kernel_{number}.py"
    path.write_text(head + source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        made = ASTSource(module.kernel, signature=kinds, constexprs={"BLOCK": 16})
        triton.compile(made, target=GPUTarget("cuda", 90, 32))
        print("taken")
    except Exception as error:
        print("refused")
"""


def written(tmp_path, body):
    """The kernel in a file, since a refusal is read off a source."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(body))
    space = {"triton": triton, "tl": tl, "torch": torch, "math": __import__("math")}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["kernel"]


def launched(kernel):
    x = torch.randn(16)
    kernel[(1,)](x, torch.empty(16), 16, 16)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_compiler_refuses_is_refused(tmp_path, name):
    body, why = REFUSED[name]
    kernel = written(tmp_path, body)
    with pytest.raises((CompilationError, TypeError, ValueError), match=why.replace(".", r"\.")):
        launched(kernel)


@pytest.mark.parametrize("name", [name for name in TAKEN if name != "a method"])
def test_what_a_compiler_takes_runs(tmp_path, name):
    launched(written(tmp_path, TAKEN[name]))


@pytest.mark.skipif(bool(machine_code.unavailable()), reason=str(machine_code.unavailable()))
def test_triton_agrees():
    import json

    bodies = [body for body, _ in REFUSED.values()] + list(TAKEN.values())
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], input=json.dumps([KERNEL.format(b) for b in bodies]),
        env=os.environ | {"TRITON_INTERPRET": "0"}, capture_output=True, text=True, check=True,
        timeout=200,
    )  # fmt: skip
    assert done.stdout.split() == ["refused"] * len(REFUSED) + ["taken"] * len(TAKEN)


def test_a_size_must_be_a_constant(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("BLOCK: tl.constexpr", "BLOCK").format("x = x"))
    space = {"triton": triton, "tl": tl}
    exec(compile(path.read_text(), str(path), "exec"), space)
    with pytest.raises(CompilationError, match="BLOCK is only known when the kernel runs"):
        launched(space["kernel"])


def test_a_refusal_names_the_line(tmp_path):
    why = refusal(written(tmp_path, "x = x.float()").fn)
    assert why == "line 5 of kernel, `x = x.float()`: Triton's tiles have no .float"


def test_a_helper_is_read_too():
    @triton.jit
    def halved(x):
        return x.half()

    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out_ptr + at, halved(tl.load(x_ptr + at)))

    with pytest.raises(CompilationError, match=r"halved.*no \.half"):
        launched(kernel)


def test_the_courses_own_kernels_are_taken():
    from course_lib import kernel, kernel_tuned

    for module in (kernel, kernel_tuned):
        own = [k for k in vars(module).values() if isinstance(k, simulator.Kernel)]
        assert own and not [refusal(k.fn) for k in own if refusal(k.fn)]


def test_without_a_source_nothing_is_refused():
    space = {"triton": triton, "tl": tl}
    exec(KERNEL.format("x = x.float()"), space)
    launched(space["kernel"])

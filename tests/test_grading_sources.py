"""Pieces of a notebook in a child: what isn't defined costs no more than it must."""

import socket
import sys

import pytest

from course_lib.grading.confined.child import Runner, imported
from course_lib.grading.confined.wire import Channel
from course_lib.simulator import Kernel


@pytest.fixture
def runner():
    ours, its = socket.socketpair()
    yield Runner(Channel(its), set())
    ours.close()
    its.close()


def load(runner: Runner, source: str, **more: object) -> dict:
    return runner.load({"name": "answer", "pieces": [["cell 3, line 2", source]]} | more)


def test_an_annotation_that_a_deleted_cell_defined_is_not_looked_up(runner):
    said = load(runner, 'def answer(x: Float[Tensor, "T"]) -> Shape:\n    return x + 1')
    assert said["found"] and said["notes"] == []
    assert runner.space["answer"](2) == 3


def test_a_default_that_nothing_defines_is_an_error(runner):
    said = load(runner, "def answer(x=Float):\n    return x")
    assert not said["found"]
    assert said["notes"] == ["cell 3, line 2: NameError: name 'Float' is not defined"]


@pytest.mark.parametrize(
    "imports",
    [
        "import triton\nimport triton.language as tl",
        "import triton\nfrom triton import language as tl",
        "import triton as t\ntriton, tl = t, t.language",
    ],
)
def test_a_kernel_that_imports_the_real_triton_is_the_simulators(runner, imports, monkeypatch):
    for name in ("triton", "triton.language"):  # what was there comes back after the test
        monkeypatch.setitem(sys.modules, name, None)
    imported(["course_lib.simulator"])
    source = f"{imports}\n@triton.jit\ndef answer(x_ptr, n: tl.constexpr):\n    tl.arange(0, n)\n"
    said = load(runner, source, kernel=True)
    assert said["found"] and said["notes"] == []
    assert isinstance(runner.space["answer"], Kernel)

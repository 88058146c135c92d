"""The engine inside a real Jupyter kernel, where a learner meets it."""

import nbformat
import pytest
from nbclient import NotebookClient

SETUP = """%load_ext course_lib
import torch
from jaxtyping import Float
from torch import Tensor
from course_lib.attention import attention
from course_lib.checks import check
"""

ENDLESS = """def softmax(scores):
    while True:
        try:
            scores = scores * 1
        except:
            pass
"""

WRONG_SHAPE = """def scores(
    q: Float[Tensor, "B H Tq Dh"], k: Float[Tensor, "B H Tk Dh"]
) -> Float[Tensor, "B H Tq Tk"]:
    return (q @ k.mT * q.shape[-1] ** -0.5).mT
"""

DISAGREE = """try:
    scores(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 5, 4))
except Exception as error:
    print(type(error).__name__, error)
"""

LIBRARY = """try:
    attention(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 5, 6), torch.zeros(1, 2, 5, 4))
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    """What each cell showed as text, run in one kernel."""
    cells = [
        SETUP, ENDLESS, "check(softmax)", WRONG_SHAPE, "check(scores)", DISAGREE, LIBRARY, "1 + 1",
    ]  # fmt: skip
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    return [
        "".join(o.get("text", "") or o["data"]["text/plain"] for o in cell.outputs)
        for cell in notebook.cells
    ]


def test_an_endless_loop_is_stopped_and_the_kernel_lives(outputs):
    assert "no answer in 2 seconds" in outputs[2] and "not run" in outputs[2]
    assert outputs[-1] == "2"


def test_a_wrong_shape_is_judged_not_raised(outputs):
    assert "; expected [" in outputs[4] and "TypeCheckError" not in outputs[4]


def test_a_cells_function_is_held_to_its_signature(outputs):
    assert "TypeCheckError" in outputs[5] and "B H Tq Tk" in outputs[5]


def test_the_library_names_the_axis(outputs):
    assert "k: axis Dh is 6, but q has Dh = 4" in outputs[6]

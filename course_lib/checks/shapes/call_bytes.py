"""Question 01.2: the bytes of a call, counted from its sizes."""

import math
from collections.abc import Callable

import torch

from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.call_bytes_mistakes import MISTAKES
from course_lib.checks.shapes.call_shapes_mistakes import RIGHT
from course_lib.checks.shapes.sizes import beside, five_sizes, named
from course_lib.shapes import plan


def call_bytes(B, H, Tq, Tk, Dh, dtype):
    """Count the bytes of q, k, v, scores, weights and out together, all of one dtype."""
    numbers = B * H * (2 * Tq * Dh + 2 * Tk * Dh + 2 * Tq * Tk)
    return numbers * dtype.itemsize


def _off(got: int, want: int, *inputs: object) -> str:
    *sizes, dtype = inputs
    return f"{beside(got, want, 'bytes')}, for {named(sizes)}, {_name(dtype)}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _each_dtype(fn: Callable, *inputs: object) -> dict:
    *sizes, dtypes = inputs
    return {_name(dtype): fn(*sizes, dtype) for dtype in dtypes}


def _off_at_a_dtype(got: dict, want: dict, *inputs: object) -> str:
    *sizes, dtypes = inputs
    name = next(name for name in map(_name, dtypes) if got[name] != want[name])
    return f"{name}: {beside(got[name], want[name], 'bytes')}, for {named(sizes)}"


def _bytes_of_ledger(B, H, Tq, Tk, Dh, dtype):
    return plan(B=B, H=H, Tq=Tq, Tk=Tk, Dh=Dh, dtype=dtype).bytes


def _bytes_one_by_one(B, H, Tq, Tk, Dh, dtype):
    total = 0
    for rows, columns in ((Tq, Dh), (Tk, Dh), (Tk, Dh), (Tq, Tk), (Tq, Tk), (Tq, Dh)):
        total += math.prod([B, H, rows, columns]) * torch.empty((), dtype=dtype).element_size()
    return total


def _bytes_of_tensors(B, H, Tq, Tk, Dh, dtype):
    sizes = {"B": B, "H": H, "Tq": Tq, "Tk": Tk, "Dh": Dh, "Dv": Dh}
    shapes = [[sizes[dim] for dim in dims.split()] for dims in RIGHT.values()]
    return sum(torch.empty(shape, dtype=dtype, device="meta").nbytes for shape in shapes)


def _bytes_in_torch(B, H, Tq, Tk, Dh, dtype):
    return torch.tensor([2 * B * H, Tq * (Dh + Tk) + Tk * Dh, dtype.itemsize]).prod()


# too many for float32 to count, and few enough for those who make the tensors
LONG = {"B": 3, "H": 5, "Tq": 1001, "Tk": 1107, "Dh": 65}

QUESTION = Question(
    "01.2",
    "call_bytes",
    "The memory of a call",
    stars=2,
    minutes=10,
    reference=call_bytes,
    probes=(
        Probe(
            "float32, Tq 3, Tk 7: six tensors, 4 bytes a number",
            five_sizes(torch.float32, Tq=3, Tk=7),
            fails=_off,
        ),
        Probe(
            "bfloat16, Tq 7, Tk 3: 2 bytes a number",
            five_sizes(torch.bfloat16, Tq=7, Tk=3),
            fails=_off,
        ),
        Probe(
            "float64 takes 8 bytes a number, float16 takes 2, int8 takes 1",
            five_sizes((torch.float64, torch.float16, torch.int8)),
            observe=_each_dtype,
            fails=_off_at_a_dtype,
        ),
        Probe(
            "float16, Tq 1, Tk 9: one new query",
            five_sizes(torch.float16, Tq=1, Tk=9),
            fails=_off,
        ),
        Probe(
            "bfloat16, Tq 1001, Tk 1107: exact to the byte",
            five_sizes(torch.bfloat16, **LONG),
            fails=_off,
        ),
    ),
    mistakes=MISTAKES,
    alternatives=(_bytes_of_ledger, _bytes_one_by_one, _bytes_of_tensors, _bytes_in_torch),
)

"""Questions 01.2 and 01.3: the bytes and the operations of a call, counted from its sizes."""

import math
from collections.abc import Callable
from fractions import Fraction

import torch
from torch import Tensor

from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.call_shapes_mistakes import RIGHT
from course_lib.checks.shapes.costs_mistakes import BYTES, FLOPS
from course_lib.checks.shapes.sizes import SIZES, five_sizes, named
from course_lib.shapes import plan


def call_bytes(B, H, Tq, Tk, Dh, dtype):
    """Count the bytes of q, k, v, scores, weights and out together, all of one dtype."""
    numbers = B * H * (2 * Tq * Dh + 2 * Tk * Dh + 2 * Tq * Tk)
    return numbers * dtype.itemsize


def call_flops(B, H, Tq, Tk, Dh):
    """Count the operations of a call's two products; a multiply-add is two, softmax not counted."""
    return 2 * B * H * Tq * Tk * Dh + 2 * B * H * Tq * Tk * Dh


def _off(unit: str) -> Callable:
    """Word the fact about a number, and how it relates to the right one if that is simple."""

    def fails(got: int, want: int, *inputs: object) -> str:
        dtype = "".join(f", {_dtype(i)}" for i in inputs[5:])
        share = Fraction(got, want)
        simple = 0 < share <= 16 and share.denominator <= 8
        hint = f", {share} {'times' if share.denominator == 1 else 'of'} what was expected"
        told = hint if simple else f"; expected {want:,}"
        return f"{named(inputs[:5])}{dtype}: yours is {got:,} {unit}{told}"

    return fails


def _dtype(value: object) -> str:
    return str(value).removeprefix("torch.")


def _each_dtype(fn: Callable, *inputs: object) -> dict:
    *sizes, dtypes = inputs
    return {_dtype(dtype): fn(*sizes, dtype) for dtype in dtypes}


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

CALL_BYTES = Question(
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
            fails=_off("bytes"),
        ),
        Probe(
            "bfloat16, Tq 7, Tk 3: 2 bytes a number",
            five_sizes(torch.bfloat16, Tq=7, Tk=3),
            fails=_off("bytes"),
        ),
        Probe(
            "float64 takes 8 bytes a number, float16 takes 2, int8 takes 1",
            five_sizes((torch.float64, torch.float16, torch.int8)),
            observe=_each_dtype,
        ),
        Probe(
            "float16, Tq 1, Tk 9: one new query",
            five_sizes(torch.float16, Tq=1, Tk=9),
            fails=_off("bytes"),
        ),
        Probe(
            "bfloat16, Tq 1001, Tk 1107: exact to the byte",
            five_sizes(torch.bfloat16, **LONG),
            fails=_off("bytes"),
        ),
    ),
    mistakes=BYTES,
    alternatives=(_bytes_of_ledger, _bytes_one_by_one, _bytes_of_tensors, _bytes_in_torch),
)


def _growth(**factors: int) -> Callable:
    """Observe by how much the work grows when some sizes are multiplied."""

    def observe(fn: Callable, *sizes: int) -> object:
        grown = [s * factors.get(dim, 1) for dim, s in zip(SIZES, sizes, strict=False)]
        before, after = fn(*sizes), fn(*grown)
        countable = all(isinstance(n, int | float | Tensor) for n in (before, after))
        return after / before if countable and before else before

    return observe


def _grows(got: float, want: float, *sizes: int) -> str:
    return f"from {named(sizes)}: yours becomes {got:.4g} times as much; expected {want:g} times"


def _flops_of_ledger(B, H, Tq, Tk, Dh):
    scores, _, out = plan(B=B, H=H, Tq=Tq, Tk=Tk, Dh=Dh).operations
    return scores.flops + out.flops


def _flops_by_products(B, H, Tq, Tk, Dh):
    return B * H * sum(2 * math.prod(axes) for axes in ((Tq, Dh, Tk), (Tq, Tk, Dh)))


def _flops_in_floats(*sizes):
    return 4.0 * math.prod(sizes)


CALL_FLOPS = Question(
    "01.3",
    "call_flops",
    "The work of a call",
    stars=2,
    minutes=10,
    reference=call_flops,
    probes=(
        Probe("Tq 3, Tk 7: both products", five_sizes(Tq=3, Tk=7), 2, fails=_off("operations")),
        Probe(
            "twice as many keys: twice the work", five_sizes(), observe=_growth(Tk=2), fails=_grows
        ),
        Probe(
            "twice as many queries and keys: four times the work",
            five_sizes(),
            observe=_growth(Tq=2, Tk=2),
            fails=_grows,
        ),
        Probe(
            "heads twice as wide: twice the work", five_sizes(), observe=_growth(Dh=2), fails=_grows
        ),
        Probe("Tq 1, Tk 9: one new query", five_sizes(Tq=1, Tk=9), fails=_off("operations")),
    ),
    mistakes=FLOPS,
    alternatives=(_flops_of_ledger, _flops_by_products, _flops_in_floats),
)

QUESTIONS = (CALL_BYTES, CALL_FLOPS)

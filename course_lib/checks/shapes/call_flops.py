"""Question 01.3: the operations of a call's two products, counted from its sizes."""

import math
import numbers
from collections.abc import Callable

from torch import Tensor

from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.call_flops_mistakes import MISTAKES
from course_lib.checks.shapes.sizes import SIZES, beside, five_sizes, named
from course_lib.shapes import plan


def call_flops(B, H, Tq, Tk, Dh):
    """Count the operations of a call's two products; a multiply-add is two, softmax not counted."""
    return 2 * B * H * Tq * Tk * Dh + 2 * B * H * Tq * Tk * Dh


def _off(got: int, want: int, *sizes: int) -> str:
    return f"{beside(got, want, 'operations')}, for {named(sizes)}"


def _growth(**factors: int) -> Callable:
    """Observe by how much the work grows when some sizes are multiplied."""

    def observe(fn: Callable, *sizes: int) -> object:
        grown = [s * factors.get(dim, 1) for dim, s in zip(SIZES, sizes, strict=False)]
        before, after = fn(*sizes), fn(*grown)
        countable = all(isinstance(n, numbers.Real | Tensor) for n in (before, after))
        return after / before if countable and before else before

    return observe


def _grows(got: float, want: float, *sizes: int) -> str:
    grown = "not more" if got == 1 else f"{got:.4g} times as much"
    return f"{grown}; expected {want:g} times, beginning at {named(sizes)}"


def _flops_of_ledger(B, H, Tq, Tk, Dh):
    scores, _, out = plan(B=B, H=H, Tq=Tq, Tk=Tk, Dh=Dh).operations
    return scores.flops + out.flops


def _flops_by_products(B, H, Tq, Tk, Dh):
    return B * H * sum(2 * math.prod(axes) for axes in ((Tq, Dh, Tk), (Tq, Tk, Dh)))


def _flops_in_floats(*sizes):
    return 4.0 * math.prod(sizes)


QUESTION = Question(
    "01.3",
    "call_flops",
    "The work of a call",
    stars=2,
    minutes=10,
    reference=call_flops,
    probes=(
        Probe("Tq 3, Tk 7: both products", five_sizes(Tq=3, Tk=7), 2, fails=_off),
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
        Probe("Tq 1, Tk 9: one new query", five_sizes(Tq=1, Tk=9), fails=_off),
    ),
    mistakes=MISTAKES,
    alternatives=(_flops_of_ledger, _flops_by_products, _flops_in_floats),
)

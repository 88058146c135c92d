"""The questions of chapter 07: five kernels, from a copy to a gradient, and a bound.

Each has its probes, its mistakes and other right ways in modules of its own.
"""

from course_lib.checks.kernel import (
    copy,
    phases,
    product,
    right_copy,
    right_phases,
    right_product,
    right_softmax,
    right_step,
    right_values,
    softmax,
    step,
    values,
)
from course_lib.checks.kernel.copy_mistakes import MISTAKES as COPY
from course_lib.checks.kernel.copy_slips import SLIPS as COPY_SLIPS
from course_lib.checks.kernel.phases_mistakes import MISTAKES as PHASES
from course_lib.checks.kernel.product_mistakes import MISTAKES as PRODUCT
from course_lib.checks.kernel.product_slips import SLIPS as PRODUCT_SLIPS
from course_lib.checks.kernel.product_tiles import TILES as PRODUCT_TILES
from course_lib.checks.kernel.softmax_mistakes import MISTAKES as SOFTMAX
from course_lib.checks.kernel.softmax_slips import SLIPS as SOFTMAX_SLIPS
from course_lib.checks.kernel.softmax_tiles import TILES as SOFTMAX_TILES
from course_lib.checks.kernel.step_mistakes import MISTAKES as STEP
from course_lib.checks.kernel.step_slips import SLIPS as STEP_SLIPS
from course_lib.checks.kernel.values_mistakes import MISTAKES as VALUES
from course_lib.checks.kernel.values_slips import SLIPS as VALUES_SLIPS
from course_lib.checks.question import Question

KERNEL = ("course_lib.simulator",)

QUESTIONS = (
    Question(
        "07.1",
        "copy",
        "Copy with a tail",
        stars=1,
        minutes=10,
        reference=copy.copy,
        probes=copy.COPY,
        mistakes=COPY + COPY_SLIPS,
        alternatives=right_copy.COPY,
        may_import=KERNEL,
    ),
    Question(
        "07.2",
        "softmax_rows",
        "A softmax over rows of any length",
        stars=2,
        minutes=20,
        reference=softmax.softmax_rows,
        probes=softmax.SOFTMAX,
        mistakes=SOFTMAX + SOFTMAX_SLIPS + SOFTMAX_TILES,
        alternatives=right_softmax.SOFTMAX,
        may_import=KERNEL,
    ),
    Question(
        "07.3",
        "product",
        "A product in tiles",
        stars=2,
        minutes=20,
        reference=product.product,
        probes=product.PRODUCT,
        mistakes=PRODUCT + PRODUCT_SLIPS + PRODUCT_TILES,
        alternatives=right_product.PRODUCT,
        may_import=KERNEL,
    ),
    Question(
        "07.4",
        "step",
        "One step of the loop",
        stars=2,
        minutes=20,
        reference=step.step,
        probes=step.STEP,
        mistakes=STEP + STEP_SLIPS,
        alternatives=right_step.STEP,
        may_import=KERNEL,
    ),
    Question(
        "07.5",
        "phases",
        "Where the diagonal begins",
        stars=2,
        minutes=15,
        reference=phases.phases,
        probes=phases.PHASES,
        mistakes=PHASES,
        alternatives=right_phases.PHASES,
    ),
    Question(
        "07.6",
        "values_gradient",
        "The gradient in v",
        stars=3,
        minutes=30,
        reference=values.values_gradient,
        probes=values.VALUES,
        mistakes=VALUES + VALUES_SLIPS,
        alternatives=right_values.VALUES,
        may_import=KERNEL,
    ),
)

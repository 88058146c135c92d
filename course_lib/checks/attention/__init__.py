"""The questions of chapter 02: scores, softmax, attention, entropy and the softmax's gradient."""

from course_lib import attention as library
from course_lib.checks.attention import probes, right
from course_lib.checks.attention.attention_mistakes import ATTENTION
from course_lib.checks.attention.entropy_mistakes import ENTROPY
from course_lib.checks.attention.gradient_mistakes import GRADIENT
from course_lib.checks.attention.scores_mistakes import SCORES
from course_lib.checks.attention.softmax_mistakes import SOFTMAX
from course_lib.checks.question import Question

QUESTIONS = (
    Question(
        "02.1",
        "scores",
        "How well keys answer queries",
        stars=1,
        minutes=5,
        reference=library.scores,
        probes=probes.SCORES,
        mistakes=SCORES,
        alternatives=(
            right.scores_after_in_float32,
            right.scores_by_einsum,
            right.scores_by_two_fourth_roots,
            right.scores_pair_by_pair,
            right.scores_in_float64,
        ),
    ),
    Question(
        "02.2",
        "softmax",
        "A softmax that can't overflow",
        stars=2,
        minutes=10,
        reference=library.softmax,
        probes=probes.SOFTMAX,
        mistakes=SOFTMAX,
        alternatives=(
            right.softmax_of_torch,
            right.softmax_by_logsumexp,
            right.softmax_in_float64,
            right.softmax_row_by_row,
            right.softmax_with_a_small_epsilon,
        ),
    ),
    Question(
        "02.3",
        "attention",
        "Blend the values",
        stars=2,
        minutes=10,
        reference=library.attention,
        probes=probes.ATTENTION,
        mistakes=ATTENTION,
        alternatives=(
            right.attention_of_torch,
            right.attention_in_parts,
            right.attention_by_einsum,
            right.attention_query_by_query,
        ),
    ),
    Question(
        "02.4",
        "entropy",
        "How undecided a query is",
        stars=2,
        minutes=10,
        reference=right.entropy,
        probes=probes.ENTROPIES,
        mistakes=ENTROPY,
        alternatives=(
            right.entropy_by_where,
            right.entropy_by_xlogy,
            right.entropy_painted,
            right.entropy_by_the_smallest_number,
            right.entropy_in_float64_with_an_epsilon,
            right.entropy_number_by_number,
        ),
    ),
    Question(
        "02.5",
        "softmax_gradient",
        "Back through the softmax",
        stars=3,
        minutes=20,
        reference=right.softmax_gradient,
        probes=probes.GRADIENTS,
        mistakes=GRADIENT,
        alternatives=(
            right.gradient_by_the_table,
            right.gradient_in_two_terms,
            right.gradient_by_einsum,
            right.gradient_pair_by_pair,
        ),
    ),
)

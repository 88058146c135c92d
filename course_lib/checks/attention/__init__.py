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
        alternatives=right.SCORES,
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
        alternatives=right.SOFTMAX,
    ),
    Question(
        "02.3",
        "attention",
        "Blend the values",
        stars=2,
        minutes=10,
        reference=right.attention,
        probes=probes.ATTENTION,
        mistakes=ATTENTION,
        alternatives=right.ATTENTION,
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
        alternatives=right.ENTROPY,
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
        alternatives=right.GRADIENT,
    ),
)

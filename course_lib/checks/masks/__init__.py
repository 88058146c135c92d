"""The questions of chapter 03: three masks, the softmax under them, a mended call, and leaks."""

from course_lib import attention
from course_lib import masks as library
from course_lib.checks.masks import calls, models, right, right_leaks, tables, weights
from course_lib.checks.masks.calls_mistakes import CALLS
from course_lib.checks.masks.calls_slips import SLIPS
from course_lib.checks.masks.causal_mistakes import CAUSAL
from course_lib.checks.masks.decoder_mistakes import DECODER
from course_lib.checks.masks.leaks_mistakes import LEAKS
from course_lib.checks.masks.padding_mistakes import PADDING
from course_lib.checks.masks.softmax_mistakes import SOFTMAX
from course_lib.checks.question import Question

QUESTIONS = (
    Question(
        "03.1",
        "causal",
        "Who may read whom",
        stars=1,
        minutes=10,
        reference=library.causal,
        probes=tables.CAUSAL,
        mistakes=CAUSAL,
        alternatives=right.CAUSAL,
    ),
    Question(
        "03.2",
        "padding",
        "Keys that aren't there",
        stars=1,
        minutes=5,
        reference=library.padding,
        probes=tables.PADDING,
        mistakes=PADDING,
        alternatives=right.PADDING,
    ),
    Question(
        "03.3",
        "decoder_mask",
        "Neither the future nor the padding",
        stars=2,
        minutes=10,
        reference=right.decoder_mask,
        probes=tables.DECODER,
        mistakes=DECODER,
        alternatives=right.DECODER,
    ),
    Question(
        "03.4",
        "masked_softmax",
        "A softmax that may read nothing",
        stars=2,
        minutes=15,
        reference=attention.masked_softmax,
        probes=weights.SOFTMAX,
        mistakes=SOFTMAX,
        alternatives=right.SOFTMAX,
    ),
    Question(
        "03.5",
        "find_leaks",
        "Find the leak",
        stars=3,
        minutes=20,
        reference=right_leaks.find_leaks,
        probes=models.LEAKS,
        mistakes=LEAKS,
        alternatives=right_leaks.LEAKS,
    ),
    Question(
        "03.6",
        "guarded",
        "Two masks that say no",
        stars=2,
        minutes=15,
        reference=right.guarded,
        probes=calls.CALLS,
        mistakes=CALLS + SLIPS,
        alternatives=right.CALLS,
    ),
)

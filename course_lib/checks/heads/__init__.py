"""The questions of chapter 04: heads cut and joined, taken apart, tested, and shared."""

from course_lib import heads as library
from course_lib.checks.heads import (
    cross_slips,
    layout,
    layout_slips,
    parts,
    right_layout,
    right_parts,
    stacks,
)
from course_lib.checks.heads.cross_mistakes import CROSS
from course_lib.checks.heads.merge_mistakes import MERGE
from course_lib.checks.heads.share_mistakes import SHARE
from course_lib.checks.heads.split_mistakes import SPLIT
from course_lib.checks.heads.stack_mistakes import STACK
from course_lib.checks.heads.take_mistakes import TAKE
from course_lib.checks.question import Question

QUESTIONS = (
    Question(
        "04.1",
        "split",
        "One slice of features each",
        stars=1,
        minutes=5,
        reference=library.split,
        probes=layout.SPLIT,
        mistakes=SPLIT + layout_slips.SPLIT,
        alternatives=right_layout.SPLIT,
    ),
    Question(
        "04.2",
        "merge",
        "Side by side again",
        stars=1,
        minutes=5,
        reference=library.merge,
        probes=layout.MERGE,
        mistakes=MERGE + layout_slips.MERGE,
        alternatives=right_layout.MERGE,
    ),
    Question(
        "04.3",
        "take_head",
        "The parameters of one head",
        stars=2,
        minutes=15,
        reference=right_parts.take_head,
        probes=parts.TAKE,
        mistakes=TAKE,
        alternatives=right_parts.TAKE,
    ),
    Question(
        "04.4",
        "equals_stack",
        "A test that can fail",
        stars=2,
        minutes=10,
        reference=right_parts.equals_stack,
        probes=stacks.STACK,
        mistakes=STACK,
        alternatives=right_parts.STACK,
    ),
    Question(
        "04.5",
        "cross_attention",
        "Ask one sequence, read another",
        stars=2,
        minutes=15,
        reference=right_parts.cross_attention,
        probes=parts.CROSS,
        mistakes=CROSS + cross_slips.CROSS,
        alternatives=right_parts.CROSS,
    ),
    Question(
        "04.6",
        "share",
        "Heads that share keys",
        stars=1,
        minutes=10,
        reference=library.share,
        probes=layout.SHARE,
        mistakes=SHARE + layout_slips.SHARE,
        alternatives=right_layout.SHARE,
    ),
)

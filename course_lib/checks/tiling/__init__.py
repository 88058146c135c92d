"""The questions of chapter 06: a tile folded, halves merged, a whole call, its bytes, its way back.

Each has its probes, its mistakes and other right ways in modules of its own.
"""

from course_lib.checks.question import Question
from course_lib.checks.tiling import (
    backward,
    fold,
    merge_outputs,
    moved_bytes,
    right_backward,
    right_bytes,
    right_fold,
    right_tiled,
    tiled,
)
from course_lib.checks.tiling.backward_mistakes import BACKWARD
from course_lib.checks.tiling.backward_slips import SLIPS as BACKWARD_SLIPS
from course_lib.checks.tiling.bytes_mistakes import MISTAKES as BYTES
from course_lib.checks.tiling.bytes_slips import SLIPS as BYTES_SLIPS
from course_lib.checks.tiling.fold_mistakes import MISTAKES as FOLD
from course_lib.checks.tiling.fold_slips import SLIPS as FOLD_SLIPS
from course_lib.checks.tiling.merge_mistakes import MISTAKES as MERGE
from course_lib.checks.tiling.merge_slips import SLIPS as MERGE_SLIPS
from course_lib.checks.tiling.tiled_causal_mistakes import CAUSAL
from course_lib.checks.tiling.tiled_mistakes import TILED
from course_lib.checks.tiling.tiled_slips import SLIPS as TILED_SLIPS

QUESTIONS = (
    Question(
        "06.1",
        "fold",
        "Read one more tile",
        stars=2,
        minutes=15,
        reference=fold.fold,
        probes=fold.FOLD,
        mistakes=FOLD + FOLD_SLIPS,
        alternatives=right_fold.FOLD,
    ),
    Question(
        "06.2",
        "merge_outputs",
        "Join two halves",
        stars=2,
        minutes=10,
        reference=merge_outputs.merge_outputs,
        probes=merge_outputs.MERGE,
        mistakes=MERGE + MERGE_SLIPS,
        alternatives=right_fold.MERGE,
    ),
    Question(
        "06.3",
        "tiled_attention",
        "The whole call, tile by tile",
        stars=3,
        minutes=25,
        reference=right_tiled.tiled_attention,
        probes=tiled.TILED,
        mistakes=TILED + CAUSAL + TILED_SLIPS,
        alternatives=right_tiled.TILED,
    ),
    Question(
        "06.4",
        "moved_bytes",
        "Count what moves",
        stars=2,
        minutes=15,
        reference=moved_bytes.moved_bytes,
        probes=moved_bytes.MOVED,
        mistakes=BYTES + BYTES_SLIPS,
        alternatives=right_bytes.MOVED,
    ),
    Question(
        "06.5",
        "tile_gradients",
        "One tile, backward",
        stars=3,
        minutes=20,
        reference=right_backward.tile_gradients,
        probes=backward.BACKWARD,
        mistakes=BACKWARD + BACKWARD_SLIPS,
        alternatives=right_backward.BACKWARD,
    ),
)

"""The questions of chapter 05: sines, shifts, rotations, slopes, and positions that are counted."""

from course_lib import positions as library
from course_lib.checks.positions import (
    count,
    right_count,
    right_rotate,
    right_slopes,
    right_waves,
    rotate,
    shift,
    sinusoid,
    slopes,
)
from course_lib.checks.positions.count_mistakes import COUNT
from course_lib.checks.positions.count_slips import SLIPS
from course_lib.checks.positions.rotate_mistakes import ROTATE
from course_lib.checks.positions.rotate_places import PLACES as ROTATE_PLACES
from course_lib.checks.positions.rotate_slips import ROTATE as ROTATE_SLIPS
from course_lib.checks.positions.shift_mistakes import ANGLES as SHIFT_ANGLES
from course_lib.checks.positions.shift_slips import FORMS
from course_lib.checks.positions.sinusoid_mistakes import ANGLES
from course_lib.checks.positions.sinusoid_slips import PLACES
from course_lib.checks.positions.slopes_mistakes import SERIES
from course_lib.checks.positions.slopes_slips import OTHER
from course_lib.checks.question import Question

QUESTIONS = (
    Question(
        "05.1",
        "sinusoid",
        "Sines and cosines in turns",
        stars=2,
        minutes=10,
        reference=sinusoid.sinusoid,
        probes=sinusoid.SINUSOID,
        mistakes=ANGLES + PLACES,
        alternatives=right_waves.SINUSOID,
    ),
    Question(
        "05.2",
        "shift_matrix",
        "Move it by k",
        stars=2,
        minutes=10,
        reference=shift.shift_matrix,
        probes=shift.SHIFT,
        mistakes=SHIFT_ANGLES + FORMS,
        alternatives=right_waves.SHIFT,
    ),
    Question(
        "05.3",
        "rotate",
        "Turn each pair",
        stars=2,
        minutes=15,
        reference=right_rotate.rotate,
        probes=rotate.ROTATE,
        mistakes=ROTATE + ROTATE_SLIPS + ROTATE_PLACES,
        alternatives=right_rotate.ROTATE,
    ),
    Question(
        "05.4",
        "slopes",
        "One slope a head",
        stars=2,
        minutes=10,
        reference=library.slopes,
        probes=slopes.SLOPES,
        mistakes=SERIES + OTHER,
        alternatives=right_slopes.SLOPES,
    ),
    Question(
        "05.5",
        "positions_of",
        "Count the real tokens",
        stars=2,
        minutes=10,
        reference=right_count.positions_of,
        probes=count.COUNT,
        mistakes=COUNT + SLIPS,
        alternatives=right_count.COUNT,
    ),
)

"""What notebooks use to show things: pictures, tables, predictions and explorables.

The charts of a chapter are imported from their own module, as in
`from course_lib.show.attention import opening`.
"""

from course_lib.show import style
from course_lib.show.explorables import explorable
from course_lib.show.figures import Picture, Table, figure, table
from course_lib.show.predictions import predict
from course_lib.show.style import (
    BLOCKED,
    BLOCKED_HATCH,
    KEY,
    OUTPUT,
    QUERY,
    ROLES,
    SCORES_MAP,
    VALUE,
    WEIGHTS_MAP,
    label_end,
)

# A chart must look the same in a notebook, in a test and from the command line.
style.apply()

__all__ = [
    "BLOCKED",
    "BLOCKED_HATCH",
    "KEY",
    "OUTPUT",
    "QUERY",
    "ROLES",
    "SCORES_MAP",
    "VALUE",
    "WEIGHTS_MAP",
    "Picture",
    "Table",
    "explorable",
    "figure",
    "label_end",
    "predict",
    "style",
    "table",
]

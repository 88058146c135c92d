"""The look of every figure: one colour and one line style for each role, in the whole course."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

# Apart from each other for every kind of colour vision.
QUERY = "#332288"
KEY = "#009988"
VALUE = "#CC3311"
OUTPUT = "black"

# A colour never stands alone: `ax.plot(x, y, **ROLES["query"])` sets the line style with it.
ROLES = {
    "query": {"color": QUERY, "linestyle": "-", "marker": "o"},
    "key": {"color": KEY, "linestyle": "--", "marker": "s"},
    "value": {"color": VALUE, "linestyle": "-.", "marker": "^"},
    "output": {"color": OUTPUT, "linestyle": ":", "marker": "D"},
}

WEIGHTS_MAP = "cividis"  # weights, from 0 to 1
SCORES_MAP = "PuOr"  # signed scores, centred on 0
HEADS = ("#0077BB", "#B85C00")  # two that stand for no role: heads, few heads against many
EDGE = "#555555"  # the lines of a grid
GUIDE = {"color": "#666666", "linestyle": ":", "linewidth": 1.5}  # a line to compare with
BLOCKED = "#BBBBBB"  # what a mask forbids, always with the hatch
BLOCKED_HATCH = "////"

HASHSALT = "course_lib"  # fixes the ids inside an SVG, so that one drawing gives one file

SETTINGS = {
    "figure.figsize": (7.5, 3.6),  # 720 px wide: readable in a notebook 800 px wide
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.08,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so it is the same everywhere
    "font.size": 11,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": mpl.cycler(
        color=[QUERY, KEY, VALUE, OUTPUT], linestyle=["-", "--", "-.", ":"]
    ),
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 5,
    "hatch.linewidth": 0.8,
    "image.cmap": WEIGHTS_MAP,
    "svg.hashsalt": HASHSALT,
    "svg.fonttype": "path",  # glyphs travel with the picture
}


def apply() -> None:
    """Give every figure drawn from here on the look of the course.

    Sets matplotlib's defaults only; it chooses no backend and opens no window.
    """
    mpl.rcParams.update(SETTINGS)


def ink(color) -> tuple[float, float, float]:
    """The same hue, dark enough to read as text on white (contrast 4.5 to 1, WCAG AA)."""
    rgb = np.array(mpl.colors.to_rgb(color))
    while contrast(rgb) < 4.5:
        rgb = rgb * 0.97
    return tuple(float(part) for part in rgb)


def contrast(rgb: Sequence[float] | np.ndarray) -> float:
    """How far a colour stands out from white, from 1 (not at all) to 21 (black), by WCAG 2."""
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(1.05 / (np.dot([0.2126, 0.7152, 0.0722], light) + 0.05))


def ink_on(face) -> str:
    """Black or white, whichever can be read on a ground of this colour."""
    return "white" if contrast(mpl.colors.to_rgb(face)) >= 4.5 else "black"


def headline(fig: Figure, text: str) -> None:
    """The finding, over several panels: where and how a single one has its title."""
    fig.suptitle(text, x=0.01, ha="left", weight="bold")


def label_end(ax: Axes, line: Line2D, text: str, dy: float = 0) -> Annotation:
    """Write a line's name at its end, in its colour, where the eye already is.

    The last point with finite coordinates counts as the end. `dy` moves the label up, in points,
    where two ends lie close together.
    """
    x, y = (np.asarray(part, dtype=float) for part in line.get_data())
    ends = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not ends.size:
        raise ValueError(f"label_end: line has no finite point to put the label {text!r} at")
    return ax.annotate(
        text,
        (x[ends[-1]], y[ends[-1]]),
        xytext=(7, dy),
        textcoords="offset points",
        color=ink(line.get_color()),
        va="center",
        annotation_clip=False,
    )

"""The charts of chapter 06: what a tile is, how exact it is, and what it saves."""

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.show import style
from course_lib.show.figures import Picture, figure
from course_lib.show.shapes import size

# Four programs that stand for no role: each has its colour, its line and its mark.
LOOKS = (
    {"color": style.HEADS[1], "linestyle": "--", "marker": "^"},
    {"color": "#666666", "linestyle": "-.", "marker": "s"},
    {"color": style.HEADS[0], "linestyle": "-", "marker": "o"},
    {"color": "black", "linestyle": ":", "marker": "D"},
)
WRONG = 1e-5  # more than rounding leaves in float32
LEAST = 1e-8  # errors at most as large, and 0, stand at the left edge
WORST = 1e3  # errors at least as large, and NaN, stand at the right edge


def opening() -> Picture:
    """All scores at once, beside one tile of them and what its queries remember."""
    T, block, Dv = 12, 4, 3
    scores = torch.randn(T, T, generator=torch.Generator().manual_seed(4))
    rows, cols = slice(block, 2 * block), slice(block, 2 * block)
    fig, axes = plt.subplots(1, 3, figsize=(7.5, 3.1), width_ratios=[T, T, 7.5])
    _table(axes[0], "all at once", T, block)
    _scores(axes[0], scores, slice(0, T), slice(0, T))
    _table(axes[1], "tile by tile", T, block)
    _scores(axes[1], scores, rows, cols)
    for row in range(T // block):
        for col in range(T // block):
            word = "read" if (row, col) < (1, 1) else "" if (row, col) == (1, 1) else "to come"
            axes[1].text(*(block * n + (block - 1) / 2 for n in (col, row)), word, fontsize=9,
                         ha="center", va="center", color="#444444")  # fmt: skip
    axes[0].set_ylabel("query")
    _remembered(axes[2], T, rows, Dv)
    title = f"All at once holds {T * T} scores; tile by tile, {block * block} and a memory"
    style.headline(fig, title)
    alt = (
        f"Three panels. A table of {T} queries by {T} keys, every score held. The same table cut "
        f"into tiles of {block} by {block}: four are read, one is held, four are to come. Beside "
        f"it what each of the tile's {block} queries remembers: a maximum, a sum and an output of "
        f"{Dv} numbers."
    )
    return figure(fig, alt)


def error_dots(errors: Mapping[str, Sequence[float]], title: str) -> Picture:
    """Errors by kind of row, each a dot on a logarithmic axis; 0 and NaN stand at its edges."""
    eps = torch.finfo(torch.float32).eps
    fig, ax = plt.subplots(figsize=(7.5, 0.42 * len(errors) + 1.3))
    said = []
    for place, (name, found) in enumerate(errors.items()):
        worst = max(found, key=lambda e: math.inf if math.isnan(e) else e)
        shown = [WORST if not e < WORST else max(e, LEAST) for e in found]
        bad = not worst < WRONG
        look = LOOKS[0 if bad else 2]
        ax.plot(shown, [place] * len(shown), look["marker"], color=look["color"], alpha=0.6,
                markersize=7, markeredgewidth=0)  # fmt: skip
        word = "NaN" if math.isnan(worst) else f"{worst:.1g}"
        ax.annotate(word, (1, place), (8, 0), xycoords=("axes fraction", "data"), va="center",
                    textcoords="offset points", color=style.ink(look["color"]))  # fmt: skip
        said.append(f"{name}: {word}")
    ax.axvline(eps, **style.GUIDE)
    ax.set(xscale="log", xlim=(LEAST / 2, 2 * WORST), ylim=(len(errors) - 0.5, -0.5))
    ax.set_yticks(range(len(errors)), errors)
    names = {LEAST: "\n0 to 1e-08", 1e-7: "1e-07", 1e-5: "1e-05", 1e-3: "0.001", 0.1: "0.1"}
    names |= {10: "10", WORST: "1000\nor NaN"}
    ax.set_xticks(list(names), names.values())
    ax.minorticks_off()
    ax.annotate("worst", (1, 1), (8, 4), xycoords="axes fraction", textcoords="offset points")
    ax.set_xlabel("error, of values of size 1 (dotted: float32's rounding)")
    style.headline(fig, title)
    return figure(fig, f"The largest error for each kind of row. {'; '.join(said)}.")


def traffic_lines(
    counted: Mapping[str, Mapping[int, int]], formula: Mapping[str, Mapping[int, int]]
) -> Picture:
    """Bytes moved against length: lines by the formula, marks where a program was counted."""
    fig, ax = plt.subplots(figsize=(7.5, 3.7))
    said = []
    for (name, marks), look in zip(counted.items(), LOOKS, strict=False):
        line = formula[name]
        (drawn,) = ax.plot(list(line), list(line.values()), **look | {"marker": ""})
        ax.plot(list(marks), list(marks.values()), **look | {"linestyle": ""}, markersize=7)
        style.label_end(ax, drawn, name)
        said.append(f"{name} {size(max(line.values()))}")
    T = max(next(iter(formula.values())))
    first, *_, last = (lines[T] for lines in formula.values())
    lengths = sorted({T for marks in counted.values() for T in marks})
    ax.set_xscale("log", base=2)
    bytes_axis(ax)
    ax.set_xticks(lengths, map(str, lengths))
    ax.set(xlabel="length T (queries and keys)", ylabel="bytes moved")
    ax.set_title(f"At T = {T} the largest tiles move {first / last:.1f} times fewer bytes")
    alt = f"Bytes moved against length. At T = {T}: {'; '.join(said)}. Every mark is on its line."
    return figure(fig, alt, "Lines: the closed formulas. Marks: counted as the programs ran.")


def share_bars(lse: Float[Tensor, " N"], keys: Sequence[int]) -> Picture:
    """How much each block counts in the whole output, with its lse and its number of keys."""
    shares = lse.softmax(0)
    fig, ax = plt.subplots(figsize=(7.5, 2.9))
    drawn = ax.bar(range(len(lse)), shares.tolist(), color=LOOKS[2]["color"], width=0.65)
    ax.bar_label(drawn, [f"{s:.2f}" for s in shares.tolist()], padding=2, fontsize=10)
    names = [f"{_keys(n)}, lse {x:.1f}" for n, x in zip(keys, lse.tolist(), strict=True)]
    ax.set_xticks(range(len(lse)), [name.replace(", ", "\n") for name in names])
    ax.set(ylabel="share of the output", ylim=(0, 1.15 * shares.max().item()))
    ax.tick_params(axis="x", length=0)
    most = keys[shares.argmax().item()]
    ax.set_title(f"The block of {_keys(most)} counts most; the largest has {max(keys)}")
    said = "; ".join(f"{n}: {s:.2f}" for n, s in zip(names, shares.tolist(), strict=True))
    return figure(fig, f"The share of each block of keys in the output of one query. {said}.")


def _keys(n: int) -> str:
    return "1 key" if n == 1 else f"{n} keys"


def _table(ax: Axes, name: str, T: int, block: int) -> None:
    """An empty table of queries by keys, cut into tiles."""
    ax.set(xlim=(-0.6, T - 0.4), ylim=(T - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
    for cut in range(0, T + 1, block):
        ax.plot([cut - 0.5] * 2, [-0.5, T - 0.5], color=style.EDGE, linestyle="-", linewidth=0.8)
        ax.plot([-0.5, T - 0.5], [cut - 0.5] * 2, color=style.EDGE, linestyle="-", linewidth=0.8)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("key")
    ax.set_title(name, weight="normal", fontsize=10, loc="center")


def _scores(ax: Axes, scores: Float[Tensor, "T T"], rows: slice, cols: slice) -> None:
    """The scores of one tile; rectangles, so that the picture stays sharp."""
    colours = mpl.colormaps[style.SCORES_MAP]
    most = scores.abs().max()
    for i in range(rows.start, rows.stop):
        for j in range(cols.start, cols.stop):
            face = colours(0.5 + 0.5 * (scores[i, j] / most).item())
            box = plt.Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=face, edgecolor="white", lw=0.4)
            ax.add_patch(box)


def _remembered(ax: Axes, T: int, rows: slice, Dv: int) -> None:
    """A maximum, a sum and an output for each query of the tile in hand."""
    ax.set(xlim=(-0.6, 7), ylim=(T - 0.4, -0.6), aspect="equal")
    parts = ((0, 1, "row_max"), (1.6, 1, "row_sum"), (3.2, Dv, "acc"))
    for x, columns, name in parts:
        turned = 90 if columns == 1 else 0
        ax.text(x + columns / 2 - 0.5, rows.start - 0.9, name, rotation=turned,
                ha="center", va="bottom", fontsize=10)  # fmt: skip
        for i in range(rows.start, rows.stop):
            for j in range(columns):
                box = plt.Rectangle((x + j - 0.5, i - 0.5), 1, 1, facecolor="#DDDDDD",
                                    edgecolor=style.EDGE, lw=0.8)  # fmt: skip
                ax.add_patch(box)
    ax.text(-0.5, rows.stop, "what its queries\nremember", va="top", fontsize=10)
    ax.set_axis_off()


def bytes_axis(ax: Axes) -> None:
    """Make the axis of bytes logarithmic: a line for each factor of 2, a number for some."""
    ax.set_yscale("log", base=2)
    low, high = ax.get_ylim()
    ticks = [2**e for e in range(1, 60) if low <= 2**e <= high]
    apart = 1 + len(ticks) // 8
    ax.set_yticks(ticks[::apart], map(size, ticks[::apart]))
    ax.set_yticks(ticks, minor=True)
    ax.tick_params(which="minor", length=0, labelleft=False)
    ax.grid(True, which="both")

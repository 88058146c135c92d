"""The charts of chapter 00: a chain of states against a table of scores."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.show.figures import Picture, figure
from course_lib.show.style import KEY, OUTPUT, QUERY, ROLES, WEIGHTS_MAP, label_end

# Whole models have no role, so they get black and greys; line styles and markers keep them apart.
LINES = (
    {"color": "#888888", "linestyle": "--", "marker": "s"},
    {"color": OUTPUT, "linestyle": "-", "marker": "o"},
    {"color": "#444444", "linestyle": "-.", "marker": "^", "mfc": "white", "markersize": 9},
)
Number = int | float  # a checker takes `float` at its word and turns 3 away
WORDS = ("The", "keys", "to", "the", "shed", "are")
FAINT = "#BBBBBB"


def opening() -> Picture:
    """One sentence twice: the states that a chain passes, the one score that a table holds."""
    asks, answers = len(WORDS) - 1, WORDS.index("keys")
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.9), width_ratios=(0.6, 1))
    _chain(left, answers, asks)
    _grid(right, answers, asks)
    alt = (
        f"The sentence “{' '.join(WORDS)}” drawn twice. Left, a chain: from “{WORDS[answers]}” "
        f"to “{WORDS[asks]}” a signal passes {asks - answers} arrows, one after another. Right, a "
        f"table with {len(WORDS)} rows of queries and {len(WORDS)} columns of keys: the row of "
        f"“{WORDS[asks]}” meets the column of “{WORDS[answers]}” in one cell."
    )
    return figure(fig, alt)


def _chain(ax: Axes, answers: int, asks: int) -> None:
    for t, word in enumerate(WORDS):
        y, color = t + 0.5, OUTPUT if answers <= t <= asks else FAINT
        ax.add_patch(plt.Circle((0, y), 0.28, fill=False, ec=color, lw=2))
        ax.text(0, y, f"h{t}", ha="center", va="center", fontsize=9)
        ax.text(-0.5, y, word, ha="right", va="center")
        if t:
            color = OUTPUT if answers < t <= asks else FAINT
            arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": color, "lw": 2}
            ax.annotate("", (0, y - 0.28), (0, y - 0.72), arrowprops=arrow)
        if answers < t <= asks:
            ax.text(0.4, y - 0.5, f"step {t - answers}", va="center", fontsize=10)
    # the rows stand at the height of the table's
    ax.set(xlim=(-1.6, 1.8), ylim=(len(WORDS) + 0.02, -0.02), aspect="equal")
    ax.set_title(f"A chain: {asks - answers} steps")
    ax.axis("off")


def _grid(ax: Axes, answers: int, asks: int) -> None:
    size = len(WORDS)
    for row in range(size):
        for column in range(size):
            chosen = (row, column) == (asks, answers)
            face = OUTPUT if chosen else "#EEEEEE" if row == asks else "white"
            ax.add_patch(Rectangle((column, row), 1, 1, fc=face, ec=FAINT, lw=1))
    ax.text(answers + 0.5, asks + 0.5, "1", color="white", ha="center", va="center")
    ax.set(xlim=(-0.02, size + 0.02), ylim=(size + 0.02, -0.02), aspect="equal")
    middle = [i + 0.5 for i in range(size)]
    ax.set_xticks(middle, WORDS, color=KEY)
    ax.set_yticks(middle, WORDS, color=QUERY)
    ax.tick_params(length=0)
    ax.set_xlabel("key: what I am", color=KEY)
    ax.set_ylabel("query: what I look for", color=QUERY)
    ax.spines[:].set_visible(False)
    ax.set_title("A table: 1 step")


def depth_lines(lengths: Sequence[int], depths: Mapping[str, Sequence[int]]) -> Picture:
    """Draw the longest chain of operations against the number of tokens, one line a model."""
    fig, ax = plt.subplots()
    for (name, counts), look in zip(depths.items(), LINES, strict=False):
        (line,) = ax.plot(lengths, counts, **look)
        label_end(ax, line, f"{name}: {counts[-1]}")
    still = [name for name, counts in depths.items() if len(set(counts)) == 1]
    growing = [name for name in depths if name not in still]
    parts = [f"{name}: a longer chain for every token" for name in growing]
    parts += [f"{name}: {depths[name][0]} at any length" for name in still]
    ax.set_title("; ".join(parts))
    ax.set(xlabel="tokens, T", ylabel="operations in a row", xticks=lengths, ylim=(0, None))
    ax.set_xlim(0, 1.3 * max(lengths))  # room for the names at the ends
    ax.grid(axis="y")
    alt = "Longest chain of operations against tokens. " + " ".join(
        f"{name}: {counts[0]} at T = {lengths[0]}, {counts[-1]} at T = {lengths[-1]}."
        for name, counts in depths.items()
    )
    return figure(fig, alt)


def gradient_lines(norms: Mapping[str, Tensor], about: str | None = None) -> Picture:
    """Draw how strongly the last output depends on each input, on a logarithmic axis.

    The title says what became of the gradient of the model named `about`, else of the worst.
    """
    T = max(len(norm) for norm in norms.values())
    kept = {name: float(norm[0] / norm[-1]) for name, norm in norms.items()}
    about = about or min(kept, key=kept.get)
    if about not in norms:
        raise ValueError(f"gradient_lines: about must be one of {list(norms)}; got {about!r}")
    fig, ax = plt.subplots()
    for (name, norm), look in zip(norms.items(), LINES, strict=False):
        ax.plot(range(len(norm)), norm, **look, label=name, markevery=max(1, T // 12))
    ax.set_title(f"{about}: the first input's gradient is {kept[about]:.2g} times the last's")
    ax.set_yscale("log")
    ax.set(xlabel="position of the input", ylabel="gradient norm", xlim=(-0.7, T - 0.3))
    ax.set_xticks([*range(0, T - 4, 8), T - 1])
    ax.grid(axis="y")
    # The lines meet at their ends, so names there would stack. This corner is always free: a
    # gradient that falls on the way is small at the left.
    ax.legend(loc="lower right", handlelength=4)
    alt = f"Gradient of the last output at each of {T} inputs, logarithmic axis. " + " ".join(
        f"{name}: {norm[0]:.1e} at the first input, {norm[-1]:.1e} at the last."
        for name, norm in norms.items()
    )
    return figure(fig, alt)


def loudness_line(loudness: Sequence[Number], distance: Sequence[Number]) -> Picture:
    """Draw how far a soft lookup stays from the exact one as its query gets louder."""
    fig, ax = plt.subplots(figsize=(7.5, 3.2))
    (line,) = ax.plot(loudness, distance, **ROLES["output"])
    label_end(ax, line, f"{distance[-1]:.0e}")
    ax.set_yscale("log")
    ax.set_title("The louder the query, the nearer the exact lookup")
    ax.set(xlabel="loudness: the query's length", ylabel="distance to the exact value")
    ax.set_xticks(loudness)
    ax.set_xlim(0, 1.12 * max(loudness))
    ax.grid(axis="y")
    alt = (
        "Distance between the soft and the exact lookup, logarithmic axis: "
        f"{distance[0]:.2g} at loudness {loudness[0]}, {distance[-1]:.1e} at {loudness[-1]}."
    )
    return figure(fig, alt)


def lookup_grid(
    queries: Sequence[str], entries: Mapping[str, Number], weights: Tensor, found: Sequence[Number]
) -> Picture:
    """Draw the weight that each query gives to each entry, and the value that comes back."""
    fig, ax = plt.subplots(figsize=(7.5, 0.55 * len(queries) + 1.5))
    ax.imshow(weights.numpy(), cmap=WEIGHTS_MAP, vmin=0, vmax=1, aspect="auto")
    for row, column in torch.cartesian_prod(*map(torch.arange, weights.shape)).tolist():
        weight = float(weights[row, column])
        color = "black" if weight > 0.45 else "white"  # cividis is dark below
        ax.text(column, row, f"{weight:.2f}", ha="center", va="center", color=color)
    names = [f"{name}, {value:g}" for name, value in entries.items()]
    ax.set_xticks(range(len(names)), names, color=KEY)
    ax.set_yticks(range(len(queries)), queries, color=QUERY)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    for row, value in enumerate(found):
        ax.text(len(names) - 0.4, row, f"returns {value:.2f}", va="center")
    ax.set_title("Each query gets a blend of the values, weighted by its match")
    alt = "Weights of each query over the entries. " + " ".join(
        f"{query}: "
        + ", ".join(f"{n} {w:.2f}" for n, w in zip(entries, row, strict=True))
        + f"; returns {value:.2f}."
        for query, row, value in zip(queries, weights.tolist(), found, strict=True)
    )
    return figure(fig, alt)

"""The charts of chapter 01: an attention call as blocks to scale, what it hides and costs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_lib.shapes import Entry, Ledger, plan
from course_lib.show.figures import Picture, Table, figure, table
from course_lib.show.style import ROLES, label_end

GREY = "#777777"  # scores and weights: they belong to no role
BLOCKS = (  # what is drawn, in which colour, and the sign that stands before it
    ("q", "query", ""),
    ("k", "key", "@"),
    ("scores", "", "="),
    ("weights", "", "→"),
    ("v", "value", "@"),
    ("out", "output", "="),
)
GAPS = {"": 0, "@": 0.42, "=": 0.42, "→": 0.66}  # inches between two blocks, by sign
WIDTH = 7.5

CHOICES = (  # what is chosen, in 2017, today, a paper to read
    ("scores", "dot product over the root of `Dh`", "the same", "Vaswani et al. 2017"),
    ("heads", "several, side by side", "the same", "Vaswani et al. 2017"),
    ("residual", "around each sublayer", "the same", "He et al. 2016"),
    ("stack", "encoder and decoder, 6 + 6 layers", "decoder only", "Radford et al. 2018"),
    ("place of the norm", "after the sublayer", "before it", "Xiong et al. 2020"),
    ("kind of norm", "LayerNorm", "RMSNorm", "Zhang & Sennrich 2019"),
    ("feed-forward", "ReLU", "SwiGLU", "Shazeer 2020"),
    ("positions", "sinusoids, added to `x`", "rotary, on `q` and `k`", "Su et al. 2021"),
    ("key-value heads", "as many as query heads", "fewer, shared", "Ainslie et al. 2023"),
    ("decoding", "no cache mentioned", "keys and values kept", "Shazeer 2019"),
    ("score matrix", "written out", "in tiles, never whole", "Dao et al. 2022"),
)
"""The choices inside "a Transformer": 2017 against what is common today."""


def opening() -> Picture:
    """Draw the chapter's opening picture: the blocks of one call, to scale."""
    title = "Two blocks have both lengths: the scores and the weights"
    return blocks(plan(B=1, H=2, Tq=6, Tk=10, Dh=4), title)


def blocks(book: Ledger, title: str = "") -> Picture:
    """Draw one head of an attention call, each tensor a block to scale."""
    sizes = {name: _face(name, book[name]) for name, _, _ in BLOCKS}
    tallest = max(rows for (rows, _), _ in sizes.values())
    wide = sum(columns for (_, columns), _ in sizes.values())
    room = WIDTH - 0.2 - sum(GAPS[sign] for _, _, sign in BLOCKS)
    unit = min(room / wide, 0.26)  # inches for one row or column
    fig = plt.figure(figsize=(WIDTH, unit * tallest + 1.3), layout="none")
    ax = fig.add_axes((0, 0, 1, 1), aspect="equal")
    ax.set_axis_off()
    x = (room / unit - wide) / 2 + 0.1 / unit
    for name, role, sign in BLOCKS:
        (rows, columns), dims = sizes[name]
        gap = GAPS[sign] / unit
        ax.text(x + gap / 2, 0, sign, ha="center", va="center", fontsize=12)
        if sign == "→":
            ax.annotate("softmax", (x + gap / 2, 0), (0, 8), fontsize=8, **_ABOVE)
        x += gap
        _block(ax, x, (rows, columns), ROLES.get(role))
        label = "k.mT" if name == "k" else name
        ax.annotate(label, (x + columns / 2, rows / 2), (0, 5), **_ABOVE, fontweight="bold")
        text = f"[{', '.join(dims)}]\n[{rows}, {columns}]"
        ax.annotate(text, (x + columns / 2, -rows / 2), (0, -6), **_BELOW)
        x += columns
    ax.set_xlim(0, WIDTH / unit)
    ax.set_ylim(-tallest / 2 - 0.5 / unit, tallest / 2 + 0.8 / unit)
    Tq, Tk = book["scores"].shape[-2:]
    title = title or f"{Tq} queries against {Tk} keys: {Tq * Tk} scores in each head"
    fig.text(0.015, 1, title, fontsize=12.5, fontweight="bold", va="top")
    dtype = str(book["q"].dtype).removeprefix("torch.")
    caption = f"All {book.sizes['B'] * book.sizes['H']} heads together: {book.bytes:,} bytes in "
    return figure(fig, _say(book, sizes), caption + f"{dtype}, {book.flops:,} operations.")


_ABOVE = {"textcoords": "offset points", "ha": "center", "va": "bottom"}
_RULE = {"color": "white", "linestyle": "-", "linewidth": 0.8}
_BELOW = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 9}


def _face(name: str, entry: Entry) -> tuple[tuple[int, int], tuple[str, str]]:
    """The rows and columns that one head shows, and their dims; keys stand transposed."""
    turn = -1 if name == "k" else 1
    return tuple(entry.shape[-2:][::turn]), tuple(entry.dims.split()[-2:][::turn])


def _block(ax: Axes, x: float, size: tuple[int, int], role: Mapping | None) -> None:
    """A block with its rows and columns, centred on y = 0."""
    rows, columns = size
    look = role or {"color": GREY, "linestyle": "-"}
    ax.add_patch(Rectangle((x, -rows / 2), columns, rows, facecolor=look["color"], alpha=0.35))
    for row in range(1, rows):
        ax.plot([x, x + columns], [row - rows / 2] * 2, **_RULE)
    for column in range(1, columns):
        ax.plot([x + column] * 2, [-rows / 2, rows / 2], **_RULE)
    ax.add_patch(Rectangle((x, -rows / 2), columns, rows, facecolor="none", linewidth=1.8,
                           edgecolor=look["color"], linestyle=look["linestyle"]))  # fmt: skip


def _say(book: Ledger, sizes: Mapping) -> str:
    """The picture in words, from the ledger it was drawn from."""
    names = {name: "k transposed" if name == "k" else name for name in sizes}
    parts = [
        f"{names[name]} [{', '.join(dims)}] = {rows} by {columns}"
        for name, ((rows, columns), dims) in sizes.items()
    ]
    return (
        f"One of {book.sizes['H']} heads as blocks to scale: {', '.join(parts)}. "
        "Query times key gives scores, softmax gives weights, weights times value gives out. "
        "Only scores and weights have Tq rows and Tk columns."
    )


def crossing(lengths: Sequence[int], inputs: Sequence[int], squares: Sequence[int]) -> Picture:
    """Show where the scores and weights come to weigh more than q, k, v and out together.

    Bytes of one call at each length, both written out in full.
    """
    lengths, inputs, squares = (list(map(int, row)) for row in (lengths, inputs, squares))
    at = next((T for T, a, b in zip(lengths, inputs, squares, strict=True) if b >= a), None)
    if at is None:
        raise ValueError(f"lengths: expected the lines to cross; they don't up to {lengths[-1]}")
    fig, ax = plt.subplots()
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    (flat,) = ax.plot(lengths, inputs, color="black", linestyle="-", marker="o")
    (steep,) = ax.plot(lengths, squares, color=GREY, linestyle="--", marker="s")
    label_end(ax, flat, "q, k, v, out")
    label_end(ax, steep, "scores, weights")
    ax.axvline(at, color=GREY, linewidth=1, linestyle=":")
    ax.annotate(f"T = {at}", (at, max(squares)), xytext=(5, -4), textcoords="offset points",
                color="#444444", ha="left", va="top")  # fmt: skip
    ax.set_xticks(lengths, map(str, lengths))
    low, high = (f(map(f, (inputs, squares))) for f in (min, max))
    ticks = [2**e for e in range(low.bit_length() - 1, high.bit_length() + 1) if e % 4 == 0]
    ax.set_yticks(ticks, map(size, ticks))
    ax.minorticks_off()
    ax.grid(axis="y")
    ax.set_xlabel("length T (queries and keys)")
    ax.set_ylabel("bytes")
    ax.set_title(f"Beyond T = {at} the T × T blocks weigh more")
    ratio = squares[-1] / inputs[-1]
    alt = (
        f"Two lines of bytes against length T, from {lengths[0]} to {lengths[-1]}. Scores and "
        f"weights rise with the square of T and meet q, k, v and out at T = {at}; at "
        f"T = {lengths[-1]} they take {ratio:.0f} times as much, {size(squares[-1])}."
    )
    return figure(fig, alt)


def size(count: int) -> str:
    """Write a number of bytes the way people read it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
        count /= 1024
    raise AssertionError


def silent(counts: Mapping[str, int], lines: int) -> Picture:
    """Show how many wrong lines of code run unnoticed, for each choice of sizes."""
    labels, values = list(counts), list(map(int, counts.values()))
    fig, ax = plt.subplots(figsize=(7.5, 0.42 * len(labels) + 1.2))
    places = range(len(labels))
    ax.barh(places, [lines] * len(labels), height=0.62, color="#EEEEEE")
    ax.barh(places, values, height=0.62, color="#444444")
    for place, value in enumerate(values):
        ax.annotate(f"{value} of {lines}", (value, place), (6, 0), textcoords="offset points",
                    va="center")  # fmt: skip
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set_xlim(0, lines + 0.8)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.tick_params(left=False)
    ax.set_title("Each size that coincides lets more wrong lines run")
    said = "; ".join(f"{label}: {value}" for label, value in counts.items())
    return figure(fig, f"Bars: of {lines} wrong lines, how many run without an error. {said}.")


def choices() -> Table:
    """Lay out what "a Transformer" meant in 2017 beside what it commonly means today."""
    return table(
        CHOICES,
        ("choice", "in 2017", "common today", "a paper to read"),
        "One word, two designs",
    )

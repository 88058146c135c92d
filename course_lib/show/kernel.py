"""The charts of chapter 07: what a program reads and writes, and when it needs a mask."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from jaxtyping import Bool, Int
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.show import style
from course_lib.show.figures import Picture, figure

FAST = "#EEEEEE"  # the ground of fast memory
ARROW = {"arrowstyle": "-|>", "color": "black", "lw": 1.5}


def opening() -> Picture:
    """One program of the attention kernel between slow and fast memory."""
    tiles, mine, now = 4, 1, 2
    fig, ax = plt.subplots(figsize=(7.5, 3.9))
    ax.set(xlim=(-1.9, 13.6), ylim=(5.9, -1.5), aspect="equal")
    ax.set_axis_off()
    ax.add_patch(Rectangle((6.1, -0.7), 3.5, 6.2, facecolor=FAST, edgecolor=style.EDGE))
    for x, name, held in ((0, "q", mine), (1.3, "k", now), (2.6, "v", now), (12.2, "out", mine)):
        role = {"q": "query", "k": "key", "v": "value", "out": "output"}[name]
        for i in range(tiles):
            _tile(ax, (x, 1.2 * i), style.ROLES[role]["color"], filled=i == held)
        ax.text(x + 0.5, -0.35, name, ha="center", fontsize=12)
    for i in range(tiles):
        word = f"program {i}" if i == mine else f"{i}"
        ax.text(-0.2, 1.2 * i + 0.5, word, ha="right", va="center", fontsize=9)
    parts = (("q", style.QUERY), ("k", style.KEY), ("v", style.VALUE), ("acc", style.OUTPUT))
    for i, (name, colour) in enumerate(parts):
        y = -0.3 + 1.35 * i
        _tile(ax, (6.5, y), colour, filled=True)
        ax.text(7.7, y + 0.5, name if i < 3 else "row_max\nrow_sum\nacc", va="center", fontsize=10)
    ax.text(1.8, -1.1, "slow memory", ha="center")
    ax.text(7.85, -1.1, "fast memory", ha="center")
    ax.text(12.7, -1.1, "slow memory", ha="center")
    for y, words in ((1.0, "load q once"), (2.6, "load each\nk, v in turn")):
        ax.annotate("", (6.0, y), (3.8, y), arrowprops=ARROW)
        ax.text(4.9, y - 0.15, words, ha="center", va="bottom", fontsize=10)
    ax.annotate("", (12.1, 1.7), (9.7, 4.2), arrowprops=ARROW)
    ax.text(9.85, 4.5, "divide, and\nstore once", va="top", fontsize=10)
    moved = 2 + 2 * tiles
    style.headline(fig, f"A program computes one tile of the output, and moves {moved} tiles")
    alt = (
        f"Slow memory holds q, k, v and out, each cut into {tiles} tiles. Program {mine} of "
        f"{tiles} loads tile {mine} of q once into fast memory, then the {tiles} tiles of k and v "
        "one after another, keeps row_max, row_sum and acc there, and stores one tile of out."
    )
    return figure(fig, alt)


def lanes(touched: Sequence[Int[Tensor, " touched"]], n: int, BLOCK: int) -> Picture:
    """Which elements each program of a grid touches, and which of its lanes are off."""
    fig, ax = plt.subplots(figsize=(7.5, 0.5 * len(touched) + 1.5))
    for program, elements in enumerate(touched):
        on = set(elements.tolist())
        for lane in range(program * BLOCK, (program + 1) * BLOCK):
            look = {"facecolor": style.HEADS[0], "edgecolor": "white"}
            if lane not in on:
                look = {"facecolor": "white", "edgecolor": "#888888", "hatch": style.BLOCKED_HATCH}
            ax.add_patch(Rectangle((lane, program + 0.1), 1, 0.8, linewidth=0.8, **look))
    ax.axvline(n, **style.GUIDE | {"color": "black"})
    ax.annotate(f"n = {n}", (n, 0), (4, -2), textcoords="offset points", va="top")
    ax.set(xlim=(-0.3, len(touched) * BLOCK + 0.3), ylim=(len(touched) + 0.05, -0.05))
    ax.set_yticks([i + 0.5 for i in range(len(touched))], map(str, range(len(touched))))
    ax.set_xticks([i * BLOCK for i in range(len(touched) + 1)])
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel="element", ylabel="program")
    off = len(touched) * BLOCK - sum(map(len, touched))
    ax.set_title(f"{len(touched)} programs of {BLOCK} lanes: {off} lanes of the last are off")
    said = "; ".join(
        f"program {i} touches {min(e)} to {max(e)}"
        for i, e in enumerate(map(Tensor.tolist, touched))
    )
    alt = f"{n} elements in tiles of {BLOCK}. {said}. {off} lanes beyond the end are off."
    return figure(fig, alt)


def key_tiles(
    read: Bool[Tensor, "rows cols"], masked: Bool[Tensor, "rows cols"], sizes: tuple[int, int]
) -> Picture:
    """Which tiles of keys each tile of queries reads, and which of them need a mask."""
    Tq, Tk = sizes
    rows, cols = read.shape
    fig, ax = plt.subplots(figsize=(7.5, 0.36 * rows + 1.6))
    for i in range(rows):
        for j in range(cols):
            look = {"facecolor": "white", "edgecolor": "#BBBBBB"}
            if read[i, j]:
                hatch = {"hatch": style.BLOCKED_HATCH} if masked[i, j] else {}
                look = {"facecolor": "#8FC1E3", "edgecolor": "#333333"} | hatch
            ax.add_patch(Rectangle((j, i), 1, 1, linewidth=0.8, **look))
    ax.set(xlim=(-0.1, cols + 0.1), ylim=(rows + 0.1, -0.1), aspect="equal")
    ax.set_xticks([j + 0.5 for j in range(cols)], map(str, range(cols)))
    ax.set_yticks([i + 0.5 for i in range(rows)], map(str, range(rows)))
    ax.tick_params(length=0)
    ax.set(xlabel="tile of keys", ylabel="tile of queries")
    whole = (read & ~masked).sum().item()
    needs = (read & masked).sum().item()
    skipped = rows * cols - whole - needs
    words = (
        ("#8FC1E3", "", f"{whole} read whole"),
        ("#8FC1E3", style.BLOCKED_HATCH, f"{needs} read with a mask"),
        ("white", "", f"{skipped} never read"),
    )
    boxes = [
        Rectangle((0, 0), 1, 1, facecolor=f, hatch=h, edgecolor="#333333") for f, h, _ in words
    ]
    ax.legend(boxes, [w for *_, w in words], loc="center left", bbox_to_anchor=(1.03, 0.5))
    title = f"Of {rows * cols} tiles {whole + needs} are read, {needs} of them with a mask"
    style.headline(fig, title)
    each = "; ".join(f"tile {i} reads {_span(read[i])}" for i in range(rows))
    alt = f"Causal, {Tq} queries and {Tk} keys, by tiles. {each}. {needs} need a mask."
    return figure(fig, alt)


def key_reads(reads: dict[str, Int[Tensor, " Tk"]], BLOCK_Q: int) -> Picture:
    """How often each key is read in one head, with and without the causal rule."""
    fig, ax = plt.subplots(figsize=(7.5, 3.2))
    looks = ({"color": style.HEADS[1], "linestyle": "--"}, {"color": style.HEADS[0]})
    for (name, counts), look in zip(reads.items(), looks, strict=True):
        (line,) = ax.plot(counts.tolist(), **look, drawstyle="steps-post")
        style.label_end(ax, line, name)
    most = max(counts.max().item() for counts in reads.values())
    ax.set(xlabel="key", ylabel="times it is read", ylim=(0, 1.1 * most))
    ax.set_xticks(range(0, len(counts) + 1, len(counts) // 4))
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.grid(True, axis="y")
    first, last = counts[0].item(), counts[-1].item()
    ax.set_title(f"Causal: the first key is read {first} times, the last {_times(last)}")
    said = "; ".join(
        f"{name}: {c[0].item()} times at the first key, {c[-1].item()} at the last"
        for name, c in reads.items()
    )
    alt = f"How often each of {len(counts)} keys is read by tiles of {BLOCK_Q} queries. {said}."
    return figure(fig, alt)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _span(read: Bool[Tensor, " cols"]) -> str:
    """The tiles of keys in one row."""
    found = read.nonzero()[:, 0].tolist()
    if not found:
        return "none"
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _tile(ax: Axes, corner: tuple[float, float], colour: str, filled: bool) -> None:
    face = colour if filled else "white"
    ax.add_patch(Rectangle(corner, 1, 0.98, facecolor=face, edgecolor=colour, linewidth=1.5))

"""The charts of chapter 05: what tells attention the order, and where it comes in."""

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.positions import alibi, frequencies, sinusoid, slopes, t5_buckets
from course_lib.show import style
from course_lib.show.figures import Picture, figure

CYCLE = (  # lines of no role, apart for every kind of colour vision
    {"color": style.HEADS[0], "linestyle": "-"},
    {"color": style.HEADS[1], "linestyle": "--"},
    {"color": "#AA3377", "linestyle": ":"},
)


def opening() -> Picture:
    """Three places where order comes in: the tokens, the scores, the queries and keys."""
    T = 8
    fig, axes = plt.subplots(1, 3, figsize=(7.5, 3.1))
    _cells(axes[0], sinusoid(torch.arange(T), T, base=100.0), 1)  # a small base: all pairs move
    axes[0].set(xlabel="feature", ylabel="token")
    _cells(axes[1], _causal(alibi(3, T, T)[0, 0]), 0.6)
    axes[1].set(xlabel="key", ylabel="query")
    _turned(axes[2], step=0.4)
    names = ("added to the tokens", "added to the scores", "turned by their positions")
    for ax, name in zip(axes, names, strict=True):
        ax.set_title(name, weight="normal", fontsize=11, loc="center")
    style.headline(fig, "Order comes in at the tokens, at the scores, or in queries and keys")
    alt = (
        f"Three panels. A grid of {T} tokens by {T} features holds sines and cosines, fast ones at "
        f"the left, slow ones at the right. A grid of {T} queries by {T} keys holds numbers that "
        "fall with the distance; later keys are hatched. Arrows of a query and a key, turned by "
        "their positions: 3 and 1, then 7 and 5; the angle between the two stays the same."
    )
    return figure(fig, alt)


def heat_map(pe: Float[Tensor, "T D"]) -> Picture:
    """Sinusoids of the first positions: the sines, the cosines, and how long a turn takes."""
    T, D = pe.shape
    turns = [_count(2 * math.pi / f) for f in frequencies(D).tolist()]
    fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.2), sharey=True)
    look = {"cmap": style.SCORES_MAP, "vmin": -1, "vmax": 1, "aspect": "auto"}
    for ax, part, name in zip(axes, (pe[:, ::2], pe[:, 1::2]), ("sines", "cosines"), strict=True):
        ax.imshow(part.T.numpy(), interpolation="nearest", **look)
        ax.set_title(name, weight="normal", fontsize=11, loc="center")
        ax.set(xlabel="position", yticks=range(0, D // 2, 3))
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel("pair")
    side = axes[1].secondary_yaxis("right")
    side.set_yticks(range(0, D // 2, 3), turns[::3])
    side.set_ylabel("positions for one turn")
    side.tick_params(length=0)
    side.spines[:].set_visible(False)
    style.headline(fig, f"The first pair turns in {turns[0]} positions, the last in {turns[-1]}")
    alt = (
        f"Two maps, {D // 2} sines and {D // 2} cosines at {T} positions. The upper rows change "
        "from position to position; further down the stripes grow wider, and the lowest rows "
        f"hardly change. A turn takes {turns[0]} positions in pair 0, {turns[-1]} in the last."
    )
    return figure(fig, alt, "Purple: 1. White: 0. Orange: −1.")


def swaps(panels: Mapping[str, Float[Tensor, "T T"]], title: str) -> Picture:
    """How much the output moves when two tokens change places; hatched where it doesn't."""
    fig, axes = plt.subplots(1, len(panels), figsize=(7.5, 3.3))
    top = float(torch.cat([m.flatten() for m in panels.values()]).quantile(0.97))
    said = []
    for ax, (name, moved) in zip(axes, panels.items(), strict=True):
        T = len(moved)
        still = (moved < 1e-5) & ~torch.eye(T, dtype=torch.bool)
        shown = moved.masked_fill(still, math.nan)
        _cells(ax, shown, top, style.WEIGHTS_MAP, least=0)
        for i in range(T):
            ax.add_patch(plt.Rectangle((i - 0.5, i - 0.5), 1, 1, facecolor="white"))
        ax.set_title(name, weight="normal", fontsize=11, loc="center")
        ax.set(xlabel="token", xticks=range(0, T, 2), yticks=range(0, T, 2))
        pairs = [f"{i} and {j}" for i, j in still.nonzero().tolist() if i < j]
        said.append(f"{name}: {', '.join(pairs) or 'none'}")
    axes[0].set_ylabel("token")
    style.headline(fig, title)
    alt = f"Grids of tokens by tokens. Pairs that can be exchanged unseen: {'; '.join(said)}."
    return figure(
        fig,
        alt,
        "Brighter: the output moves more. Hatched: not at all. White: nothing is exchanged.",
    )


def bias_grids(T: int, H: int) -> Picture:
    """What ALiBi adds to the scores of the first three of H heads, under a causal mask."""
    steep = [f"slope 1/{1 / slope:.0f}" for slope in slopes(H)[:3].tolist()]
    added = _causal(alibi(H, T, T)[0, :3])
    top = -added.nan_to_num().min().item()
    fig, axes = plt.subplots(1, 3, figsize=(7.5, 3.2))
    for ax, grid, name in zip(axes, added, steep, strict=True):
        _cells(ax, grid, top)
        for i, j in torch.ones(T, T).tril().nonzero().tolist():
            value = grid[i, j].item()
            ax.text(j, i, _short(value), ha="center", va="center", fontsize=8,
                    color=style.ink_on(_colour(value, top)))  # fmt: skip
        ax.set_title(name, weight="normal", fontsize=11, loc="center")
        ax.set_xlabel("key")
    axes[0].set_ylabel("query")
    style.headline(fig, "A head's slope times the distance is taken from its scores")
    alt = (
        f"Grids of {T} queries by {T} keys for the first three of {H} heads: {', '.join(steep)}. "
        "Each key has minus the slope times its distance; a query's own key has 0; later keys are "
        "hatched."
    )
    return figure(fig, alt, f"The first three of {H} heads. Hatched: later keys.")


def reach_lines(
    distance: Int[Tensor, " N"], weights: Float[Tensor, "H N"], half: Sequence[int]
) -> Picture:
    """The weight within a distance, for heads with equal scores; where it comes to half."""
    fig, ax = plt.subplots(figsize=(7.5, 3.2))
    shown = [0, len(weights) // 2, len(weights) - 1]
    for look, h in zip(CYCLE, shown, strict=True):
        within = weights[h].cumsum(0)
        ax.plot(distance + 1, within, **look)
        ax.plot(half[h], within[half[h] - 1], "o", color=look["color"])
        ax.annotate(f"slope 1/{1 / slopes(len(weights))[h]:.0f}", (half[h], 0.5), (9, -14),
                    textcoords="offset points", color=style.ink(look["color"]))  # fmt: skip
    ax.axhline(0.5, color="#666666", linestyle=":", linewidth=1)
    ax.set(xlabel="nearest keys", ylabel="their weight together", xscale="log", ylim=(0, 1.03))
    ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    ax.grid(True)
    ax.set_title(f"Half of the weight falls on {half[0]} keys with one slope, on "
                 f"{half[-1]} with another")  # fmt: skip
    said = ", ".join(f"head {h}: {half[h]}" for h in shown)
    return figure(fig, f"Weight of the nearest keys. Keys that take half of it, {said}.")


def bucket_steps(furthest: int, shown: int) -> Picture:
    """The bucket of each distance to an earlier key, in T5's one-way form."""
    bucket = t5_buckets(1, shown + 1, 32, furthest, both_ways=False)[0].flip(0)
    single = int((bucket.bincount() > 1).nonzero()[0])  # the first that holds two distances
    last = int((bucket == bucket.max()).nonzero()[0])
    fig, ax = plt.subplots(figsize=(7.5, 3))
    ax.step(range(shown + 1), bucket.numpy(), where="mid", **CYCLE[0])
    ax.annotate(f"one bucket a distance\nup to {single - 1}", (single, single - 1), (12, -16),
                textcoords="offset points", va="center")  # fmt: skip
    ax.annotate(f"the last: {last} to {furthest},\nand all beyond", (last, int(bucket.max())),
                (8, -26), textcoords="offset points", va="center")  # fmt: skip
    ax.set(xlabel="distance to the key", ylabel="number of the bias", xlim=(-2, shown + 4))
    ax.grid(True)
    ax.set_title(f"{int(bucket.max()) + 1} learned numbers a head serve every distance")
    alt = (
        f"A staircase of buckets against distance: a step for each distance up to {single - 1}, "
        f"then longer and longer steps, and bucket {int(bucket.max())} from distance {last} on."
    )
    return figure(fig, alt)


def _turned(ax: Axes, step: float) -> None:
    """A query and a key two positions apart, at two places: the angle between them stays."""
    start = {"query": -1.42, "key": -1.12}  # clockwise from the top, as on a clock
    for query, key, length in ((3, 1, 0.62), (7, 5, 1)):
        ends = []
        for role, position in (("query", query), ("key", key)):
            angle = start[role] + step * position
            x, y = length * math.sin(angle), length * math.cos(angle)
            look = style.ROLES[role]
            ax.plot([0, x], [0, y], color=look["color"], linestyle=look["linestyle"])
            ax.plot(x, y, color=look["color"], marker=look["marker"])
            far = 1 + 0.17 / length
            ax.annotate(f"{role[0]}{position}", (far * x, far * y), ha="center", va="center",
                        color=style.ink(look["color"]), fontsize=10)  # fmt: skip
            ends.append(90 - math.degrees(angle))
        wide = 0.62 * length
        arc = mpl.patches.Arc((0, 0), wide, wide, theta1=min(ends), theta2=max(ends), lw=1.2)
        ax.add_patch(arc)
    ax.set(xlim=(-0.75, 1.25), ylim=(-0.55, 1.45), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _cells(ax: Axes, grid: Tensor, top: float, map_name: str = "", least: float | None = None):
    """A grid of numbers as colours; NaN is hatched. Rectangles, so that it stays sharp."""
    least = -top if least is None else least
    for i, row in enumerate(grid.tolist()):
        for j, value in enumerate(row):
            look = {"facecolor": _colour(value, top, map_name, least), "edgecolor": "white"}
            if math.isnan(value):
                look = {"facecolor": "white", "edgecolor": style.BLOCKED,
                        "hatch": style.BLOCKED_HATCH}  # fmt: skip
            ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=0.4, **look))
    rows, columns = grid.shape
    ax.set(xlim=(-0.55, columns - 0.45), ylim=(rows - 0.45, -0.55), aspect="equal")
    ax.set(xticks=range(columns), yticks=range(rows))
    ax.tick_params(length=0, pad=2, labelsize=9)
    ax.spines[:].set_visible(False)


def _colour(value: float, top: float, map_name: str = "", least: float | None = None) -> tuple:
    least = -top if least is None else least
    return mpl.colormaps[map_name or style.SCORES_MAP]((value - least) / (top - least))


def _causal(bias: Tensor) -> Tensor:
    """NaN where a key stands after the query."""
    return bias.masked_fill(torch.ones(bias.shape[-2:], dtype=torch.bool).triu(1), math.nan)


def _count(positions: float) -> str:
    return f"{positions:.1f}" if positions < 10 else f"{positions:,.0f}"


def _short(value: float) -> str:
    return f"{value + 0.0:.3g}".replace("-0.", "−.").replace("-", "−")

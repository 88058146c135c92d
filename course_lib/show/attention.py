"""The charts of chapter 02: how large scores get, and what that does to a softmax."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from torch import Tensor

from course_lib.attention import scores as score
from course_lib.attention import softmax
from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure

WEIGHT = "#A59C74"  # the middle of WEIGHTS_MAP, for bars that are as long as a weight
GUIDE = "#666666"  # what a line is compared with


def opening() -> Picture:
    """One query, four keys and values: from directions to scores, to weights, to the blend."""
    # Numbers whose softmax can be checked from the two decimals that the picture shows.
    q = torch.tensor([[1.6, 0.8]])
    k = torch.tensor([[1.8, -0.1], [0.3, 1.7], [-1.2, 0.7], [0.3, -1.5]])
    v = torch.tensor([[1.6, 1.1], [-0.7, 1.6], [-1.5, -0.9], [1.1, -1.3]])
    answers = score(q[None, None], k[None, None])
    weights = softmax(answers)
    out = (weights @ v).flatten()
    answers, weights = answers.flatten(), weights.flatten()
    fig, axes = plt.subplots(1, 4, figsize=(7.5, 2.7), width_ratios=[1.15, 0.9, 0.9, 1.15])
    _arrows(axes[0], q, k)
    _bars(axes[1], answers, "scores, q · k / √2")
    _bars(axes[2], weights, "weights")
    _blend(axes[3], weights, v, out)
    style.headline(fig, "One query gives four scores, four weights and one blend")
    best = int(weights.argmax())
    alt = (
        f"Four panels. A query arrow among four key arrows; the scores, divided by the root of 2, "
        f"{_list(answers)}; their softmax weights {_list(weights)}; four values with the "
        f"output between them, nearest to value {best}, whose key has the largest weight."
    )
    return figure(fig, alt)


def variance_line(widths: Int[Tensor, " N"], variance: Float[Tensor, " N"]) -> Picture:
    """The variance of undivided scores against the head dimension, on the identity line."""
    x = widths.numpy()
    off = math.ceil(round(((variance / widths - 1).abs().max() * 100).item(), 2))
    fig, ax = plt.subplots()
    ax.plot(x, x, color=GUIDE, linestyle="--", linewidth=1.2)
    ax.plot(x, variance.numpy(), color=style.OUTPUT, linestyle="none", marker="o", markersize=6)
    _powers_of_two(ax, widths)
    ax.set_yscale("log", base=2)
    ax.set_yticks(ax.get_xticks(), [str(int(Dh)) for Dh in ax.get_xticks()])
    ax.grid(True)
    ax.set_xlabel("head dimension Dh")
    ax.set_ylabel("variance of q · k")
    ax.annotate(
        "variance = Dh", (x[-2], x[-2]), xytext=(-14, 2), textcoords="offset points",
        ha="right", color=GUIDE,
    )  # fmt: skip
    ax.set_title("The variance of a score equals the head dimension")
    alt = (
        f"{len(widths)} points from Dh {widths[0]} to {widths[-1]} lie on the line "
        f"variance = Dh, within {off} percent."
    )
    return figure(fig, alt)


def saturation_lines(
    widths: Int[Tensor, " N"], undivided: Float[Tensor, "N 5"], divided: Float[Tensor, "N 5"]
) -> Picture:
    """Entropy and gradient of a softmax against the head dimension, with and without the root.

    The columns: entropy in bits, largest weight, gradient at all scores of a query (its norm),
    gradient at the typical key, gradient at the query; this chart draws three of them.
    """
    fig, axes = plt.subplots(1, 3, figsize=(7.5, 3.3))
    panels = (  # name, column, ticks, limits, and the point at which the falling line is named
        ("entropy, bits", 0, range(7), (0, 6.4), 1),
        ("gradient at\nall scores", 2, [1, 1e-3, 1e-6, 1e-9], (1e-10, 10), 8),
        ("gradient at the\ntypical key", 3, [1, 1e-20, 1e-40, 1e-60], (1e-70, 1e7), 8),
    )
    for ax, (name, column, ticks, limits, named) in zip(axes, panels, strict=True):
        ax.set(xlabel="Dh", yscale="log" if column else "linear")
        ax.set_title(name, weight="normal", fontsize=11)
        _level_and_falling(ax, widths, divided[:, column], undivided[:, column], named)
        ax.set_yticks(ticks)
        ax.minorticks_off()
        ax.set_ylim(limits)
        ax.grid(True)
    style.headline(fig, "Undivided scores silence a softmax; divided ones don't")
    alt = (
        f"Three panels against Dh from {widths[0]} to {widths[-1]}. Undivided, entropy falls from "
        f"{undivided[0, 0]:.1f} to {undivided[-1, 0]:.1f} bits, the gradient at all scores from "
        f"{undivided[0, 2]:.2f} to {undivided[-1, 2]:.1g}, the gradient at the typical key from "
        f"{undivided[0, 3]:.1g} to {undivided[-1, 3]:.0e}. Divided by the root of Dh, all three "
        f"stay level: {divided[-1, 0]:.1f} bits, {divided[-1, 2]:.2f}, {divided[-1, 3]:.1g}."
    )
    return figure(fig, alt)


def saturation_view() -> Picture:
    """The first view of the explorable "saturation", with its divided twin beside it."""
    start = defaults("saturation")
    Dh, z = start["Dh"], torch.tensor(start["z"])
    loud, quiet = z * Dh**0.5, z
    fig, axes = plt.subplots(1, 2, figsize=(7.5, 2.9), sharey=True)
    for ax, scores, name in ((axes[0], loud, "undivided"), (axes[1], quiet, "divided by √Dh")):
        weights = softmax(scores)
        drawn = ax.bar(range(len(z)), weights.numpy(), color=WEIGHT)
        ax.bar_label(drawn, [f"{w:.2f}" for w in weights], padding=2, fontsize=9.5)
        below = [f"{i}\n{_signed(score, 1)}" for i, score in enumerate(scores.tolist())]
        ax.set_xticks(range(len(z)), below, fontsize=9)
        ax.set_xlabel(f"key, and under it its score ({name})")
        ax.set_ylim(0, 1.1)
    axes[0].set_ylabel("weight")
    top, top_divided = softmax(loud).max(), softmax(quiet).max()
    title = f"At Dh = {Dh} the best key takes {top:.2f} undivided, {top_divided:.2f} divided"
    style.headline(fig, title)
    alt = (
        f"Two bar charts of the weights of {len(z)} keys at Dh {Dh}. Undivided, the scores "
        f"{_list(loud, 1)} give the weights {_list(softmax(loud))}. Divided by the root of Dh, "
        f"the scores {_list(quiet, 1)} give {_list(softmax(quiet))}."
    )
    return figure(fig, alt)


def weight_maps(sentences: Sequence[str], weights: Sequence[Tensor], word: str) -> Picture:
    """The attention weights of sentences side by side, with the row of one word framed.

    Each sentence has weights [T, T]: queries run down, keys run across.
    """
    fig, axes = plt.subplots(1, len(sentences), figsize=(7.5, 3.7), squeeze=False)
    readings = []
    for ax, sentence, rows in zip(axes[0], sentences, weights, strict=True):
        words = sentence.split()
        picture = _map(ax, words, rows)
        row = words.index(word)
        ax.add_patch(
            plt.Rectangle((-0.5, row - 0.5), len(words), 1, fill=False, edgecolor="white", lw=2.5)
        )
        best = int(rows[row].argmax())
        readings.append((sentence, words[best], rows[row, best].item()))
    axes[0, 0].set_ylabel("query")
    fig.colorbar(picture, ax=axes, label="weight", shrink=0.75)
    title = f"“{word}” reads {' in one sentence, '.join(r[1] for r in readings)} in the other"
    style.headline(fig, title)
    said = "; ".join(f"in “{s}” it reads {most} most, with {w:.2f}" for s, most, w in readings)
    return figure(fig, f"Maps of attention weights, the row of “{word}” framed: {said}.")


def _map(ax: Axes, words: list[str], weights: Tensor) -> AxesImage:
    picture = ax.imshow(weights.numpy(), cmap=style.WEIGHTS_MAP, vmin=0, vmax=1)
    ax.set_xticks(range(len(words)), words, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(words)), words)
    ax.set_xlabel("key")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            colour = "white" if weight < 0.55 else "black"
            text = f"{weight:.2f}".removeprefix("0")
            ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=10)
    return picture


def _level_and_falling(ax: Axes, widths: Tensor, level: Tensor, falling: Tensor, at: int) -> None:
    x = widths.tolist()
    ax.plot(x, level.numpy(), color=GUIDE, linestyle="--")
    ax.plot(x, falling.numpy(), color=style.OUTPUT, linestyle="-")
    _powers_of_two(ax, widths, every=5)
    text = {"textcoords": "offset points", "fontsize": 10}
    place = (x[-5], level[-5].item())
    ax.annotate("divided by √Dh", place, (0, 4), color=GUIDE, ha="center", **text)
    right = at < 5  # of the line; where it falls late, there is room on the left
    look = {"ha": "left" if right else "right", "va": "center"} | text
    ax.annotate("undivided", (x[at], falling[at].item()), (6 if right else -6, 0), **look)


def _arrows(ax: Axes, q: Tensor, k: Tensor) -> None:
    for vectors, role, name in ((k, "key", "k"), (q, "query", "q")):
        look = style.ROLES[role]
        for i, (x, y) in enumerate(vectors.tolist()):
            ax.plot([0, x], [0, y], color=look["color"], linestyle=look["linestyle"])
            ax.plot(x, y, color=look["color"], marker=look["marker"])
            label = f"k{i}" if name == "k" else "q"
            apart = 1 + 0.5 / math.hypot(x, y)  # the same gap at short arrows as at long ones
            place = (x * apart, y * apart)
            ax.annotate(label, place, ha="center", va="center", color=look["color"])
    _plane(ax, "query and keys")


def _bars(ax: Axes, values: Tensor, title: str) -> None:
    top = values.abs().max().item()
    ax.barh(range(len(values)), values.numpy(), color=WEIGHT, edgecolor="#555555", linewidth=0.6)
    for i, value in enumerate(values.tolist()):
        ax.annotate(
            _signed(value), (max(value, 0), i), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=9.5,
        )  # fmt: skip
    ax.axvline(0, color="#555555", linewidth=0.8)
    ax.set_xlim(min(0, values.min().item() * 1.2), top * 1.6)
    ax.set_yticks(range(len(values)), [f"k{i}" for i in range(len(values))], color=style.KEY)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title, weight="normal", fontsize=11, loc="center")


def _blend(ax: Axes, weights: Tensor, v: Tensor, out: Tensor) -> None:
    ax.fill(*v.T.numpy(), color=style.VALUE, alpha=0.1, linewidth=0)
    for i, (weight, (x, y)) in enumerate(zip(weights.tolist(), v.tolist(), strict=True)):
        ax.plot(
            [x, out[0].item()],
            [y, out[1].item()],
            color=style.OUTPUT,
            linestyle="-",
            lw=0.4 + 4 * weight,
        )
        ax.plot(x, y, color=style.VALUE, marker=style.ROLES["value"]["marker"], markersize=7)
        ax.annotate(f"v{i}", (x * 1.28, y * 1.28), ha="center", va="center", color=style.VALUE)
    ax.plot(*out.tolist(), color=style.OUTPUT, marker=style.ROLES["output"]["marker"], markersize=8)
    ax.annotate("out", out.tolist(), xytext=(9, -16), textcoords="offset points")
    _plane(ax, "values and output")


def _plane(ax: Axes, title: str) -> None:
    ax.set(xlim=(-2.3, 2.3), ylim=(-2.1, 2.3), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    ax.set_title(title, weight="normal", fontsize=11, loc="center")


def _powers_of_two(ax: Axes, widths: Tensor, every: int = 2) -> None:
    ax.set_xscale("log", base=2)
    shown = widths[::every].tolist()
    ax.set_xticks(shown, [str(Dh) for Dh in shown])


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _list(values: Tensor, digits: int = 2) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values.tolist())

"""The charts of chapter 04: what each head holds, what it reads, and what it is worth."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.attention import attention, masked_softmax, scores
from course_lib.heads import merge, split
from course_lib.show import style
from course_lib.show.figures import Picture, figure

# Colours of no role, apart for every kind of colour vision; light ones stand behind text.
TINTS = ("#CFE6F5", "#F7DDB8", "#DDDDDD", "#D8D0EC")
MANY = {"color": style.HEADS[0], "linestyle": "-"}
FEW = {"color": style.HEADS[1], "linestyle": "--"}


def opening() -> Picture:
    """Features cut into slices, a picture of weights for each head, the results side by side."""
    T, H, Dh = 4, 3, 2
    generator = torch.Generator().manual_seed(3)
    q, k, v = (split(2 * torch.randn(1, T, H * Dh, generator=generator), H) for _ in range(3))
    weights, out = masked_softmax(scores(q, k))[0], attention(q, k, v)
    cells = torch.arange(H).repeat_interleave(Dh).expand(T, -1)
    fig, axes = plt.subplots(1, H + 2, figsize=(7.5, 2.3), width_ratios=[1.5, 1, 1, 1, 1.5])
    for ax, name in ((axes[0], "q, k, v: cut"), (axes[-1], "merged")):
        _cells(ax, cells, [[""] * (H * Dh)] * T, name)
        ax.set_xticks([Dh * h + (Dh - 1) / 2 for h in range(H)], [f"head {h}" for h in range(H)])
        _cuts(ax, T, H, Dh)
    axes[0].set_ylabel("token")
    for h, ax in enumerate(axes[1:-1]):
        _weights(ax, weights[h], f"head {h} reads")
        ax.set(xticks=[], xlabel="key")
    style.headline(fig, "Each head gets a slice of the features and weights of its own")
    alt = (
        f"Five panels. {T} tokens of {merge(out).shape[-1]} features are cut into slices of {Dh}, "
        f"one for each of {H} heads. {H} grids of {T} queries by {T} keys show different weights. "
        f"The heads' results stand side by side again as {H} slices of each token's features."
    )
    return figure(fig, alt)


def slices(
    x: Int[Tensor, "T D"], heads: Mapping[str, Int[Tensor, "H T Dh"]], title: str
) -> Picture:
    """Which feature of which token stands where; every number is 10 times the token + feature."""
    (T, D), H = x.shape, next(iter(heads.values())).shape[0]
    panels = [("x", x)]
    panels += [(f"{name}:\nhead {h}", cut[h]) for name, cut in heads.items() for h in range(H)]
    widths = [panel.shape[1] for _, panel in panels]
    fig, axes = plt.subplots(1, len(panels), figsize=(7.5, 2.5), width_ratios=widths)
    for ax, (name, panel) in zip(axes, panels, strict=True):
        words = [[f"{n // 10}.{n % 10}" for n in row] for row in panel.tolist()]
        _cells(ax, panel // 10, words, name)
        ax.set(xticks=[], yticks=[])
    axes[0].set_yticks(range(T))
    _cuts(axes[0], T, H, D // H)
    axes[0].set_ylabel("token")
    style.headline(fig, title)
    held = [
        f"{' '.join(name.split())} holds features of tokens "
        + ", ".join(str(t) for t in (panel // 10).unique().tolist())
        for name, panel in panels[1:]
    ]
    alt = f"Grids whose cells name token and feature. {'; '.join(held)}."
    return figure(fig, alt, "A cell reads token.feature; each token has its own tint.")


def share_line(shares: Float[Tensor, " N"], errors: Float[Tensor, " N"]) -> Picture:
    """What is left unexplained of two contents, by the share that a blend gives the first."""
    fig, ax = plt.subplots(figsize=(7.5, 2.9))
    ax.plot(shares.numpy(), errors.numpy(), **FEW, marker="o")
    ax.axhline(1, **style.GUIDE)
    ax.annotate(
        "an answer of zeros: 1", (0.5, 1), (0, -13), textcoords="offset points", ha="center"
    )
    ax.set(xlabel="share of the first content", ylabel="error", ylim=(0, 1.1))
    ax.grid(True)
    ax.set_title("Whatever share it takes, a blend of two loses half of what they hold")
    low, high = errors.min(), errors.max()
    alt = f"{len(shares)} shares from 0 to 1: the error stays between {low:.2f} and {high:.2f}."
    return figure(fig, alt)


def error_curves(curves: Mapping[str, Sequence[float]], fixed: float) -> Picture:
    """The error of each training step, on a logarithmic axis, over that of fixed shares."""
    fig, ax = plt.subplots(figsize=(7.5, 3.2))
    for (name, errors), look in zip(curves.items(), (FEW, MANY), strict=True):
        (line,) = ax.plot(range(1, len(errors) + 1), errors, **look, linewidth=1.5)
        style.label_end(ax, line, name)
    ax.axhline(fixed, **style.GUIDE)
    ax.annotate(f"fixed shares: {fixed:.2f}", (1, fixed), (-1, 5), textcoords="offset points",
                xycoords=("axes fraction", "data"), ha="right",
                color=style.GUIDE["color"])  # fmt: skip
    ax.set(xlabel="training step", ylabel="error of the batch", yscale="log", ylim=(5e-5, 3))
    ax.grid(True)
    ax.set_title("One head stays stuck where two heads go on")
    ends = "; ".join(f"{name}: {errors[-1]:.2g}" for name, errors in curves.items())
    alt = f"Error against training step. At the last step {ends}. Fixed shares: {fixed:.2f}."
    return figure(fig, alt)


def places_read(
    heads: Mapping[str, Float[Tensor, "N Tk"]], where: Int[Tensor, "N 2"], title: str
) -> Picture:
    """What the last query of each sequence reads, a row a sequence, with the marked keys named."""
    fig, axes = plt.subplots(1, len(heads), figsize=(7.5, 2.6))
    said = []
    for ax, (name, weights) in zip(axes, heads.items(), strict=True):
        _weights(ax, weights, name)
        for n, marked in enumerate(where.tolist()):
            for sign, key in zip("①②", marked, strict=True):
                ink = style.ink_on(mpl.colormaps[style.WEIGHTS_MAP](weights[n, key].item()))
                ax.text(key, n, sign, ha="center", va="center", color=ink, fontsize=12)
        ax.set(xlabel="key", xticks=range(weights.shape[1]))
        first, second = (w.mean() for w in weights.gather(1, where).unbind(1))
        said.append(f"{name}: {first:.2f} on the first mark, {second:.2f} on the second")
    axes[0].set_ylabel("sequence")
    _bar(axes)
    style.headline(fig, title)
    alt = f"Weights of the last query on {len(where)} sequences. On average {'; '.join(said)}."
    return figure(fig, alt, "① and ② stand at the keys that are marked first and second.")


def weight_pair(pair: Mapping[str, Float[Tensor, "Tq Tk"]], title: str) -> Picture:
    """Two pictures of weights side by side."""
    fig, axes = plt.subplots(1, len(pair), figsize=(7.5, 3.3))
    said = []
    for ax, (name, weights) in zip(axes, pair.items(), strict=True):
        _weights(ax, weights, name)
        ax.set(xlabel="key", xticks=range(weights.shape[1]), yticks=range(weights.shape[0]))
        best = ", ".join(str(j) for j in weights.argmax(-1).tolist())
        said.append(f"{name}: the queries in turn read most from keys {best}")
    axes[0].set_ylabel("query")
    _bar(axes)
    style.headline(fig, title)
    return figure(fig, f"Grids of weights, queries by keys. {'. '.join(said)}.")


def harm_bars(harm: Sequence[float], before: float) -> Picture:
    """How much the error grows when one head is taken away, for each head."""
    fig, ax = plt.subplots(figsize=(7.5, 2.9))
    drawn = ax.bar(range(len(harm)), harm, color=MANY["color"])
    ax.bar_label(drawn, [f"{h:.3f}" for h in harm], padding=2, fontsize=10)
    ax.set(xlabel="head taken away", ylabel="error added", xticks=range(len(harm)))
    ax.set_ylim(0, 1.15 * max(harm))
    ax.set_title(f"One head costs {min(harm):.3f}, another {max(harm):.2f}")
    alt = f"Error added to {before:.4f} by taking away each head: "
    return figure(fig, alt + ", ".join(f"{h}: {x:.3f}" for h, x in enumerate(harm)) + ".")


def removal_line(left: Sequence[float], points: Mapping[str, tuple[int, float]]) -> Picture:
    """The error as heads go one by one, from all of them down to one; points to compare with."""
    H = len(left)
    fig, ax = plt.subplots(figsize=(7.5, 3.4))
    ax.plot(range(H, 0, -1), left, **FEW, marker="o")
    middle = (H // 2 + 1, left[H - H // 2 - 1])
    ax.annotate("taken from the trained layer", middle, (12, -7), textcoords="offset points",
                va="center", color=style.ink(FEW["color"]))  # fmt: skip
    by_error = sorted(points.items(), key=lambda point: -point[1][1])
    for (name, (heads, error)), mark, up in zip(by_error, "^D", (7, -7), strict=True):
        ax.plot(heads, error, mark, color=MANY["color"], markersize=8, linestyle="none")
        ax.annotate(f"{name}: {error:.2g}", (heads, error), (12, up), textcoords="offset points",
                    va="center", color=style.ink(MANY["color"]))  # fmt: skip
    ax.set(xlabel="heads left", ylabel="error", yscale="log", ylim=(2e-5, 3), xlim=(H + 0.3, 0.7))
    ax.grid(True)
    ax.set_title("Three heads left of eight answer badly, three trained ones don’t")
    said = ", ".join(f"{H - i} left {error:.2g}" for i, error in enumerate(left))
    extra = "; ".join(f"{name}, {heads} heads: {e:.2g}" for name, (heads, e) in points.items())
    return figure(fig, f"Error against heads left: {said}. {extra}.")


def _cells(ax: Axes, tints: Int[Tensor, "T N"], words: list[list[str]], name: str) -> None:
    """A grid of tinted cells with a word in each."""
    for i, row in enumerate(tints.tolist()):
        for j, tint in enumerate(row):
            box = plt.Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=TINTS[tint], edgecolor="white")
            ax.add_patch(box)
            ax.text(j, i, words[i][j], ha="center", va="center", fontsize=10)
    _frame(ax, *tints.shape, name)


def _weights(ax: Axes, weights: Float[Tensor, "N Tk"], name: str) -> None:
    """A grid of weights from 0 to 1; rectangles, so that the picture stays sharp."""
    colours = mpl.colormaps[style.WEIGHTS_MAP]
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            look = {"facecolor": colours(weight), "edgecolor": "white", "linewidth": 0.4}
            ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, **look))
    _frame(ax, *weights.shape, name)


def _frame(ax: Axes, rows: int, columns: int, name: str) -> None:
    ax.set(xlim=(-0.55, columns - 0.45), ylim=(rows - 0.45, -0.55), aspect="equal")
    ax.set_yticks(range(rows))
    ax.tick_params(length=0, pad=2, labelsize=9)
    ax.spines[:].set_visible(False)
    ax.set_title(name, weight="normal", fontsize=10, loc="center")


def _cuts(ax: Axes, T: int, H: int, Dh: int) -> None:
    for cut in range(1, H):
        ax.plot(
            [cut * Dh - 0.5] * 2, [-0.55, T - 0.45], color=style.EDGE, linestyle="-", linewidth=2
        )


def _bar(axes: Sequence[Axes]) -> None:
    """The scale of the colours, at the right of the last grid."""
    norm = mpl.colors.Normalize(0, 1)
    scale = mpl.cm.ScalarMappable(norm, style.WEIGHTS_MAP)
    place = {"ax": list(axes), "shrink": 0.75, "fraction": 0.02, "pad": 0.01}
    bar = axes[0].figure.colorbar(scale, ticks=[0, 0.5, 1], **place)
    bar.solids.set_rasterized(False)
    bar.solids.set_edgecolor("face")
    bar.set_label("weight", fontsize=10)

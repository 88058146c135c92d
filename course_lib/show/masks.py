"""The charts of chapter 03: who may read whom, and what the softmax makes of it."""

import itertools
from collections.abc import Mapping

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.attention import masked_softmax
from course_lib.masks import causal, padding
from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure

LEGEND = "Queries run down, keys run across. Hatched: may not be read."

Weights = Float[Tensor, "Tq Tk"]
Keep = Bool[Tensor, "Tq Tk"]


def opening() -> Picture:
    """Causal and padding combine, and the softmax shares each row among the keys that are left."""
    T, real = 5, 3
    parts = {"causal": causal(T), f"padding: {real} real keys": padding(torch.tensor([real]), T)}
    both = torch.stack([mask.expand(1, 1, T, T) for mask in parts.values()]).all(0)[0, 0]
    scores = torch.tensor([1.0, 0.2, 1.4, 0.6, 1.8]) - 0.3 * torch.arange(T)[:, None].cos()
    weights = masked_softmax(scores[None, None], both[None, None])[0, 0]
    fig, axes = plt.subplots(1, 4, figsize=(7.5, 2.5))
    for ax, (name, mask) in zip(axes, parts.items(), strict=False):
        _grid(ax, mask.expand(1, 1, T, T)[0, 0], name)
    _grid(axes[2], both, "causal & padding")
    _grid(axes[3], both, "weights", weights)
    for ax, sign in zip(axes[1:], "&=→", strict=True):
        ax.text(-0.17, 0.5, sign, transform=ax.transAxes, ha="center", va="center", fontsize=15)
    style.headline(fig, "Masks combine, and each query shares its weight among what is left")
    alt = (
        f"Four grids of {T} queries by {T} keys, blocked cells hatched. Causal: a query reads its "
        f"own key and those before it. Padding: every query reads the first {real} keys. Both: "
        f"what the two let be read. Weights: each row sums to 1 over those cells alone."
    )
    return figure(fig, alt)


def keeps(masks: Mapping[str, Bool[Tensor, "#B #H Tq Tk"]], title: str) -> Picture:
    """Masks side by side, the first sequence and head of each; `title` states the finding."""
    axes = _row([mask[0, 0] for mask in masks.values()])
    said = []
    for ax, (name, mask) in zip(axes, masks.items(), strict=True):
        _grid(ax, mask[0, 0], name)
        said.append(f"{name}: {int(mask[0, 0].sum())} of {mask[0, 0].numel()} pairs may be read")
    _title(axes[0], title)
    return figure(
        axes[0].figure,
        f"Grids of queries by keys, blocked cells hatched. {'; '.join(said)}.",
        LEGEND,
    )


def weight_grids(
    panels: Mapping[str, tuple[Weights, Keep]],
    title: str,
    sums: bool = False,
    cached: bool = False,
) -> Picture:
    """Weights side by side, each over what its mask blocks; `sums` writes the sum of each row.

    A blocked cell shows a number only where it has a weight, which it never should. With `cached`
    the queries are new ones, after a cache, and each row says its place among the keys.
    """
    axes = _row([keep for _, keep in panels.values()], 1.2 if sums else 1.5)
    said = []
    for ax, (name, (weights, keep)) in zip(axes, panels.items(), strict=True):
        _grid(ax, keep, name, weights)
        Tq, Tk = weights.shape
        queries = [f"query {i}" for i in range(Tq)]
        if cached:
            queries = [f"new {i} (place {Tk - Tq + i})" for i in range(Tq)]
            ax.set_yticks(range(Tq), [name.replace(" (", "\n(") for name in queries], fontsize=9)
        rows = [", ".join(_number(w) for w in row) for row in weights.tolist()]
        said.append(f"{name}: " + "; ".join(map(": ".join, zip(queries, rows, strict=True))))
        for i, total in enumerate(weights.sum(-1).tolist() if sums else ()):
            ax.text(Tk - 0.35, i, f"sum {_number(total)}", va="center", fontsize=10)
    _title(axes[0], title)
    return figure(
        axes[0].figure, f"Grids of weights, blocked cells hatched. {'. '.join(said)}.", LEGEND
    )


def mask_view() -> Picture:
    """The first view of the explorable "mask": a causal table, and the weights that result."""
    scores = torch.tensor(defaults("mask")["scores"], dtype=torch.float32)
    keep = causal(len(scores))
    weights = masked_softmax(scores[None, None], keep)[0, 0]
    axes = _row([keep[0, 0]] * 2)
    _grid(axes[0], keep[0, 0], "the mask as given: True where white")
    _grid(axes[1], keep[0, 0], "the weights that result", weights)
    _title(axes[0], "True means “may be read”: no query reads a key after its own")
    rows = (", ".join(_number(w) for w in row) for row in weights.tolist())
    alt = (
        "Two grids of 4 queries by 4 keys. The mask is True for a query's own key and those "
        f"before it. The weights, a row a query: {'; '.join(rows)}."
    )
    return figure(axes[0].figure, alt, LEGEND)


def _row(masks: list[Keep], around: float = 1.5) -> list[Axes]:
    """Axes side by side, as high as the highest of the grids and `around` inches for its text."""
    panel = 7.5 / len(masks)
    height = max(min(0.75 * panel, 2.1) * mask.shape[0] / mask.shape[1] for mask in masks)
    axes = plt.subplots(1, len(masks), figsize=(7.5, height + around), squeeze=False)[1][0]
    for ax, (before, mask) in zip(axes[1:], itertools.pairwise(masks), strict=True):
        ax.tick_params(labelleft=mask.shape[0] != before.shape[0])  # else the one before has them
    return list(axes)


def _title(first: Axes, title: str) -> None:
    first.set_ylabel("query")
    style.headline(first.figure, title)


def _grid(ax: Axes, keep: Keep, name: str, weights: Weights | None = None) -> None:
    """Draw a mask, or weights over it; one cell for each query and key."""
    Tq, Tk = keep.shape
    colours = mpl.colormaps[style.WEIGHTS_MAP]
    for i in range(Tq):
        for j in range(Tk):
            weight = None if weights is None else weights[i, j].item()
            look = {"facecolor": "white"}
            if not keep[i, j]:
                look = {"facecolor": style.BLOCKED, "hatch": style.BLOCKED_HATCH}
            elif weight is not None and weight == weight:  # not NaN
                look = {"facecolor": colours(weight)}
            hatch_colour = "white" if "hatch" in look else style.EDGE
            ax.add_patch(
                plt.Rectangle((j - 0.5, i - 0.5), 1, 1, edgecolor=hatch_colour, linewidth=0, **look)
            )
            if weight is not None and (keep[i, j] or weight != 0):
                ax.text(
                    j,
                    i,
                    _number(weight).removeprefix("0"),
                    ha="center",
                    va="center",
                    fontsize=9.5,
                    **_ink(look),
                )
    for edge in range(Tk + 1):
        ax.plot([edge - 0.5] * 2, [-0.5, Tq - 0.5], color=style.EDGE, linestyle="-", linewidth=0.8)
    for edge in range(Tq + 1):
        ax.plot([-0.5, Tk - 0.5], [edge - 0.5] * 2, color=style.EDGE, linestyle="-", linewidth=0.8)
    ax.set(xlim=(-0.55, Tk - 0.45), ylim=(Tq - 0.45, -0.55), aspect="equal")
    ax.set_xticks(range(Tk))
    ax.set_yticks(range(Tq))
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("key")
    ax.set_title(name, weight="normal", fontsize=10.5, loc="center")


def _ink(look: dict) -> dict:
    """Black or white for a number, whichever reads better, and a plain ground on a hatch."""
    if "hatch" in look:
        return {"color": "black", "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1}}
    return {"color": style.ink_on(look["facecolor"])}


def _number(weight: float) -> str:
    return "NaN" if weight != weight else f"{weight:.2f}"

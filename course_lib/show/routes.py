"""The still view of the explorable "routes": what two heads read for one query."""

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from course_lib.attention import masked_softmax, scores
from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure

ASKS = ("who?", "where?")


def routes_view() -> Picture:
    """The first view of the explorable "routes": two heads take one query to two words."""
    state = defaults("routes")
    words, query = state["words"], state["query"]
    weights = _weights(state)
    output = weights @ torch.tensor(state["v"], dtype=torch.float32)
    fig, ax = plt.subplots(figsize=(7.5, 4))
    for j, word in enumerate(words):
        ax.text(j, 5.6, word, ha="center", va="center")
    ax.text(-1, 5.6, "keys", va="center")
    for h, row in enumerate(weights.tolist()):
        _head(ax, h, row, f"{output[h]:.2f}")
    ax.text(2.5, 0.75, f"query: {query}", ha="center", va="center", bbox=_box())
    ax.text(
        2.5, 0, f"reads [{output[0]:.2f}, {output[1]:.2f}]",
        ha="center", va="center", weight="bold",
    )  # fmt: skip
    ax.set(xlim=(-1.05, 5.45), ylim=(-0.2, 5.85))
    ax.set_axis_off()
    best = [words[j] for j in weights.argmax(-1).tolist()]
    ax.set_title(f"One query reads two places: {best[0]} with head A, {best[1]} with head B")
    said = "; ".join(
        f"head {name}: " + ", ".join(f"{word} {w:.2f}" for word, w in zip(words, row, strict=True))
        for name, row in zip("AB", weights.tolist(), strict=True)
    )
    alt = (
        f"Routes from the query {query} through two heads to the words it reads, thicker for "
        f"larger weights. {said}. Head A brings {output[0]:.2f} to the first feature of the "
        f"output, head B {output[1]:.2f} to the second."
    )
    return figure(
        fig, alt, "The width of a route is its weight; the weights stand under the words."
    )


def _weights(state: dict) -> Float[Tensor, "H Tk"]:
    """The weights of the query, a row a head, from one number for each head and word."""
    q, k = (torch.tensor(state[name], dtype=torch.float32)[None, :, :, None] for name in "qk")
    i = state["words"].index(state["query"])
    return masked_softmax(scores(state["times"] * q[:, :, i : i + 1], k))[0, :, 0]


def _head(ax: Axes, h: int, weights: list[float], brings: str) -> None:
    """One head: its weights under the words, its routes, and what it brings to the query."""
    middle, top, node = (1.1, 3.9)[h], 4.25, 2.35
    ax.text(-1, 5.1 - 0.5 * h, f"head {'AB'[h]}", va="center")
    most = max(weights)
    for j, weight in enumerate(weights):
        look = "bold" if weight == most else "normal"
        ax.text(j, 5.1 - 0.5 * h, f"{weight:.2f}", ha="center", va="center", weight=look)
        x = j + (-0.08, 0.08)[h]
        bend = [(x, top), (x, top - 0.9), (middle, node + 0.9), (middle, node)]
        _line(ax, bend, h, 0.6 + 12 * weight)
    end = 2.5 + (middle - 2.5) / 4
    _line(ax, [(middle, node), (middle, node), (end, 0.75), (end, 0.75)], h, 2)
    label = f"head {'AB'[h]}: {ASKS[h]}"
    ax.text(middle, node, label, ha="center", va="center", bbox=_box() | _look(h, 1.2))
    side = (middle + end) / 2 + (-0.15, 0.15)[h]
    ax.text(side, 1.55, f"brings {brings}", ha=("right", "left")[h], va="center")


def _box() -> dict:
    return {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black"}


def _line(ax: Axes, bend: list[tuple[float, float]], h: int, width: float) -> None:
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    ax.add_patch(PathPatch(Path(bend, codes), fill=False, capstyle="butt", **_look(h, width)))


def _look(h: int, width: float) -> dict:
    # Matplotlib multiplies dashes by the width; divided, they are as long on every line.
    dashes = "-" if h == 0 else (0, (7 / width, 3.5 / width))
    return {"edgecolor": style.HEADS[h], "linestyle": dashes, "linewidth": width}

"""The still view of the explorable "clock": one pair of features at two positions."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.positions import frequencies, rotate, sinusoid
from course_lib.show import style
from course_lib.show.explorables import EXPLORABLES, defaults
from course_lib.show.figures import Picture, figure

HANDS = (
    {"color": style.HEADS[1], "linestyle": "--"},
    {"color": style.HEADS[0], "linestyle": "-"},
)
VECTORS = tuple(
    {key: style.ROLES[role][key] for key in ("color", "linestyle")} for role in ("key", "query")
)


def clock_view() -> Picture:
    """The first view of the explorable "clock": two hands, and a key and a query turned as far."""
    state = defaults("clock")
    places = [state["t"], state["t"] + state["k"]]
    between = state["k"] * frequencies(state["D"], float(state["base"]))[state["pair"]].item()
    hands, given, turned = _hands(state, places), _given(state), _turned(state, places)
    starts = EXPLORABLES["clock"].controls["t"][1]
    each = [_turned(state, [t, t + state["k"]]).prod(0).sum().item() for t in starts]
    score = " or ".join(sorted({f"{product:.3f}" for product in each}))
    score += f" for every t from {starts[0]} to {starts[-1]}"
    long = given.norm(dim=-1).prod()
    angle = math.atan2(*turned[1].tolist()) - math.atan2(*turned[0].tolist())

    fig, axes = plt.subplots(1, 2, figsize=(7.5, 4))
    for ax, vectors, looks in zip(axes, (hands, turned), (HANDS, VECTORS), strict=True):
        _dial(ax, vectors, looks)
    for vector, look in zip(given, VECTORS, strict=True):
        _hand(axes[1], vector, look | {"linestyle": ":", "linewidth": 1.8})
    _names(axes[0], hands, [f"t = {places[0]}", f"t + k = {places[1]}"], HANDS)
    _names(axes[1], given, [f"k = {state['key']}", f"q = {state['query']}"], VECTORS)
    _names(axes[1], turned, [f"key at {places[0]}", f"query at {places[1]}"], VECTORS)
    axes[0].set_xlabel(f"angle between: {between:g} rad")
    axes[1].set_xlabel(f"q · k = {long:g} cos {angle % (2 * math.pi):.3f} = {score}")
    notes = "sine to the right, cosine up", "first feature up, second to the right"
    for ax, note in zip(axes, notes, strict=True):
        ax.set_title(note, weight="normal", fontsize=11, loc="center")
    style.headline(fig, f"Positions {state['k']} apart stand {between:g} radians apart")
    said = " and ".join(
        f"position {place} has sine {sine:.3f} and cosine {cosine:.3f}"
        for place, (sine, cosine) in zip(places, hands.tolist(), strict=True)
    )
    alt = (
        f"Two circles with two hands each. Left, {said}: {between:g} radians between them. Right, "
        f"the key {state['key']} turned by its position {places[0]} and the query "
        f"{state['query']} turned by its position {places[1]}: their "
        f"product is {score}."
    )
    caption = "Angles grow clockwise from the top. Dotted: as given. "
    return figure(fig, alt, caption + f"Hands are drawn at length 1; {long:g} is |q| times |k|.")


def _hands(state: dict, places: Sequence[int]) -> Float[Tensor, "N 2"]:
    """The sine and the cosine of one pair at each position."""
    encodings = sinusoid(torch.tensor(places), state["D"], float(state["base"]))
    return encodings[:, 2 * state["pair"] :][:, :2].double()


def _given(state: dict) -> Float[Tensor, "N 2"]:
    """The key and the query before the turn, as points: first feature up, second to the right."""
    return torch.tensor([state["key"], state["query"]], dtype=torch.float64).flip(-1)


def _turned(state: dict, places: Sequence[int]) -> Float[Tensor, "N 2"]:
    """The same after rotary's turn, by the library."""
    pair = slice(2 * state["pair"], 2 * state["pair"] + 2)
    x = torch.zeros(1, 1, len(places), state["D"], dtype=torch.float64)
    x[0, 0, :, pair] = _given(state).flip(-1)
    turned = rotate(x, torch.tensor([places]), layout="interleaved", base=float(state["base"]))
    return turned[0, 0, :, pair].flip(-1)


def _dial(ax: Axes, vectors: Float[Tensor, "N 2"], looks: Sequence[dict]) -> None:
    ax.add_patch(plt.Circle((0, 0), 1, facecolor="none", edgecolor=style.EDGE))
    for axis in ([(-1, 1), (0, 0)], [(0, 0), (-1, 1)]):
        ax.plot(*axis, color=style.BLOCKED, linewidth=0.8, linestyle="-")
    for vector, look in zip(vectors, looks, strict=True):
        _hand(ax, vector, look | {"linewidth": 3})
    start, end = (math.atan2(*vector) for vector in vectors.tolist())
    angles = torch.linspace(start, end + 2 * math.pi * (end < start), 50)
    ax.plot(0.3 * angles.sin(), 0.3 * angles.cos(), color="black", linestyle="-", linewidth=1.5)
    ax.set(xlim=(-1.4, 1.4), ylim=(-1.25, 1.15), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def _hand(ax: Axes, vector: Tensor, look: dict) -> None:
    x, y = (vector / vector.norm()).tolist()
    ax.plot([0, x], [0, y], **look)


def _names(
    ax: Axes, vectors: Float[Tensor, "N 2"], names: Sequence[str], looks: Sequence[dict]
) -> None:
    for vector, name, look in zip(vectors, names, looks, strict=True):
        x, y = (1.1 * vector / vector.norm()).tolist()
        side = "center" if abs(x) < 0.4 else "left" if x > 0 else "right"
        up = "center" if abs(y) < 0.9 else "bottom" if y > 0 else "top"
        ax.text(x, y, name, ha=side, va=up, color=style.ink(look["color"]))

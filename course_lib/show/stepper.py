"""The still view of the explorable "stepper": online softmax of one row, tile by tile."""

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure
from course_lib.tiling import finish, fold, nothing_read

ROWS = ("row_max", "rescale", "row_sum", "acc", "acc / row_sum")


def stepper_view() -> Picture:
    """The row that the explorable "stepper" starts with, and what is remembered after each tile."""
    state = defaults("stepper")
    tile = state["plans"][state["plan"]]["tile"]
    steps = _steps(state["scores"], state["v"], tile)
    T, highest, lowest = len(state["scores"]), max(state["scores"]), min(state["scores"])
    foot = lowest - 0.6
    fig, ax = plt.subplots(figsize=(7.5, 4.6))
    for j, (score, value) in enumerate(zip(state["scores"], state["v"], strict=True)):
        ax.plot([j, j], [foot, score], color=style.EDGE, linestyle="-", linewidth=1)
        ax.plot(j, score, "o", color=style.KEY, markeredgecolor="black", markersize=7)
        ax.text(j, score + 0.3, _text(score), ha="center")
        ax.text(j, foot - 0.6, str(j), ha="center")
        ax.text(j, foot - 1.2, str(value), ha="center")
    for name, y in (("key", foot - 0.6), ("value", foot - 1.2)):
        ax.text(-0.9, y, name, ha="right")
    for i, step in enumerate(steps):
        left, right = i * tile - 0.42, min((i + 1) * tile, T) - 0.58
        frame = (left, foot - 1.45), right - left, highest - foot + 3
        wide = 2.5 if i + 1 == state["step"] else 0.8
        ax.add_patch(Rectangle(*frame, fill=False, linewidth=wide, edgecolor="black"))
        ax.text((left + right) / 2, highest + 1.0, f"tile {i + 1}", ha="center")
        ax.plot([left, right], [step["row_max"]] * 2, "k--", linewidth=1.5)
        _column(ax, (left + right) / 2, foot - 2.3, step)
    for i, name in enumerate(ROWS):
        ax.text(-0.9, foot - 2.3 - 0.65 * i, name, ha="right")
    ax.text(-0.9, steps[0]["row_max"], "highest\nso far", ha="right", va="center")
    ax.set(xlim=(-2.9, T - 0.4), ylim=(foot - 5.1, highest + 1.7))
    ax.set_axis_off()
    rises = [i for i in range(1, len(steps)) if steps[i]["rescale"] < 1]
    shrunk = _text(steps[rises[0]]["rescale"])
    ax.set_title(f"A higher score first shrinks what is remembered, to {shrunk} of itself")
    caption = (
        "Then the tile is added. Tile 1 finds nothing to shrink. The explorable starts at the tile "
        "in the thick frame."
    )
    return figure(fig, _said(state, steps, rises), caption)


def _steps(scores: list[float], v: list[float], tile: int) -> list[dict[str, float]]:
    """What is remembered after each tile, by the library's own fold."""
    row = torch.tensor([scores], dtype=torch.float64)
    values = torch.tensor(v, dtype=torch.float64)[:, None]
    state, steps = nothing_read(row.new_zeros(1, 1)), []
    for part, read in zip(row.split(tile, dim=1), values.split(tile), strict=True):
        before, state = state, fold(state, part, read)
        numbers = {
            "row_max": state.row_max,
            "rescale": (before.row_max - state.row_max).exp(),
            "row_sum": state.row_sum,
            "acc": state.acc,
            "acc / row_sum": finish(state)[0],
        }
        steps.append({name: number.item() for name, number in numbers.items()})
    return steps


def _column(ax: Axes, x: float, top: float, step: dict[str, float]) -> None:
    """The numbers under a tile, bold where a higher maximum shrank what was remembered."""
    for i, name in enumerate(ROWS):
        weight = "bold" if name == "rescale" and 0 < step[name] < 1 else "normal"
        ax.text(x, top - 0.65 * i, _text(step[name]), ha="center", weight=weight)


def _text(number: float) -> str:
    text = f"{number:.0f}" if number == round(number) else f"{number:.3f}"
    return text.replace("-", "−")


def _said(state: dict, steps: list[dict[str, float]], rises: list[int]) -> str:
    """The picture in words."""
    row = ", ".join(_text(score) for score in state["scores"])
    each = "; ".join(
        f"tile {i + 1}: " + ", ".join(f"{name} {_text(step[name])}" for name in ROWS)
        for i, step in enumerate(steps)
    )
    higher = " and ".join(f"tile {i + 1}" for i in rises)
    return (
        f"The scores of one row, {row}, read in {len(steps)} tiles of up to "
        f"{state['plans'][state['plan']]['tile']}. {each}. In {higher} the maximum "
        "rises above that of the tiles before, and row_sum and acc shrink before the tile is added."
    )

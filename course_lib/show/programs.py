"""The still view of the explorable "programs": the tiles that each program of a head reads."""

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lib.attention import NOTHING
from course_lib.masks import causal
from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure
from course_lib.tiling import finish, fold, nothing_read

LOOKS = {
    "no mask": {"facecolor": "#CDE9E5", "edgecolor": "black"},
    "mask": {"facecolor": "white", "edgecolor": "black", "hatch": style.BLOCKED_HATCH},
    "not read": {"facecolor": "white", "edgecolor": style.EDGE, "linestyle": ":"},
}
ROWS = ("row_max", "rescale", "row_sum", "acc[0]")


def programs_view() -> Picture:
    """The programs of one head with their tiles of keys, and one query of the framed program."""
    state = defaults("programs")
    block, Tq, Tk = state["block"], state["Tq"], state["Tk"]
    tiles = -(-Tq // block)
    head, chosen = divmod(state["program"], tiles)
    phases, moved = _phases(state), _bytes(state)
    fig, ax = plt.subplots(figsize=(7.5, 4.9))
    for i, row in enumerate(phases):
        first, last = i * block, min((i + 1) * block, Tq)
        for j, phase in enumerate(row):
            size = min(block, Tk - j * block) - 0.8, last - first - 0.8
            ax.add_patch(Rectangle((j * block + 0.4, first + 0.4), *size, **LOOKS[phase]))
            above = 1.8 if i == chosen else 0  # the row of the query, drawn below
            middle = j * block + size[0] / 2 + 0.4, first + size[1] / 2 + 0.4 - above
            ax.text(*middle, phase, ha="center", va="center", bbox={"fc": "white", "ec": "none"})
        queries = f"program ({i}, {head})\nqueries {first} to {last - 1}"
        ax.text(-1.5, (first + last) / 2, queries, ha="right", va="center")
        ax.text(Tk + 1.5, (first + last) / 2, f"{moved[i]} bytes", va="center")
    frame = (-0.3, chosen * block - 0.3), Tk + 0.6, min(block, Tq - chosen * block) + 0.6
    ax.add_patch(Rectangle(*frame, fill=False, linewidth=3, edgecolor="black"))
    query = chosen * block + state["row"]
    ax.add_patch(Rectangle((0, query), Tk, 1, facecolor=style.QUERY, edgecolor="white"))
    steps = _row(state, head, query)
    _numbers(ax, state, query, steps)
    ax.set(xlim=(-18.5, Tk + 10), ylim=(Tq + 15, -4))
    ax.set_axis_off()
    count = sum(phase == "mask" for row in phases for phase in row)
    read = sum(phase != "not read" for row in phases for phase in row)
    ax.set_title(f"A mask where the diagonal or an end cuts: in {count} of {read} tiles")
    return figure(fig, _said(state, head, query, steps), CAPTION)


CAPTION = (
    "Head 1 of the causal kernel. row_max is in natural units: the kernel's own, for powers of "
    "two, is 1.443 times as much. The dark row in the framed program, with which the explorable "
    "starts, is query 37."
)


def programs_inputs(state: dict) -> dict[str, Tensor]:
    """The explorable's q, k and v in float64: halves between -2 and 2, as its page makes them."""
    heads = {"q": (state["H"], state["Tq"]), "k": (state["Hkv"], state["Tk"])}
    heads["v"] = heads["k"]
    found = {}
    for i, (name, (H, T)) in enumerate(heads.items()):
        number, numbers = state["seed"] + i, []
        for _ in range(H * T * state["Dh"]):
            number = (1103 * number + 12345) % 65536
            numbers.append((number // 256 % 9 - 4) / 2)
        found[name] = torch.tensor(numbers, dtype=torch.float64).view(1, H, T, state["Dh"])
    return found


def _phases(state: dict) -> list[list[str]]:
    """How a program of the causal kernel reads each tile of keys; a row is a tile of queries."""
    block, keep = state["block"], causal(state["Tq"], state["Tk"])[0, 0]

    def phase(part: Tensor) -> str:
        whole = bool(part.all()) and part.shape[1] == block
        return "no mask" if whole else "mask" if part.any() else "not read"

    return [[phase(part) for part in rows.split(block, 1)] for rows in keep.split(block)]


def _bytes(state: dict) -> list[int]:
    """What each program of a head moves: q, the keys and values it reads, out and lse."""
    block, Tq, Tk = state["block"], state["Tq"], state["Tk"]
    found = []
    for i, row in enumerate(_phases(state)):
        queries = min(block, Tq - i * block)
        keys = min(Tk, block * sum(phase != "not read" for phase in row))
        found.append(2 * (queries + keys) * state["Dh"] * state["itemsize"] + 4 * queries)
    return found


def _row(state: dict, head: int, query: int) -> list[dict[str, float]]:
    """What is remembered of a query after each tile of keys, by the library's own fold."""
    x, kv = programs_inputs(state), head // (state["H"] // state["Hkv"])
    k, v, block = x["k"][0, kv], x["v"][0, kv], state["block"]
    scores = x["q"][0, head, query, None] @ k.mT / state["Dh"] ** 0.5
    keep = causal(state["Tq"], state["Tk"])[0, 0, query]
    scores = scores.masked_fill(~keep, NOTHING)
    memory, steps = nothing_read(v[:1]), []
    for part, values in zip(scores.split(block, 1), v.split(block), strict=True):
        before, memory = memory, fold(memory, part, values)
        rescale = (before.row_max - memory.row_max).exp()
        numbers = memory.row_max, rescale, memory.row_sum, memory.acc[:, :1]
        steps.append(dict(zip(ROWS, (number.item() for number in numbers), strict=True)))
    steps[-1]["out"] = finish(memory)[0][0, 0].item()
    return steps


def _numbers(ax: Axes, state: dict, query: int, steps: list[dict[str, float]]) -> None:
    """Under each tile of keys, what the query remembers after it."""
    block, Tk, foot = state["block"], state["Tk"], state["Tq"] + 2.5
    for j, step in enumerate(steps):
        middle = (j * block + min((j + 1) * block, Tk)) / 2
        ax.text(middle, -1.5, f"keys {j * block} to {min((j + 1) * block, Tk) - 1}", ha="center")
        for i, name in enumerate(ROWS):
            ax.text(middle, foot + 2.6 * (i + 1), _text(step[name]), ha="center", va="center")
    ax.text(-1.5, foot, f"query {query} after each", ha="right", va="center", weight="bold")
    for i, name in enumerate(ROWS):
        ax.text(-1.5, foot + 2.6 * (i + 1), name, ha="right", va="center")
    ax.text(Tk + 1.5, foot + 2.6 * 4, f"out[0] {_text(steps[-1]['out'])}", va="center")


def _text(number: float) -> str:
    text = f"{number:.0f}" if number == round(number) else f"{number:.3f}"
    return text.replace("-", "−")


def _said(state: dict, head: int, query: int, steps: list[dict[str, float]]) -> str:
    """The picture in words."""
    programs = [
        f"program ({i}, {head}) " + ", ".join(row) + f", {moved} bytes"
        for i, (row, moved) in enumerate(zip(_phases(state), _bytes(state), strict=True))
    ]
    after = [
        f"tile {j + 1}: " + ", ".join(f"{name} {_text(step[name])}" for name in ROWS)
        for j, step in enumerate(steps)
    ]
    return (
        f"{state['Tq']} queries and {state['Tk']} keys in tiles of {state['block']}; how each "
        f"program of head {head} reads its tiles of keys, in turn: {'; '.join(programs)}. Query "
        f"{query} after {'; '.join(after)}. Its first output is {_text(steps[-1]['out'])}."
    )

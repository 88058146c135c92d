"""More charts of chapter 05: one score along a sequence, and accuracy past the trained length."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from jaxtyping import Float
from torch import Tensor

from course_lib.show import style
from course_lib.show.figures import Picture, figure
from course_lib.show.positions import CYCLE


def offset_lines(
    at: Sequence[int], lines: Mapping[str, Sequence[float]], title: str, log: bool = False
) -> Picture:
    """The score of a query and a key a fixed number of positions apart, by where they stand."""
    fig, ax = plt.subplots(figsize=(7.5, 3))
    said = []
    for (name, scores), look in zip(lines.items(), CYCLE, strict=False):
        (line,) = ax.plot(at, scores, **look, linewidth=1.6)
        style.label_end(ax, line, name)
        said.append(f"{name}: from {min(scores):.2f} to {max(scores):.2f}")
    ax.set(xlabel="position of the key", ylabel="score")
    if log:
        ax.set_xscale("log")
    ax.grid(True)
    ax.set_title(title)
    return figure(fig, f"Scores by the position of the key. {'; '.join(said)}.")


def damage(products: Float[Tensor, "T T"], scores: Sequence[float], title: str) -> Picture:
    """Dot products of all pairs of positions, and one score along the sequence."""
    fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.1), width_ratios=[1, 1.5])
    top = products.abs().max().item()
    drawn = axes[0].imshow(products.numpy(), cmap=style.SCORES_MAP, vmin=-top, vmax=top)
    axes[0].set(xlabel="position", ylabel="position")
    axes[0].set_title("pe @ pe.T", weight="normal", fontsize=11, loc="center")
    fig.colorbar(drawn, ax=axes[0], shrink=0.7)
    axes[1].plot(range(len(scores)), scores, **CYCLE[0])
    middle, reach = sum(scores) / len(scores), max(max(scores) - min(scores), 2)
    axes[1].set(xlabel="position of the key", ylim=(middle - reach, middle + reach))
    axes[1].set_title("score, 7 positions apart", weight="normal", fontsize=11, loc="center")
    axes[1].grid(True)
    style.headline(fig, title)
    spread = max((d.max() - d.min()).item() for d in map(products.diagonal, range(len(products))))
    alt = (
        f"Left, a map of products whose diagonals spread by up to {spread:.2f}. Right, a score "
        f"from {min(scores):.2f} to {max(scores):.2f} along the sequence."
    )
    return figure(fig, alt)


SCHEME_LOOKS = (
    {"color": "#555555", "linestyle": ":", "marker": "x"},
    {"color": style.HEADS[1], "linestyle": "--", "marker": "s"},
    {"color": "#AA3377", "linestyle": "-.", "marker": "^"},
    {"color": style.HEADS[0], "linestyle": "-", "marker": "o"},
    {"color": "#117733", "linestyle": (0, (6, 1, 1, 1, 1, 1)), "marker": "D"},
)


def accuracy_lines(
    asked: Sequence[int], found: Mapping[str, Sequence[float]], guess: float
) -> Picture:
    """The share of right answers by the length asked; the first length is that of training."""
    fig, ax = plt.subplots(figsize=(7.5, 3.7))
    ends = _apart([line[-1] for line in found.values()], 0.075)
    for (name, line), look, y in zip(found.items(), SCHEME_LOOKS, ends, strict=True):
        (drawn,) = ax.plot(asked, line, **look)
        style.label_end(ax, drawn, f"{name} {line[-1]:.2f}", dy=200 * (y - line[-1]))
    ax.axhline(guess, color="#666666", linestyle=":", linewidth=1)
    ax.annotate("a guess", (asked[0], guess), (0, -11), textcoords="offset points",
                color="#666666")  # fmt: skip
    ax.set(xlabel="length asked", ylabel="share of right answers", xscale="log", ylim=(0, 1.04))
    ax.set_xticks(asked, [f"{T}\n{T // asked[0]} × trained" for T in asked])
    ax.minorticks_off()
    ax.margins(x=0.02)
    ax.grid(True)
    best = max(found, key=lambda name: found[name][-1])
    times = asked[-1] // asked[0]
    ax.set_title(f"At {times} times the trained length {best} is right in {found[best][-1]:.0%}")
    said = "; ".join(f"{n}: {', '.join(f'{a:.2f}' for a in line)}" for n, line in found.items())
    lengths = ", ".join(map(str, asked))
    return figure(fig, f"Share of right answers at lengths {lengths}. {said}. Guess: {guess:.2f}.")


def _apart(ends: Sequence[float], gap: float) -> list[float]:
    """The same numbers, moved up where they lie closer together than a gap."""
    places, last = {}, -gap
    for i in sorted(range(len(ends)), key=lambda i: ends[i]):
        places[i] = last = max(ends[i], last + gap)
    return [places[i] for i in range(len(ends))]

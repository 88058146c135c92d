"""What bounds a kernel on a card: its FLOPs a byte against the card's, and what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_lib.show import style
from course_lib.show.figures import Picture, Table, figure, table

MINE = {"color": style.HEADS[0], "linestyle": "-"}
THEIRS = {"color": style.HEADS[1], "linestyle": "--"}
LOOKS = {  # the ways that benchmarks/gpu.py times
    "kernel": MINE | {"marker": "o"},
    "tuned kernel": MINE | {"marker": "s", "linestyle": "-."},
    "SDPA flash": THEIRS | {"marker": "^"},
    "SDPA cuDNN": THEIRS | {"marker": "D"},
    "SDPA efficient": THEIRS | {"marker": "v"},
    "SDPA math": THEIRS | {"marker": "x", "linestyle": ":"},
    "flex": THEIRS | {"marker": "P", "linestyle": ":"},
}


@dataclass(frozen=True)
class Card:
    """What a maker publishes: products of half precision without sparsity, and slow memory."""

    name: str
    tflops: float
    tbs: float  # terabytes a second

    @property
    def ridge(self) -> float:
        """FLOPs a byte from which on the arithmetic is the limit."""
        return self.tflops / self.tbs

    def at_most(self, intensity: float) -> float:
        """TFLOP/s that it can reach with so many FLOPs a byte."""
        return min(self.tflops, self.tbs * intensity)


CARDS = (Card("A100", 312, 2.039), Card("H100", 989, 3.35), Card("H200", 989, 4.8))
"""SXM modules, NVIDIA's data sheets: A100 80 GB (2021), H100 (2023), H200 (2024). The last two
print twice as many TFLOP/s, for sparse matrices."""


def roofline(
    points: Mapping[str, float], card: Card, measured: Mapping[str, float] | None = None
) -> Picture:
    """Where each form stands under the roof of a card: FLOPs a byte, and the speed they allow.

    `measured` has TFLOP/s, for what was timed on that card.
    """
    fig, ax = plt.subplots(figsize=(7.5, 4.1))
    low, high = 0.5, 2.0 ** max(11, 2 + int(max(points.values())).bit_length())
    corner = [low, card.ridge, high]
    ax.plot(corner, [card.at_most(x) for x in corner], color="black", linestyle="-")
    ax.axvline(card.ridge, **style.GUIDE)
    ax.annotate(f"ridge: {card.ridge:.0f}", (card.ridge, 0), (5, 6), va="bottom",
                xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    said = []
    for name, x in points.items():
        y = card.at_most(x)
        ax.plot([x], [y], "o", color=style.HEADS[0], markersize=9)
        label, where = _label(name, x, card)
        ax.annotate(label, (x, y), textcoords="offset points", **where,
                    color=style.ink(style.HEADS[0]), bbox=ground)  # fmt: skip
        said.append(f"{name} at {x:.3g} FLOPs a byte may reach {y:.3g} TFLOP/s")
    for name, y in (measured or {}).items():
        ax.axhline(y, color=style.HEADS[1], linestyle="--", linewidth=1.5)
        ax.annotate(f"{name}, timed: {y:.0f}", (high, y), (-3, 5), textcoords="offset points",
                    ha="right", color=style.ink(style.HEADS[1]), bbox=ground)  # fmt: skip
        said.append(f"{name} reached {y:.3g} TFLOP/s when measured")
    _plain(ax, low, high)
    below = [name for name, x in points.items() if x < card.ridge]
    ax.set_title(f"{card.name}: {len(below)} of these {len(points)} are bound by slow memory")
    alt = (
        f"The roof of an {card.name}: {card.tbs} TB/s up to {card.ridge:.0f} FLOPs a byte, then "
        f"{card.tflops} TFLOP/s. {'; '.join(said)}."
    )
    return figure(fig, alt, "The roof is what NVIDIA's data sheet says.")


def card_of(name: str) -> Card | None:
    """The card whose name stands in what torch calls it, or None."""
    return next((card for card in CARDS if card.name in name), None)


def cards_table() -> Table:
    """What the makers publish, and the ridge that follows."""
    rows = [(c.name, f"{c.tflops}", f"{c.tbs:.3g}", f"{c.ridge:.0f}") for c in CARDS]
    columns = ["card", "TFLOP/s, half precision", "TB/s", "FLOPs a byte at the ridge"]
    return table(rows, columns, "SXM modules, dense products; from NVIDIA's data sheets")


def speed_lines(stored: Mapping, Dh: int = 128, backward: bool = False) -> Picture:
    """TFLOP/s of each way against length, on the card of the stored run."""
    rows = [
        row for row in stored["rows"]
        if "ms" in row and row["Tq"] == row["Tk"] and row["Dh"] == Dh
        and row["backward"] == backward and not row["causal"]
    ]  # fmt: skip
    if not rows:
        raise ValueError(f"stored: expected timed rows of Dh {Dh}, found none")
    ways = [way for way in LOOKS if any(row["way"] == way for row in rows)]
    lengths = sorted({row["Tk"] for row in rows})
    fig, ax = plt.subplots(figsize=(7.5, 4.3))
    said = []
    for way in ways:
        speed = {row["Tk"]: row["tflops"] for row in rows if row["way"] == way}
        ax.plot(list(speed), list(speed.values()), **LOOKS[way], label=way)
        said.append(f"{way} {max(speed.values()):.3g}")
    fig.legend(loc="outside lower center", ncols=4)
    ax.set_xscale("log", base=2)
    ax.set_xticks(lengths, map(str, lengths))
    ax.set(xlabel="length T", ylabel="TFLOP/s", ylim=(0, None))
    ax.grid(True, axis="y")
    best = max(rows, key=lambda row: row["tflops"])
    own = max((row for row in rows if row["way"] == "kernel"), key=lambda row: row["tflops"])
    share = own["tflops"] / best["tflops"]
    ax.set_title(f"The kernel reaches {share:.0%} of the fastest, {best['way']}")
    alt = f"TFLOP/s against length, heads of {Dh}; the best of each: {'; '.join(said)}."
    return figure(fig, alt, provenance(stored))


def provenance(stored: Mapping) -> str:
    """Where the stored run comes from, in one line."""
    machine = stored["machine"]
    right = sum("error" in line and "failed" not in line for line in stored["checks"])
    return (
        f"{machine['card']}, {stored['dtype']}; torch {machine['torch']}, Triton "
        f"{machine['triton']}, median of {stored['repeats']} calls, {stored['date']}; "
        f"{right} of {len(stored['checks'])} results right before the timing."
    )


def _label(name: str, x: float, card: Card) -> tuple[str, dict]:
    """What stands beside a point and on which side, so that it doesn't lie across the ridge."""
    if x >= card.ridge:
        return f"{name}:\n{x:.3g}", {"xytext": (3, 7), "va": "bottom"}
    if x > card.ridge / 8:
        return f"{name}: {x:.3g}", {"xytext": (-9, 3), "ha": "right", "va": "bottom"}
    return f"{name}: {x:.3g}", {"xytext": (9, -5), "va": "top"}


def _plain(ax: Axes, low: float, high: float) -> None:
    """Logarithmic axes, with numbers as a person writes them."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ticks = [2.0**e for e in range(-1, 20, 2) if low <= 2.0**e <= high]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    ax.set(xlim=(low, high), ylim=(1, 5000), xlabel="FLOPs a byte", ylabel="TFLOP/s")
    ax.grid(True)

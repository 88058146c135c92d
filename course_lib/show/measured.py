"""What is drawn from stored measurements: always with their machine and their date."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from course_lib.show import style
from course_lib.show.figures import Picture, Table, figure, table
from course_lib.show.shapes import size
from course_lib.show.tiling import LOOKS as PROGRAMS
from course_lib.show.tiling import bytes_axis

LOOKS = dict(zip(("naive", "SDPA math", "tiled", "SDPA flash"), PROGRAMS, strict=True))


def cost_lines(stored: Mapping) -> Picture:
    """Time and memory of each way against length: the forward without a mask."""
    rows = [row for row in stored["rows"] if not row["causal"] and not row["backward"]]
    lengths = sorted({row["T"] for row in rows})
    fig, axes = plt.subplots(1, 2, figsize=(7.5, 3.7))
    for ax, key in zip(axes, ("extra_bytes", "seconds"), strict=True):
        for way, look in LOOKS.items():
            of_way = {row["T"]: row[key] for row in rows if row["way"] == way}
            ax.plot(lengths, [of_way[T] for T in lengths], **look, label=way)
        ax.set_xscale("log", base=2)
        ax.set_xticks(lengths, map(str, lengths))
        ax.set_xlabel("length T")
    bytes_axis(axes[0])
    axes[0].set_title("memory on top of the inputs", weight="normal", fontsize=11)
    _time_axis(axes[1])
    axes[1].set_title("seconds", weight="normal", fontsize=11)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    T = lengths[-1]
    last = {row["way"]: row for row in rows if row["T"] == T}
    held = {way: _about(last[way]["extra_bytes"]) for way in LOOKS}
    style.headline(fig, f"At T = {T} the naive form takes {held['naive']}, tiles {held['tiled']}")
    said = "; ".join(f"{way}: {held[way]} and {last[way]['seconds']:.3g} s" for way in LOOKS)
    alt = f"Memory and time of four ways against length, both axes logarithmic. At T = {T} {said}."
    return figure(fig, alt, provenance(stored))


def times_flash(stored: Mapping) -> Table:
    """How many times as long as torch's flash each way takes, for every stored case."""
    ways = [way for way in LOOKS if way != "SDPA flash"]
    cases: dict[tuple, dict[str, Mapping]] = {}
    for row in stored["rows"]:
        case = row["T"], row["causal"], row["backward"]
        cases.setdefault(case, {})[row["way"]] = row
    rows = [
        (T, causal, backward, *(f"{of[way]['times_flash']:.1f}" for way in ways), _widest(of))
        for (T, causal, backward), of in cases.items()
    ]
    columns = ["T", "causal", "with backward", *ways, "largest spread"]
    tiled = [of["tiled"]["times_flash"] for of in cases.values()]
    told = (
        f"The tiled form takes {min(tiled):.1f} to {max(tiled):.1f} times as long as SDPA flash. "
        f"Spread: slowest less fastest round, over the median. {provenance(stored)}"
    )
    return table(rows, columns, told, row_headers=False)


def provenance(stored: Mapping) -> str:
    """Where a stored measurement comes from, in one line."""
    machine, sizes = stored["machine"], stored["sizes"]
    threads = "1 thread" if stored["threads"] == 1 else f"{stored['threads']} threads"
    return (
        f"{sizes['H']} heads of {sizes['Dh']}, {sizes['dtype']}, {threads} of {machine['cpu']}; "
        f"torch {machine['torch']}, median of {stored['rounds']} rounds, {stored['date']}."
    )


def _widest(of: Mapping[str, Mapping]) -> str:
    return f"{max(row['spread'] for row in of.values()):.0%}"


def _about(count: int) -> str:
    """A number of bytes to three digits."""
    number, unit = size(count).split()
    return f"{float(number):.3g} {unit}"


def _time_axis(ax: Axes) -> None:
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ticks = [10.0**e for e in range(-4, 4) if low <= 10.0**e <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([part * tick for tick in ticks for part in (0.2, 0.5, 2, 5)], minor=True)
    ax.tick_params(which="minor", length=0, labelleft=False)
    ax.set_ylim(low, high)
    ax.grid(True, which="both")

"""The still view of the explorable "offsets": the product of every two encodings."""

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from course_lib.positions import sinusoid
from course_lib.show import style
from course_lib.show.explorables import defaults
from course_lib.show.figures import Picture, figure


def offsets_view() -> Picture:
    """The first view of the explorable "offsets": one colour on each diagonal."""
    state = defaults("offsets")
    T, D, offset = state["T"], state["D"], state["offset"]
    codes = sinusoid(torch.arange(T), D, float(state["base"])).double()
    products = codes @ codes.T
    values = torch.cat([products[0].flip(0), products[1:, 0]])  # offset 1 - T to T - 1
    value = values[offset + T - 1].item()

    fig, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.7), width_ratios=[1, 1.05])
    _squares(left, products, D / 2)
    diagonal = torch.arange(max(offset, 0), T + min(offset, 0))
    middle = diagonal - offset + 0.5, diagonal + 0.5
    left.plot(*middle, color="white", linestyle="-", linewidth=4)
    left.plot(*middle, color="black", linestyle=":", linewidth=2)
    right.plot(range(1 - T, T), values, color="black", linestyle="-")
    right.plot(offset, value, "o", color=style.VALUE, markeredgecolor="black", markersize=8)
    right.annotate(f"offset {offset}: {value:.2f}", (offset, value), (10, 6),
                   textcoords="offset points")  # fmt: skip
    right.set(xlabel="offset t − u", ylabel="product", ylim=(-D / 2, 1.05 * D / 2))
    right.axhline(0, color=style.EDGE, linestyle="-", linewidth=0.8)
    right.grid(True)
    style.headline(fig, "The product of two encodings depends on the offset alone")
    said = ", ".join(f"{values[k + T - 1]:.2f} at offset {k}" for k in (0, offset, -offset))
    alt = (
        f"Left, a grid of the products of {T} encodings, D = {D}: each diagonal has one colour. "
        f"Right, the product against the offset, highest at 0 and the same on both sides: {said}."
    )
    return figure(fig, alt, f"Dotted: the diagonal of offset {offset}.")


def _squares(ax: Axes, products: Float[Tensor, "T T"], most: float) -> None:
    drawn = ax.pcolormesh(products.numpy(), cmap=style.SCORES_MAP, vmin=-most, vmax=most,
                          edgecolors="face", linewidth=0.3)  # fmt: skip
    T = len(products)
    ticks = range(0, T, 5)
    ax.set(aspect="equal", xlim=(0, T), ylim=(T, 0))
    ax.set_xticks([tick + 0.5 for tick in ticks], ticks)
    ax.set_yticks([tick + 0.5 for tick in ticks], ticks)
    ax.set(xlabel="position u", ylabel="position t")
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(drawn, ax=ax, ticks=[-most, 0, most], shrink=0.8, pad=0.02)
    bar.solids.set_rasterized(False)
    bar.solids.set_edgecolor("face")

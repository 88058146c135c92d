"""What counting moved bytes is held to: both ways of computing attention, at several sizes."""

from collections.abc import Callable

import torch

from course_lib import traffic
from course_lib.checks.question import Probe
from course_lib.checks.shapes.sizes import beside

BOTH = ("naive", "tiled")
SIZES = ("Tq", "Tk", "Dh", "Dv", "block_q")


def moved_bytes(Tq, Tk, Dh, Dv, block_q, dtype):
    """Count the bytes of one head, in three passes and in one."""
    naive = traffic.naive_elements(Tq, Tk, Dh, Dv)
    tiled = traffic.tiled_elements(Tq, Tk, Dh, Dv, block_q)
    return naive * dtype.itemsize, tiled * dtype.itemsize


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def plain(value: object) -> object:
    """A count as a number of Python, if it is one; whole where it is, to be compared exactly."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _counts(*asked: str) -> Callable:
    """Observe one of the two counts, or both, for each of the dtypes that are given."""

    def observe(fn: Callable, *inputs: object) -> dict:
        *sizes, dtypes = inputs
        seen = {}
        for dtype in dtypes if isinstance(dtypes, tuple) else (dtypes,):
            given = fn(*sizes, dtype)
            if not isinstance(given, tuple | list) or len(given) != len(BOTH):
                count = f"{len(given)} values" if isinstance(given, tuple | list) else ""
                return {"form": f"it returns {count or type(given).__name__}; expected 2 numbers"}
            counts = dict(zip(BOTH, map(plain, given), strict=True))
            for name in asked:
                if not isinstance(counts[name], int | float):
                    kind = type(counts[name]).__name__
                    return {"form": f"{name} comes back as {kind}; expected a number"}
                seen[name, _name(dtype)] = counts[name]
        return seen

    return observe


def _off(got: dict, want: dict, *inputs: object) -> str:
    """The first count that is off, and which tensor it is off by, if one is."""
    if "form" in got:
        return got["form"]
    *sizes, dtypes = inputs
    which = next(which for which in want if got[which] != want[which])
    sizes = dict(zip(SIZES, sizes, strict=True))
    mine, right = got[which], want[which]
    dtype = next(d for d in _listed(dtypes) if _name(d) == which[1])
    if mine == int(mine):
        text = beside(int(mine), right, "bytes")
    else:
        text = f"{mine:,.2f} bytes; expected {right:,}"
    listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
    return f"{which[0]}: {text}{_as_large(abs(mine - right) / dtype.itemsize, sizes)}, for {listed}"


def _listed(dtypes: object) -> tuple:
    return dtypes if isinstance(dtypes, tuple) else (dtypes,)


def _as_large(numbers: float, sizes: dict[str, int]) -> str:
    """Which tensor has so many numbers, if just one has."""
    Tq, Tk, Dh, Dv, _ = sizes.values()
    parts = {"q": Tq * Dh, "k": Tk * Dh, "v": Tk * Dv, "out": Tq * Dv, "lse": Tq}
    parts |= {"k and v together": Tk * (Dh + Dv), "scores": Tq * Tk}
    fits = [
        f"{count} times {name}" if count > 1 else name
        for name, size in parts.items()
        for count in (1, 2, 3, 4)
        if numbers == count * size
    ]
    return f" (the difference is as large as {fits[0]})" if len(fits) == 1 else ""


def _sized(*fixed: object) -> Callable[[torch.Generator], tuple]:
    """Draw widths for these lengths and tiles: no size of a probe is another's, or twice it."""

    def draw(g: torch.Generator) -> tuple:
        Tq, Tk, block_q, dtype = fixed
        widths = (11, 13, 17, 19)
        first, second = torch.randperm(len(widths), generator=g)[:2].tolist()
        return Tq, Tk, widths[first], widths[second], block_q, dtype

    return draw


def _moves(holds: str, asked: str, *fixed: object) -> Probe:
    asked = asked.split()
    return Probe(holds, _sized(*fixed), observe=_counts(*asked), fails=_off)


FLOAT32, BFLOAT16 = torch.float32, torch.bfloat16

MOVED = (
    _moves("naive, float32: Tq 63, Tk 140", "naive", 63, 140, 21, FLOAT32),
    _moves("naive, bfloat16: Tq 149, Tk 46", "naive", 149, 46, 28, BFLOAT16),
    _moves("tiled: 63 queries in one tile of 63", "tiled", 63, 46, 63, FLOAT32),
    _moves("tiled: 63 queries in tiles of 21", "tiled", 63, 140, 21, FLOAT32),
    _moves(
        "tiled: 149 queries in tiles of 28, the last one shorter", "tiled", 149, 46, 28, FLOAT32
    ),
    _moves("tiled: 1 query, tiles of 28: one pass", "tiled", 1, 140, 28, BFLOAT16),
    _moves(
        "both in float64, float16 and int8, of 8, 2 and 1 bytes",
        "naive tiled",
        76,
        46,
        28,
        (torch.float64, torch.float16, torch.int8),
    ),
    _moves(
        "both, Tq 2 * 10**16 + 1, tiles of 2 * 10**14: exact to the byte",
        "naive tiled",
        2 * 10**16 + 1,
        35,
        2 * 10**14,
        BFLOAT16,
    ),
)

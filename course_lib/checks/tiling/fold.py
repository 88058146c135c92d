"""What reading one more tile is held to: row by row, what is remembered, and what comes of it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import tiling
from course_lib.attention import NOTHING
from course_lib.checks.compare import difference
from course_lib.checks.question import Probe

NAMES = ("row_max", "row_sum", "acc")
CLOSE = 1e-4  # scores near 1000 leave float32 this much, by whichever formula
EXACT = 1e-12  # what float64 keeps, and float32 doesn't


def fold(row_max, row_sum, acc, scores, v):
    """Read one more tile: what the library's `fold` does, without its container."""
    return tuple(tiling.fold(tiling.State(row_max, row_sum, acc), scores, v))


def number(value: float | str, digits: int = 4) -> str:
    """A number in few characters; a word as it is."""
    if isinstance(value, str):
        return value
    return "NaN" if value != value else f"{value + 0.0:.{digits}g}"


def listed(part: Tensor) -> list:
    """A row of numbers; infinite ones as words, since nothing is a small way from them."""
    return [number(x) if math.isinf(x) else x for x in part.detach().tolist()]


def apart(got: object, want: object) -> tuple[str, str]:
    """Two numbers, or rows of them, with as many digits as it takes to tell them apart."""
    for digits in (4, 8, 17):
        pair = [
            f"[{', '.join(number(x, digits) for x in row)}]"
            if isinstance(row, list)
            else number(row, digits)
            for row in (got, want)
        ]
        if pair[0] != pair[1]:
            break
    return pair[0], pair[1]


def wrong_form(given: object, names: tuple[str, ...], shapes: list[list[int]]) -> str:
    """Why these aren't tensors of these shapes; nothing to say where they are."""
    count = len(names)
    if not isinstance(given, tuple | list) or len(given) != count:
        kind = f"a tensor {list(given.shape)}" if isinstance(given, Tensor) else None
        kind = f"{len(given)} values" if isinstance(given, tuple | list) else kind
        return f"it returns {kind or type(given).__name__}; expected {count}: {', '.join(names)}"
    for name, part, shape in zip(names, given, shapes, strict=True):
        if not isinstance(part, Tensor):
            return f"{name} comes back as {type(part).__name__}; expected a tensor {shape}"
        if list(part.shape) != shape:
            return f"{name} comes back as {list(part.shape)}; expected {shape}"
    return ""


def dtypes(given: list[Tensor]) -> str:
    """The dtypes of what comes back, in its order."""
    return ", ".join(str(part.dtype).removeprefix("torch.") for part in given)


def _shapes(acc: Tensor) -> list[list[int]]:
    return [[len(acc), 1], [len(acc), 1], list(acc.shape)]


def _rows(fn: Callable, *inputs: Tensor) -> dict:
    """Observe the three, number by number: beside the lowest one all maxima are alike."""
    given = fn(*inputs)
    if found := wrong_form(given, NAMES, _shapes(inputs[2])):
        return {"form": found}
    row_max, row_sum, acc = given
    ones = {"row_sum": listed(row_sum[:, 0]), "row_max": listed(row_max[:, 0])}
    return {"acc": [listed(row) for row in acc], **ones}


def _exact_rows(fn: Callable, *inputs: Tensor) -> dict:
    """The same, and the dtypes."""
    seen = _rows(fn, *inputs)
    return seen if "form" in seen else {"form": f"dtypes {dtypes(fn.returned)}", **seen}


def _first_row(tolerance: float) -> Callable[..., str]:
    """Word the first row of the first of the three that differs."""

    def fact(got: dict, want: dict, row_max, row_sum, acc, scores, v) -> str:
        if got.get("form") != want.get("form"):
            told = got["form"].startswith("dtypes")
            return f"{got['form']}; expected {want['form']}" if told else got["form"]
        name, row = next(
            (name, row)
            for name in NAMES
            for row, pair in enumerate(zip(got[name], want[name], strict=True))
            if difference(*pair, tolerance)
        )
        mine, right = apart(got[name][row], want[name][row])
        where = f"row {row}"
        where += ", blocked in full" if scores[row].max() == NOTHING else ""
        if name == "row_max" and "blocked" not in where:
            return f"{where}: row_max is {mine}; the largest score read so far is {right}"
        told = " (row_max and row_sum are right)" if name == "acc" else ""
        return f"{where}: {name} is {mine}; expected {right}{told}"

    return fact


def _nothing(Tq: int, Dv: int) -> tuple[Tensor, Tensor, Tensor]:
    return tuple(tiling.nothing_read(torch.zeros(Tq, Dv)))


def _tile(g: torch.Generator, Tq: int, n: int, Dv: int) -> tuple[Tensor, Tensor]:
    return 1.5 * torch.randn(Tq, n, generator=g), torch.randn(n, Dv, generator=g)


def _first_tile(g: torch.Generator) -> tuple:
    """Row 1 has negative scores only."""
    scores, v = _tile(g, 3, 5, 4)
    scores[1] = -1 - scores[1].abs()
    return *_nothing(3, 4), scores, v


def _after(g: torch.Generator, before: list[float], now: list[float], n: int = 5) -> tuple:
    """A tile whose rows lie near `now`, read after one whose rows lay near `before`."""
    Tq, Dv = len(before), 2
    scores, v = _tile(g, Tq, n + 1, Dv)
    state = fold(*_nothing(Tq, Dv), scores + torch.tensor(before)[:, None], v)
    scores, v = _tile(g, Tq, n, Dv)
    return *state, scores + torch.tensor(now)[:, None], v


def _blocked(g: torch.Generator) -> tuple:
    """Row 0 has read and may not read now, row 1 never could, rows 2 and 3 read some."""
    given = row_max, row_sum, acc, scores, _v = _after(g, [0, 0, 1, 0], [0, 0, 0, 1])
    row_max[1], row_sum[1], acc[1] = torch.finfo(scores.dtype).min, 0, 0
    scores[:2] = NOTHING
    scores[2, :2] = scores[3, 3:] = NOTHING
    return given


def _all_tiles(g: torch.Generator) -> tuple:
    """Row 0 rises, row 1 falls, row 2 is all negative, and row 3 may not read the first tile."""
    scores, v = _tile(g, 4, 7, 3)
    slope = torch.linspace(-9, 9, 7)
    scores[0], scores[1], scores[2] = scores[0] + slope, scores[1] - slope, -30 - scores[2].abs()
    scores[3, :3] = NOTHING
    return *_nothing(4, 3), scores, v


def _finished(fn: Callable, row_max, row_sum, acc, scores, v) -> dict:
    """Observe the output after all keys, three at a time."""
    state = row_max, row_sum, acc
    for start in range(0, scores.shape[1], 3):
        tile = slice(start, start + 3)
        state = fn(*state, scores[:, tile], v[tile])
        if found := wrong_form(state, NAMES, _shapes(acc)):
            return {"form": found}
    return {"out": [listed(row) for row in state[2] / state[1]]}


def _wrong_end(got: dict, want: dict, *inputs: Tensor) -> str:
    """The first row whose output isn't that of attention."""
    if "form" in got:
        return got["form"]
    row = next(i for i, w in enumerate(want["out"]) if difference(got["out"][i], w, CLOSE))
    mine, right = apart(got["out"][row], want["out"][row])
    whose = ("whose scores rise", "whose scores fall", "whose scores are all below -30")
    whose = (*whose, "which may not read the first tile")[row]
    return f"row {row}, {whose}: acc / row_sum ends at {mine}; expected {right}"


def _double(g: torch.Generator) -> tuple:
    return tuple(part.double() for part in _after(g, [0.0, 2.0, -1.0], [1.0, 0.0, 0.0], n=4))


def _reads(holds: str, inputs: Callable[[torch.Generator], tuple]) -> Probe:
    return Probe(holds, inputs, observe=_rows, fails=_first_row(CLOSE), tolerance=CLOSE)


FOLD = (
    Probe(
        "float64: row_max, row_sum [3, 1] and acc [3, 2] in float64, and no digit lost",
        _double,
        observe=_exact_rows,
        fails=_first_row(EXACT),
        tolerance=EXACT,
    ),
    _reads("the first tile: nothing was read before it", _first_tile),
    _reads(
        "a tile with higher scores: what was read before shrinks",
        lambda g: _after(g, [-2.0, -9.0, 0.0], [4.0, -1.0, 8.0]),
    ),
    _reads(
        "a tile with lower scores: row_max stays",
        lambda g: _after(g, [4.0, -1.0, 8.0], [-1.0, -8.0, 0.0]),
    ),
    _reads(
        "scores near 1000 and -1000, and rows that jump by 300: every number is finite",
        lambda g: _after(g, [1000.0, -1000.0, -150.0, 150.0], [1001.0, -1001.0, 150.0, -150.0]),
    ),
    _reads("rows 0 and 1 blocked in full stay as they were, others read what is left", _blocked),
    Probe(
        "3 tiles one after another, the last of one key: acc / row_sum is attention's output",
        _all_tiles,
        points=2,
        observe=_finished,
        fails=_wrong_end,
        tolerance=CLOSE,
    ),
)

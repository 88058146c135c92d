"""What the parameters of one head and a cross-attention are held to."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Probe, gradient

NAMES = ("w_q", "w_k", "w_v", "w_o")
STEP = 32  # columns are counted in parts of this, so a number names its matrix, row and column


def _coded(H: int, Dh: int, head: int | None) -> Callable[[torch.Generator], tuple]:
    """Weights whose numbers say where they stand: 100 for the matrix, 1 a row, 1/32 a column."""

    def draw(g: torch.Generator) -> tuple:
        rows, columns = torch.arange(H * Dh)[:, None], torch.arange(H * Dh) / STEP
        inner = int(torch.randint(1, H - 1, (), generator=g)) if head is None else head
        weights = [100 * (i + 1) + rows + columns for i in range(len(NAMES))]
        return *weights, H, inner

    return draw


def _listed(numbers: list[int]) -> str:
    """Rows or columns as a person says them."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"{first}"
    if numbers == list(range(first, last + 1)):
        return f"{first} to {last}"
    return ", ".join(map(str, numbers[:4])) + (", ..." if numbers[4:] else "")


def _held(matrix: Tensor, D: int) -> str:
    """Which rows and columns of which matrix these coded numbers are."""
    m = matrix.detach().double()
    if m.ndim != 2 or not m.numel():
        return f"a tensor {list(m.shape)}"
    source, row = (m / 100).floor().long() - 1, (m % 100).floor().long()
    column = ((m % 1) * STEP).round().long()
    back = (100 * (source + 1) + row).double() + column.double() / STEP
    one = bool((source == source[0, 0]).all()) and 0 <= int(source[0, 0]) < len(NAMES)
    if not one or not torch.allclose(back, m, rtol=0, atol=1e-6):
        return f"a tensor {list(m.shape)} of other numbers than one of the four has"
    turned = bool((row == row[:1]).all() and (column == column[:, :1]).all())
    row, column = (row.T, column.T) if turned else (row, column)
    name = NAMES[int(source[0, 0])]
    if not ((row == row[:, :1]).all() and (column == column[:1]).all()):
        return f"{list(m.shape)} numbers of {name}, not whole rows or columns"
    rows, columns = row[:, 0].tolist(), column[0].tolist()
    places = [
        f"{what}{'s' * (len(where) > 1)} {_listed(where)}"
        for what, where in (("row", rows), ("column", columns))
        if where != list(range(D))
    ]
    text = f"{' and '.join(places)} of {name}" if places else f"all of {name}"
    return text + (", transposed" if turned else "")


def _form(parts: object) -> str | None:
    """Why these aren't four matrices, if they aren't."""
    if not isinstance(parts, list | tuple):
        return f"it returns a {type(parts).__name__}; expected a tuple or list of 4 matrices"
    if len(parts) != len(NAMES):
        return f"it returns {len(parts)} values; expected 4"
    if any(not isinstance(part, Tensor) for part in parts):
        return "one of the values is no tensor"
    return None


def _places(*asked: str) -> Callable:
    """Observe which part of the layer each of the asked matrices is."""

    def observe(fn: Callable, *inputs: object) -> dict[str, str]:
        parts = fn(*inputs)
        if found := _form(parts):
            return {"form": found}
        named = zip(NAMES, parts, strict=True)
        return {name: _held(part, len(inputs[0])) for name, part in named if name in asked}

    return observe


def _wrong_part(got: dict, want: dict, *inputs: object) -> str:
    """The first matrix that is another part of the layer."""
    if "form" in got:
        return got["form"]
    name = next(name for name in want if got[name] != want[name])
    return f"the {name} of head {inputs[-1]} is {got[name]}; expected {want[name]}"


def _drawn(g: torch.Generator) -> tuple:
    H, Dh = 3, 4
    weights = [torch.randn(H * Dh, H * Dh, generator=g) * 0.4 for _ in NAMES]
    return *weights, H, 0


def _one_head(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    """Attention with one head: what the returned matrices are for."""
    q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T
    return (q * q.shape[-1] ** -0.5 @ k.mT).softmax(-1) @ v @ w_o.T


def _summed(fn: Callable, *inputs: object) -> dict[str, object]:
    """Observe the sum of all heads' outputs, each run alone with what the answer gave for it."""
    *weights, H, _ = inputs
    D = len(weights[0])
    x = torch.randn(2, 5, D, generator=torch.Generator().manual_seed(D)).to(weights[0])
    total = torch.zeros_like(x)
    for head in range(H):
        parts = fn(*weights, H, head)
        if found := _form(parts):
            return {"form": found}
        try:
            out = _one_head(x, *parts)
        except (RuntimeError, ZeroDivisionError):  # no features: no divisor either
            shapes = ", ".join(str(list(part.shape)) for part in parts)
            return {"form": f"the matrices of head {head} are {shapes}, and no head runs with them"}
        if out.shape != x.shape:
            return {"form": f"head {head} gives {list(out.shape)}; expected {list(x.shape)}"}
        total = total + out
    return {"sum": total}


def _not_the_layer(got: dict, want: dict, *inputs: object) -> str:
    if "form" in got:
        return got["form"]
    apart = (got["sum"].double() - want["sum"]).abs()
    at = tuple(int(i) for i in torch.unravel_index(apart.nan_to_num(0).argmax(), apart.shape))
    mine, right = got["sum"][at].item(), want["sum"][at].item()
    return (
        f"run one by one, the heads add up to {mine:.4g} at {list(at)}; the layer has {right:.4g}"
    )


def _taken(holds: str, H: int, Dh: int, head: int | None, asked: tuple = NAMES) -> Probe:
    inputs = _coded(H, Dh, head)
    return Probe(holds, inputs, observe=_places(*asked), fails=_wrong_part)


TAKE = (
    _taken("H 4, Dh 3, a head inside: its rows of w_q, w_k and w_v", 4, 3, None, NAMES[:3]),
    _taken("the same: its columns of w_o", 4, 3, None, NAMES[3:]),
    _taken("H 3, Dh 5: the first head", 3, 5, 0),
    _taken("H 2, Dh 7: the last head", 2, 7, 1),
    _taken("H 1: the head is the layer", 1, 6, 0),
    Probe(
        "H 3, Dh 4: all heads run one by one add up to the layer's output",
        _drawn,
        points=2,
        observe=_summed,
        fails=_not_the_layer,
    ),
)


def _asked(
    T: tuple[int, int], D: tuple[int, int], H: int, B: int = 2
) -> Callable[[torch.Generator], tuple]:
    """Draw a call: T and D are the sizes of x first, then of the context."""

    def draw(g: torch.Generator) -> tuple:
        x, context = (torch.randn(B, t, d, generator=g) for t, d in zip(T, D, strict=True))
        sizes = ((D[0], D[0]), (D[0], D[1]), (D[0], D[1]), (D[0], D[0]))
        weights = [torch.randn(s, generator=g) * 1.5 * s[1] ** -0.5 for s in sizes]
        return x, context, *weights, H

    return draw


def _loud(g: torch.Generator) -> tuple:
    """Whole numbers, so that float32 holds the large scores exactly; some are beyond 100."""
    D, Dc = 12, 9

    def whole(most: int, *shape: int) -> Tensor:
        return torch.randint(-most, most + 1, shape, generator=g).float()

    weights = whole(2, D, D), whole(2, D, Dc), whole(2, D, Dc), whole(2, D, D)
    return whole(3, 2, 4, D), whole(3, 2, 7, Dc), *weights, 3


CROSS = (
    Probe("1 head, context as wide as x", _asked((3, 5), (6, 6), 1)),
    Probe("2 heads, Tq 3, Tk 7, D 8, Dc 5", _asked((3, 7), (8, 5), 2)),
    Probe("3 heads, Tq 7, Tk 4, D 6, Dc 10", _asked((7, 4), (6, 10), 3)),
    Probe(
        "Tq = Tk, Dc = D, and 4 sequences, 4 heads, 4 positions: nothing changes places",
        _asked((4, 4), (8, 8), 4, B=4),
    ),
    Probe("scores beyond 100: the same numbers, and no NaN", _loud),
    Probe(
        "gradients in x, context and all weights against float64",
        _asked((4, 6), (6, 9), 2),
        points=2,
        observe=gradient,
    ),
)

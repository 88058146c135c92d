"""What folding one tile of keys in is held to: the three as they stand in memory afterwards."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib import simulator as triton
from course_lib.checks.kernel.launch import fact, first_wrong, written
from course_lib.checks.question import Probe
from course_lib.simulator import language as tl

STATE = ("max_ptr", "sum_ptr", "acc_ptr")
SIZES = (16, 32, 64)  # of BLOCK_Q, BLOCK_K and Dh, in an order that is drawn
CLOSE = 1e-4
LOUD = 2e-3  # what float32 leaves of scores near 1000
HALF = 3e-2
LOWEST = torch.finfo(torch.float32).min


@triton.jit
def step(
    q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, start, Tk, scale,
    Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Fold the tile of keys that begins at `start` into what BLOCK_Q queries remember."""
    rows, dims = tl.arange(0, BLOCK_Q), tl.arange(0, Dh)
    cols = start + tl.arange(0, BLOCK_K)
    inside = cols < Tk
    tile = rows[:, None] * Dh + dims[None, :]
    keys = cols[:, None] * Dh + dims[None, :]
    q = tl.load(q_ptr + tile)
    k = tl.load(k_ptr + keys, mask=inside[:, None], other=0.0)
    v = tl.load(v_ptr + keys, mask=inside[:, None], other=0.0)
    row_max, row_sum = tl.load(max_ptr + rows), tl.load(sum_ptr + rows)
    scores = tl.where(inside[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    new_max = tl.maximum(row_max, tl.max(scores, 1))
    rescale = tl.exp(row_max - new_max)
    powers = tl.exp(scores - new_max[:, None])
    acc = tl.load(acc_ptr + tile) * rescale[:, None]
    tl.store(max_ptr + rows, new_max)
    tl.store(sum_ptr + rows, row_sum * rescale + tl.sum(powers, 1))
    tl.store(acc_ptr + tile, tl.dot(powers.to(v.dtype), v, acc))


def _drawn(
    g: torch.Generator,
    slopes: tuple[float, float],
    levels: tuple[float, float] = (1.0, 1.0),
    start: int = 0,
    left: int | None = None,
    behind: int = 0,
) -> tuple:
    """A tile that begins after `start` others and has `left` keys, or as many as a tile has.

    A query's slope times the level is the middle of its scores: the first level is that of the
    keys before the tile, the second that of the rest. They spread around it as N(0, 4) does.
    Behind the last key there is memory of others. Where the tile is the first, there are more
    queries than keys.
    """
    sizes = [SIZES[i] for i in torch.randperm(3, generator=g).tolist()]
    if not start:
        sizes.sort(key=lambda size: size < max(SIZES))
    BLOCK_Q, BLOCK_K, Dh = sizes
    Tk = start * BLOCK_K + (2 * BLOCK_K - 5 if left is None else left)
    scale = 0.2 + 0.2 * torch.rand((), generator=g).item()
    q = torch.randn(BLOCK_Q, Dh, generator=g)
    k, v = torch.randn(2, Tk + behind, Dh, generator=g)
    k *= 2 / (scale * Dh**0.5)
    q[:, 0] = torch.linspace(*slopes, BLOCK_Q) / scale
    k[:, 0] = levels[1]
    k[: start * BLOCK_K, 0] = levels[0]
    state = _remembered(q, k[: start * BLOCK_K], v[: start * BLOCK_K], scale)
    return q, k, v, *state, start * BLOCK_K, Tk, scale, Dh, BLOCK_Q, BLOCK_K


def _remembered(q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """What queries remember of the keys before a tile."""
    if not len(k):
        return torch.full((len(q),), LOWEST), torch.zeros(len(q)), torch.zeros(q.shape)
    scores = q.double() @ k.double().T * scale
    row_max = scores.amax(1)
    powers = (scores - row_max[:, None]).exp()
    return row_max.float(), powers.sum(1).float(), (powers @ v.double()).float()


def _loud(g: torch.Generator) -> tuple:
    """Scores near 1000 and -1000 in turn; those of the 11 keys left differ from others by 300."""
    q, k, v, *_state, start, Tk, scale, Dh, BLOCK_Q, BLOCK_K = _drawn(
        g, (1000.0, 1000.0), (1.0, 1.3), start=1, left=11
    )
    q[1::2, 0] *= -1
    state = _remembered(q, k[:start], v[:start], scale)
    return q, k, v, *state, start, Tk, scale, Dh, BLOCK_Q, BLOCK_K


def _call(g: torch.Generator) -> tuple:
    """A call of three tiles, the last of 3 keys; scores rise in the last, or fall."""
    q, k, v, *_state, _start, Tk, scale, Dh, BLOCK_Q, BLOCK_K = _drawn(
        g, (-9.0, 9.0), (0.2, 1.0), start=2, left=3
    )
    return q, k, v, *_remembered(q, k[:0], v[:0], scale), 0, Tk, scale, Dh, BLOCK_Q, BLOCK_K


def _cancelling(g: torch.Generator) -> tuple:
    """Three tiles in bfloat16. The second has the keys of the first, and the opposite values.

    So what the first brings is taken away again, however its powers were rounded.
    """
    q, k, v, *_state, _start, Tk, scale, Dh, BLOCK_Q, BLOCK_K = _drawn(
        g, (-2.0, 2.0), (0.0, 1.0), start=2, left=9
    )
    k[BLOCK_K : 2 * BLOCK_K] = k[:BLOCK_K]
    v[:BLOCK_K] = 300 + 40 * v[:BLOCK_K]
    v[BLOCK_K : 2 * BLOCK_K] = -v[:BLOCK_K]
    state = _remembered(q, k[:0], v[:0], scale)
    return *(x.bfloat16() for x in (q, k, v)), *state, 0, Tk, scale, Dh, BLOCK_Q, BLOCK_K


def _all_tiles(fn: Callable, *inputs: object) -> dict[str, Tensor]:
    """Observe what comes of one step after another, over all keys."""
    given = dict(zip(fn.names, inputs, strict=True))
    given |= {name: given[name].clone() for name in STATE}
    for start in range(0, given["Tk"], given["BLOCK_K"]):
        fn.launch((1,), *(given | {"start": start}).values())
    return {"acc / row_sum": given["acc_ptr"] / given["sum_ptr"][:, None]}


def _told(got: dict, want: dict, *inputs: object, tolerance: float = CLOSE) -> str:
    """The first of the three that is off, its first number, and which of the others are right."""
    off = {name: first_wrong(got[name], want[name], tolerance) for name in want}
    name = next(name for name in off if off[name] is not None)
    text = fact(name, off[name], got[name], want[name])
    if name in STATE and torch.equal(got[name], inputs[3 + STATE.index(name)]):
        text = f"{name} is as it was before: {text}"
    right = [other for other in off if off[other] is None]
    if not right:
        return text
    return f"{text} ({' and '.join(right)} {'is' if len(right) == 1 else 'are'} right)"


def _step(holds: str, inputs: Callable[[torch.Generator], tuple], tol: float = CLOSE) -> Probe:
    observe = written(lambda *inputs: (1,), *STATE)
    return Probe(holds, inputs, 1, observe, partial(_told, tolerance=tol), tol)


STEP = (
    _step(
        "the first tile: row_max is the lowest number, row_sum and acc are 0",
        lambda g: _drawn(g, (-14.0, 6.0)),
    ),
    _step(
        "a tile with higher scores: what was read before shrinks",
        lambda g: _drawn(g, (4.0, 9.0), (0.0, 1.0), start=1),
    ),
    _step(
        "a tile with lower scores: row_max stays",
        lambda g: _drawn(g, (-7.0, -5.0), (0.0, 1.0), start=2),
    ),
    _step(
        "7 keys are left, and k and v end there",
        lambda g: _drawn(g, (-12.0, 5.0), start=2, left=7),
    ),
    _step(
        "9 keys are left, and behind them lies other memory",
        lambda g: _drawn(g, (-12.0, 5.0), start=1, left=9, behind=70),
    ),
    _step("scores near 1000 and -1000: every number is finite", _loud, LOUD),
    Probe(
        "bfloat16: three steps, and the second takes away the hundreds of the first, in float32",
        _cancelling,
        observe=_all_tiles,
        fails=partial(_told, tolerance=HALF),
        tolerance=HALF,
    ),
    Probe(
        "three steps, the last of 3 keys: acc / row_sum is attention's output",
        _call,
        observe=_all_tiles,
        fails=_told,
        tolerance=CLOSE,
    ),
)

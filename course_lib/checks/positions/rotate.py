"""What `rotate` is held to: which features turn together, how fast, which way, and by whose place.

The facts speak of features i and i + Dh/2 of one token: what they went in as, and came out as.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.right_rotate import rotate
from course_lib.checks.question import Probe
from course_lib.masks import in_words

FURTHER = 40  # how far on the second sequence stands where distances are looked at
FAR = 29_953  # bfloat16 knows 29,952 and then 30,080
Draw = Callable[[torch.Generator], tuple]


def _in_turn(*shape: int) -> Draw:
    """Draw x, at positions 0, 1, 2, ... in every sequence."""

    def draw(g: torch.Generator) -> tuple[Tensor, Tensor]:
        return torch.randn(shape, generator=g), torch.arange(shape[2]).repeat(shape[0], 1)

    return draw


def _scattered(*shape: int) -> Draw:
    """Draw x, and for each sequence positions from 5 to 59 in any order, none of them twice."""

    def draw(g: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = [5 + torch.randperm(55, generator=g)[: shape[2]] for _ in range(shape[0])]
        return torch.randn(shape, generator=g), torch.stack(rows)

    return draw


def _far_off(g: torch.Generator) -> tuple[Tensor, Tensor]:
    first = FAR + int(torch.randint(60, (), generator=g))
    return torch.randn(1, 2, 4, 8, generator=g).bfloat16(), first + torch.arange(4)[None]


def _twice(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """The same vectors in two sequences, the second further on."""
    x, positions = _scattered(1, 3, 5, 6)(g)
    return x.repeat(2, 1, 1, 1), torch.cat([positions, positions + FURTHER])


def _one_feature_each(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Token t has a 1 in feature t and zeros elsewhere; all stand where every pair shows a turn."""
    speeds = 10.0 ** -torch.arange(4)
    angles = torch.arange(100, 400)[:, None] * speeds
    plain = torch.minimum(angles.sin().abs(), angles.cos().abs()).amin(-1) > 0.05
    far = 100 + plain.nonzero().flatten()
    place = far[torch.randint(len(far), (), generator=g)]
    return torch.eye(8).repeat(1, 2, 1, 1), place.repeat(1, 8)


def _form(fn: Callable, x: Tensor, positions: Tensor) -> object:
    """Observe dtype and size, and whether the result hangs on x."""
    leaf = x.clone().requires_grad_()
    out = fn(leaf * 1, positions)  # not the leaf itself, which a function mustn't write into
    if not isinstance(out, Tensor):
        return out
    tied = "a gradient" if out.requires_grad else "no gradient"
    return f"{str(out.dtype).removeprefix('torch.')}, {list(out.shape)}, {tied} back to x"


def _went(fn: Callable, x: Tensor, positions: Tensor) -> object:
    """Observe into which features each single one went, in the first head."""
    out = fn(x, positions)
    if not isinstance(out, Tensor) or out.shape != x.shape:
        return out
    return (out[0, 0].abs() > 1e-6).long()


def _went_elsewhere(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    row = int((got != want).any(-1).nonzero()[0])
    mine, right = (_features(y[row].nonzero().flatten().tolist()) for y in (got, want))
    return f"a vector with feature {row} alone comes back with {mine}; expected {right}"


def _features(numbers: list[int]) -> str:
    if len(numbers) == 2:
        return f"features {numbers[0]} and {numbers[1]}"
    return in_words(numbers, "feature")


def _moved(fn: Callable, x: Tensor, positions: Tensor) -> object:
    """Observe how much the scores of the second sequence differ from those of the first."""
    out = fn(x, positions)
    if not isinstance(out, Tensor) or out.shape != x.shape:
        return out
    scores = out.double() @ out.double().mT
    apart = ((scores[1] - scores[0]).abs().max() / scores.abs().max()).item()
    return 0.0 if apart < 1e-3 else apart


def _turn(got: Tensor, want: Tensor, x: Tensor, positions: Tensor) -> str:
    """What becomes of one token that goes wrong, or of one pair of its features."""
    x, got = x.double(), got.double()
    error = (got - want).abs().nan_to_num(torch.inf)
    b, h, t, feature = (error >= error.max() / 2).nonzero()[0].tolist()
    place = int(positions[b, t])
    here = f"position {place:,} (sequence {b}, head {h}, token {t})"
    if (other := _turns_as(got[b, h, t], x[b, h, t], place, positions)) is not None:
        return f"{here} turns as position {other:,} would"
    i, pairs = feature % (x.shape[-1] // 2), x.shape[-1] // 2
    before, after, right = (torch.complex(*y[b, h, t, [i, i + pairs]]) for y in (x, got, want))
    which = f"{here}: features {i} and {i + pairs}"
    if not abs(after.abs() - before.abs()) <= _loose(positions) * before.abs():
        return (
            f"{which} go in with length {before.abs().item():.3g} and come out with "
            f"{after.abs().item():.3g}; a turn keeps it"
        )
    angles = [(y / before).angle().item() for y in (after, right)]
    digits = 3 if abs(angles[0] - angles[1]) > 0.01 else 6
    mine, expected = (f"{round(angle, 6) + 0.0:.{digits}g}" for angle in angles)
    return f"{which} turn by {mine} radians; expected {expected} (full turns aside)"


def _loose(positions: Tensor) -> float:
    """What rounding may do to a length; far off, x is in bfloat16."""
    return 0.03 if positions.max() > FAR else 1e-3


def _turns_as(got: Tensor, x: Tensor, place: int, positions: Tensor) -> int | None:
    """The other position whose right turn makes this of one token, if there is one at hand."""
    given = positions.flatten()
    near = torch.arange(positions.shape[1] + 1)
    rounded = given.bfloat16().long()
    places = torch.cat([given, near, -given, given - 1, given + 1, rounded])
    places = places[places != place]
    turned = rotate(x.expand(1, 1, len(places), -1), places[None])[0, 0]
    fits = ((turned - got).abs() <= _loose(positions) * x.abs().max()).all(-1)
    return int(places[fits][0]) if fits.any() else None


ROTATE = (
    Probe(
        "[B, H, T, Dh] in the dtype of x, with a gradient back to x",
        inputs=lambda g: (
            torch.randn(2, 3, 5, 8, generator=g).bfloat16(),
            torch.randint(60, (2, 5), generator=g),
        ),
        observe=_form,
        widen=False,
        fails=lambda got, want, *_: f"what comes back is {got}; expected {want}",
    ),
    Probe(
        "Dh 2: the one pair turns forwards, by its position in radians",
        inputs=_in_turn(1, 2, 4, 2),
        fails=_turn,
    ),
    Probe(
        "Dh 8: a vector with feature i alone comes back with features i and i + 4",
        inputs=_one_feature_each,
        observe=_went,
        fails=_went_elsewhere,
    ),
    Probe(
        "Dh 8: at position p features i and i + 4 turn by p / 10000^(i/4)",
        inputs=_in_turn(1, 3, 5, 8),
        fails=_turn,
    ),
    Probe(
        "Dh 6, positions given in any order: the same rule",
        inputs=_scattered(1, 4, 4, 6),
        tolerance=1e-4,
        fails=_turn,
    ),
    Probe(
        "3 sequences of 3 heads, each sequence with its own positions: the same rule",
        inputs=_scattered(3, 3, 4, 10),
        tolerance=1e-4,
        fails=_turn,
    ),
    Probe(
        f"a sequence moved on by {FURTHER} has the same scores: distances alone count",
        inputs=_twice,
        observe=_moved,
        fails=lambda got, *_: (
            f"moved on by {FURTHER}, a sequence has other scores: one changes by {got:.2g} of the "
            "largest"
        ),
    ),
    Probe(
        "x in bfloat16 near position 30,000: the same rule, in the digits of bfloat16",
        inputs=_far_off,
        fails=_turn,
    ),
)

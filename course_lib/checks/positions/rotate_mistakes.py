"""What people really write to turn pairs of features when it goes wrong: pairs and directions."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_turn = partial(Mistake, reread='05, "Turn the queries and keys"')
_in_shift = partial(Mistake, reread='05, "A shift is a rotation"')
Pair = tuple[Tensor, Tensor]


def speeds(Dh: int) -> Tensor:
    """Radians a position of each pair: right."""
    return 10_000.0 ** (-torch.arange(0, Dh, 2, dtype=torch.float64) / Dh)


def angle_of(x: Tensor, positions: Tensor) -> Tensor:
    """[B, 1, T, pairs]: right."""
    return positions[:, None, :, None] * speeds(x.shape[-1])


def _halves(x: Tensor) -> Pair:
    return x.chunk(2, -1)


def _neighbours(x: Tensor) -> Pair:
    return x[..., ::2], x[..., 1::2]


def _in_halves(first: Tensor, second: Tensor) -> Tensor:
    return torch.cat([first, second], -1)


def _as_neighbours(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], -1).flatten(-2)


def _turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Pair:
    return a * cos - b * sin, a * sin + b * cos


def but_for(
    angles: Callable[[Tensor, Tensor], Tensor] = angle_of,
    pairs: Callable[[Tensor], Pair] = _halves,
    turn: Callable[[Tensor, Tensor, Tensor, Tensor], Pair] = _turned,
    join: Callable[[Tensor, Tensor], Tensor] = _in_halves,
    end: Callable[[Tensor, Tensor], Tensor] = lambda out, x: out.to(x.dtype),
) -> Callable:
    """The right turn, but for what is given."""

    def run(x, positions):
        angle = angles(x, positions)
        first, second = pairs(x.to(angle.dtype))
        return end(join(*turn(first, second, angle.cos(), angle.sin())), x)

    return run


def with_partner(partner: Callable[[Tensor], Tensor], table: Callable[[Tensor], Tensor]):
    """The form with a table as wide as x: x cos + partner(x) sin."""

    def run(x, positions):
        angle = table(angle_of(x, positions))
        return (x * angle.cos() + partner(x.double()) * angle.sin()).to(x.dtype)

    return run


def _partner_half(x: Tensor) -> Tensor:
    first, second = _halves(x)
    return torch.cat([-second, first], -1)


def _partner_neighbour(x: Tensor) -> Tensor:
    first, second = _neighbours(x)
    return _as_neighbours(-second, first)


def _twice_over(angle: Tensor) -> Tensor:
    return torch.cat([angle, angle], -1)


def _each_twice(angle: Tensor) -> Tensor:
    return angle.repeat_interleave(2, -1)


def _from_the_turned(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Pair:
    a = a * cos - b * sin
    return a, a * sin + b * cos


def _in_place(x, positions):
    angle = angle_of(x, positions)
    first, second = _halves(x)
    first[:] = first * angle.cos() - second * angle.sin()
    second[:] = first * angle.sin() + second * angle.cos()
    return x


ROTATE = (
    _in_turn(
        "neighbours paired",
        but_for(pairs=_neighbours, join=_as_neighbours),
        "Features 0 and 1 turn together, 2 and 3, and so on: the interleaved layout, right by "
        "itself and another one.",
        "Which feature does the task pair with feature 0?",
    ),
    _in_turn(
        "neighbours paired, written as halves",
        but_for(pairs=_neighbours),
        "Neighbours are taken as pairs and put back as halves: features change their places, even "
        "at position 0.",
        "What should come back where nothing turns?",
    ),
    _in_turn(
        "halves paired, written as neighbours",
        but_for(join=_as_neighbours),
        "Halves are taken as pairs and put back as neighbours: features change their places, even "
        "at position 0.",
        "What should come back where nothing turns?",
    ),
    _in_turn(
        "a table of the other layout",
        with_partner(_partner_half, _each_twice),
        "Partners are half a width apart, and the table of angles gives neighbours the same angle: "
        "two partners then take different angles.",
        "At which places of the table does the angle of features 0 and Dh/2 stand?",
    ),
    _in_turn(
        "partners of the other layout",
        with_partner(_partner_neighbour, _twice_over),
        "Partners are neighbours, and the table of angles repeats after half the width: two "
        "partners then take different angles.",
        "Which feature has the same angle as feature 0 in your table?",
    ),
    _in_shift(
        "the second left as it came",
        but_for(turn=lambda a, b, cos, sin: (a * cos - b * sin, b)),
        "The first of each pair is turned, and the second comes back as it was.",
        "Where does the pair (1, 0) go if it turns forwards by a quarter?",
    ),
    _in_shift(
        "turned backwards",
        but_for(turn=lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)),
        "Both sines have the other sign: each pair turns backwards. Distances alone still count, "
        "but a checkpoint that turned forwards gets other scores.",
        "Where does the pair (1, 0) go if it turns forwards by a quarter?",
    ),
    _in_shift(
        "both sines added",
        but_for(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
        "Both sines are added: lengths change, so this isn't a turn.",
        "Where does the pair (0, 1) go if it turns forwards by a quarter?",
    ),
    _in_shift(
        "a mirror",
        but_for(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos)),
        "Pairs are mirrored: lengths stay, but at position 0 the second of each pair comes back "
        "with the other sign.",
        "What should come back where nothing turns?",
    ),
    _in_shift(
        "sine and cosine exchanged",
        but_for(turn=lambda a, b, cos, sin: _turned(a, b, sin, cos)),
        "Sine and cosine are exchanged: at position 0 everything turns by a quarter.",
        "Which of the two is 1 where nothing turns?",
    ),
    _in_shift(
        "each its own partner",
        but_for(turn=lambda a, b, cos, sin: (a * cos - a * sin, b * cos + b * sin)),
        "Each feature meets itself and not its partner: the first becomes a cos - a sin, the "
        "second b cos + b sin.",
        "Which second number does a feature need, to turn?",
    ),
    _in_shift(
        "the second with sine and cosine exchanged",
        but_for(turn=lambda a, b, cos, sin: (a * cos - b * sin, a * cos + b * sin)),
        "The first of each pair is right. The second becomes a cos + b sin, where sine and cosine "
        "have changed places.",
        "What should become of the second where nothing turns, sine 0 and cosine 1?",
    ),
    _in_shift(
        "cosines alone",
        but_for(turn=lambda a, b, cos, sin: (a * cos, b * cos)),
        "Each feature is multiplied with the cosine alone: that shrinks, and turns nothing.",
        "Which second number does a feature need, to turn?",
    ),
    _in_shift(
        "the second from the turned first",
        but_for(turn=_from_the_turned),
        "The second of a pair is made from the first as it is after the turn.",
        "Which value has the first when your second line reads it?",
    ),
    _in_shift(
        "turned in place",
        _in_place,
        "The result is written into x: the second of a pair is made from the first as it is after "
        "the turn, and whoever passed x finds it changed.",
        "Which line writes into what it didn't make?",
    ),
)

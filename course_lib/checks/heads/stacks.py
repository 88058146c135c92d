"""What a test of equality is held to: pairs that it must tell apart."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Probe

Layer = Callable[[Tensor], Tensor]
Pair = tuple[str, Layer, list[Layer]]  # what is true of it, the whole, its heads
ADD_UP = "the heads add up"
RAISED = "your test raises this, instead of saying True or False"


def _total(heads: list[Layer]) -> Layer:
    return lambda x: torch.stack([head(x) for head in heads]).sum(0)


def _whole_numbers(H: int, B: int = 3, alike: bool = False) -> Callable:
    """Draw heads that float32 computes exactly: whatever the order, their sum has no rounding.

    Each reads the whole of x through two features, as a head's values do.
    """
    T, D, Dh = 4, 6, 2

    def draw(g: torch.Generator) -> tuple:
        into, back = (torch.randint(1, 4, (H, Dh, D), generator=g).float() for _ in range(2))
        signs = torch.tensor([1.0, -1, 1, 1, -1, 1])
        x = torch.randint(1, 9, (1 if alike else B, T, D), generator=g) / 8
        heads = [_linear(into[h] * signs, back[h]) for h in range(H)]
        return _total(heads), heads, x.expand(B, T, D).clone()

    return draw


def _linear(into: Tensor, back: Tensor) -> Layer:
    return lambda x: x @ into.T.to(x) @ back.to(x)


def _attending(size: float, B: int = 2, T: int = 6) -> Callable:
    """Draw a layer of three heads and the heads one by one, with outputs of about this size.

    In output feature 0 the first two heads hold large numbers that cancel, so rounding is large
    there beside what is left. The heads' other numbers are ordinary.
    """
    H, Dh = 3, 4
    D = H * Dh

    def draw(g: torch.Generator) -> tuple:
        w = torch.randn(4, D, D, generator=g) * D**-0.5
        w[3] *= size
        w[3, 0] *= 1e-5
        bias = torch.zeros(D)
        bias[0] = 3 * size
        heads = [_head(w[:, h * Dh : h * Dh + Dh], w[3][:, h * Dh : h * Dh + Dh]) for h in range(H)]
        first, second, third = heads
        moved = [lambda x: first(x) + bias.to(x), lambda x: second(x) - bias.to(x), third]
        return _layer(w, H), moved, torch.randn(B, T, D, generator=g) * 1.5

    return draw


def _head(w: Tensor, w_o: Tensor) -> Layer:
    def head(x: Tensor) -> Tensor:
        q, k, v = (x @ w[i].T.to(x) for i in range(3))
        return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v @ w_o.T.to(x)

    return head


def _layer(w: Tensor, H: int) -> Layer:
    def layer(x: Tensor) -> Tensor:
        q, k, v = ((x @ w[i].T.to(x)).unflatten(-1, (H, -1)).transpose(-3, -2) for i in range(3))
        out = (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v
        return out.transpose(-3, -2).flatten(-2) @ w[3].T.to(x)

    return layer


def _changed(layer: Layer, change: Callable[[Tensor], Tensor]) -> Layer:
    return lambda x: change(layer(x))


def _drawn(whole: Layer, heads: list[Layer]) -> list[Pair]:
    """The pair itself, which is right, one without rounding, and one that lacks a head."""
    return [
        (ADD_UP, whole, heads),
        ("the second of two heads gives zeros", whole, [whole, _changed(whole, torch.zeros_like)]),
        ("the last head was left out", whole, heads[:-1]),
    ]


def _one_of_many(whole: Layer, heads: list[Layer]) -> list[Pair]:
    """Also a sum far from 0, and one number wrong of many, where the sum is almost 0."""
    lifted = _changed(whole, _lifted), [_changed(heads[0], _lifted), *heads[1:]]
    wrong = "one number of 1,536 was wrong, by {} of the largest output"
    return [
        *_drawn(whole, heads),
        ("they add up far from 0", *lifted),
        (wrong.format("a quarter"), _off(whole, 0.25, 1, 2, 0), heads),
        (wrong.format("0.06"), _off(whole, 0.06, 1, 2, 0), heads),
    ]


def _off(whole: Layer, part: float, *at: object) -> Layer:
    """The layer with these numbers too high, by a part of the largest."""

    def off(y: Tensor) -> Tensor:
        y = y.clone()
        y[at] += part * y.abs().max()
        return y

    return _changed(whole, off)


def _lifted(y: Tensor) -> Tensor:
    return y + 20


def _few_and_many(whole: Layer, heads: list[Layer]) -> list[Pair]:
    one = heads[:1]
    return [
        ("there is one head and the layer is it", one[0], one),
        ("there is one head and the layer is twice it", _changed(one[0], lambda y: 2 * y), one),
        ("two heads add up", _total(heads[:2]), heads[:2]),
        ("seven heads add up", whole, heads),
        ("the layer was the first of seven heads", heads[0], heads),
        ("the last of seven heads was left out", whole, heads[:-1]),
        ("the layer lacked the first of seven heads", _total(heads[1:]), heads),
    ]


def _wrong_heads(whole: Layer, heads: list[Layer]) -> list[Pair]:
    biased, *each = (_changed(layer, _lifted) for layer in (whole, *heads))
    rolled = [heads[0], lambda x: heads[1](x.roll(1, -1)), *heads[2:]]
    return [
        (ADD_UP, whole, heads),
        ("the layer and its first head add a constant (a bias)", biased, [each[0], *heads[1:]]),
        ("the first head was left out", whole, heads[1:]),
        ("a head counted twice", whole, [*heads, heads[-1]]),
        ("the layer was the heads' mean", _changed(whole, lambda y: y / len(heads)), heads),
        ("the layer and each of its heads add a constant (a bias)", biased, each),
        ("a head read other features of x than the layer", whole, rolled),
    ]


def _one_place(whole: Layer, heads: list[Layer]) -> list[Pair]:
    every = slice(None)
    return [
        (ADD_UP, whole, heads),
        ("the first position alone was wrong", _off(whole, 1, every, 0), heads),
        ("the last position alone was wrong", _off(whole, 1, every, -1), heads),
        ("the first sequence alone was wrong", _off(whole, 1, 0), heads),
        ("the last sequence alone was wrong", _off(whole, 1, -1), heads),
        ("one number alone was wrong", _off(whole, 1, 1, 2, 3), heads),
    ]


def _lookalikes(whole: Layer, heads: list[Layer]) -> list[Pair]:
    return [
        (ADD_UP, whole, heads),
        ("the positions stood in reverse", _changed(whole, lambda y: y.flip(-2)), heads),
        ("the sequences stood in reverse", _changed(whole, lambda y: y.flip(0)), heads),
        ("every number had the other sign", _changed(whole, lambda y: -y), heads),
        ("every number was too low", _changed(whole, lambda y: y - y.abs() - 1), heads),
        ("every number was too high", _changed(whole, lambda y: y + y.abs() + 1), heads),
    ]


def _no_numbers(whole: Layer, heads: list[Layer]) -> list[Pair]:
    empty = [_changed(head, lambda y: y * (torch.arange(y.shape[-1]) > 0)) for head in heads]
    return [
        (ADD_UP, whole, heads),
        ("the layer gave a NaN", _off(whole, torch.nan, ..., -1, 0), heads),
        (
            "the layer gave a NaN where the sum is 0",
            _off(_total(empty), torch.nan, ..., -1, 0),
            empty,
        ),
        ("the layer gave one of three equal sequences", _changed(whole, lambda y: y[:1]), heads),
    ]


def _said(pairs: Callable[[Layer, list[Layer]], list[Pair]]) -> Callable:
    """Observe what a test says of each pair; one that raises for False says it in one way."""

    def observe(fn: Callable, whole: Layer, heads: list[Layer], x: Tensor) -> dict[str, str]:
        try:
            return {what: _reply(fn(one, parts, x)) for what, one, parts in pairs(whole, heads)}
        except AssertionError:
            raise AssertionError(RAISED) from None

    return observe


def _reply(said: object) -> str:
    """True and False, of Python, numpy or a tensor of one entry; else what came instead."""
    if isinstance(said, Tensor):
        plain = said.dtype == torch.bool and said.numel() == 1
        return str(bool(said)) if plain else f"a {said.dtype} tensor {list(said.shape)}"
    if type(said).__module__ == "numpy" and getattr(said, "ndim", 1) == 0:
        said = said.item()
    return str(said) if isinstance(said, bool) else f"a {type(said).__name__}"


def _wrongly(got: dict, want: dict, whole: Layer, heads: list[Layer], x: Tensor) -> str:
    """The pairs of which a test said what isn't so."""
    other = next((reply for reply in got.values() if reply not in ("True", "False")), None)
    if other is not None:
        return f"it returned {other}; expected True or False"
    apart = (whole(x) - _total(heads)(x)).abs().max().item()
    most = whole(x).abs().max().item()
    beside = f" (largest difference {apart:.2g}, largest output {most:.2g})" if apart else ""
    facts = []
    for said in ("False", "True"):
        wrong = [what for what in want if got[what] == said != want[what]]
        shown = "; where ".join(what + beside * (what == ADD_UP) for what in wrong[:3])
        more = f"; and in {len(wrong) - 3} more" * (len(wrong) > 3)
        facts += [f"{said} where {shown}{more}"] * bool(wrong)
    return f"it said {'; and '.join(facts)}"


def _probe(holds: str, inputs: Callable, pairs: Callable) -> Probe:
    return Probe(holds, inputs, observe=_said(pairs), fails=_wrongly, widen=False)


STACK = (
    _probe(
        "outputs near 1: rounding passes; a missing head, or one wrong number of 1,536, doesn't",
        _attending(1, 4, 32),
        _one_of_many,
    ),
    _probe("outputs near 2e4: rounding passes, a missing head doesn't", _attending(2e4), _drawn),
    _probe("outputs near 1e-4: rounding passes, a missing head doesn't", _attending(1e-4), _drawn),
    _probe(
        "one head, two, seven: a right sum told from a wrong one", _whole_numbers(7), _few_and_many
    ),
    _probe(
        "a head too few, one twice, a mean, a bias in every head: told from a right sum",
        _whole_numbers(3),
        _wrong_heads,
    ),
    _probe(
        "wrong at one position, in one sequence, in one number: told from a right sum",
        _whole_numbers(4),
        _one_place,
    ),
    _probe(
        "numbers in another place, of the other sign, too low, too high: told from a right sum",
        _whole_numbers(5),
        _lookalikes,
    ),
    _probe(
        "NaN, or one sequence for three: told from a right sum",
        _whole_numbers(3, alike=True),
        _no_numbers,
    ),
)

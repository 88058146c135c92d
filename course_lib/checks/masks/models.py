"""Little models with and without a leak, and what an answer says about each."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.checks.question import Probe

Model = Callable[[Tensor], Tensor]
WIDTH = 4


def _matrices(g: torch.Generator) -> tuple[Tensor, ...]:
    return tuple(torch.randn(WIDTH, WIDTH, generator=g) / 2 for _ in range(3))


def _attention(g: torch.Generator, keep: Tensor, after: bool = False, loud: float = 50) -> Model:
    """Self-attention of one head; `after` puts the mask behind the softmax.

    Its values are large, so that what leaks through it is beyond any tolerance, and each number
    has one that goes against it, so that whatever moves a row lets a number rise and one fall.
    """
    to_q, to_k, to_v = _matrices(g)
    to_q, half = to_q / 2, loud * to_v[:, :2]
    to_v = torch.cat([half, -half / 2], 1)

    def model(x: Tensor) -> Tensor:
        s = (x @ to_q.to(x)) @ (x @ to_k.to(x)).mT * WIDTH**-0.5
        weights = s.softmax(-1) * keep if after else s.masked_fill(~keep, -torch.inf).softmax(-1)
        return x + weights @ (x @ to_v.to(x))

    return model


def _causal(T: int, ahead: int = 0) -> Tensor:
    return torch.ones(T, T, dtype=torch.bool).tril(ahead)


def _pair(T: int, g: torch.Generator) -> tuple[int, int]:
    """Draw a reader and a source at least two places later, not the last."""
    reader = int(torch.randint(0, T - 3, (), generator=g))
    return reader, int(torch.randint(reader + 2, T - 1, (), generator=g))


def _with_leak(g: torch.Generator, T: int, add: Callable[[Tensor], Tensor]) -> Model:
    """A causal model, to one row of which `add` puts something of a later row of x."""
    model = _attention(g, _causal(T))
    reader, source = _pair(T, g)

    def leaky(x: Tensor) -> Tensor:
        row = F.one_hot(torch.tensor(reader), T).to(x)[:, None]
        return model(x) + row * add(x)[source]

    return leaky


def _probed(T: int, draw: Callable[[torch.Generator], Model]) -> Callable:
    return lambda g: (draw(g), torch.randn(T, WIDTH, generator=g))


def _one_open(g: torch.Generator) -> tuple[Model, Tensor]:
    """A causal model with one pair left open, whose source is a row of zeros."""
    T = 6
    keep = _causal(T)
    reader, source = _pair(T, g)
    keep[reader, source] = True
    model, x = _attention(g, keep), torch.randn(T, WIDTH, generator=g)
    x[source] = 0
    return model, x


def _normed(g: torch.Generator) -> Model:
    """Row by row normalised before it leaks: a shift or a stretch of the row changes nothing."""
    inner = _attention(g, _causal(4, ahead=1), loud=1)  # quieter than rounding
    return lambda x: inner(_normalised(x))


def _late(g: torch.Generator) -> Model:
    """Two keys late, and row by row normalised at the end: a row that moves keeps its sum."""
    inner = _attention(g, _causal(5, ahead=2))
    return lambda x: _normalised(inner(x))


def _normalised(x: Tensor) -> Tensor:
    return F.layer_norm(x, (WIDTH,), eps=1e-12)


def _falling(g: torch.Generator) -> tuple[Model, Tensor]:
    """A pair without a gradient: whatever the change of its source, the reader's row falls."""
    x = torch.randn(6, WIDTH, generator=g)

    def fall(y: Tensor) -> Tensor:
        return -(y - x.to(y)).detach().square().sum(-1, keepdim=True).expand_as(y)

    return _with_leak(g, 6, fall), x


def _last_number(x: Tensor) -> Tensor:
    return torch.tensor([0, 0, -5, 10]).to(x) * x[:, -1:].detach()  # a copy: no gradient


def _faint(x: Tensor) -> Tensor:
    """Of two positions the first reads a ten-thousandth of the second.

    The pair is of neighbours, the first reader and the last source: who misses it misses it
    because it's small.
    """
    read = torch.tensor([0, 1, -1, 1]).to(x) * x[1:, [0, 3, 3, 0]]
    return torch.cat([x[:1] + 1e-4 * read, x[1:]])


def said(fn: Callable, model: Model, x: Tensor) -> object:
    """Observe the pairs that an answer gives, in order, or say why they are none."""
    found = fn(model, x)
    found = found.tolist() if isinstance(found, Tensor) else found
    if found is None or isinstance(found, str | bytes) or not hasattr(found, "__iter__"):
        return f"{found!r}, which is no set of pairs"
    pairs = [tuple(pair) if isinstance(pair, list | tuple) else pair for pair in found]
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return "no pairs of two numbers each"
    pairs = sorted({(int(a), int(b)) for a, b in pairs})
    return ", ".join(map(str, pairs)) or "none"


def _probe(holds: str, inputs: Callable) -> Probe:
    def fails(got: str, want: str, *rest: object) -> str:
        return f"the pairs found are {got}; expected {want}"

    return Probe(holds, inputs, observe=said, fails=fails, widen=False)


LEAKS = (
    _probe(
        "causal attention, 5 positions: no pair", _probed(5, lambda g: _attention(g, _causal(5)))
    ),
    _probe(
        "masked after the softmax, 4 positions: every later source moves every reader",
        _probed(4, lambda g: _attention(g, _causal(4), after=True)),
    ),
    _probe(
        "a mask that is two keys late, then rows are normalised: each reads two ahead",
        _probed(5, _late),
    ),
    _probe("one pair left open, and its source is a row of zeros", _one_open),
    _probe(
        "2 positions: the first reads the second through a weight of 1e-4",
        _probed(2, lambda g: _faint),
    ),
    _probe(
        "one pair, from the last number of the source to the last two of the reader",
        _probed(5, lambda g: _with_leak(g, 5, _last_number)),
    ),
    _probe("rows are normalised first, and each reads one ahead", _probed(4, _normed)),
    _probe(
        "one pair without a gradient, and all numbers of the reader fall",
        _falling,
    ),
)

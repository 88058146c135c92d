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


def _attention(g: torch.Generator, keep: Tensor, after: bool = False) -> Model:
    """Self-attention of one head; `after` puts the mask behind the softmax."""
    to_q, to_k, to_v = _matrices(g)

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
    inner = _attention(g, _causal(4, ahead=1))
    return lambda x: inner(F.layer_norm(x, (WIDTH,), eps=1e-12))


def _last_number(x: Tensor) -> Tensor:
    return x * torch.tensor([0, 0, 0, 1]).to(x)


def _faint(x: Tensor) -> Tensor:
    """A ten-thousandth of all numbers of a row, in its last one."""
    return _last_number(1e-4 * (x * torch.tensor([1, 2, 3, 4]).to(x)).sum(-1, keepdim=True))


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
        return f"Yours says {got}; expected {want}"

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
        "a mask that is two keys late, 5 positions: each reads two ahead",
        _probed(5, lambda g: _attention(g, _causal(5, ahead=2))),
    ),
    _probe("one pair left open, and its source is a row of zeros", _one_open),
    _probe(
        "one pair, and a leak of 1e-4 in the last number of the output",
        _probed(6, lambda g: _with_leak(g, 6, _faint)),
    ),
    _probe(
        "one pair, from the last number of the source to the last of the reader",
        _probed(5, lambda g: _with_leak(g, 5, _last_number)),
    ),
    _probe("rows are normalised first, and each reads one ahead", _probed(4, _normed)),
    _probe(
        "one pair, through a copy without a gradient",
        _probed(6, lambda g: _with_leak(g, 6, lambda x: x.detach().flip(-1))),
    ),
)

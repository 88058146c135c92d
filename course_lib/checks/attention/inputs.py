"""The inputs on which the answers of chapter 02 show what they are, drawn from a generator."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Draw = Callable[[torch.Generator], tuple]


def normal(*shapes: tuple[int, ...], scale: float = 1, shift: float = 0) -> Draw:
    """Draw independent normal numbers, one tensor a shape."""
    return lambda g: tuple(torch.randn(s, generator=g) * scale + shift for s in shapes)


def shares(*shape: int, zeros: int = 0, dtype: torch.dtype = torch.float32) -> Draw:
    """Draw weights: rows that sum to one, with this many exact zeros at their ends."""

    def draw(g: torch.Generator) -> tuple[Tensor]:
        s = 1.5 * torch.randn(shape, generator=g)
        s[..., shape[-1] - zeros :] = -torch.inf
        return (s.softmax(-1).to(dtype),)

    return draw


def saturated(*shape: int) -> Draw:
    """Draw weights of which query 0 reads one key alone: 1 there and exactly 0 elsewhere."""

    def draw(g: torch.Generator) -> tuple[Tensor]:
        (w,) = shares(*shape)(g)
        one = torch.randint(shape[-1], shape[:-2], generator=g)
        w[..., 0, :] = F.one_hot(one, shape[-1]).float()
        return (w,)

    return draw


def beside(weights: Draw) -> Draw:
    """Draw weights and an upstream gradient of their shape and dtype."""

    def draw(g: torch.Generator) -> tuple[Tensor, Tensor]:
        (w,) = weights(g)
        return w, (3 * torch.randn(w.shape, generator=g)).to(w.dtype)

    return draw


def near_forty(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw float16 q and k, Dh 50, whose product passes 65504 and whose score does not."""
    shapes = ((2, 3, 4, 50), (2, 3, 6, 50))
    return tuple((38 + 4 * torch.rand(s, generator=g)).half() for s in shapes)


def far_apart(g: torch.Generator) -> tuple[Tensor]:
    """Draw rows of which each lies 92 above the one before: exp(92) is infinite in float32."""
    return (torch.randn(5, 7, generator=g) + 92 * torch.arange(-2, 3)[:, None],)


def one_hidden(g: torch.Generator) -> tuple[Tensor]:
    """Draw scores of which one in each row is -inf."""
    s = torch.randn(2, 3, 4, 6, generator=g)
    return (s.scatter(-1, torch.randint(6, (2, 3, 4, 1), generator=g), -torch.inf),)


def equal_keys(g: torch.Generator) -> tuple[Tensor, ...]:
    """Draw an attention call in which all six keys are the same."""
    q, k, v = normal((2, 3, 4, 7), (2, 3, 1, 7), (2, 3, 6, 5))(g)
    return q, k.repeat(1, 1, 6, 1), v


def one_match(g: torch.Generator) -> tuple[Tensor, ...]:
    """Draw a float16 call, Dh 50, in which key 2 matches far better than the other five."""
    q, k = near_forty(g)
    k[..., [0, 1, 3, 4, 5], :] *= -1
    return q, k, torch.randn(2, 3, 6, 7, generator=g).half()


def alike(g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw weights, and an upstream that is the same for all keys of a query."""
    (w,) = shares(3, 4, 7)(g)
    return w, (1 + torch.rand(3, 4, 1, generator=g)).expand_as(w).clone()

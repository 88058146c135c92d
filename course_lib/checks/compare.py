"""Say whether two values agree, and if not, the first thing a person would notice."""

import math
import reprlib
from itertools import permutations
from typing import NamedTuple

import torch
from torch import Tensor

TOLERANCE = {torch.float64: 1e-8, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}

HUGE_BITS = 1_000  # a float has 1,023 at most
DIFFERENT = "they differ"  # where nobody reads in what


def tolerance(inputs: tuple) -> float:
    """The relative error that rounding explains: that of the coarsest floating input."""
    floating = [TOLERANCE.get(i.dtype, 0) for i in inputs if isinstance(i, Tensor)]
    return max([TOLERANCE[torch.float32], *floating])


def difference(got: object, want: object, tol: float, explain: bool = True) -> str | None:
    """The first difference in words, or None where the values agree up to `tol`.

    A number and a tensor of no axes, a list and a tuple, and floats of any width are the same.
    Without `explain` it says only that they differ: most comparisons are with mistakes.
    """
    if isinstance(want, Tensor) and isinstance(got, Tensor) and want.ndim:
        return _tensor_difference(got.detach(), want.detach(), tol, explain)
    given, got, want = got, _plain(got), _plain(want)
    if found := misfit(given, want):
        return found if explain else DIFFERENT
    if isinstance(want, list) and isinstance(got, list):
        return _list_difference(got, want, tol, explain)
    if isinstance(want, dict) and isinstance(got, dict):
        return _dict_difference(got, want, tol, explain)
    numbers = isinstance(want, int | float) and isinstance(got, int | float) and not _is_huge(got)
    if numbers and float in (type(want), type(got)):
        within = isinstance(want, float) and math.isfinite(want)  # a whole number is exact
        close = got == want or (within and abs(got - want) <= tol * (1 + abs(want)))
        both_nan = math.isnan(got) and math.isnan(want)
        equal = close or both_nan
    else:
        equal = type(got) is type(want) and got == want
    return None if equal else _apart(got, want) if explain else DIFFERENT


def misfit(got: object, want: object) -> str | None:
    """What is wrong with the kind of thing that came back, if it can't be compared at all."""
    given, got, want = got, _plain(got), _plain(want)
    if got is None and want is not None:
        return "it returns None. Is there a return?"
    if isinstance(want, list) and not isinstance(got, list):
        return f"it returns {_kind(given)}; expected {len(want)} values"
    kinds = (Tensor, dict, int | float)
    for kind in kinds:
        if isinstance(want, kind) and not isinstance(want, bool):
            fits = isinstance(got, kind) and not isinstance(got, bool)
            return None if fits else f"it returns {_kind(given)}; expected {_kind(want)}"
    return None


def different_shapes(got: object, want: object) -> str | None:
    """The two shapes, where both are tensors and the shapes differ."""
    if not isinstance(got, Tensor) or not isinstance(want, Tensor) or got.shape == want.shape:
        return None
    return f"shape {list(got.shape)}; expected {list(want.shape)}"


class Gist(NamedTuple):
    """Of one floating tensor in a value: where it stands, its shape, its mean, its largest."""

    place: tuple
    shape: torch.Size
    mean: float
    largest: float


def gists(value: object, place: tuple = ()) -> list[Gist]:
    """What tells most values apart at once, before their numbers are compared one by one."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.device.type == "cpu":
        wide = value.detach().double()
        mean, largest = (wide.mean().item(), wide.abs().max().item()) if wide.numel() else (0, 0)
        return [Gist(place, wide.shape, mean, largest)] if math.isfinite(mean) else []
    inside = dict(enumerate(value)) if isinstance(value, list | tuple) else value
    inside = inside.items() if isinstance(inside, dict) else ()
    return [gist for key, part in inside for gist in gists(part, (*place, key))]


def surely_differ(a: list[Gist], b: list[Gist], tol: float) -> bool:
    """Whether some means are further apart than numbers that agree up to `tol` can be."""
    return any(
        one.place == other.place
        and (
            one.shape != other.shape or abs(one.mean - other.mean) > 3 * tol * other.largest + 1e-11
        )
        for one, other in zip(a, b, strict=False)
    )


def same(a: object, b: object, tol: float) -> bool:
    """Whether two values agree up to `tol`."""
    return difference(a, b, tol, explain=False) is None


def _tensor_difference(got: Tensor, want: Tensor, tol: float, explain: bool) -> str | None:
    if shapes := different_shapes(got, want):
        return shapes
    if got.device != want.device:
        return f"it lives on {got.device}; expected {want.device}"
    if got.is_floating_point() != want.is_floating_point() or got.is_complex():
        return (
            f"dtype {_dtype(got)}; expected {'float' if want.is_floating_point() else _dtype(want)}"
        )
    if not want.is_floating_point():
        return _count_different(got, want)
    got, want = got.double(), want.double()
    finite = want[want.isfinite()]
    scale = tol * (finite.abs().max().item() if finite.numel() else 1.0)
    if torch.allclose(got, want, rtol=tol, atol=scale + 1e-12, equal_nan=True):
        return None
    if not explain:
        return DIFFERENT
    for name, odd in (("NaN", torch.isnan), ("infinite", torch.isinf)):
        extra = int((odd(got) & ~odd(want)).sum())
        if extra:
            return f"{extra} of {got.numel()} numbers are {name}"
    return _value_difference(got, want, tol, scale)


def _count_different(got: Tensor, want: Tensor) -> str | None:
    wrong = (got != want).nonzero()
    if not len(wrong):
        return None
    at = tuple(wrong[0].tolist())
    return (
        f"{len(wrong)} of {want.numel()} entries differ, the first at {list(at)}: "
        f"{got[at].item()}; expected {want[at].item()}"
    )


def _value_difference(got: Tensor, want: Tensor, tol: float, scale: float) -> str:
    """Name what relates all the numbers, if anything does, else the largest error."""
    close = {"rtol": tol, "atol": scale + 1e-12}
    solid = want.abs() > 100 * scale
    if solid.any():
        factor = (got[solid] / want[solid]).median()
        plain = factor != 0 and abs(factor - 1) > 0.01
        if plain and torch.allclose(got, want * factor, **close):
            return f"every number is {factor:.4g} times what it should be"
    if want.ndim > 1 and want.numel() <= 10_000:
        for axes in permutations(range(want.ndim)):
            moved = want.permute(axes)
            if moved.shape == got.shape and torch.allclose(got, moved, **close):
                return "every number is right but for its place: two axes are swapped"
        if torch.allclose(got.flatten().sort().values, want.flatten().sort().values, **close):
            return "the numbers are right, but they stand in another order"
    error = torch.nan_to_num((got - want).abs())
    at = tuple(torch.unravel_index(error.argmax(), error.shape))
    index = [int(i) for i in at]
    return _apart(got[at].item(), want[at].item(), f" at {index}")


def _list_difference(got: list, want: list, tol: float, explain: bool) -> str | None:
    if len(got) != len(want):
        return f"it returns {len(got)} values; expected {len(want)}"
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if found := difference(a, b, tol, explain):
            return f"value {i}: {found}"
    return None


def _dict_difference(got: dict, want: dict, tol: float, explain: bool) -> str | None:
    if missing := [key for key in want if key not in got]:
        return f"the entry {reprlib.repr(missing[0])} is missing"
    if extra := [key for key in got if key not in want]:
        return f"the entry {reprlib.repr(extra[0])} is one too many"
    for key in want:
        if found := difference(got[key], want[key], tol, explain):
            return f"{key}: {found}"
    return None


def _plain(value: object) -> object:
    """Numbers as Python numbers, tuples as lists: differences of form that aren't mistakes."""
    if isinstance(value, Tensor):
        plain = value.detach()
        return plain.item() if plain.ndim == 0 and plain.device.type != "meta" else plain
    if isinstance(value, tuple):
        return list(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)}"
    if value is None:
        return "None"
    name = type(value).__name__
    article = "an" if name[0] in "aeiou" or name == "ndarray" else "a"
    return f"{article} {name}" + (f" of {len(value)}" if isinstance(value, list | tuple) else "")


def _dtype(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _apart(got: object, want: object, where: str = "") -> str:
    """Two values side by side, with as many digits as it takes to see that they differ."""
    digits = next((d for d in (4, 8, 17) if _show(got, d) != _show(want, d)), 17)
    return f"{_show(got, digits)}{where}; expected {_show(want, digits)}"


def _is_huge(value: object) -> bool:
    """Whether a whole number has no float beside it; Python won't even show the largest."""
    return isinstance(value, int) and value.bit_length() > HUGE_BITS


def _show(value: object, digits: int = 4) -> str:
    """A value in few characters."""
    if isinstance(value, float):
        return f"{value + 0.0:.{digits}g}"  # + 0.0: minus zero is zero
    if _is_huge(value):
        return f"a number of {value.bit_length():,} bits"
    whole = isinstance(value, int) and not isinstance(value, bool)
    text = f"{value:,}" if whole else reprlib.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

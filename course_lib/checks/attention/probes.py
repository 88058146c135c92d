"""What an answer of chapter 02 is held to: its properties, and what is observed of each."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.attention.inputs import (
    alike,
    beside,
    equal_keys,
    far_apart,
    near_forty,
    normal,
    one_hidden,
    one_match,
    saturated,
    shares,
)
from course_lib.checks.compare import TOLERANCE, difference
from course_lib.checks.question import Probe, gradient

LIMIT = 65504  # of float16


def shape(fn: Callable, *inputs: Tensor) -> Tensor:
    """Observe the size of the result and nothing else."""
    return torch.zeros(fn(*inputs).shape)


def rounded(fn: Callable, *inputs: Tensor) -> Tensor:
    """Observe four decimals: what should be 0 has no scale to measure rounding by."""
    return fn(*inputs).round(decimals=4) + 0.0  # and no -0, which a reader would stumble over


def by_hand(fn: Callable, *inputs: Tensor) -> Tensor:
    """Observe the result where autograd records nothing, so that a formula must do the work."""
    with torch.inference_mode():
        return fn(*inputs)


def by_hand_rounded(fn: Callable, *inputs: Tensor) -> Tensor:
    """Observe four decimals, with autograd off."""
    with torch.inference_mode():
        return rounded(fn, *inputs)


def of_scores(measure: Callable[[Tensor], object]) -> Callable:
    """Observe a measure of the scores; what has another shape is none, and is seen as it is."""

    def observe(fn: Callable, q: Tensor, k: Tensor) -> object:
        out = fn(q, k)
        fits = isinstance(out, Tensor) and out.shape == (*q.shape[:-1], k.shape[-2])
        return measure(out) if fits else out

    return observe


def beyond(out: Tensor) -> int:
    """How many numbers float16 can't hold."""
    return int((~(out.abs() < LIMIT)).sum())


def without_value_2(fn: Callable, q: Tensor, k: Tensor, v: Tensor) -> int:
    """Observe how many queries get anything but the value of key 2."""
    return int((~((fn(q, k, v) - v[..., [2], :]).abs() < 0.01).all(-1)).sum())


def row_sums(got: Tensor, want: Tensor, s: Tensor) -> str:
    """The first row that doesn't sum to one, else the first difference."""
    sums = got.double().sum(-1).flatten()
    off = (sums - 1).abs() > 1e-3
    if got.isfinite().all() and off.any():
        return f"the weights of one query sum to {sums[off][0]:.4g}"
    return difference(got, want, TOLERANCE[torch.float32]) or "rounding"


def query_0(got: Tensor, want: Tensor, *inputs: Tensor) -> str:
    """What query 0 gets where it should get 0, else the first difference."""
    row = got[:, :, 0].double()
    if row.isfinite().all() and row.abs().max() > 1e-3:
        return f"query 0 gets {row.flatten()[row.abs().argmax()]:.4g}"
    return difference(got, want, TOLERANCE[torch.float32]) or "rounding"


def _another_key(got: Tensor, want: Tensor, q: Tensor, k: Tensor) -> str:
    at = tuple((got != want).nonzero()[0].tolist())
    return f"query {at[-1]} has it at key {got[at]}; its largest q · k is key {want[at]}'s"


def _sixteenths(got: Tensor, *_: Tensor) -> str:
    odd = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}
    texts = [f"{round(16 * x, 3) + 0.0:g}" for x in got.double().flatten().tolist()]
    return "it is " + " and ".join(odd.get(text, f"{text}/16") for text in texts)


SCORES = (
    Probe(
        "Tq 5, Tk 7: a score for each query and each key, [2, 3, 5, 7]",
        normal((2, 3, 5, 4), (2, 3, 7, 4)),
        observe=shape,
    ),
    Probe(
        "Tq 6, Tk 3: a query's highest score is its best match's",
        normal((2, 4, 6, 5), (2, 4, 3, 5)),
        observe=lambda fn, q, k: fn(q, k).argmax(-1),
        fails=_another_key,
    ),
    Probe("Dh 5: a score is q · k over the root of 5", normal((2, 3, 4, 5), (2, 3, 6, 5))),
    Probe(
        "Dh 100: the scores of independent q and k have a standard deviation near 1",
        normal((2, 3, 20, 100), (2, 3, 30, 100)),
        observe=of_scores(torch.std),
        fails=lambda got, *_: f"it is {got:.3g}".replace("nan", "NaN"),
        tolerance=0.05,  # near 1, and not what these very numbers give
    ),
    Probe("one query, one key, Dh 7: one score", normal((3, 2, 1, 7), (3, 2, 1, 7))),
    Probe(
        "float16: q · k is near 80,000, beyond the limit of 65,504, but every score fits",
        near_forty,
        observe=of_scores(beyond),
        fails=lambda got, *_: f"{got} of 144 scores are at that limit, infinite or NaN",
    ),
    Probe(
        "the gradients in q and k, against float64",
        normal((2, 3, 5, 6), (2, 3, 4, 6)),
        observe=gradient,
    ),
)


SOFTMAX = (
    Probe(
        "[2, 3, 5, 7]: positive, and each query's weights sum to 1",
        normal((2, 3, 5, 7)),
        fails=row_sums,
    ),
    Probe(
        "scores near 10,000: the same weights as near 0",
        normal((2, 3, 7, 4), shift=1e4),
        fails=row_sums,
        tolerance=2e-3,
    ),
    Probe(
        "scores near -10,000: the same weights as near 0",
        normal((3, 2, 4, 5), shift=-1e4),
        fails=row_sums,
        tolerance=2e-3,
    ),
    Probe(
        "[5, 7], each row 92 above the one before: every row sums to 1",
        far_apart,
        fails=row_sums,
    ),
    Probe(
        "scores of 1e8 and -1e8 in one row: the largest takes everything",
        normal((2, 3, 4, 7), scale=1e8),
        fails=row_sums,
    ),
    Probe("one key: its weight is 1", normal((2, 4, 3, 1)), fails=row_sums),
    Probe(
        "a score of -inf: exactly no weight, and the others share 1",
        one_hidden,
        fails=row_sums,
    ),
    Probe("the gradient in the scores, against float64", normal((2, 3, 4, 5)), observe=gradient),
)


ATTENTION = (
    Probe(
        "Tq 5, Tk 7, Dh 4, Dv 6: an output of Dv numbers a query, [2, 3, 5, 6]",
        normal((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)),
        observe=shape,
    ),
    Probe("one key: every query gets its value", normal((2, 3, 4, 5), (2, 3, 1, 5), (2, 3, 1, 6))),
    Probe("six equal keys: every query gets the mean of the values", equal_keys),
    Probe(
        "Tq 6, Tk 4: the values, blended by softmax(q · k over the root of Dh)",
        normal((2, 3, 6, 5), (2, 3, 4, 5), (2, 3, 4, 7)),
    ),
    Probe(
        "scores in the hundreds: a query gets the value of its best key",
        normal((2, 3, 4, 5), (2, 3, 7, 5), (2, 3, 7, 6), scale=25),
        tolerance=1e-3,
    ),
    Probe(
        "float16, q · k near 80,000: every query gets the value of the key that matches",
        one_match,
        observe=without_value_2,
        fails=lambda got, *_: f"{got} of 24 queries get something else, or NaN",
    ),
    Probe(
        "the gradients in q, k and v, against float64",
        normal((2, 3, 5, 4), (2, 3, 3, 4), (2, 3, 3, 6)),
        observe=gradient,
    ),
)


ENTROPIES = (
    Probe("[2, 3, 5, 7]: one number a query, [2, 3, 5]", shares(2, 3, 5, 7), observe=shape),
    Probe("[4, 6]: minus the sum of w · log2(w) over the keys", shares(4, 6)),
    Probe(
        "[2, 3, 4096], equal weights: 12 bits",
        lambda g: (torch.full((2, 3, 4096), 2**-12),),
        fails=lambda got, *_: f"the first query gets {got[0, 0]:.4g}".replace("nan", "NaN"),
        tolerance=1e-3,
    ),
    Probe("one key: 0 bits", lambda g: (torch.ones(2, 4, 3, 1),), observe=rounded),
    Probe(
        "query 0 has all its weight on one key: 0 bits, and the others have theirs",
        saturated(2, 3, 4, 5),
        fails=query_0,
    ),
    Probe(
        "float16, three keys of weight 0: the bits of the others",
        shares(2, 3, 4, 7, zeros=3, dtype=torch.float16),
    ),
)


GRADIENTS = (
    Probe(
        "weights 1/4 and 3/4, upstream 1 and 0: the gradient is 3/16 and -3/16",
        lambda g: (torch.tensor([[0.25, 0.75]]), torch.tensor([[1.0, 0.0]])),
        observe=by_hand,
        fails=_sixteenths,
    ),
    Probe("[3, 4, 7], one upstream for all keys: no gradient", alike, observe=by_hand_rounded),
    Probe(
        "query 0 has all its weight on one key: its row is 0, other rows aren't",
        beside(saturated(2, 3, 4, 5)),
        observe=by_hand,
        fails=query_0,
    ),
    Probe("one key: no gradient", beside(shares(2, 4, 3, 1)), observe=by_hand_rounded),
    Probe(
        "[2, 3, 5, 7]: what autograd would find, in float64",
        beside(shares(2, 3, 5, 7)),
        points=2,
        observe=by_hand,
    ),
    Probe(
        "bfloat16, [6, 4]: the same within rounding",
        beside(shares(6, 4, dtype=torch.bfloat16)),
        observe=by_hand,
    ),
)

"""What people really write for a leak probe when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_leaks = partial(Mistake, reread='03, "Find the leak"')
Model = Callable[[Tensor], Tensor]


def _noise(x: Tensor) -> Tensor:
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(7)).to(x)


def _shocked(row: Tensor) -> Tensor:
    return row + 3 * _noise(row) + 1


def _changed(x: Tensor, source: int, shock: Callable[[Tensor], Tensor] = _shocked) -> Tensor:
    other = x.clone()
    other[source] = shock(x[source])
    return other


def _moved(a: Tensor, b: Tensor) -> bool:
    return not torch.allclose(a, b, rtol=0, atol=1e-6)


def _probe(
    shock: Callable[[Tensor], Tensor] = _shocked,
    pairs: Callable[[int], list] = lambda T: [(r, s) for r in range(T) for s in range(r + 1, T)],
    moved: Callable[[Tensor, Tensor], bool] = _moved,
) -> Callable[[Model, Tensor], set]:
    """The right probe, but for what is given."""

    def run(fn: Model, x: Tensor) -> set:
        base = fn(x)
        after = [fn(_changed(x, source, shock)) for source in range(len(x))]
        return {(r, s) for r, s in pairs(len(x)) if moved(base[r], after[s][r])}

    return run


_right = _probe()


def _last_source(T: int) -> list:
    return [(r, T - 1) for r in range(T - 1)]


def _any_pair(T: int) -> list:
    return [(r, s) for r in range(T) for s in range(T)]


def _all_later_at_once(fn: Model, x: Tensor) -> set:
    base, found = fn(x), set()
    for r in range(len(x)):
        other = x.clone()
        other[r + 1 :] += 3 * _noise(x[r + 1 :])
        if r + 1 < len(x) and _moved(base[r], fn(other)[r]):
            found |= {(r, s) for s in range(r + 1, len(x))}
    return found


def _source_and_after(fn: Model, x: Tensor) -> set:
    base, found = fn(x), set()
    for s in range(len(x)):
        other = x.clone()
        other[s:] = _shocked(x[s:])
        found |= {(r, s) for r in range(s) if _moved(base[r], fn(other)[r])}
    return found


def _by_gradient(fn: Model, x: Tensor) -> set:
    slope = torch.autograd.functional.jacobian(fn, x).abs().sum((1, 3))
    return {(r, s) for r, s in slope.nonzero().tolist() if s > r}


def _only(keep: Callable[[list], list]) -> Callable[[Model, Tensor], set]:
    return lambda fn, x: set(keep(sorted(_right(fn, x))))


def _nearest(pairs: list) -> list:
    return [p for p in pairs if not any(r == p[0] and s < p[1] for r, s in pairs)]


def _first_reader(pairs: list) -> list:
    return [p for p in pairs if not any(s == p[1] and r < p[0] for r, s in pairs)]


def _complement(fn: Model, x: Tensor) -> set:
    T = len(x)
    return {(r, s) for r in range(T) for s in range(r + 1, T)} - _right(fn, x)


def _first_number(row: Tensor) -> Tensor:
    return torch.cat([row[:1] + 3, row[1:]])


LEAKS = (
    _in_leaks(
        "a leak too small to be counted",
        _probe(moved=lambda a, b: bool((a - b).abs().max() > 1e-2)),
        "A small move isn't counted: the change is too small for your tolerance, or the tolerance "
        "too large.",
        "How far does an output move through a weight of 1e-4?",
    ),
    _in_leaks(
        "neighbours alone",
        _probe(pairs=lambda T: [(r, r + 1) for r in range(T - 1)]),
        "You look at one source for each reader: the next position.",
        "Could a query read the key after the next and not the next?",
    ),
    _in_leaks(
        "the last source alone",
        _probe(pairs=_last_source),
        "You look at one source: the last position.",
        "Could a leak begin at a position that isn't the last?",
    ),
    _in_leaks(
        "the first reader alone",
        _probe(pairs=lambda T: [(0, s) for s in range(1, T)]),
        "You look at one reader: position 0.",
        "Could the leak be in another row of the output?",
    ),
    _in_leaks(
        "the last source left out",
        _probe(pairs=lambda T: [(r, s) for r in range(T) for s in range(r + 1, T - 1)]),
        "The last position is never a source.",
        "Which number is the last that your sources reach?",
    ),
    _in_leaks(
        "itself counted",
        _probe(pairs=lambda T: [(r, s) for r in range(T) for s in range(r, T)]),
        "A position that moves when it is changed itself counts as a leak.",
        "May a position depend on itself?",
    ),
    _in_leaks(
        "the past counted",
        _probe(pairs=_any_pair),
        "Every pair that moves counts, those with an earlier source too.",
        "Which sources may a causal model read?",
    ),
    _in_leaks(
        "the past in place of the future",
        _probe(pairs=lambda T: [(r, s) for r in range(T) for s in range(r)]),
        "Your pairs have sources that are earlier than their readers.",
        "On which side of its reader does a source lie that it may not read?",
    ),
    _in_leaks(
        "source and reader swapped",
        lambda fn, x: {(s, r) for r, s in _right(fn, x)},
        "You find the right pairs and write the source first.",
        "Which of the two numbers comes first in a pair?",
    ),
    _in_leaks(
        "any row that moves",
        lambda fn, x: {(r, s) for s in range(len(x)) for r in range(s)},
        "You name every pair, in a model without a leak too. So it is when the whole output is "
        "compared, when the reader's own row changes as well, or when the change is a NaN.",
        "Which one row of x may change, and which one row of the output says that a reader moved?",
    ),
    _in_leaks(
        "all later rows at once",
        _all_later_at_once,
        "All that is later changes at once, so a reader that moves is blamed on every source.",
        "How many rows of x may change if one of them is to be named?",
    ),
    _in_leaks(
        "the source and all after it",
        _source_and_after,
        "You change the source and the rows after it: a reader that one of those moves is blamed "
        "on your source.",
        "How many rows of x may change if one of them is to be named?",
    ),
    _in_leaks(
        "the same number for the whole row",
        _probe(shock=lambda row: row + 3),
        "You add one number to the whole row. A model that normalises its rows takes it away "
        "again.",
        "Which change of a row does a normalisation not notice, and which one does it?",
    ),
    _in_leaks(
        "stretched",
        _probe(shock=lambda row: 3 * row),
        "You multiply the row. A row of zeros stays as it was, and a normalised one too.",
        "Which change works whatever the row holds?",
    ),
    _in_leaks(
        "set to zero",
        _probe(shock=torch.zeros_like),
        "Your change leaves a row of zeros as it was: so do setting to 0, multiplying, turning the "
        "sign and reordering.",
        "Which change works whatever the row holds?",
    ),
    _in_leaks(
        "one number of the row changed",
        _probe(shock=_first_number),
        "You change the first number of the row. A leak through another number stays unseen.",
        "Through which numbers of x[source] can something leak?",
    ),
    _in_leaks(
        "rises alone",
        _probe(moved=lambda a, b: bool((b - a).max() > 1e-6)),
        "You count a row as moved where a number rises. One whose numbers all fall isn't seen.",
        "Which sign can the difference of two outputs have?",
    ),
    _in_leaks(
        "sums compared",
        _probe(moved=lambda a, b: bool((a.sum() - b.sum()).abs() > 5e-6)),
        "You compare sums; a row can move and keep its sum.",
        "Which comparison sees each number of a row by itself?",
    ),
    _in_leaks(
        "one number of the output compared",
        _probe(moved=lambda a, b: _moved(a[:1], b[:1])),
        "You compare the first number of the reader's row. A leak into another stays unseen.",
        "In which numbers of out[reader] can a leak show?",
    ),
    _in_leaks(
        "by the gradient",
        _by_gradient,
        "You ask for the gradient. A leak through something that autograd doesn't follow has none.",
        "What moves the output although no gradient leads to it?",
    ),
    _in_leaks(
        "the first leak alone",
        _only(lambda pairs: pairs[:1]),
        "You stop at the first pair.",
        "How many pairs does a model have that reads two ahead?",
    ),
    _in_leaks(
        "one source for each reader",
        _only(_nearest),
        "Each reader is named once, with its nearest source.",
        "How many sources can one reader have?",
    ),
    _in_leaks(
        "one reader for each source",
        _only(_first_reader),
        "Each source is named once, with its first reader.",
        "How many readers can one source have?",
    ),
    _in_leaks(
        "what doesn't move",
        _complement,
        "Your pairs are those that don't move.",
        "What does a reader do when its source changes and nothing leaks?",
    ),
    _in_leaks(
        "no pair whatever the model",
        lambda fn, x: set(),
        "You never find a pair, in a model that reads everything too.",
        "Does what you change reach the model, and is the comparison with an output from before?",
    ),
)

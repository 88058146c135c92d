"""What the three masks of chapter 03 are held to: their form, and who reads whom."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.question import Probe
from course_lib.masks import in_words

NO_ANSWER = "its entries are float, and say neither yes nor no"


def form(fn: Callable, *inputs: object) -> object:
    """Observe dtype and size, and nothing else."""
    out = fn(*inputs)
    if not isinstance(out, Tensor):
        return out
    return f"{str(out.dtype).removeprefix('torch.')}, {list(out.shape)}"


def keys(row: Tensor) -> str:
    """What one query reads, in words: keys 0 to 3, 6."""
    return in_words(row.nonzero().flatten().tolist())


def _of_one(fn: Callable, Tq: int, Tk: int) -> object:
    """Observe the table of a mask for one sequence, whatever axes of 1 stand before it."""
    out = fn(Tq, Tk)
    while isinstance(out, Tensor) and out.ndim > 2 and out.shape[0] == 1:
        out = out[0]
    return out


def _first_row(got: Tensor, want: Tensor, *sizes: int) -> str:
    if got.is_floating_point():
        return NO_ANSWER
    query = int((got.bool() != want).any(-1).nonzero()[0])
    return f"query {query} reads {keys(got[query])}; it may read {keys(want[query])}"


def _spread(fn: Callable, B: int, Tq: int, *inputs: object) -> object:
    """Observe a mask as attention uses it: broadcast to one head of B sequences, Tq queries."""
    out = fn(*inputs)
    return out.expand(B, 1, Tq, inputs[-1]) if isinstance(out, Tensor) else out


def _with_queries(queries: int | str) -> Callable:
    """Observe a padding mask with this many queries, or with as many as `B` or `Tk`."""

    def observe(fn: Callable, lengths: Tensor, Tk: int) -> object:
        Tq = {"B": len(lengths), "Tk": Tk}.get(queries, queries)
        return _spread(fn, len(lengths), Tq, lengths, Tk)

    return observe


def _of_each(fn: Callable, Tq: int, lengths: Tensor, Tk: int) -> object:
    return _spread(fn, len(lengths), Tq, Tq, lengths, Tk)


def _first_row_of_each(got: Tensor, want: Tensor, *inputs: object) -> str:
    if got.is_floating_point():
        return NO_ANSWER
    lengths = next(i for i in inputs if isinstance(i, Tensor)).tolist()
    b, _, query = (got.bool() != want).any(-1).nonzero()[0].tolist()
    return (
        f"lengths {lengths}: query {query} of sequence {b} reads {keys(got[b, 0, query])}; "
        f"it may read {keys(want[b, 0, query])}"
    )


def _formed(holds: str, inputs: Callable) -> Probe:
    return Probe(
        holds,
        inputs=inputs,
        observe=form,
        fails=lambda got, want, *_: f"the form is {got}; expected {want}",
    )


def _causal(holds: str, *sizes: int, inputs: Callable | None = None) -> Probe:
    return Probe(holds, inputs=inputs or (lambda g: sizes), observe=_of_one, fails=_first_row)


def _square(g: torch.Generator) -> tuple[int, int]:
    return (int(torch.randint(4, 9, (), generator=g)),) * 2


CAUSAL = (
    _formed("bool, [1, 1, Tq, Tk]", lambda g: (3, 5)),
    _causal("square: a query reads its own key and those before it", inputs=_square),
    _causal("one query, one key: it is read", 1, 1),
    _causal("Tq 3, Tk 7: query 0 stands after 4 cached keys and reads 5", 3, 7),
    _causal("Tq 1, Tk 7: the newest query reads all 7 keys", 1, 7),
    _causal("Tq 5, Tk 2: queries that stand before the first key read nothing", 5, 2),
)


def lengths_of(B: int, low: int, high: int, **fixed: int) -> Callable[[torch.Generator], Tensor]:
    """Draw B different lengths from low to high; `first=0` puts a chosen one in front."""

    def draw(g: torch.Generator) -> Tensor:
        drawn = torch.randperm(high - low + 1, generator=g)[:B] + low
        if "first" in fixed:
            drawn[0] = fixed["first"]
        return drawn

    return draw


def _padding(holds: str, lengths: Callable, Tk: int, queries: int | str = "Tk") -> Probe:
    return Probe(
        holds,
        fails=_first_row_of_each,
        inputs=lambda g: (lengths(g), Tk),
        observe=_with_queries(queries),
    )


PADDING = (
    _formed("bool, [B, 1, 1, Tk]", lambda g: (lengths_of(3, 1, 5)(g), 5)),
    _padding("3 sequences, Tk 7: each reads its own keys and no padding", lengths_of(3, 2, 6), 7),
    _padding(
        "the longest has 4 keys of 6: nobody reads the last two", lengths_of(2, 2, 3, first=4), 6
    ),
    _padding("a length of Tk: all keys are read", lengths_of(2, 1, 4, first=5), 5),
    _padding("a length of 0: nothing is read", lengths_of(3, 1, 4, first=0), 5),
    _padding(
        "4 sequences: the padding goes with the sequence, not with the query",
        lengths_of(4, 1, 6),
        6,
        queries="B",
    ),
)


def _decoder(holds: str, Tq: int, lengths: Callable, Tk: int) -> Probe:
    return Probe(
        holds,
        fails=_first_row_of_each,
        inputs=lambda g: (Tq, lengths(g), Tk),
        observe=_of_each,
    )


def _full(B: int, Tk: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.full((B,), Tk)


DECODER = (
    _formed("bool, [B, 1, Tq, Tk]", lambda g: (3, lengths_of(2, 1, 5)(g), 5)),
    _decoder(
        "Tq 5, Tk 5, no padding: a query reads its own key and those before", 5, _full(2, 5), 5
    ),
    _decoder("one query, Tk 7: it reads all keys but the padding", 1, lengths_of(3, 2, 6), 7),
    _decoder("Tq 6, Tk 6: neither the future nor the padding", 6, lengths_of(3, 1, 5), 6),
    _decoder("Tq 3, Tk 7: query 0 stands after 4 cached keys", 3, lengths_of(2, 3, 6, first=7), 7),
    _decoder(
        "4 sequences, 4 queries, Tk 6: each sequence has its own padding", 4, lengths_of(4, 2, 6), 6
    ),
    _decoder(
        "Tq 5, Tk 3, a length of 0: a query without a key to read reads nothing",
        5,
        lengths_of(2, 2, 3, first=0),
        3,
    ),
)

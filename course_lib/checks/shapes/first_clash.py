"""Question 01.5: find where a ledger first disagrees with itself."""

import torch

from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.first_clash_mistakes import MISTAKES


def first_clash(dims, shapes):
    """Name the first entry that disagrees with what came before it, and the dim."""
    known = {}
    for name, axes in dims.items():
        for dim, size in zip(axes.split(), shapes[name], strict=True):
            if known.setdefault(dim, size) != size:
                return name, dim
    return None


def _said(fn, dims, shapes):
    """What an answer says, in the words of the verdict.

    It has seen another ledger before, with another H: what it remembers of that is a mistake.
    """
    fn({"q": "B H"}, {"q": (BATCH, 3)})
    found = fn(dims, shapes)
    if found is None:
        return "None"
    if isinstance(found, str) and found not in (*dims, *" ".join(dims.values()).split()):
        return "one string"  # whatever separates its two words
    if isinstance(found, list | tuple) and len(found) == 2:
        return repr(tuple(found))
    return f"{found!r}, which is no pair"


def _misses(got: str, want: str, dims: dict, shapes: dict) -> str:
    """What was said, and of the ledger no more than shows what should have been."""
    got, clash = got if len(got) <= 60 else got[:57] + "...", first_clash(dims, shapes)
    if clash is None:
        at = next((name for name in dims if repr(name) in got), next(iter(dims)))
        return f"{got}; expected None: no dim of {_entry(at, dims, shapes)} had another size"
    name, dim = clash
    owner = next(entry for entry in dims if dim in dims[entry].split())
    before = "" if owner == name else f" after {_entry(owner, dims, shapes)}"
    return f"{got}; expected {want}, for {_entry(name, dims, shapes)}{before}"


def _entry(name: str, dims: dict, shapes: dict) -> str:
    return f"{name} [{', '.join(dims[name].split())}] = {list(shapes[name])}"


DIMS = {"q": "B H Tq Dh", "k": "B H Tk Dh", "v": "B H Tk Dv", "out": "B H Tq Dv"}
DIMS |= {"x": "B T D", "scores": "B H T T"}
BATCH = 2  # in every ledger, so that whoever remembers the last one stumbles over H


def _ledger(*names: str, order: tuple = (), equal: tuple = (), **changed: list):
    """Draw a ledger of different sizes; `k=[("Dh", 1)]` adds 1 to the last Dh of k, 0 makes it 1.

    `order` writes the shapes in another order than the dims, `equal` names dims of one size.
    """

    def draw(generator: torch.Generator) -> tuple[dict, dict]:
        dims = {name: DIMS[name] for name in names}
        every = dict.fromkeys(" ".join(dims.values()).split())
        # 5, 8, 11 and so on, so that adding 1 or 2 meets no other size
        drawn = 3 * torch.randperm(len(every) + 2, generator=generator) + 5
        sizes = dict(zip(every, drawn.tolist(), strict=False))
        sizes |= dict.fromkeys(equal, 4) | {"B": BATCH}
        shapes = {}
        for name in order or names:
            axes = dims[name].split()
            shape = [sizes[dim] for dim in axes]
            for dim, more in changed.get(name, ()):
                at = len(axes) - 1 - axes[::-1].index(dim)
                shape[at] = shape[at] + more if more else 1
            shapes[name] = tuple(shape)
        return dims, shapes

    return draw


def _probe(holds: str, *names: str, **ledger: object) -> Probe:
    return Probe(holds, _ledger(*names, **ledger), observe=_said, fails=_misses)


PROBES = (
    _probe("all agree, Tq and Tk have one size: None", "q", "k", "v", equal=("Tq", "Tk")),
    _probe("k with another Dh than q: k at Dh", "q", "k", k=[("Dh", 1)]),
    _probe("v against k, with out between: v at Tk", "q", "k", "out", "v", v=[("Tk", 1)]),
    _probe(
        "two entries clash: the one that comes first",
        *("q", "k", "v", "out"),
        v=[("Tk", 1)],
        out=[("B", 1)],
    ),
    _probe("one entry clashes twice: its first axis", "q", "k", "out", k=[("Dh", 1), ("B", 1)]),
    _probe("scores are B H T T: both T must agree", "scores", "x", scores=[("T", 1)]),
    _probe("q, then scores: a T of 1 is a size too", "q", "scores", scores=[("T", 0)]),
    _probe(
        "shapes written in another order: the order of dims counts",
        *("q", "k", "v"),
        order=("k", "v", "q"),
        k=[("H", 1)],
        v=[("H", 1)],
    ),
)


def _remembers_the_latest(dims, shapes):
    sizes = {}
    for name in dims:
        for dim, size in zip(dims[name].split(), shapes[name], strict=True):
            if dim in sizes and sizes[dim] != size:
                return [name, dim]
            sizes[dim] = size


def _flat(dims, shapes):
    axes = [(n, d, s) for n in dims for d, s in zip(dims[n].split(), shapes[n], strict=True)]
    known = {d: s for _, d, s in reversed(axes)}
    return next(((n, d) for n, d, s in axes if s != known[d]), None)


def _pair_by_pair(dims, shapes):
    seen = []
    for name in dims:
        for pair in zip(dims[name].split(), shapes[name], strict=True):
            if any(pair[0] == dim and pair[1] != size for dim, size in seen):
                return [name, pair[0]]
            seen += [pair]


QUESTION = Question(
    "01.5",
    "first_clash",
    "The first clash",
    stars=3,
    minutes=20,
    reference=first_clash,
    probes=PROBES,
    mistakes=MISTAKES,
    alternatives=(_remembers_the_latest, _flat, _pair_by_pair),
)

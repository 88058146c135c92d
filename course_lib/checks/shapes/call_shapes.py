"""Question 01.1: what an attention call holds."""

from collections.abc import Callable

import torch

from course_lib.checks.compare import difference
from course_lib.checks.question import Probe, Question
from course_lib.checks.shapes.call_shapes_mistakes import MISTAKES, RIGHT
from course_lib.checks.shapes.sizes import SIZES, named, sizes_with
from course_lib.shapes import plan


def call_shapes(B, H, Tq, Tk, Dh, Dv):
    """Write the ledger of an attention call: six tensors and their sizes."""
    return {
        "q": (B, H, Tq, Dh),
        "k": (B, H, Tk, Dh),
        "v": (B, H, Tk, Dv),
        "scores": (B, H, Tq, Tk),
        "weights": (B, H, Tq, Tk),
        "out": (B, H, Tq, Dv),
    }


def _entries(*names: str) -> Callable:
    """Observe some entries of the ledger that an answer returns; all of them where one is missing.

    So the fact can name what the ledger holds instead.
    """

    def observe(fn: Callable, *sizes: int) -> object:
        found = fn(*sizes)
        if not isinstance(found, dict) or set(names) - set(found):
            return found
        return {name: size for name, size in found.items() if name in names or not names}

    return observe


def _other_size(got: dict, want: dict, *sizes: int) -> str:
    yours = f"yours are {_brief(', '.join(map(str, got)) or 'none')}"
    for name, size in want.items():
        if name not in got:
            return f"there is no entry {name}; {yours}"
        if difference(got[name], size, 0):
            return f"{name} {_brief(got[name])}; expected {tuple(size)}, for {named(sizes)}"
    return f"there is an entry too many; {yours}"


def _brief(value: object) -> str:
    """A value in few characters, sizes as a tuple."""
    value = tuple(value) if isinstance(value, list) else value
    text = "a tensor" if isinstance(value, torch.Tensor) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _sizes_of_tensors(B, H, Tq, Tk, Dh, Dv):
    q, k, v = (torch.empty(B, H, T, D, device="meta") for T, D in ((Tq, Dh), (Tk, Dh), (Tk, Dv)))
    scores = q @ k.mT
    weights = scores.softmax(-1)
    made = {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "out": weights @ v}
    return {name: tensor.shape for name, tensor in made.items()}


def _sizes_by_rule(*sizes):
    known = dict(zip(SIZES, sizes, strict=True))
    return {name: [known[dim] for dim in dims.split()] for name, dims in RIGHT.items()}


def _planned_sizes(B, H, Tq, Tk, Dh, Dv):
    made = plan(B=B, H=H, Tq=Tq, Tk=Tk, Dh=Dh, Dv=Dv)
    return {entry.name: entry.shape for entry in reversed(made.entries)}


LENGTHS = {"Tq": 3, "Tk": 7}

QUESTION = Question(
    "01.1",
    "call_shapes",
    "The ledger of a call",
    stars=1,
    minutes=5,
    reference=call_shapes,
    probes=tuple(
        Probe(holds, sizes_with(**given), observe=_entries(*names), fails=_other_size)
        for holds, given, names in (
            (
                "Tq 3, Tk 7: q is [B, H, 3, Dh] and k [B, H, 7, Dh]",
                LENGTHS,
                ("q", "k"),
            ),
            ("Tq 3, Tk 7: v is [B, H, 7, Dv]", LENGTHS, ("v",)),
            ("Tq 3, Tk 7: scores are [B, H, 3, 7]", LENGTHS, ("scores",)),
            ("Tq 3, Tk 7: weights are as large as scores", LENGTHS, ("weights",)),
            ("Tq 3, Tk 7: out is [B, H, 3, Dv]", LENGTHS, ("out",)),
            (
                "Tq 1, Tk 9, one new query: all six entries, and no other",
                {"Tq": 1, "Tk": 9},
                (),
            ),
        )
    ),
    mistakes=MISTAKES,
    alternatives=(_sizes_of_tensors, _sizes_by_rule, _planned_sizes),
)

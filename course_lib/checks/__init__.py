"""Exercises that answer: `check(fn)` says what holds, and which mistake explains what doesn't."""

import difflib
import inspect
from collections.abc import Callable

from course_lib.checks import attention, heads, kernel, masks, positions, shapes, tiling
from course_lib.checks.judge import judge
from course_lib.checks.progress import progress, record_check
from course_lib.checks.question import Question
from course_lib.checks.verdict import Notice, Verdict
from course_lib.simulator import Kernel

__all__ = ["QUESTIONS", "check", "find", "progress"]

SIMULATED = "The simulator runs it: from course_lib import simulator as triton"

QUESTIONS: tuple[Question, ...] = (
    *shapes.QUESTIONS,
    *attention.QUESTIONS,
    *masks.QUESTIONS,
    *heads.QUESTIONS,
    *positions.QUESTIONS,
    *tiling.QUESTIONS,
    *kernel.QUESTIONS,
)
"""Every question of the course, in the order of the chapters."""


def find(name: str) -> Question | None:
    """The question with this id, or that is answered by a function of this name."""
    return next((q for q in QUESTIONS if name in (q.id, q.name)), None)


def check(fn: Callable, question: str | None = None) -> Verdict | Notice:
    """Judge your function and say which mistake it makes, if it makes one.

    The question is found by the function's name; for a lambda or another name, give its id:
    `check(mine, "02.1")`. Never raises, whatever the function does.
    """
    if reason := _not_to_be_judged(fn, question):
        return Notice(reason)
    name = question or getattr(fn, "__name__", type(fn).__name__)
    found = find(name)
    if found is None:
        near = difflib.get_close_matches(name, [q.name for q in QUESTIONS], n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        names = ", ".join(f"{q.id} {q.name}" for q in QUESTIONS)
        return Notice(f"No question is answered by {name!r}. {hint}There are {names}.")
    if found.is_kernel and not isinstance(fn, Kernel):
        if type(fn).__name__ == "JITFunction":
            return Notice(f"{found.name} is a kernel of the real Triton. {SIMULATED}")
        return Notice(f"{found.name} is a function and no kernel. Is @triton.jit above it?")
    try:
        verdict = judge(found, _unchecked(fn))
    except Exception as error:  # what came back may break whatever looks at it
        kind = type(error).__name__
        return Notice(f"What {found.name} returned can't be looked at: {kind}: {error}")
    record_check(found.id, verdict.points, found.points, getattr(verdict.mistake, "name", None))
    return verdict


def _not_to_be_judged(fn: object, question: object) -> str | None:
    """Why this is no answer at all, in words that say what to do."""
    if isinstance(fn, str):
        return f"check takes the function itself, without quotes: check({fn})."
    if not callable(fn):
        kind = type(fn).__name__
        return f"This is a value ({kind}), not a function. Run the cell with its def again."
    if inspect.isclass(fn):
        return f"{fn.__name__} is a class, and check takes a function."
    if question is not None and not isinstance(question, str):
        return 'check takes one function, and perhaps the id of its question: check(mine, "02.1").'
    if question is None and getattr(fn, "__name__", "") == "<lambda>":
        return 'A lambda has no name. Write it with def, or give the id: check(mine, "02.1").'
    return None


def _unchecked(fn: Callable) -> Callable:
    """The function without the notebook's shape checker, which would raise before we can judge.

    Other decorators stay: they are part of the answer.
    """
    checkers = ("jaxtyping", "beartype")
    while hasattr(fn, "__wrapped__") and not inspect.ismethod(fn):
        code = getattr(fn, "__code__", None)
        if code is None or not any(checker in code.co_filename for checker in checkers):
            break
        fn = fn.__wrapped__
    return fn

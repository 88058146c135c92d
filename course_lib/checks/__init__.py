"""Exercises that answer: `check(fn)` says what holds, and which mistake explains what doesn't."""

import difflib
import inspect
from collections.abc import Callable

from course_lib.checks import attention, shapes
from course_lib.checks.judge import judge
from course_lib.checks.progress import progress, record_check
from course_lib.checks.question import Question
from course_lib.checks.verdict import Notice, Verdict

__all__ = ["QUESTIONS", "check", "find", "progress"]

QUESTIONS: tuple[Question, ...] = (*shapes.QUESTIONS, *attention.QUESTIONS)
"""Every question of the course, in the order of the chapters."""


def find(name: str) -> Question | None:
    """The question with this id, or that is answered by a function of this name."""
    return next((q for q in QUESTIONS if name in (q.id, q.name)), None)


def check(fn: Callable, question: str | None = None) -> Verdict | Notice:
    """Judge your function and say which mistake it makes, if it makes one.

    The question is found by the function's name; for a lambda or another name, give its id:
    `check(mine, "02.1")`. Never raises, whatever the function does.
    """
    if not callable(fn):
        return Notice(f"check takes the function itself, not {type(fn).__name__}: check(scores)")
    name = question or getattr(fn, "__name__", type(fn).__name__)
    found = find(str(name))
    if found is None:
        near = difflib.get_close_matches(str(name), [q.name for q in QUESTIONS], n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        names = ", ".join(f"{q.id} {q.name}" for q in QUESTIONS)
        return Notice(f"No question is answered by {name!r}. {hint}There are {names}.")
    try:
        verdict = judge(
            found, inspect.unwrap(fn)
        )  # past the shape checker, which would raise first
    except Exception as error:  # what came back may break whatever looks at it
        kind = type(error).__name__
        return Notice(f"What {found.name} returned can't be looked at: {kind}: {error}")
    record_check(found.id, verdict.points, found.points, getattr(verdict.mistake, "name", None))
    return verdict

"""Judge one answer: run every probe, compare with the reference, name the mistake by its output."""

import inspect
from collections.abc import Callable

from course_lib.checks import guard
from course_lib.checks.compare import difference, same, tolerance
from course_lib.checks.guard import Outcome
from course_lib.checks.question import Mistake, Probe, Question, widened
from course_lib.checks.verdict import Line, Verdict

HANGS_AT_MOST = 2  # then the rest is skipped: a learner waits seconds, not minutes


def judge(question: Question, fn: Callable, seed: int = 0) -> Verdict:
    """Hold a function to a question's probes; reports whatever the function does, never raises."""
    drawn = question.draw(seed)
    outcomes = answers(question, fn, drawn)
    if all(outcome.unwritten for outcome in outcomes):
        return Verdict.unwritten(question)
    facts = [
        fact(question, probe, outcome, inputs)
        for probe, outcome, inputs in zip(question.probes, outcomes, drawn, strict=True)
    ]
    lines = [
        Line(found is None, probe.holds if found is None else found, probe.points)
        for probe, found in zip(question.probes, facts, strict=True)
    ]
    failing = [i for i, found in enumerate(facts) if found is not None]
    named = diagnose(question, outcomes, drawn, failing) if failing else None
    errors = [outcome for outcome in outcomes if outcome.error is not None]
    printed = next((outcome.printed for outcome in outcomes if outcome.printed), "")
    return Verdict(question, tuple(lines), named, errors[0].where if errors else "", printed)


def answers(question: Question, fn: Callable, drawn: list[tuple]) -> list[Outcome]:
    """What a function gives on every probe; after two that hang, the others aren't run."""
    outcomes: list[Outcome] = []
    for probe, inputs in zip(question.probes, drawn, strict=True):
        if sum(outcome.timed_out for outcome in outcomes) >= HANGS_AT_MOST:
            outcomes.append(Outcome(error=guard.TimeLimit("not run, after two that didn't end")))
        else:
            outcomes.append(guard.run(fn, probe.observe, inputs, question.seconds))
    return outcomes


def fact(question: Question, probe: Probe, outcome: Outcome, inputs: tuple) -> str | None:
    """What is wrong with one outcome, in words, or None where the property holds."""
    if outcome.timed_out:
        skipped = str(outcome.error)
        return f"{probe.holds}. Yours: {skipped or f'no answer in {question.seconds:g} seconds'}"
    if outcome.error is not None:
        text = " ".join(str(outcome.error).split())
        text = text if len(text) <= 160 else text[:157] + "..."
        return f"{probe.holds}. Yours: {type(outcome.error).__name__}: {text}".rstrip(": ")
    given = widened(inputs) if probe.widen else inputs
    want = guard.run(question.reference, probe.observe, given, question.seconds).value
    tol = probe.tolerance or tolerance(inputs)
    found = difference(outcome.value, want, tol)
    if found is None and outcome.changed:
        name = list(inspect.signature(question.reference).parameters)[outcome.changed[0]]
        return f"{probe.holds}. Yours: right, but it changed its argument {name} in place"
    if found is None:
        return None
    if probe.fails is not None and _comparable(outcome.value, want):
        return probe.fails(outcome.value, want, *inputs)
    return f"{probe.holds}. Yours: {found}"


def diagnose(
    question: Question, outcomes: list[Outcome], drawn: list[tuple], failing: list[int]
) -> Mistake | None:
    """The mistake that does what this answer does wherever the answer fails.

    One that agrees on every probe comes before one that agrees only where the answer fails.
    """
    partial = None
    for candidate in question.mistakes:
        agree = []
        for i in [*failing, *(j for j in range(len(drawn)) if j not in failing)]:
            agree.append(_does(question, candidate, i, drawn[i], outcomes[i]))
            if not agree[-1]:
                break
        if all(agree):
            return candidate
        if len(agree) > len(failing) and partial is None:
            partial = candidate
    return partial


def _does(question: Question, mistake: Mistake, i: int, inputs: tuple, outcome: Outcome) -> bool:
    probe = question.probes[i]
    other = guard.run(mistake.run, probe.observe, inputs, question.seconds)
    if outcome.error is not None or other.error is not None:
        return repr(outcome.error) == repr(other.error)
    tol = probe.tolerance or tolerance(inputs)
    return outcome.changed == other.changed and same(outcome.value, other.value, tol)


def _comparable(got: object, want: object) -> bool:
    """Same form, so that a probe's own words may compare the numbers."""
    shapes = [getattr(value, "shape", None) for value in (got, want)]
    return type(got) is type(want) and shapes[0] == shapes[1]

"""Judge an answer: run every probe, compare with the reference, name the mistake by its output."""

import contextlib
import functools
import inspect
from collections.abc import Callable

from course_lib.checks import guard
from course_lib.checks.compare import (
    difference,
    different_shapes,
    misfit,
    same,
    surely_differ,
    tolerance,
)
from course_lib.checks.guard import Outcome
from course_lib.checks.question import Mistake, Probe, Question, widened
from course_lib.checks.verdict import OVERWRITES, UNCALLABLE, UNWRITTEN, Line, Verdict

STOPPED_AT_MOST = 2  # then the rest is skipped: a learner waits seconds, not minutes
SKIPPED = "not run, after two that were stopped"


def judge(question: Question, fn: Callable, seed: int = 0) -> Verdict:
    """Hold a function to a question's probes; reports whatever the function does, never raises."""
    return Bench(question, seed).judge(fn)


class Bench:
    """One draw of a question's inputs, with what is right on them and what each mistake gives.

    Computed once and only where needed, so a thousand answers can be judged on one bench.
    """

    def __init__(self, question: Question, seed: int = 0):
        self.question = question
        self.inputs = question.draw(seed)
        self._names = question.names
        drawn = zip(question.probes, self.inputs, strict=True)
        self._tolerances = [probe.tolerance or tolerance(inputs) for probe, inputs in drawn]
        self._by_mistake = functools.cache(self._run_mistake)

    @functools.cached_property
    def wanted(self) -> list[Outcome]:
        """What the reference gives on every probe, in float64 where the probe widens."""
        return [
            self._run(self.question.reference, probe, widened(i) if probe.widen else i)
            for probe, i in zip(self.question.probes, self.inputs, strict=True)
        ]

    def judge(self, fn: Callable) -> Verdict:
        """The verdict on one answer."""
        if not self._takes_the_inputs(fn):
            return Verdict.without_lines(self.question, UNCALLABLE.format(self.question.signature))
        return self._verdict(self.outcomes(fn))

    def judge_mistake(self, mistake: Mistake) -> Verdict:
        """The verdict on a mistake of the bank, from what it gave when others were compared."""
        probes = range(len(self.question.probes))
        return self._verdict([self._by_mistake(mistake, i) for i in probes])

    def _verdict(self, outcomes: list[Outcome]) -> Verdict:
        probes = self.question.probes
        if all(outcome.unwritten for outcome in outcomes):
            return Verdict.without_lines(self.question, UNWRITTEN)
        facts = [self._fact(i, outcome) for i, outcome in enumerate(outcomes)]
        facts = _told_once(facts, probes)
        lines = [
            Line(fact is None, probe.holds, probe.points, fact or "")
            for probe, fact in zip(probes, facts, strict=True)
        ]
        failing = [i for i, fact in enumerate(facts) if fact is not None]
        named, explains = self._diagnose(outcomes, failing)
        where = next((o.where for o in outcomes if o.where), "")
        printed = next((o.printed for o in outcomes if o.printed), "")
        return Verdict(self.question, tuple(lines), named, explains, where, printed)

    def _takes_the_inputs(self, fn: Callable) -> bool:
        try:
            inspect.signature(fn).bind(*self.inputs[0])
        except TypeError:
            return False
        except ValueError:  # a builtin that doesn't tell: the call will
            return True
        return True

    def outcomes(self, fn: Callable) -> list[Outcome]:
        """What a function gives on every probe; after two that were stopped, no more are run."""
        outcomes: list[Outcome] = []
        for probe, inputs in zip(self.question.probes, self.inputs, strict=True):
            if sum(outcome.timed_out for outcome in outcomes) >= STOPPED_AT_MOST:
                outcomes.append(Outcome(error=guard.TimeLimit(SKIPPED)))
            else:
                outcomes.append(self._run(fn, probe, inputs))
        return outcomes

    def _fact(self, i: int, outcome: Outcome) -> str | None:
        """What is wrong with one outcome, in words, or None where the property holds."""
        probe, inputs, want = self.question.probes[i], self.inputs[i], self.wanted[i]
        tol = self._tolerances[i]
        if outcome.timed_out:
            return str(outcome.error) or f"no answer in {self.question.seconds:g} seconds"
        if found := self._wrong_form(outcome, want, tol):
            return found
        if outcome.error is not None:
            text = " ".join(str(outcome.error).split())
            text = text if len(text) <= 160 else text[:157] + "..."
            return f"{type(outcome.error).__name__}: {text}".rstrip(": ")
        found = difference(outcome.value, want.value, tol)
        if found is None and outcome.changed:
            return f"{OVERWRITES} {self.question.names[outcome.changed[0]]} in place"
        if found and (shapes := different_shapes(outcome.returned, want.returned)):
            return shapes
        if found and probe.fails is not None and _comparable(outcome.value, want.value):
            with contextlib.suppress(Exception):  # its words may not fit what was returned
                return probe.fails(outcome.value, want.value, *inputs)
        return found

    def _wrong_form(self, outcome: Outcome, want: Outcome, tol: float) -> str | None:
        """What is wrong with the kind of thing that came back, before a property is looked at."""
        none_is_an_answer = any(w.error is None and w.returned is None for w in self.wanted)
        if outcome.returned is None and none_is_an_answer:
            return None
        if outcome.error is None:
            return misfit(outcome.returned, want.returned)
        if outcome.stumbled:
            return misfit(outcome.returned, want.returned) or difference(
                outcome.returned, want.returned, tol
            )
        return None

    def _diagnose(self, outcomes: list[Outcome], failing: list[int]) -> tuple[Mistake | None, int]:
        """The mistake that does what this answer does, and how many failing lines it explains.

        One that agrees on every probe comes first, then the one that explains most. More than
        half of the failing lines is the least, and one line alone may agree by chance. Two that
        raise the same error may have different causes: a part is made of values alone.
        """
        best, explains = None, len(failing) // 2
        passing = [i for i in range(len(outcomes)) if i not in failing]
        valued = [i for i in failing if outcomes[i].error is None]
        for mistake in self.question.mistakes if failing else ():
            if all(self._does(mistake, i, outcomes[i]) for i in failing + passing):
                return mistake, len(failing)
            explained = self._at_least(mistake, valued, outcomes, explains + 1)
            if explained == 1 and not any(self._does(mistake, i, outcomes[i]) for i in passing):
                continue
            if explained > explains:
                best, explains = mistake, explained
        return best, explains

    def _at_least(
        self, mistake: Mistake, lines: list[int], outcomes: list[Outcome], needed: int
    ) -> int:
        """On how many of the lines a mistake agrees, or 0 as soon as it can't be `needed`."""
        spare = len(lines) - needed
        for i in lines:
            spare -= not self._does(mistake, i, outcomes[i])
            if spare < 0:
                return 0
        return needed + spare

    def _does(self, mistake: Mistake, i: int, outcome: Outcome) -> bool:
        """Whether a mistake has the same outcome on one probe."""
        other = self._by_mistake(mistake, i)
        if outcome.error is not None or other.error is not None:
            return repr(outcome.error) == repr(other.error)
        if outcome.changed != other.changed:
            return False
        tol = self._tolerances[i]
        if surely_differ(outcome.gists, other.gists, tol):
            return False
        return same(outcome.value, other.value, tol)

    def _run_mistake(self, mistake: Mistake, i: int) -> Outcome:
        return self._run(mistake.run, self.question.probes[i], self.inputs[i])

    def _run(self, fn: Callable, probe: Probe, inputs: tuple) -> Outcome:
        return guard.run(fn, probe.observe, inputs, self.question.seconds, self._names)


def _told_once(facts: list[str | None], probes: tuple[Probe, ...]) -> list[str | None]:
    """The same, but right values written into an argument cost one line, the lightest of them."""
    overwrites = [i for i, fact in enumerate(facts) if fact and fact.startswith(OVERWRITES)]
    told = min(overwrites, key=lambda i: probes[i].points, default=None)
    return [None if i in overwrites and i != told else fact for i, fact in enumerate(facts)]


def _comparable(got: object, want: object) -> bool:
    """Same form, so that a probe's own words may compare the numbers."""
    shapes = [getattr(value, "shape", None) for value in (got, want)]
    return type(got) is type(want) and shapes[0] == shapes[1]

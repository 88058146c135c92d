"""Prove a question: what is right passes, what is wrong is refused, and refused by its name."""

from collections.abc import Callable
from dataclasses import dataclass

from course_lib.checks.judge import Bench, judge
from course_lib.checks.question import Question


@dataclass(frozen=True)
class Proof:
    """What held over all seeds; `holds` only if nothing went wrong anywhere."""

    question: Question
    seeds: int
    solution: bool
    stub: bool
    refused: tuple[str, ...]  # right alternatives that lost a point
    accepted: tuple[str, ...]  # mistakes that lost none
    misnamed: tuple[str, ...]  # mistakes that went by another name, or none, in some seed

    @property
    def holds(self) -> bool:
        """Everything a question promises."""
        return self.solution and self.stub and not (self.refused + self.accepted + self.misnamed)


def prove(question: Question, seeds: int = 1) -> Proof:
    """Judge the solution, the stub, every alternative and every mistake of a question.

    Each of them on `seeds` different draws of the inputs.
    """
    benches = [Bench(question, seed) for seed in range(seeds)]
    full = question.points

    def points(fn: Callable) -> int:
        return min(bench.judge(fn).points for bench in benches)

    wrong = {m: [bench.judge(m.run) for bench in benches] for m in question.mistakes}
    return Proof(
        question,
        seeds,
        solution=points(question.reference) == full,
        stub=_is_silent(question),
        refused=tuple(fn.__name__ for fn in question.alternatives if points(fn) < full),
        accepted=tuple(m.name for m, found in wrong.items() if any(v.passed for v in found)),
        misnamed=tuple(
            m.name for m, found in wrong.items() if any(v.mistake is not m for v in found)
        ),
    )


def _is_silent(question: Question) -> bool:
    """A stub earns nothing and gets one message."""
    verdict = judge(question, _stub)
    return verdict.points == 0 and bool(verdict.note) and verdict.mistake is None


def _stub(*inputs: object) -> Callable:
    raise NotImplementedError


def overview(questions: tuple[Question, ...], seeds: int = 1) -> tuple[str, bool]:
    """The instructor's table: every question, what it's worth and its proof; and if all hold."""
    head = f"{'id':<6}{'answered by':<24}{'points':>7}{'min':>5}{'stars':>7}{'probes':>8}"
    lines = [f"{head}{'mistakes':>10}{'right ways':>12}  proof"]
    proofs = [prove(question, seeds) for question in questions]
    for proof in proofs:
        question = proof.question
        lines.append(
            f"{question.id:<6}{question.name:<24}{question.points:>7}{question.minutes:>5}"
            f"{'*' * question.stars:>7}{len(question.probes):>8}{len(question.mistakes):>10}"
            f"{len(question.alternatives):>12}  {describe(proof)}"
        )
    return "\n".join(lines), all(proof.holds for proof in proofs)


def describe(proof: Proof) -> str:
    """A proof in one line."""
    if proof.holds:
        return "solution full, stub zero, right ways accepted, mistakes refused and named"
    found = {
        "the solution loses points": not proof.solution,
        "the stub isn't zero": not proof.stub,
        f"refused though right: {', '.join(proof.refused)}": proof.refused,
        f"accepted though wrong: {', '.join(proof.accepted)}": proof.accepted,
        f"not named: {', '.join(proof.misnamed)}": proof.misnamed,
    }
    return "; ".join(text for text, wrong in found.items() if wrong)

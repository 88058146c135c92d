"""Prove a question: what is right passes, what is wrong is refused, and refused by its name."""

from collections.abc import Callable, Iterator, Sequence
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

    wrong = {m: [bench.judge_mistake(m) for bench in benches] for m in question.mistakes}
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


HEAD = (
    f"{'id':<6}{'answered by':<18}{'points':>7}{'min':>5}{'stars':>7}{'probes':>8}"
    f"{'mistakes':>10}{'right ways':>12}  proof"
)


def overview(questions: Sequence[Question], seeds: int = 1) -> Iterator[tuple[str, bool]]:
    """The instructor's table, line by line as it is proven, each with whether its proof holds."""
    yield HEAD, True
    proofs = []
    for question in questions:
        proof = prove(question, seeds)
        proofs.append(proof)
        yield (
            f"{question.id:<6}{question.name:<18}{question.points:>7}{question.minutes:>5}"
            f"{'*' * question.stars:>7}{len(question.probes):>8}{len(question.mistakes):>10}"
            f"{len(question.alternatives):>12}  {describe(proof)}",
            proof.holds,
        )
    wrong = sum(len(p.question.mistakes) for p in proofs)
    accepted = sum(len(p.accepted) for p in proofs)
    named = wrong - sum(len(p.misnamed) for p in proofs)
    right = sum(len(p.question.alternatives) for p in proofs)
    refused = sum(len(p.refused) for p in proofs)
    yield (
        f"{len(proofs)} questions on {seeds} draw{'s' * (seeds > 1)} each: {wrong - accepted} of "
        f"{wrong} mistakes refused, {named} named rightly; {refused} of {right} right ways refused",
        True,
    )


def anatomy(question: Question) -> str:
    """One question in full: what it probes, and what it says to each mistake."""
    lines = [f"{question.id} {question.title}: {question.signature}, {question.points} points", ""]
    lines += [f"  {probe.points}  {probe.holds}" for probe in question.probes]
    for mistake in question.mistakes:
        lines += ["", f"  {mistake.name}", f"    {mistake.says} {mistake.asks}"]
        lines += [f"    Reread: {mistake.reread}."]
    return "\n".join(lines)


def describe(proof: Proof) -> str:
    """A proof in one line."""
    if proof.holds:
        return "holds: solution full, stub zero, right ways pass, mistakes refused and named"
    found = {
        "the solution loses points": not proof.solution,
        "the stub isn't zero": not proof.stub,
        f"refused though right: {', '.join(proof.refused)}": proof.refused,
        f"accepted though wrong: {', '.join(proof.accepted)}": proof.accepted,
        f"not named: {', '.join(proof.misnamed)}": proof.misnamed,
    }
    return "; ".join(text for text, wrong in found.items() if wrong)

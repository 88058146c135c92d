"""One submission's rows: draw inputs, run each answer behind the walls, compare, and say.

Inputs come from a key that the class doesn't have, so they are new to every answer and the same
when it is graded again.
"""

import dataclasses
import functools
import hashlib
import hmac
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from course_lib import checks
from course_lib.checks.guard import Outcome
from course_lib.checks.judge import Bench
from course_lib.checks.question import Question
from course_lib.checks.verdict import UNWRITTEN, Verdict
from course_lib.grading.confined.confine import FULL, WALLS
from course_lib.grading.confined.process import WALL, GraderFault, starter
from course_lib.grading.confined.session import Answer
from course_lib.grading.handed_in.answers import code_for
from course_lib.grading.handed_in.cells import Unreadable, cells
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.handed_in.watched import reaches_out

FORMS = 4  # draws a question: what is right, and what each mistake gives, is computed once for each
CPU_SECONDS = 1.0  # of one call: an answer takes milliseconds, so this means "forever"
FACT_AT_MOST = 2_000
STUB_STANDS = "Nothing is written here yet."
NOT_THERE = "No cell defines {}."


@functools.cache
def version() -> str:
    """Changes with whatever decides a grade: the engine and the questions."""
    files = sorted(Path(checks.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]


def seed(key: bytes, question: Question, form: str) -> int:
    """Where a draw of a question begins: known to who has the key."""
    said = f"{question.id} {version()} {form}".encode()
    return int.from_bytes(hmac.digest(key, said, "sha256")[:6])


def fingerprint(key: bytes) -> str:
    """A name for the key that doesn't tell it."""
    return hashlib.sha256(b"fingerprint" + key).hexdigest()[:12]


def form_of(key: bytes, student: str) -> str:
    """Which of the draws a student gets."""
    return str(hmac.digest(key, student.encode(), "sha256")[0] % FORMS)


class Grader:
    """One core's: a warm process, and what is right on the draws so far."""

    def __init__(self, key: bytes, slot: int = 0, walls: tuple[str, ...] = WALLS):
        self.key, self.slot, self.walls = key, slot, walls
        self.starter = starter(slot, walls)
        self._bench = functools.lru_cache(maxsize=256)(self._drawn)

    def rows(self, submission: Submission, questions: Iterable[Question]) -> Iterator[dict]:
        """A row for each question; whatever happens, none is left out."""
        try:
            written = [] if submission.problem else cells(submission.data, submission.path)
            problem = submission.problem
        except Unreadable as error:
            written, problem = [], str(error)
        for question in questions:
            start = time.process_time()
            row = blank(submission, question, self.key)
            if problem:
                yield row | {"status": "unreadable", "points": None, "note": problem}
                continue
            try:
                row |= self._graded(written, question, submission.student)
            except Exception as error:
                note = f"The grader failed: {type(error).__name__}: {error}"
                row |= {"status": "not graded", "points": None, "note": note[:500]}
            used = 1e3 * (time.process_time() - start)
            yield row | {"cpu_ms": round(row["cpu_ms"] + used, 1)}

    def close(self) -> None:
        """End the warm process."""
        self.starter.close()

    def _graded(self, written: list, question: Question, student: str) -> dict:
        code = code_for(written, question.name)
        if code is None:
            return {"status": "missing", "points": 0, "note": NOT_THERE.format(question.name)}
        if not code.pieces:
            if code.problem == UNWRITTEN:
                return {"status": "missing", "points": 0, "note": STUB_STANDS}
            return {"points": 0, "note": code.problem}
        for attempt in (1, 2):
            strict = dataclasses.replace(question, seconds=min(question.seconds, CPU_SECONDS))
            answer = Answer(self.starter, strict, code.pieces)
            try:
                row = self._judged(answer, question, student)
                return row | {"note": " ".join(filter(None, [code.problem, row["note"]]))}
            except GraderFault:
                if attempt == 2:
                    raise
                self.starter.close()
                self.starter = starter(self.slot, self.walls)
            finally:
                if answer.fault is None:
                    answer.close()

    def _judged(self, answer: Answer, question: Question, student: str) -> dict:
        if not answer.found:
            self._no_fault(answer)
            return told(answer) | {"points": 0}
        verdict = self._bench(question, form_of(self.key, student)).judge(answer)
        group = ""
        if not (verdict.passed or verdict.mistake or verdict.note or answer.lost):
            group = alike(self._bench(question, "class").outcomes(answer))
        self._no_fault(answer)
        answer.close()
        said, (verdict, doubt) = told(answer), believed(verdict, answer.pieces)
        row = said | of_verdict(verdict) | {"group": group}
        notes = [said["note"], row["note"], doubt]
        return row | {"note": " ".join(dict.fromkeys(filter(None, notes)))}

    def _no_fault(self, answer: Answer) -> None:
        if answer.fault is not None:
            raise answer.fault

    def _drawn(self, question: Question, form: str) -> Bench:
        patient = dataclasses.replace(question, seconds=WALL * question.seconds)  # CPU is watched
        return Bench(patient, seed(self.key, question, form))


def blank(submission: Submission, question: Question, key: bytes) -> dict:
    """A row that says nothing yet."""
    return {
        "student": submission.student,
        "question": question.id,
        "status": "graded",
        "points": 0,
        "of": question.points,
        "lines": [],
        "mistake": None,
        "explains": 0,
        "says": "",
        "asks": "",
        "reread": "",
        "note": "",
        "printed": "",
        "group": "",
        "path": submission.path,
        "submission": submission.digest,
        "version": version(),
        "key": fingerprint(key),
        "isolation": "",
        "cpu_ms": 0.0,
    }


def absent(student: str, question: Question, key: bytes) -> dict:
    """The row of a student who handed in nothing for a chapter that others did."""
    empty = Submission(student, question.chapter, "", b"")
    return blank(empty, question, key) | {"status": "missing", "note": "Nothing was handed in."}


def told(answer: Answer) -> dict:
    """What the process of an answer says of itself."""
    walls = answer.walls or []
    level = "full" if set(FULL) <= set(walls) else ", ".join(walls) or "none"
    return {
        "note": " ".join(answer.notes)[:2000],
        "isolation": level,
        "cpu_ms": 1e3 * answer.seconds,
    }


def of_verdict(verdict: Verdict) -> dict:
    """What a verdict says, as a part of a row."""
    if verdict.note == UNWRITTEN:
        return {"status": "missing", "points": 0, "note": STUB_STANDS}
    said = {
        "points": verdict.points,
        "lines": [
            {"holds": x.ok, "property": x.holds, "points": x.points, "fact": x.fact[:FACT_AT_MOST]}
            for x in verdict.lines
        ],
        "printed": verdict.printed,
    }
    if verdict.mistake is not None:
        mistake = verdict.mistake
        said |= {"mistake": mistake.name, "explains": verdict.explains, "says": mistake.says}
        said |= {"asks": mistake.asks, "reread": mistake.reread}
    notes = [verdict.note, f"The error arose at {verdict.where}." if verdict.where else ""]
    if any(notes):
        said["note"] = " ".join(note for note in notes if note)
    return said


def believed(verdict: Verdict, pieces: tuple[tuple[str, str], ...]) -> tuple[Verdict, str]:
    """The verdict, but for what only the answer's own process tells and its code could change.

    With a note for a person, who has to look at what no machine can tell. What a process tells
    against its answer is believed.
    """
    question = verdict.question
    pairs = list(zip(question.probes, verdict.lines, strict=True))
    doubtful = [line for probe, line in pairs if probe.told and line.ok]
    why = reaches_out(pieces, question.is_kernel) if doubtful else ""
    if not why:
        return verdict, ""
    fact = f"{why}: a person has to look"
    lines = [
        dataclasses.replace(line, ok=False, fact=fact) if line in doubtful else line
        for line in verdict.lines
    ]
    holds = "; ".join(line.holds for line in doubtful)
    note = f"No machine can tell whether this holds, so a person has to look: {holds}."
    return dataclasses.replace(verdict, lines=tuple(lines)), note


def alike(outcomes: list[Outcome]) -> str:
    """The same for wrong answers that give the same, up to three digits."""
    said = []
    for outcome in outcomes:
        if outcome.error is not None:
            said.append(type(outcome.error).__name__)
        elif outcome.gists:
            said.append(
                [(g.place, g.shape, f"{g.mean:.2e}", f"{g.largest:.2e}") for g in outcome.gists]
            )
        else:
            said.append(repr(outcome.value)[:500])
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]

"""The row of one answer: what was handed in, what its process did, and what the verdict says."""

import dataclasses
import functools
import hashlib
import importlib.util
import re
import reprlib
from pathlib import Path

from course_lib import checks
from course_lib.checks.guard import Outcome
from course_lib.checks.question import Question
from course_lib.checks.verdict import UNWRITTEN, Verdict
from course_lib.grading.confined.confine import FULL
from course_lib.grading.confined.session import Answer
from course_lib.grading.handed_in.answers import Code
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.handed_in.renamed import below_the_stub, renamed
from course_lib.grading.handed_in.watched import reaches_out
from course_lib.grading.reports.output import line
from course_lib.grading.reports.rows import (
    LACKS,
    LOOK,
    MISSING,
    NOT_GRADED,
    UNCLEAR,
    UNREADABLE,
    UNRUN,
)

FACT_AT_MOST = 2_000
NAME_AT_MOST = 200
WHY_AT_MOST = 300
STUB_STANDS = "Nothing is written here yet."
STUB_ABOVE = "The line that raises NotImplementedError stands above what {} answers."
NOT_THERE = "No cell defines {}."
SHOWN = 3
NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '([\w.]{1,100})'")


@functools.cache
def version() -> str:
    """Changes with whatever decides a grade."""
    sources = [path.read_bytes() for path in deciding()]
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:12]


def deciding() -> list[Path]:
    """The files on which a verdict hangs: the questions, what they compute with, the grader."""
    own = Path(checks.__file__).parent
    grader = [path for path in Path(__file__).parent.rglob("*.py") if path.parent.name != "reports"]
    return sorted([*own.rglob("*.py"), *own.parent.glob("[!_]*.py"), *grader])


def fingerprint(key: bytes) -> str:
    """A name for the key that doesn't tell it."""
    return hashlib.sha256(b"fingerprint" + key).hexdigest()[:12]


def blank(submission: Submission, question: Question, key: bytes) -> dict:
    """A row that says nothing yet."""
    return {
        "student": named(submission.student),
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
        "number": submission.number,
        "submission": submission.digest,
        "version": version(),
        "key": fingerprint(key),
        "isolation": "",
        "cpu_ms": 0.0,
    }


def named(student: str) -> str:
    """A student's name as rows have it: a very long one ends in a hash of itself."""
    if len(student) <= NAME_AT_MOST:
        return student
    whole = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{student[: NAME_AT_MOST - 20]} {whole[:12]}"


def absent(student: str, question: Question, key: bytes) -> dict:
    """The row of a student who handed in nothing for a chapter that others did."""
    empty = Submission(student, question.chapter, "", b"")
    return blank(empty, question, key) | {"status": MISSING, "note": "Nothing was handed in."}


def held_up(submission: Submission) -> dict:
    """Why a file waits for a person, as a part of a row."""
    status = UNCLEAR if submission.unclear else UNREADABLE
    return {"status": status, "points": None, "note": submission.problem}


def not_run(written: list, question: Question, problem: str) -> dict:
    """A part of a row for an answer that isn't there, or whose cell isn't Python.

    A function of another name may be it, so a person looks: zero would be said of a right answer.
    """
    stub = problem == UNWRITTEN
    if problem and not stub:
        return {"points": 0, "note": problem}
    if stub and (cell := below_the_stub(written, question)):
        return {"status": UNCLEAR, "points": None, "note": STUB_ABOVE.format(cell)}
    note = STUB_STANDS if stub else NOT_THERE.format(question.name)
    if other := renamed(written, question, stub):
        note = f"{note[:-1]}; {other}."
        return {"status": UNCLEAR, "points": None, "note": note}
    return {"status": MISSING, "points": 0, "note": note}


def lacking(row: dict, question: Question) -> dict | None:
    """A part of a row for an answer that fails where this machine lacks a package it imports."""
    said = [row["note"], *(found["fact"] for found in row.get("lines", ()))]
    found = NO_PACKAGE.search(" ".join(said))
    if row["points"] == question.points or not found or is_here(found[1]):
        return None
    kept = {"isolation": row["isolation"], "cpu_ms": row["cpu_ms"]}
    return kept | {"status": NOT_GRADED, "points": None, "note": LACKS.format(found[1])}


def unsure(row: dict, code: Code, why: str) -> dict:
    """A part of a row for a wrong answer that may hang on what couldn't be run here."""
    first = {where: source.partition("\n")[0] for where, source in code.whole}
    places = [f"{where}, `{line(first[where], 60)}`" for where in code.left_out[:SHOWN]]
    more = ", ..." if code.left_out[SHOWN:] else ""
    note = UNRUN.format("; ".join(places) + more, why[:WHY_AT_MOST])
    kept = {"isolation": row["isolation"], "cpu_ms": row["cpu_ms"]}
    return kept | {"status": UNCLEAR, "points": None, "note": note}


def is_here(module: str) -> bool:
    """Whether its package is installed, so that a part which isn't there is the answer's slip."""
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except ValueError:  # what it is can't be told
        return True


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
        return {"status": MISSING, "points": 0, "note": STUB_STANDS}
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
    fact = f"{why[:WHY_AT_MOST]}: {LOOK}"
    lines = [
        dataclasses.replace(line, ok=False, fact=fact) if line in doubtful else line
        for line in verdict.lines
    ]
    holds = "; ".join(line.holds for line in doubtful)
    note = f"No machine can tell whether this holds, so {LOOK}: {holds}."
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
            said.append(reprlib.repr(outcome.value)[:500])
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]

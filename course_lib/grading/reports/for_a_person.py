"""What class.html lists for a person: what waits and for what, and what never ran."""

from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.checks.question import Question
from course_lib.grading.reports.gradebook import Standing, chapters
from course_lib.grading.reports.rows import GRADED, WITHOUT_POINTS, doubts, package


@dataclass(frozen=True)
class Waiting:
    """A file that a person must look at, with a row for each reason and the questions it is of."""

    student: str
    path: str
    reasons: tuple[tuple[str, dict], ...]


@dataclass(frozen=True)
class Package:
    """What answers import and this machine doesn't have, and whose answers wait for it."""

    name: str
    answers: int
    students: tuple[str, ...]


@dataclass(frozen=True)
class NotRun:
    """Answers that didn't run for one reason, and what they were to answer."""

    note: str
    questions: str
    answers: int
    students: tuple[str, ...]


@dataclass(frozen=True)
class Student:
    """A line of the list of students: points by chapter, their total, what waits or lacks."""

    name: str
    points: tuple[int | None, ...]  # the total comes last
    waits: str
    lacks: str


def waiting(rows: Iterable[dict], columns: list[Question]) -> list[Waiting]:
    """What a person must look at, a file at a time; what only lacks a package isn't here."""
    files: dict[tuple[str, str], dict[tuple[str, str], list[dict]]] = {}
    for row in rows:
        if row["status"] in WITHOUT_POINTS and not package(row):
            reasons = files.setdefault((row["student"], row["path"]), {})
            reasons.setdefault((row["status"], row["note"]), []).append(row)
    return [
        Waiting(student, path, tuple((_of(own, columns), own[0]) for own in reasons.values()))
        for (student, path), reasons in sorted(files.items())
    ]


def _of(rows: Iterable[dict], columns: list[Question]) -> str:
    return in_short([row["question"] for row in rows], columns)


def in_short(ids: Iterable[str], columns: list[Question]) -> str:
    """Some questions in few words, a whole chapter by its number."""
    ids = set(ids)
    words = []
    for chapter, part in chapters(columns).items():
        found = [question.id for question in part if question.id in ids]
        words += [f"chapter {chapter}"] if len(found) == len(part) > 1 else found
    return ", ".join(words)


def packages(rows: Iterable[dict]) -> list[Package]:
    """The packages that this machine lacks; those that most answers wait for come first."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if name := package(row):
            found.setdefault(name, []).append(row["student"])
    made = [Package(name, len(who), tuple(sorted(set(who)))) for name, who in found.items()]
    return sorted(made, key=lambda one: (-one.answers, one.name))


def not_run(rows: Iterable[dict], columns: list[Question]) -> list[NotRun]:
    """Answers whose code gave nothing to judge, such as a cell that isn't Python; most first."""
    found: dict[str, list[dict]] = {}
    for row in rows:
        if row["status"] == GRADED and not row["lines"] and row["note"]:
            found.setdefault(row["note"], []).append(row)
    made = [
        NotRun(note, _of(own, columns), len(own), tuple(sorted({row["student"] for row in own})))
        for note, own in found.items()
    ]
    return sorted(made, key=lambda one: (-one.answers, one.questions, one.note))


def list_of_students(
    rows: Iterable[dict], standing: Iterable[Standing], columns: list[Question]
) -> list[Student]:
    """Every student by name."""
    doubted: dict[str, list[str]] = {}
    for row in rows:
        if doubts(row):
            doubted.setdefault(row["student"], []).append(row["question"])
    parts = [*chapters(columns).values(), columns]
    return [
        Student(
            one.student,
            tuple(one.sum(part) for part in parts),
            in_short([*one.open, *doubted.get(one.student, [])], columns),
            ", ".join(one.lacking(columns)),
        )
        for one in standing
    ]

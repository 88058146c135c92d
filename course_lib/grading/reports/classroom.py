"""class.html: how a class did, which mistakes it makes, and what waits for a person."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from course_lib.checks.question import Question
from course_lib.grading.reports.for_a_person import (
    list_of_students,
    not_run,
    packages,
    waiting,
)
from course_lib.grading.reports.gradebook import Standing, chapters, standings
from course_lib.grading.reports.output import file_names, line, write
from course_lib.grading.reports.pages import render
from course_lib.grading.reports.rows import (
    GRADED,
    MISSING,
    asked,
    by_student,
    doubts,
)

LINK = "feedback/{}.html"
LISTED_AT_MOST = 40  # students, before their list is folded away
BINS = 11  # tenths of the points, and all of them


@dataclass(frozen=True)
class Bin:
    """A bar of the histogram: a range of shares of the points, and how many totals lie in it."""

    label: str
    count: int


@dataclass(frozen=True)
class Difficulty:
    """How the class did on one question; shares are of those whose answer has points."""

    question: Question
    points: int
    counted: int
    full: int
    untouched: int
    open: int

    @property
    def mean(self) -> float:
        """The mean share of the points, in percent."""
        most = self.question.points * self.counted
        return 100 * self.points / most if most else 0.0


@dataclass(frozen=True)
class Shared:
    """Students with one thing in common: a mistake, or a wrong answer that has no name."""

    question: Question
    students: tuple[str, ...]
    row: dict
    failing: tuple[dict, ...]


def class_page(rows: Iterable[dict], questions: Iterable[Question]) -> str:
    """The page about a class."""
    rows = sorted(rows, key=lambda row: (row["student"], row["question"]))
    columns, students = asked(rows, questions), by_student(rows)
    standing = standings(rows, columns)
    unknown, named = unmatched(rows, columns), misconceptions(rows, columns)
    pages = {name: quote(LINK.format(stem)) for name, stem in file_names(students).items()}
    return render(
        "class.html",
        students=students,
        pages=pages,
        questions=columns,
        chapters=list(chapters(columns)),
        listed=list_of_students(rows, standing, columns),
        listed_at_most=LISTED_AT_MOST,
        bins=histogram(standing, columns),
        without_total=[one.student for one in standing if one.open],
        totals=sorted(_totals(standing, columns)),
        of=sum(question.points for question in columns),
        difficulties=[difficulty(rows, question, len(students)) for question in columns],
        mistakes=[one for one in named if len(one.students) > 1],
        single_mistakes=[one for one in named if len(one.students) == 1],
        unmatched=[one for one in unknown if len(one.students) > 1],
        single=[one for one in unknown if len(one.students) == 1],
        waiting=waiting(rows, columns),
        packages=packages(rows),
        not_run=not_run(rows, columns),
        doubted=[(row, doubts(row)) for row in rows if doubts(row)],
        isolation=sorted(Counter(row["isolation"] for row in rows if row["isolation"]).items()),
    )


def _totals(standing: Iterable[Standing], columns: list[Question]) -> list[int]:
    return [total for one in standing if (total := one.sum(columns)) is not None]


def histogram(standing: Iterable[Standing], columns: list[Question]) -> list[Bin]:
    """How many students have which share of all points, in tenths; who has no total isn't here."""
    of = sum(question.points for question in columns)
    tenths = Counter(10 * total // of for total in _totals(standing, columns)) if of else Counter()
    labels = [f"{10 * i} to {10 * i + 9} %" for i in range(BINS - 1)] + ["100 %"]
    return [Bin(label, tenths[i]) for i, label in enumerate(labels)]


def difficulty(rows: Iterable[dict], question: Question, students: int) -> Difficulty:
    """What became of one question in a class of so many students."""
    mine = [row for row in rows if row["question"] == question.id]
    counted = [row for row in mine if row["points"] is not None]
    return Difficulty(
        question,
        points=sum(row["points"] for row in counted),
        counted=len(counted),
        full=sum(row["points"] == question.points for row in counted),
        untouched=sum(row["status"] == MISSING for row in mine),
        open=students - len(counted),
    )


def misconceptions(rows: Iterable[dict], questions: list[Question]) -> list[Shared]:
    """The named mistakes that the class makes, the most frequent first."""
    made = [row for row in rows if row["mistake"]]
    return _shared(made, questions, lambda row: row["mistake"])


def unmatched(rows: Iterable[dict], questions: list[Question]) -> list[Shared]:
    """Wrong answers that no known mistake explains, with equal outputs together.

    Answers that gave no output to compare, because they raised, belong together where all their
    facts are equal.
    """
    wrong = [
        row
        for row in rows
        if row["status"] == GRADED
        and not row["mistake"]
        and any(not found["holds"] and found not in doubts(row) for found in row["lines"])
    ]
    return _shared(wrong, questions, lambda row: row["group"] or _facts(row))


def _facts(row: dict) -> str:
    facts = [found["fact"] for found in row["lines"]] + [row["note"]]
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()


def _shared(rows: list[dict], questions: list[Question], what) -> list[Shared]:
    """The rows that have the question and `what` in common; the largest groups first."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        groups.setdefault((row["question"], what(row)), []).append(row)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    by_id = {question.id: question for question in questions}
    return [
        Shared(by_id[id], tuple(row["student"] for row in mine), mine[0], _failing(mine[0]))
        for (id, _), mine in ordered
    ]


def _failing(row: dict) -> tuple[dict, ...]:
    """The lines that don't hold; one that says the same of all of them where that is so."""
    lines = [found | {"fact": line(found["fact"])} for found in row["lines"]]
    failing = tuple(found for found in lines if not found["holds"])
    if len(failing) > 1 and len({found["fact"] for found in failing}) == 1:
        return (failing[0] | {"property": f"{len(failing)} properties of {len(lines)}"},)
    return failing


def write_class(rows: Iterable[dict], questions: Iterable[Question], path: Path) -> None:
    """Write class.html, whole or not at all; it links to the pages in feedback/ beside it."""
    write(path, class_page(rows, questions))

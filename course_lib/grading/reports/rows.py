"""A row of results: what a grader may say about one student's answer to one question.

Rows are read back from files that crash, get edited and get merged, so each is checked whole.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from course_lib.grading.reports.output import CUT, line, visible

if TYPE_CHECKING:  # it loads torch, and files of results are read without it
    from course_lib.checks.question import Question

GRADED, MISSING = "graded", "missing"
UNCLEAR, UNREADABLE, NOT_GRADED = "unclear", "unreadable", "not graded"
WITHOUT_POINTS = (UNCLEAR, UNREADABLE, NOT_GRADED)  # a person looks; never zero
BY_HAND = "by hand"  # points of a person; never in results.jsonl
LACKS = "{} isn't installed here. If you know it, install it, and grade again with --resume."
LOOK = "a person has to look"
UNRUN = "Wrong without {}, which may change what it reads and can't be run here ({})."
LINES_AT_MOST = 50


class ResultsError(ValueError):
    """A file of results, or a row of one, that can't be used; says which and why."""


class Key(NamedTuple):
    """What decides a row: the same key gives the same row, so it needn't be graded again."""

    submission: str
    student: str
    question: str
    version: str
    key: str
    number: str


def key_of(row: dict) -> Key:
    """The key of a row."""
    return Key(*(row[field] for field in Key._fields))


def _text(at_most: int, at_least: int = 0) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and at_least <= len(value) <= at_most


def _shaped(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= 10_000


LINE: dict[str, Callable[[object], bool]] = {
    "holds": lambda value: type(value) is bool,
    "property": _text(1_000, 1),
    "points": _whole,
    "fact": _text(4_000),
}

FREE = {"note": 4_000, "printed": 4_000, "path": 2_000}
"""Fields that hold what students write or call their files, with the most of each."""

ROW: dict[str, Callable[[object], bool]] = {
    "student": _text(300, 1),
    "question": _shaped(r"\d\d\.\d{1,2}"),
    "status": lambda value: value in (GRADED, MISSING, *WITHOUT_POINTS),
    "points": lambda value: value is None or _whole(value),
    "of": _whole,
    "lines": lambda value: isinstance(value, list) and len(value) <= LINES_AT_MOST,
    "mistake": lambda value: value is None or _text(200, 1)(value),
    "explains": _whole,
    "says": _text(1_000),
    "asks": _text(1_000),
    "reread": _text(300),
    "note": _text(FREE["note"]),
    "printed": _text(FREE["printed"]),
    "group": _shaped(r"([0-9a-f]{12})?"),
    "path": _text(FREE["path"]),
    "number": _shaped(r"((canvas|moodle) [1-9][0-9]{0,18})?"),
    "submission": _shaped(r"([0-9a-f]{64})?"),
    "version": _text(200),
    "key": _text(200),
    "isolation": _text(200),
    "cpu_ms": lambda value: type(value) in (int, float) and math.isfinite(value) and value >= 0,
}
"""The fields of a row, in their order, each with what may stand in it."""

ADDED = {"number": ""}
"""Fields that rows of earlier versions lack, each with what it says then."""


def fitted(row: dict) -> dict:
    """The row with what others wrote into it cut to what a row may hold."""
    long = {field: most for field, most in FREE.items() if len(str(row.get(field))) > most}
    return row | {field: str(row[field])[: most - 1] + CUT for field, most in long.items()}


def checked(row: object) -> dict:
    """The row with its fields in order, or an error that names the first field that is wrong."""
    _fields(row, ROW, "row")
    for i, found in enumerate(row["lines"]):
        _fields(found, LINE, f"lines[{i}]")
    earned = sum(found["points"] for found in row["lines"] if found["holds"])
    match row["status"], row["points"]:
        case status, None if status in WITHOUT_POINTS:
            wrong = ""
        case status, _ if status in WITHOUT_POINTS:
            wrong = f"{status}, so points must be null, for a person to fill in"
        case "missing", points if points != 0:
            wrong = "missing, so points must be 0"
        case "graded", points if points != earned or points > row["of"]:
            wrong = f"the lines that hold are worth {earned} of {row['of']} points, not {points}"
        case _:
            wrong = ""
    if wrong:
        raise ResultsError(f"row of {line(row['student'], 60)}, {row['question']}: {wrong}")
    ordered = {field: row[field] for field in ROW}
    return ordered | {"lines": [{field: found[field] for field in LINE} for found in row["lines"]]}


def _fields(found: object, fields: dict[str, Callable], what: str) -> None:
    if not isinstance(found, dict):
        raise ResultsError(f"{what} must be an object; got {type(found).__name__}")
    if unlike := sorted(found.keys() ^ fields.keys(), key=str):
        word = "lacks" if unlike[0] in fields else "has an unknown field"
        raise ResultsError(f"{what} {word} {line(str(unlike[0]), 60)!r}")
    for field, allows in fields.items():
        if not allows(found[field]):
            got = visible(repr(found[field])[:200], 80)
            raise ResultsError(f"{what}: {field} can't be {got}")


def package(row: dict) -> str:
    """What an answer would import and this machine doesn't have, if that is why it has no grade."""
    found = re.fullmatch(LACKS.format(r"([\w.]+)"), row["note"])
    return found[1] if found and row["status"] == NOT_GRADED else ""


def doubts(row: dict) -> list[dict]:
    """The lines of an answer that no machine can tell: it counts them as not held."""
    return [found for found in row["lines"] if found["fact"].endswith(LOOK)]


def unrun(row: dict) -> bool:
    """Whether a wrong answer waits for a person because of what couldn't be run beside it."""
    return row["status"] == UNCLEAR and row["note"].startswith(UNRUN.partition("{")[0])


def is_absent(row: dict) -> bool:
    """Whether nothing was handed in for the chapter, so that no file is behind the row."""
    return row["status"] == MISSING and not row["path"]


def known(
    rows: Iterable[dict], platform: str, place: Callable[[dict], Hashable]
) -> dict[Hashable, str]:
    """The number that a platform gave for each place, be it a student or a student's chapter.

    None for a place that has two, and none that two places have: a grade would go astray.
    """
    told = {(place(row), *row["number"].split(" ")) for row in rows if row["number"]}
    pairs = [(where, number) for where, by, number in told if by == platform]
    places, numbers = Counter(where for where, _ in pairs), Counter(number for _, number in pairs)
    return {where: n for where, n in pairs if places[where] == numbers[n] == 1}


def by_student(rows: Iterable[dict]) -> dict[str, dict[str, dict]]:
    """The rows of each student by question, both sorted; two for one place are an error."""
    found: dict[str, dict[str, dict]] = {}
    for row in sorted(rows, key=lambda row: (row["student"], row["question"])):
        mine = found.setdefault(row["student"], {})
        if row["question"] in mine:
            name = line(row["student"], 60)
            raise ResultsError(f"rows: two of {name} for {row['question']}; read() gives one")
        mine[row["question"]] = row
    return found


def asked(rows: Iterable[dict], questions: Iterable[Question]) -> list[Question]:
    """The questions that the rows are about, in the order of the course."""
    ids, questions = {row["question"] for row in rows}, list(questions)
    if unknown := sorted(ids - {question.id for question in questions}):
        raise ResultsError(f"rows: no question {unknown[0]} in this version of the course")
    return [question for question in questions if question.id in ids]

"""gradebook.csv: a line a student, safe to open in a spreadsheet, and the forms that others import.

A cell without points is empty, never 0, until a person gives them in by_hand.csv. So is the total
of a student with such a cell, because a sum of what is there would be read as a grade. The note
beside it says what the sum is so far and what is missing. What wasn't handed in is 0 here, with a
note; in the forms that others import it is no grade.
"""

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.grading.reports.output import visible, write
from course_lib.grading.reports.rows import BY_HAND, asked, by_student, is_absent, known

BOM = "\ufeff"  # else Excel reads UTF-8 as the code page of the machine
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # a cell that begins with one is computed, not shown
NEEDS_NO_QUOTES = re.compile(r"[\w .()-]*", re.ASCII)
NO_GRADE = "-"  # Moodle's sign; it would read an empty cell of a new column as a grade

Cell = str | int | None


@dataclass(frozen=True)
class Standing:
    """What one student has: points by question, `None` where a person must look."""

    student: str
    points: dict[str, int | None]
    status: dict[str, str]
    absent: frozenset[str] = frozenset()  # questions of chapters of which nothing was handed in

    def sum(self, questions: Iterable[Question]) -> int | None:
        """The points of these questions together, or `None` while one of them is open."""
        points = [self.points[question.id] for question in questions]
        return None if None in points else sum(points)

    def grade(self, questions: Iterable[Question]) -> int | None:
        """Their sum for another gradebook: none where nothing was handed in, for zero is a grade.

        There a late hand-in, an excuse or a rule of the course decides.
        """
        questions = list(questions)
        return None if self.absent >= {q.id for q in questions} else self.sum(questions)

    def lacking(self, questions: Iterable[Question]) -> list[str]:
        """The chapters among these of which nothing was handed in."""
        parts = chapters(questions).items()
        return [name for name, part in parts if self.absent >= {q.id for q in part}]

    @property
    def open(self) -> list[str]:
        """The questions that wait for a person."""
        return [question for question, points in self.points.items() if points is None]

    @property
    def so_far(self) -> int:
        """The points that are certain."""
        return sum(points or 0 for points in self.points.values())


def standings(rows: Iterable[dict], questions: Iterable[Question]) -> list[Standing]:
    """The standing of every student, by name; a row that isn't there is open, too."""
    rows = list(rows)
    columns = [question.id for question in asked(rows, questions)]
    found = []
    for student, mine in by_student(rows).items():
        points = {id: mine[id]["points"] if id in mine else None for id in columns}
        status = {id: mine[id]["status"] if id in mine else "no result" for id in columns}
        absent = frozenset(id for id in columns if id in mine and is_absent(mine[id]))
        found.append(Standing(student, points, status, absent))
    return found


def chapters(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """The questions of each chapter, in their order."""
    found: dict[str, list[Question]] = {}
    for question in questions:
        found.setdefault(question.chapter, []).append(question)
    return found


def gradebook(rows: Iterable[dict], questions: Iterable[Question]) -> str:
    """The text of gradebook.csv: questions, chapters, total, and how many need a person."""
    rows = list(rows)
    columns = asked(rows, questions)
    parts = chapters(columns)
    of = sum(question.points for question in columns)
    head = ["student"]
    head += [f"{q.id} {q.name} (of {q.points})" for q in columns]
    head += [f"chapter {name} (of {_worth(part)})" for name, part in parts.items()]
    table: list[list[Cell]] = [[*head, f"total (of {of})", "needs a person", "note"]]
    for one in standings(rows, columns):
        sums = [one.sum(part) for part in parts.values()]
        open_ones = [f"{id} {one.status[id]}" for id in one.open]
        notes = [f"{one.so_far} points so far", ", ".join(open_ones)] if open_ones else []
        lacking = one.lacking(columns)
        notes += [f"nothing handed in for {', '.join(lacking)}"] if lacking else []
        judged = [id for id, status in one.status.items() if status == BY_HAND]
        notes += [f"by hand: {', '.join(judged)}"] if judged else []
        points = [*one.points.values(), *sums, one.sum(columns)]
        table.append([one.student, *points, len(open_ones), "; ".join(notes)])
    return BOM + csv_text(table)


def canvas(
    rows: Iterable[dict], questions: Iterable[Question], by: str = "chapter", section: str = ""
) -> str:
    """The gradebook as Canvas imports it: Grades, Import.

    Canvas knows a student by its own number, which stands under ID where the names of files from
    Canvas tell it. Else it looks for the login, so the folder or file of a student should be called
    by that; then for the name. One column a chapter, or with `by="question"` one a question: Canvas
    asks whether a column is a new assignment or which one it is, and shows every change before it
    makes it. An empty cell is no grade, and takes away one that Canvas has: where a person must
    look, and where nothing was handed in.
    """
    rows, questions = list(rows), list(questions)
    columns = _columns(rows, questions, by)
    info = ["Student", "ID", "SIS Login ID", "Section"]
    worth = ["    Points Possible", None, None, None, *map(_worth, columns.values())]
    table: list[list[Cell]] = [[*info, *columns], worth]
    numbers = known(rows, "canvas", operator.itemgetter("student"))
    for one in standings(rows, questions):
        # Canvas takes a line with these words in it for the one above.
        name = re.sub("points possible", "Points-Possible", one.student, flags=re.IGNORECASE)
        points = [one.grade(part) for part in columns.values()]
        table.append([name, numbers.get(one.student), name, section, *points])
    return csv_text(table)


def moodle(rows: Iterable[dict], questions: Iterable[Question], by: str = "chapter") -> str:
    """The gradebook as Moodle imports it: Grades, Import, CSV file, encoding UTF-8.

    In the preview, map from `username` to the field that folders or files are called by: username,
    ID number or email address. Then map each column to its grade item. The maximum grade of an
    item is set in Moodle, before the import. Moodle refuses the whole file where it doesn't know
    a student. A dash is no grade, as an empty cell is in Canvas. The numbers in the names of files
    from Moodle are an assignment's own, and its gradebook doesn't know them: see worksheets.py.
    """
    rows, questions = list(rows), list(questions)
    columns = _columns(rows, questions, by)
    table: list[list[Cell]] = [["username", *columns]]
    for one in standings(rows, questions):
        sums = [one.grade(part) for part in columns.values()]
        table.append([one.student, *(NO_GRADE if points is None else points for points in sums)])
    return csv_text(table, but=NO_GRADE)


FORMS = {"canvas": canvas, "moodle": moodle}


def write_gradebook(rows: Iterable[dict], questions: Iterable[Question], path: Path) -> None:
    """Write gradebook.csv, whole or not at all."""
    write(path, gradebook(rows, questions))


def csv_text(table: Iterable[Sequence[Cell]], but: str = "") -> str:
    """A table as CSV in which no cell is computed; `but` is one text that may stand as it is."""
    return "".join(
        ",".join(cell if cell and cell == but else _cell(cell) for cell in row) + "\r\n"
        for row in table
    )


def as_text(value: str) -> str:
    """What a cell holds of a text, so that it stays one."""
    return guarded(visible(value, 300))


def guarded(text: str) -> str:
    """The whole text, with a sign before it where a spreadsheet would compute it."""
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def _cell(value: Cell) -> str:
    """One cell: a number, nothing, or a text that stays a text."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    text = as_text(value)
    # A semicolon or a tab divides cells too where the machine's settings say so.
    return text if NEEDS_NO_QUOTES.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def _worth(questions: Iterable[Question]) -> int:
    return sum(question.points for question in questions)


def _columns(rows: list[dict], questions: Iterable[Question], by: str) -> dict[str, list[Question]]:
    """The questions that each column of an import adds up, by the column's title."""
    if by not in ("chapter", "question"):
        raise ValueError(f"gradebook: by must be 'chapter' or 'question'; got {by!r}")
    columns = asked(rows, questions)
    if by == "question":
        return {f"{question.id} {question.title}": [question] for question in columns}
    return {f"Chapter {name}": part for name, part in chapters(columns).items()}

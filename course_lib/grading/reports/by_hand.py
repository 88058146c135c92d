"""by_hand.csv: the points that a person gives, in the instructor's own file.

A line is added for each answer that waits for a person, and nothing that stands there is changed.
What is drawn from the rows counts these points; results.jsonl stays what the grader found.
"""

import csv
import io
import operator
import re
from collections.abc import Iterable
from pathlib import Path

from course_lib.checks import QUESTIONS
from course_lib.grading.reports.gradebook import BOM, as_text
from course_lib.grading.reports.output import line, write
from course_lib.grading.reports.rows import BY_HAND, NOT_GRADED, ResultsError, doubts

COLUMNS = ["student", "question", "of", "points", "why"]
# Excel takes "02.1" alone for a number or a date.
TITLES = {question.id: f"{question.id} {question.name}" for question in QUESTIONS}
WORTH = {question.id: question.points for question in QUESTIONS}

Place = tuple[str, str]  # student and question
place_of = operator.itemgetter("student", "question")


def counted_by_hand(rows: Iterable[dict], path: Path) -> list[dict]:
    """The rows with the points of the file; what waits and isn't in the file is added to it."""
    rows = sorted(rows, key=place_of)
    text = text_in(path)
    given = points_in(text, {row["student"] for row in rows}, path)
    waits = [row for row in rows if row["points"] is None or doubts(row)]
    if new := [row for row in waits if place_of(row) not in given]:
        write(path, text + lines_for(new, text))
    return [judged(row, given.get(place_of(row))) for row in rows]


def judged(row: dict, points: int | None) -> dict:
    """A row with the points of a person, if there are any: they stand above what a machine found.

    Nothing waits in it then, and where the points are full nothing is wrong.
    """
    if points is None:
        return row
    found = row | {"status": BY_HAND, "points": points}
    if row["status"] == NOT_GRADED or doubts(row) or points == row["of"]:
        found["note"] = ""
    if points == row["of"]:
        return found | {"lines": [], "mistake": None}
    return found | {"lines": [one for one in row["lines"] if one not in doubts(row)]}


def text_in(path: Path) -> str:
    """The text of a file, empty where there is none."""
    data = path.read_bytes() if path.exists() else b""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ResultsError(f"{path}, line {number}: save it as CSV UTF-8") from None


def points_in(text: str, students: Iterable[str], path: Path) -> dict[Place, int | None]:
    """What a file gives, None where it is still empty; an error names the first line at fault."""
    called: dict[str, set[str]] = {}  # students by what may stand in a cell for them
    for student in students:
        for cell in (student, as_text(student)):
            called.setdefault(cell.strip(), set()).add(student)
    given: dict[Place, int | None] = {}
    table = _table(text)
    try:
        columns = [name.strip() for name in next(table, COLUMNS)]
        if lacking := [name for name in COLUMNS if name not in columns]:
            raise ResultsError(f"no column is {lacking[0]!r}; there must be {', '.join(COLUMNS)}")
        for cells in table:
            found = {name: "" for name in COLUMNS}
            found |= {name: cell.strip() for name, cell in zip(columns, cells, strict=False)}
            question = found["question"].split(" ")[0]
            alike = sorted(called.get(found["student"], ()))
            for student in alike:
                given.setdefault((student, question), None)
            if found["points"]:  # else nothing hangs on it, and who it is about may have left
                points = _points(found, question, alike)
                if given[alike[0], question] not in (None, points):
                    raise ResultsError("a line above gives other points for the same answer")
                given[alike[0], question] = points
    except (ResultsError, csv.Error) as error:
        raise ResultsError(f"{path}, line {table.line_num}: {error}") from None
    return given


def lines_for(rows: Iterable[dict], text: str) -> str:
    """Lines for these rows, to stand behind the text of a file; a head where that is empty."""
    new = io.StringIO(newline="")
    head = next(_table(text), COLUMNS)
    form = {"delimiter": _divider(text), "quoting": csv.QUOTE_NONNUMERIC}
    table = csv.DictWriter(new, [name.strip() for name in head], **form)
    if not text:
        new.write(BOM)
        table.writeheader()
    elif not text.endswith("\n"):
        new.write("\r\n")
    for row in rows:
        title = TITLES.get(row["question"], row["question"])
        cells = {"student": as_text(row["student"]), "question": title}
        table.writerow(cells | {"of": row["of"], "points": "", "why": as_text(_why(row))})
    return new.getvalue()


def _why(row: dict) -> str:
    if lines := doubts(row):
        told = "; ".join(f"{one['property']} ({one['points']} points)" for one in lines)
        return f"{row['points']} points so far, and no machine can tell: {told}"
    return f"{row['status']}: {row['note']}" if row["note"] else row["status"]


def _points(cells: dict[str, str], question: str, alike: list[str]) -> int:
    name, points = line(cells["student"], 60), line(cells["points"], 60)
    if len(alike) != 1:
        raise ResultsError(f"{'two students are' if alike else 'no student is'} {name!r}")
    if question not in TITLES:
        raise ResultsError(f"no question is {line(question, 60)!r}; one is {min(TITLES.values())}")
    if not re.fullmatch("[0-9]{1,4}", points):
        raise ResultsError(f"points are a whole number or empty, not {points!r}")
    if int(points) > WORTH[question]:
        raise ResultsError(f"{points} points are more than the {WORTH[question]} of {question}")
    return int(points)


def _table(text: str):
    return csv.reader(io.StringIO(text.removeprefix(BOM), newline=""), delimiter=_divider(text))


def _divider(text: str) -> str:
    """A comma, or what Excel writes instead where commas are for decimals."""
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)

"""by_hand.csv: the points that a person gives, in the instructor's own file.

A line is added for each answer that waits for a person, and nothing that stands there is changed.
What is drawn from the rows counts these points; results.jsonl stays what the grader found. A merge
takes over the lines of its parts.
"""

import csv
import io
import operator
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from course_lib.checks import QUESTIONS
from course_lib.grading.reports.gradebook import BOM, as_text, guarded
from course_lib.grading.reports.output import line, write
from course_lib.grading.reports.rows import BY_HAND, NOT_GRADED, ResultsError, doubts

COLUMNS = ["student", "question", "of", "points", "why"]
# Excel takes "02.1" alone for a number or a date.
TITLES = {question.id: f"{question.id} {question.name}" for question in QUESTIONS}
WORTH = {question.id: question.points for question in QUESTIONS}

Place = tuple[str, str]  # student and question
place_of = operator.itemgetter("student", "question")


class Line(NamedTuple):
    """A line as it stands in a file: its cells by column, whose answer it is about, and the points.

    It is about two answers where the names of two students look alike in a cell.
    """

    number: int
    cells: dict[str, str]
    places: list[Place]
    points: int | None


def counted_by_hand(
    rows: Iterable[dict], path: Path, parts: Iterable[Path] = (), known: Iterable[str] = ()
) -> list[dict]:
    """The rows with the points of the file; what waits and isn't in the file is added to it.

    `parts` are such files of other folders, of which it takes over what it lacks. Lines about
    students who are `known`, and have no row now, stay for when they have.
    """
    rows = sorted(rows, key=place_of)
    given, taken = read_by_hand(path, {row["student"] for row in rows} | {*known}, parts)
    waits = [row for row in rows if row["points"] is None or doubts(row)]
    new = [(place_of(row), _cells(row)) for row in waits if place_of(row) not in given]
    if new := sorted([*taken, *new], key=operator.itemgetter(0)):
        text = text_in(path)
        write(path, text + lines_for([cells for _, cells in new], text))
    return [judged(row, given.get(place_of(row))) for row in rows]


def read_by_hand(
    path: Path, students: Iterable[str], parts: Iterable[Path] = ()
) -> tuple[dict[Place, int | None], list[tuple[Place, dict]]]:
    """The points that are given, None where a line is still empty, and the cells to be taken over.

    All that can be wrong is an error, and nothing is written. What the file says of an answer isn't
    said again, and where a part gives other points, a person has to choose.
    """
    students, text = set(students), text_in(path)
    given: dict[Place, int | None] = {}
    for one in lines_in(text, students, path):
        for place in one.places:
            given[place] = given.get(place) if one.points is None else one.points
    said, taken, head = dict.fromkeys(given, path), [], columns_of(text)
    for part in sorted(parts):
        for one in lines_in(text_in(part), students, part):
            place = one.places[0] if len(one.places) == 1 else None
            if place is None or (place in given and one.points in (None, given[place])):
                continue
            if given.get(place) is not None:
                whose = f"{line(place[0], 60)}, {place[1]}"
                raise ResultsError(
                    f"{part}, line {one.number} gives {whose}, {one.points} points, and "
                    f"{said[place]} gives {given[place]}: write the same into both"
                )
            given[place], said[place] = one.points, part
            taken.append((place, _copied(one, head)))
    return given, taken


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


def lines_in(text: str, students: Iterable[str], path: Path) -> list[Line]:
    """The lines of a file; an error names the first one at fault."""
    called: dict[str, set[str]] = {}  # students by what may stand in a cell for them
    for student in students:
        for cell in (student, as_text(student)):
            called.setdefault(cell.strip(), set()).add(student)
    found: list[Line] = []
    given: dict[Place, int] = {}
    table, number = _table(text), 1
    try:
        columns = [name.strip() for name in next(table, COLUMNS)]
        if lacking := [name for name in COLUMNS if name not in columns]:
            raise ResultsError(f"no column is {lacking[0]!r}; there must be {', '.join(COLUMNS)}")
        number = table.line_num + 1
        for values in table:
            cells = dict.fromkeys(columns, "") | dict(zip(columns, values, strict=False))
            beyond = [cells.get("", ""), *values[len(columns) :]]
            cells[""] = "; ".join(filter(None, beyond))  # of no column
            question = cells["question"].strip().split(" ")[0]
            alike = sorted(called.get(cells["student"].strip(), ()))
            places = [(student, question) for student in alike]
            points = None  # and nothing hangs on the line: who it is about may have left
            if cells["points"].strip():
                points = _points(cells, question, alike)
                if given.setdefault(places[0], points) != points:
                    raise ResultsError("a line above gives other points for the same answer")
            found.append(Line(number, cells, places, points))
            number = table.line_num + 1
    except (ResultsError, csv.Error) as error:
        hint = "; is a quotation mark left open?" if isinstance(error, csv.Error) else ""
        raise ResultsError(f"{path}, line {number}: {error}{hint}") from None
    return found


def columns_of(text: str) -> list[str]:
    """The columns of a file, those of a new one where the text is empty."""
    return [name.strip() for name in next(_table(text), COLUMNS)]


def lines_for(new: Iterable[dict], text: str) -> str:
    """Lines of these cells, to stand behind the text of a file; a head where that is empty."""
    lines = io.StringIO(newline="")
    form = {"delimiter": _divider(text), "quoting": csv.QUOTE_NONNUMERIC}
    table = csv.DictWriter(lines, columns_of(text), **form)
    if not text:
        lines.write(BOM)
        table.writeheader()
    elif not text.endswith("\n"):
        lines.write("\r\n")
    table.writerows(new)
    return lines.getvalue()


def _cells(row: dict) -> dict[str, str | int]:
    """The line of an answer that waits."""
    title = TITLES.get(row["question"], row["question"])
    cells = {"student": as_text(row["student"]), "question": title, "of": row["of"]}
    return cells | {"points": "", "why": as_text(_why(row))}


def _copied(one: Line, head: list[str]) -> dict[str, str | int]:
    """The line of a part for a file with these columns; what has no column there goes into why."""
    ((student, question),) = one.places
    rest = {name: cell for name, cell in one.cells.items() if cell.strip() and name not in head}
    more = [f"{name}: {cell}" if name else cell for name, cell in rest.items()]
    cells = {name: one.cells.get(name, "") for name in head}
    cells |= {"student": as_text(student), "question": TITLES.get(question, cells["question"])}
    cells |= {"why": "; ".join(filter(None, [cells["why"], *more]))}
    cells = {name: guarded(cell) for name, cell in cells.items()}
    points = "" if one.points is None else one.points
    return cells | {"of": WORTH.get(question, cells["of"]), "points": points}


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
    """The cells of each line; an open quotation mark would take in all that stands below it."""
    file = io.StringIO(text.removeprefix(BOM), newline="")
    return csv.reader(file, delimiter=_divider(text), strict=True)


def _divider(text: str) -> str:
    """A comma, or what Excel writes instead where commas are for decimals."""
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)

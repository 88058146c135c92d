"""by_hand.csv: the points that a person gives, in the instructor's own file.

A line is added for each answer that waits for a person, and nothing that stands there is changed.
What is drawn from the rows counts these points; results.jsonl stays what the grader found. A merge
takes over the lines of its parts.
"""

import operator
from collections.abc import Iterable
from pathlib import Path

from course_lib.grading.reports.gradebook import as_text, guarded
from course_lib.grading.reports.lines_by_hand import (
    TITLES,
    WORTH,
    Line,
    Place,
    columns_of,
    lines_for,
    lines_in,
    text_in,
)
from course_lib.grading.reports.output import line, write
from course_lib.grading.reports.rows import BY_HAND, NOT_GRADED, ResultsError, doubts

place_of = operator.itemgetter("student", "question")


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

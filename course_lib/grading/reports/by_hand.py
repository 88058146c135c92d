"""by_hand.csv: the points that a person gives, in the instructor's own file.

A line is added for each answer that waits for a person, and nothing that stands there is changed.
Such a line names the file that waits, and its points don't count for what is handed in later. What
is drawn from the rows counts these points; results.jsonl stays what the grader found. A merge takes
over the lines of its parts, and fills with them the empty ones that it added itself.
"""

import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from course_lib.grading.reports.called import name_for
from course_lib.grading.reports.gradebook import as_text, guarded
from course_lib.grading.reports.lines_by_hand import (
    TITLES,
    WORTH,
    Answer,
    Line,
    Place,
    cell_for,
    columns_of,
    lines_for,
    lines_in,
    text_in,
)
from course_lib.grading.reports.output import line, write
from course_lib.grading.reports.rows import BY_HAND, NOT_GRADED, ResultsError, doubts

LISTED = 5  # answers
ANEW = "Handed in anew since you gave points: {}. Those count no more; what waits has a new line."
NOBODY = "Points by hand that count for nobody now: {}."
place_of = operator.itemgetter("student", "question")
Taken = tuple[Answer, dict]  # the cells of a line


class ByHand(NamedTuple):
    """What files of points say together.

    The points are None where a line is still empty. `taken` are cells to be taken over from parts,
    and `told` is what an instructor should hear of.
    """

    points: dict[Answer, int | None]
    taken: list[Taken]
    told: list[str]


def counted_by_hand(
    rows: Iterable[dict], path: Path, parts: Iterable[Path] = (), known: Iterable[str] = ()
) -> list[dict]:
    """The rows with the points of the file; what waits and isn't in the file is added to it.

    `parts` are such files of other folders, of which it takes over what it lacks. Lines about
    students who are `known`, and have no row now, stay for when they have.
    """
    rows = sorted(rows, key=place_of)
    given, taken, _ = read_by_hand(path, files_of(rows), parts, known)
    waiting = {
        Answer(*place_of(row)): _cells(row) for row in rows if row["points"] is None or doubts(row)
    }
    text, left = _filled(text_in(path), taken, waiting)
    new = [*left, *(one for one in waiting.items() if one[0] not in given)]
    if new:
        new.sort(key=operator.itemgetter(0))
        text += lines_for([cells for _, cells in new], text)
    if new or taken:
        write(path, text)
    return [judged(row, given.get(Answer(*place_of(row)))) for row in rows]


def _filled(text: str, taken: Iterable[Taken], waiting: Mapping[Answer, dict]) -> tuple[str, list]:
    """The text with what is taken over in place of our own empty lines, and what has none there.

    Only where such a line stands as it was written: else something of the instructor's may go.
    """
    left = []
    for answer, cells in taken:
        empty = _below_another(waiting[answer], text) if answer in waiting else ""
        if empty and empty in text:
            text = text.replace(empty, _below_another(cells, text), 1)
        else:
            left.append((answer, cells))
    return text, left


def _below_another(cells: dict, text: str) -> str:
    return "\n" + lines_for([cells], text).lstrip("\r\n")


def files_of(rows: Iterable[dict]) -> dict[Place, str]:
    """The digest of the file behind each row."""
    return {place_of(row): row["submission"] for row in rows}


def read_by_hand(
    path: Path,
    there: Mapping[Place, str],
    parts: Iterable[Path] = (),
    known: Iterable[str] = (),
) -> ByHand:
    """What the file of points says, and those of parts, of the answers that are `there`.

    All that can be wrong is an error, and nothing is written. What the file says of an answer isn't
    said again, and where a part gives other points, a person has to choose.
    """
    text = text_in(path)
    given: dict[Answer, int | None] = {}
    for one in lines_in(text, path, there, known):
        for answer in one.answers:
            given[answer] = given.get(answer) if one.points is None else one.points
    said, taken, head = dict.fromkeys(given, path), [], columns_of(text)
    for part in sorted(parts):
        for one in lines_in(text_in(part), part, there, known):
            answer = one.answers[0] if len(one.answers) == 1 else None
            if answer is None or (answer in given and one.points in (None, given[answer])):
                continue
            is_earlier = answer.file and answer.place in there
            if given.get(answer) is not None and not is_earlier:
                raise ResultsError(
                    f"{part}, line {one.number} gives {_told(answer)}, {one.points} points, and "
                    f"{said[answer]} gives {given[answer]}: write the same into both"
                )
            given[answer], said[answer] = one.points, part
            if not is_earlier:
                taken.append((answer, _copied(one, head)))
    return ByHand(given, taken, _without_effect(given, there))


def _without_effect(given: Mapping[Answer, int | None], there: Mapping[Place, str]) -> list[str]:
    """Which points don't count, though somebody gave them."""
    points = [answer for answer, n in sorted(given.items()) if n is not None]
    earlier = [one for one in points if one.file and one.place in there]
    anew = [one for one in earlier if given.get(Answer(*one.place)) is None]
    nobody = [answer for answer in points if answer.place not in there]
    told = {ANEW: anew, NOBODY: nobody}
    return [text.format(_listed(answers)) for text, answers in told.items() if answers]


def _listed(answers: Iterable[Answer]) -> str:
    told = list(dict.fromkeys(map(_told, answers)))
    return "; ".join(told[:LISTED]) + "; ..." * bool(told[LISTED:])


def _told(answer: Answer) -> str:
    return f"{line(answer.student, 60)}, {answer.question}"


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
    cells = {"student": name_for(row["student"]), "question": title, "of": row["of"], "points": ""}
    return cells | {"why": as_text(_why(row)), "file": cell_for(row["submission"])}


def _copied(one: Line, head: list[str]) -> dict[str, str | int]:
    """The line of a part for a file with these columns; what has no column there goes into why."""
    ((student, question, _),) = one.answers
    rest = {name: cell for name, cell in one.cells.items() if cell.strip() and name not in head}
    more = [f"{name}: {cell}" if name else cell for name, cell in rest.items()]
    cells = {name: one.cells.get(name, "") for name in head}
    cells |= {"student": name_for(student), "question": TITLES.get(question, cells["question"])}
    cells |= {"why": "; ".join(filter(None, [cells["why"], *more]))}
    cells = {name: guarded(cell) for name, cell in cells.items()}
    points = "" if one.points is None else one.points
    return cells | {"of": WORTH.get(question, cells["of"]), "points": points}


def _why(row: dict) -> str:
    if lines := doubts(row):
        told = "; ".join(f"{one['property']} ({one['points']} points)" for one in lines)
        return f"{row['points']} points so far, and no machine can tell: {told}"
    return f"{row['status']}: {row['note']}" if row["note"] else row["status"]

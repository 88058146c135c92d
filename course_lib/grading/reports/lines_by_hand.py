"""The lines of by_hand.csv: what an instructor may have written there, and what we write.

A file comes back from a spreadsheet with other signs between its cells, other columns, another
order. What can be meant in one way alone is taken so, and of all else the line is named.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from course_lib.checks import QUESTIONS
from course_lib.grading.reports.called import Called
from course_lib.grading.reports.gradebook import BOM
from course_lib.grading.reports.output import line
from course_lib.grading.reports.rows import ResultsError

COLUMNS = ["student", "question", "of", "points", "why", "file"]
NEEDED = COLUMNS[:-1]  # a file of an earlier version has these alone
# Digits alone would come back as a number, or as 1e5.
FILE = re.compile("sha256:([0-9a-f]{8,64})", re.IGNORECASE)
# Excel takes "02.1" alone for a number or a date.
TITLES = {question.id: f"{question.id} {question.name}" for question in QUESTIONS}
NAMES = {question.name: question.id for question in QUESTIONS}
WORTH = {question.id: question.points for question in QUESTIONS}
SEPARATOR = re.compile(BOM + r'?"?sep=([,;\t])"?\r?\n', re.IGNORECASE)

Place = tuple[str, str]  # student and question


class Answer(NamedTuple):
    """Whose answer to which question a line is about.

    With the digits of its file, where that isn't the one that is there now.
    """

    student: str
    question: str
    file: str = ""

    @property
    def place(self) -> Place:
        """Where in a gradebook its points would stand."""
        return self.student, self.question


class Line(NamedTuple):
    """A line as it stands in a file: its cells by column, whose answer it is about, and the points.

    It is about two answers where the names of two students look alike in a cell.
    """

    number: int
    cells: dict[str, str]
    answers: list[Answer]
    points: int | None


def text_in(path: Path) -> str:
    """The text of a file, empty where there is none."""
    data = path.read_bytes() if path.exists() else b""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ResultsError(f"{path} isn't written in UTF-8: save it as CSV UTF-8") from None


def lines_in(
    text: str, path: Path, there: Mapping[Place, str], known: Iterable[str] = ()
) -> list[Line]:
    """The lines of a file; an error names the first one at fault.

    `there` has the digest of the file behind each answer, and `known` are students without one.
    """
    called = Called({student for student, _ in there}.union(known))
    found: list[Line] = []
    given: dict[Answer, int] = {}
    table = _table(text)
    number = table.line_num + 1
    try:
        columns = columns_of(text)
        next(table, None)
        if lacking := [name for name in NEEDED if name not in columns]:
            raise ResultsError(f"no column is {lacking[0]!r}; there must be {', '.join(NEEDED)}")
        number = table.line_num + 1
        for values in table:
            cells = dict.fromkeys(columns, "") | dict(zip(columns, values, strict=False))
            beyond = [cells.get("", ""), *values[len(columns) :]]
            cells[""] = "; ".join(filter(None, beyond))  # of no column
            alike = called.alike(cells["student"])
            question, points = _meant(cells, alike, called)
            answers = [_answer((student, question), cells, there) for student in alike]
            if points is not None and given.setdefault(answers[0], points) != points:
                raise ResultsError("a line above gives other points for the same answer")
            found.append(Line(number, cells, answers, points))
            number = table.line_num + 1
    except (ResultsError, csv.Error) as error:
        hint = "; is a quotation mark left open?" if isinstance(error, csv.Error) else ""
        raise ResultsError(f"{path}, line {number}: {error}{hint}") from None
    return found


def columns_of(text: str) -> list[str]:
    """The columns of a file, those of a new one where the text is empty."""
    names = [name.strip() for name in next(_table(text), [] if text else COLUMNS)]
    return [name.lower() if name.lower() in COLUMNS else name for name in names]


def lines_for(new: Iterable[dict], text: str) -> str:
    """Lines of these cells, to stand behind the text of a file; a head where that is empty."""
    lines = io.StringIO(newline="")
    form = {"delimiter": _divider(text), "quoting": csv.QUOTE_NONNUMERIC}
    table = csv.DictWriter(lines, columns_of(text), extrasaction="ignore", **form)
    if not text:
        lines.write(BOM)
        table.writeheader()
    elif not text.endswith("\n"):
        lines.write("\r\n")
    table.writerows(new)
    return lines.getvalue()


def cell_for(digest: str) -> str:
    """What names a file in a line, so that its points aren't taken for those of a later one."""
    return f"sha256:{digest[:16]}" if digest else ""


def _answer(place: Place, cells: dict[str, str], there: Mapping[Place, str]) -> Answer:
    told = cells.get("file", "").strip()
    found = FILE.fullmatch(told)
    if told.lower().startswith("sha256") and not found:
        raise ResultsError(f"no file is {line(told, 60)!r}: it is sha256: and at least 8 digits")
    file = found[1].lower() if found else ""
    is_there = place in there and there[place].startswith(file)
    return Answer(*place, "" if is_there else file)


def question_in(cell: str) -> str:
    """The question that a cell names, by its number, its name or both; an error where none is.

    A spreadsheet makes 3.1 of 03.1.
    """
    if (name := cell.strip().casefold()) in NAMES:
        return NAMES[name]
    number, name = [*cell.split(maxsplit=1), "", ""][:2]
    alike = [id for id in TITLES if _short(id) == _short(number)]
    found = number if number in alike else alike[0] if len(alike) == 1 else ""
    if not found or (name and NAMES.get(name.strip().casefold()) != found):
        one = TITLES.get(found, min(TITLES.values()))
        raise ResultsError(f"no question is {line(cell, 60)!r}; one is {one!r}")
    return found


def _short(number: str) -> str:
    return number.replace(",", ".").strip("0")


def _meant(cells: dict[str, str], alike: list[str], called: Called) -> tuple[str, int | None]:
    """The question and the points of a line about these students.

    Little hangs on a line without points, and who or what it is about may be gone.
    """
    if cells["points"].strip():
        if not alike:
            raise ResultsError(called.nobody(cells["student"]))
        if len(alike) > 1:
            raise ResultsError(f"two students are {line(cells['student'], 60)!r}")
        question = question_in(cells["question"])
        return question, _points(cells["points"], question)
    try:
        question = question_in(cells["question"])
    except ResultsError:
        return cells["question"].strip(), None
    of = line(cells["of"], 60)
    if alike and of not in ("", f"{WORTH[question]}"):
        worth = f"{question} is worth {WORTH[question]}"
        raise ResultsError(f"of is {of}, and {worth}: points go into the column points")
    return question, None


def _points(cell: str, question: str) -> int:
    points = line(cell, 60)
    if not re.fullmatch("[0-9]{1,4}", points):
        raise ResultsError(f"points are a whole number or empty, not {points!r}")
    if int(points) > WORTH[question]:
        raise ResultsError(f"{points} points are more than the {WORTH[question]} of {question}")
    return int(points)


def _table(text: str):
    """The cells of each line; an open quotation mark would take in all that stands below it."""
    file = io.StringIO(text.removeprefix(BOM), newline="")
    table = csv.reader(file, delimiter=_divider(text), strict=True)
    if SEPARATOR.match(text):
        next(table)
    return table


def _divider(text: str) -> str:
    """A comma, or what Excel writes instead where commas are for decimals, and may say before."""
    if told := SEPARATOR.match(text):
        return told[1]
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)

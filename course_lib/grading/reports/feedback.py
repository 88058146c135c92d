"""feedback/STUDENT.html: what held, what didn't, and the one question that mends it.

The page says nothing that a student mustn't know: no inputs, no right values, no fault of ours.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.checks.verdict import IN_PLACE, OVERWRITES, UNNAMED
from course_lib.grading.reports.gradebook import chapters
from course_lib.grading.reports.output import (
    file_names,
    line,
    mark,
    remove_old,
    visible,
    write,
)
from course_lib.grading.reports.pages import render
from course_lib.grading.reports.rows import (
    BY_HAND,
    MISSING,
    NOT_GRADED,
    UNCLEAR,
    UNREADABLE,
    asked,
    by_student,
    unrun,
)

PRINTED_AT_MOST = 600
WAITS = {
    UNCLEAR: "What you handed in can be read, but what of it answers this isn't clear.",
    UNREADABLE: "What you handed in for this couldn't be read.",
    NOT_GRADED: "This answer isn't graded yet.",
}
JUDGED = "A person gave the points for this answer."
NO_COST = "A person looks at it, and until then it costs you nothing."


@dataclass(frozen=True)
class Told:
    """One answer as its student reads it."""

    question: Question
    status: str
    points: int | None
    lines: tuple[dict, ...] = ()
    notes: tuple[str, ...] = ()
    hint: str = ""
    reread: str = ""
    printed: str = ""

    @property
    def score(self) -> str:
        """The points in words."""
        of = f"{self.question.points} points"
        return f"waits for a person, {of}" if self.points is None else f"{self.points} of {of}"

    @property
    def full(self) -> bool:
        """Every property holds."""
        return self.points == self.question.points

    def __str__(self) -> str:
        """The same as text, for a page that isn't ours."""
        parts = []
        for found in self.lines:
            parts.append(f"{'ok' if found['holds'] else '--'}   {found['property']}")
            parts += [f"     {found['fact']}"] if found["fact"] else []
        parts += [*self.notes, *([self.hint] if self.hint else [])]
        parts += [f"Reread: {self.reread}."] if self.reread else []
        parts += [f"Your function printed:\n{self.printed}"] if self.printed else []
        return "\n".join(parts)


def tell(row: dict | None, question: Question) -> Told:
    """What a student reads about one answer; `None` is a row that isn't there."""
    status = row["status"] if row else NOT_GRADED
    if status in WAITS:
        # The note of a grader's fault is about us; the others are about what is theirs.
        note = line(row["note"]) if status != NOT_GRADED else ""
        told = ("" if row and unrun(row) else WAITS[status], note, NO_COST)
        return Told(question, status, None, notes=tuple(filter(None, told)))
    note = line(row["note"])
    if status == MISSING:
        default = f"There is no function `{question.name}` in what you handed in."
        return Told(question, status, 0, notes=(note or default,))
    lines = _shown(row)
    hint = _hint(row) if row["mistake"] else ""
    notes = [text for text in (JUDGED if status == BY_HAND else "", note) if text]
    if not hint and any(OVERWRITES in found["fact"] for found in lines):
        notes.append(IN_PLACE)
    elif not hint and not notes and len(lines) > 1 and row["points"] < question.points:
        notes.append(UNNAMED)
    reread = line(row["reread"]) if hint else ""
    printed = visible(row["printed"].strip("\n"), PRINTED_AT_MOST, lines=True)
    return Told(question, status, row["points"], lines, tuple(notes), hint, reread, printed)


def _shown(row: dict) -> tuple[dict, ...]:
    """The lines as they are read: what is wrong with all of them in one way is told once."""
    lines = [found | {"fact": line(found["fact"])} for found in row["lines"]]
    facts = {found["fact"] for found in lines}
    if len(lines) > 1 and len(facts) == 1 and not any(found["holds"] for found in lines):
        worth = sum(found["points"] for found in lines)
        every = f"all {len(lines)} properties"
        return ({"holds": False, "property": every, "points": worth, "fact": facts.pop()},)
    return tuple(lines)


def _hint(row: dict) -> str:
    failing = sum(not found["holds"] for found in row["lines"])
    part = f"{row['explains']} of the {failing} failing lines fit this mistake: "
    return f"{part if row['explains'] < failing else ''}{line(row['says'])} {line(row['asks'])}"


def page(student: str, rows: dict[str, dict], questions: Iterable[Question]) -> str:
    """The page of one student, whose rows are given by question."""
    parts = {
        name: [tell(rows.get(question.id), question) for question in part]
        for name, part in chapters(questions).items()
    }
    return render("feedback.html", student=visible(student, 100), chapters=parts, sums=_sums(parts))


def _sums(parts: dict[str, list[Told]]) -> dict[str, dict]:
    """The points of each chapter, and of `all` together, certain ones and those that wait."""
    everything = [told for part in parts.values() for told in part]
    return {
        name: {
            "points": sum(told.points or 0 for told in part),
            "of": sum(told.question.points for told in part),
            "open": sum(told.question.points for told in part if told.points is None),
            "full": sum(told.full for told in part),
            "questions": len(part),
        }
        for name, part in [*parts.items(), ("all", everything)]
    }


def write_feedback(
    rows: Iterable[dict], questions: Iterable[Question], folder: Path
) -> dict[str, str]:
    """Write a page for each student and return the name of each one's file.

    Pages that an earlier run wrote for students who aren't among these are removed.
    """
    rows, folder = list(rows), Path(folder)
    columns, students = asked(rows, questions), by_student(rows)
    names = {student: f"{stem}.html" for student, stem in file_names(students).items()}
    for student, mine in students.items():
        name = names[student]
        write(folder / name, page(student, mine, columns) + mark(name))
    remove_old(folder.glob("*.html"), [folder / name for name in names.values()], _is_ours)
    return names


def _is_ours(path: Path) -> bool:
    return path.read_bytes().endswith(mark(path.name).encode())

"""The rest of a class where one student's files are graded into its grades: it stays as it was."""

from dataclasses import replace
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.inventory import Earlier, inventory_in
from course_lib.grading.plan import answers
from course_lib.grading.reports.output import counted, line
from course_lib.grading.reports.results import read
from course_lib.grading.reports.rows import ResultsError, key_of
from course_lib.grading.row import fingerprint, named, version

WHOLE = "Give the whole class's folder, or another --out."


def with_the_others(given: list[Submission], place: Path, out: Path) -> list[Submission]:
    """What is given, and what stands in `out` beside it if all that is given is one student's.

    That is the files of others, and the student's own of chapters that aren't given now. Where
    several students are given, it is a class: who isn't among them has left.
    """
    names, path = {named(one.student) for one in given}, out / "results.jsonl"
    if len(names) > 1 or not path.exists():
        return given
    before = inventory_in(out)
    if before is None:
        if others := {row["student"] for row in read(path)} - names:
            raise ResultsError(f"{_held(others, out)} by another version of the grader. {WHOLE}")
        return given
    others = [one for one in before.files if named(one.student) not in names]
    if not others:
        return given
    now = {one.chapter for one in given}
    own = [one for one in before.files if named(one.student) in names and one.chapter]
    own = [one for one in own if one.chapter not in now and "" not in now]
    theirs = [_as_of_a_class(one, place) for one in given]
    return sorted([*theirs, *others, *own], key=lambda s: (s.student, s.chapter, s.path))


def be_kept(handed_in: list[Submission], questions: list[Question], key: bytes, out: Path) -> None:
    """Refuse others who would have no grade: one of another key or version isn't one beside."""
    earlier = [one for one in handed_in if isinstance(one, Earlier)]
    if not earlier:
        return
    keys, before = answers(earlier, questions, key), inventory_in(out)
    lacking = keys - {key_of(row) for row in read(out / "results.jsonl", keys)}
    if lacking:
        held = _held({one.student for one in lacking}, out)
        if before.key != fingerprint(key):
            raise ResultsError(f"{held} with another key: give that one, with --key FILE.")
        if before.version != version():
            raise ResultsError(f"{held} by another version of the grader. {WHOLE}")
        chapters = sorted({one.question.split(".")[0] for one in lacking})
        raise ResultsError(f"{held} not in full: chapter {', '.join(chapters)} lacks. {WHOLE}")


def kept(handed_in: list[Submission]) -> str:
    """Whose grades stay as they were, in a line for a terminal; none where all is graded."""
    given = {named(one.student) for one in handed_in if not isinstance(one, Earlier)}
    earlier = [one for one in handed_in if isinstance(one, Earlier)]
    if not earlier:
        return ""
    others = {named(one.student) for one in earlier} - given
    own = [one for one in earlier if named(one.student) in given]
    also = [f"chapter {one.chapter} of {line(named(one.student), 60)}" for one in own]
    return f"Kept as graded before: {', '.join([counted(len(others), 'student'), *also])}."


def _as_of_a_class(one: Submission, place: Path) -> Submission:
    """A file of a student's folder, called as it is in the folder around that one."""
    whole = (place if place.is_dir() else place.parent).resolve().name == one.student
    inside = one.path.startswith(f"{one.student}/")
    return replace(one, path=f"{one.student}/{one.path}") if whole and not inside else one


def _held(students: set[str], out: Path) -> str:
    return f"{out} holds {counted(len(students), 'student')} graded"

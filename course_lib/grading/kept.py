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
    given = [_known(one, before.files, out) for one in given]
    names = {named(one.student) for one in given}
    others = [one for one in before.files if named(one.student) not in names]
    if not others:
        return given
    now = {one.chapter for one in given}
    own = [one for one in before.files if named(one.student) in names and one.chapter]
    own = [one for one in own if one.chapter not in now and "" not in now]
    theirs = [_as_of_a_class(one, place) for one in given]
    return sorted([*theirs, *others, *own], key=lambda s: (s.student, s.chapter, s.path))


def _known(one: Submission, before: list[Submission], out: Path) -> Submission:
    """A file under the name that its number has in these grades; another's is an error.

    Of two students with one name each has a number, in Moodle another for each assignment.
    """
    if not one.number:
        return one
    platform = one.number.partition(" ")[0]
    alike = [
        other
        for other in before
        if other.number.partition(" ")[0] == platform
        and (platform == "canvas" or other.chapter == one.chapter)
    ]
    theirs = {other.student for other in alike if other.number == one.number}
    if len(theirs) == 1:
        return replace(one, student=theirs.pop())
    numbers = {other.number for other in alike if other.student == one.student and other.number}
    if numbers:
        raise ResultsError(
            f"{one.path} is of {line(one.student, 60)} with the number of {one.number}, and {out} "
            f"holds one with that of {min(numbers)}. Give the whole class's folder."
        )
    return one


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
        chapters = {one.question.split(".")[0] for one in lacking}
        told = f"{held} not in full: chapter {', '.join(sorted(chapters))} lacks."
        only = " ".join(f"--only {chapter}" for chapter in before.chapters)
        hint = "" if chapters & {*before.chapters} else f" Add {only}."
        raise ResultsError(f"{told}{hint} {WHOLE}")
    asked = {question.chapter for question in questions}
    if gone := sorted({one.chapter for one in handed_in} & {*before.chapters} - asked):
        raise ResultsError(
            f"{out} holds chapter {', '.join(gone)} too, and its grades would go. "
            "Leave --only out, or give another --out."
        )


def be_of_the_part(everything: list[Submission], handed_in: list[Submission]) -> None:
    """Refuse one student's files where only those of others are in the part that is graded."""
    if any(isinstance(one, Earlier) for one in everything):
        theirs = [one for one in everything if not isinstance(one, Earlier)]
        if theirs and not set(theirs) & set(handed_in):
            name = line(named(theirs[0].student), 60)
            raise ResultsError(
                f"{name} is in another part of the class: give its --out and --shard."
            )


def kept(handed_in: list[Submission], known: set[str]) -> str:
    """Whose grades stay as they were, in a line for a terminal; none where all is graded.

    And who is new: a name that was written in another way is told so.
    """
    given = {named(one.student) for one in handed_in if not isinstance(one, Earlier)}
    earlier = [one for one in handed_in if isinstance(one, Earlier)]
    if not earlier:
        return ""
    others = {named(one.student) for one in earlier} - given
    own = [one for one in earlier if named(one.student) in given]
    also = [f"chapter {one.chapter} of {line(named(one.student), 60)}" for one in own]
    new = "".join(f" New in these grades: {line(name, 60)}." for name in sorted(given - known))
    return f"Kept as graded before: {', '.join([counted(len(others), 'student'), *also])}.{new}"


def _as_of_a_class(one: Submission, place: Path) -> Submission:
    """A file of a student's folder, called as it is in the folder around that one."""
    whole = (place if place.is_dir() else place.parent).resolve().name == one.student
    inside = one.path.startswith(f"{one.student}/")
    return replace(one, path=f"{one.student}/{one.path}") if whole and not inside else one


def _held(students: set[str], out: Path) -> str:
    return f"{out} holds {counted(len(students), 'student')} graded"

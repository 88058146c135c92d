"""What there is to grade: whose files, which questions, and the rows that need no grading."""

from collections.abc import Iterator

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.inventory import Earlier
from course_lib.grading.pool import Task
from course_lib.grading.reports.results import Results
from course_lib.grading.reports.rows import Key, key_of
from course_lib.grading.row import absent, blank, held_up


def asked_of(handed_in: list[Submission], only: list[str] | None) -> list[Question]:
    """The questions of the chapters that somebody handed in."""
    chapters = {s.chapter for s in handed_in}
    return [q for q in QUESTIONS if q.chapter in chapters and q.chapter in (only or chapters)]


def begin(
    results: Results, handed_in: list[Submission], questions: list[Question], key: bytes
) -> list[Task]:
    """Append the rows that need no grading, and return what is left to grade."""
    for row in not_handed_in(handed_in, questions, key):
        if key_of(row) not in results.done:
            results.append(row)
    tasks = []
    for submission in handed_in:
        if isinstance(submission, Earlier):
            continue
        own = [q for q in questions if q.chapter == submission.chapter]
        left = [q.id for q in own if key_of(blank(submission, q, key)) not in results.done]
        tasks += [Task(submission, left)] if left else []
    return tasks


def not_handed_in(
    handed_in: list[Submission], questions: list[Question], key: bytes
) -> Iterator[dict]:
    """Rows for the chapters that a student didn't hand in, and others did.

    Zero points, unless there is a file of which nobody can tell the chapter: a person looks.
    """
    theirs: dict[str, set[str]] = {s.student: set() for s in handed_in}
    unknown: dict[str, Submission] = {}
    for submission in handed_in:
        theirs[submission.student].add(submission.chapter)
        if not submission.chapter:
            unknown[submission.student] = submission
    for student, chapters in sorted(theirs.items()):
        for question in questions:
            if question.chapter in chapters:
                continue
            if student in unknown:
                yield blank(unknown[student], question, key) | held_up(unknown[student])
            else:
                yield absent(student, question, key)


def wanted(handed_in: list[Submission], questions: list[Question], key: bytes) -> set[Key]:
    """The keys of all that lies in the folder now; results may hold rows of an earlier hand-in."""
    keys = {key_of(row) for row in not_handed_in(handed_in, questions, key)}
    return keys | answers(handed_in, questions, key)


def answers(handed_in: list[Submission], questions: list[Question], key: bytes) -> set[Key]:
    """The keys of what can be graded: for each file, the questions of its chapter."""
    pairs = [(s, q) for s in handed_in for q in questions if q.chapter == s.chapter]
    return {key_of(blank(submission, question, key)) for submission, question in pairs}

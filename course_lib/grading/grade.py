"""One submission's rows: draw inputs, run each answer behind the walls, compare, and say.

Inputs come from a key that the class doesn't have, so they are new to every answer and the same
when it is graded again.
"""

import dataclasses
import functools
import hmac
import re
import socket
import time
from collections.abc import Iterable, Iterator

from course_lib.checks.judge import Bench
from course_lib.checks.question import Question
from course_lib.grading.confined.confine import WALLS
from course_lib.grading.confined.process import GraderFault, starter
from course_lib.grading.confined.session import (
    CALL_SECONDS,
    NEXT_QUESTION_SECONDS,
    QUESTION_SECONDS,
    SHORT_SECONDS,
    Answer,
)
from course_lib.grading.confined.watch import WALL
from course_lib.grading.handed_in.answers import Code, code_for
from course_lib.grading.handed_in.cells import Unreadable, cells
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.reports.rows import NOT_GRADED
from course_lib.grading.row import (
    alike,
    believed,
    blank,
    held_up,
    lacking,
    not_run,
    of_verdict,
    told,
    unsure,
    version,
)

FORMS = 4  # draws a question: what is right, and what each mistake gives, is computed once for each

HERE_ALONE = re.compile(
    r": (\w*(OS|IO|File\w*|Permission|Connection|Import|Memory)|ModuleNotFound)Error: "
)
"""A note of code that ended in what may be otherwise on the student's machine."""

FIRST = {"allowed": CALL_SECONDS, "on_the_clock": QUESTION_SECONDS}
AFTERWARDS = {"allowed": SHORT_SECONDS, "on_the_clock": NEXT_QUESTION_SECONDS}
"""Seconds of an answer: of CPU for a call, and on the clock; after a late one, of the others."""


def seed(key: bytes, question: Question, form: str) -> int:
    """Where a draw of a question begins: known to who has the key."""
    said = f"{question.id} {version()} {form}".encode()
    return int.from_bytes(hmac.digest(key, said, "sha256")[:6])


def form_of(key: bytes, student: str) -> str:
    """Which of the draws a student gets."""
    return str(hmac.digest(key, student.encode(), "sha256")[0] % FORMS)


class Grader:
    """One core's: a warm process, and what is right on the draws so far."""

    def __init__(
        self,
        key: bytes,
        slot: int = 0,
        walls: tuple[str, ...] = WALLS,
        orders: socket.socket | None = None,
    ):
        self.key, self.slot, self.walls = key, slot, walls
        self.starter = starter(slot, walls, orders)
        self._times = FIRST
        self._bench = functools.lru_cache(maxsize=256)(self._drawn)

    def rows(self, submission: Submission, questions: Iterable[Question]) -> Iterator[dict]:
        """A row for each question; whatever happens, none is left out."""
        try:
            written = [] if submission.problem else cells(submission.data, submission.path)
        except Unreadable as error:
            submission = dataclasses.replace(submission, problem=str(error))
        self._times = FIRST
        for question in questions:
            start = time.process_time()
            row = blank(submission, question, self.key)
            if submission.problem:
                yield row | held_up(submission)
                continue
            try:
                row |= self._graded(written, question, submission.student)
            except Exception as error:
                note = f"The grader failed: {type(error).__name__}: {error}"
                row |= {"status": NOT_GRADED, "points": None, "note": note[:500]}
            used = 1e3 * (time.process_time() - start)
            yield row | {"cpu_ms": round(row["cpu_ms"] + used, 1)}

    def close(self) -> None:
        """End the warm process."""
        self.starter.close()

    def _graded(self, written: list, question: Question, student: str) -> dict:
        code = code_for(written, question.name)
        if code is None or not code.pieces:
            return not_run(written, question, code.problem if code else "")
        row, answer = self._run(code.pieces, question, student, self._times)
        if answer.late:
            self._times = AFTERWARDS
        elif code.left_out and row["points"] < question.points:
            row = self._with_left_out(row, answer, code, student)
        row["note"] = " ".join(filter(None, [code.problem, row["note"]]))
        return lacking(row, question) or row

    def _with_left_out(self, row: dict, answer: Answer, code: Code, student: str) -> dict:
        """The row of a wrong answer with what was left out of its slice, where that is no worse.

        Such a statement may as well be a plot that takes a minute. So it gets little time, and its
        lateness costs the other answers nothing. Where it can't be run here, nobody knows what it
        would have changed: a person has to look. Any other error it also has in the notebook.
        """
        whole, other = self._run(code.whole, answer.question, student, AFTERWARDS)
        both = {"cpu_ms": row["cpu_ms"] + whole["cpu_ms"]}
        new = [note for note in other.notes if note not in answer.notes]
        why = "it takes too long" if other.late else next(filter(HERE_ALONE.search, new), "")
        if whole["points"] > row["points"] or (not why and whole["points"] == row["points"]):
            return whole | both
        return (unsure(row, code, why) if why else row) | both

    def _run(
        self, pieces: tuple[tuple[str, str], ...], question: Question, student: str, times: dict
    ) -> tuple[dict, Answer]:
        """A part of the row, and the answer that it is about; again where the grader failed."""
        for attempt in (1, 2):
            answer = Answer(self.starter, question, pieces, **times)
            try:
                return self._judged(answer, question, student), answer
            except GraderFault:
                if attempt == 2:
                    raise
                self.starter.close()
                self.starter = starter(self.slot, self.walls)
            finally:
                if answer.fault is None:
                    answer.close()

    def _judged(self, answer: Answer, question: Question, student: str) -> dict:
        if not answer.found:
            self._no_fault(answer)
            return told(answer) | {"points": 0}
        verdict = self._bench(question, form_of(self.key, student)).judge(answer)
        group = ""
        if not (verdict.passed or verdict.mistake or verdict.note or answer.lost):
            group = alike(self._bench(question, "class").outcomes(answer))
        self._no_fault(answer)
        answer.close()
        said, (verdict, doubt) = told(answer), believed(verdict, answer.pieces)
        row = said | of_verdict(verdict) | {"group": group}
        notes = [said["note"], row["note"], doubt]
        return row | {"note": " ".join(dict.fromkeys(filter(None, notes)))}

    def _no_fault(self, answer: Answer) -> None:
        if answer.fault is not None:
            raise answer.fault

    def _drawn(self, question: Question, form: str) -> Bench:
        patient = dataclasses.replace(question, seconds=2 * WALL)  # CPU is watched
        return Bench(patient, seed(self.key, question, form))

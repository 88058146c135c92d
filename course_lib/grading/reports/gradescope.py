"""results.json in the form of Gradescope's autograders, a file a student.

On Gradescope the grader runs once for every submission, and this file goes to
`/autograder/results/results.json`.
"""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.grading.reports.feedback import Told, tell
from course_lib.grading.reports.output import file_names, remove_old, visible, write
from course_lib.grading.reports.rows import asked, by_student

VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
OUTPUT_AT_MOST = 8_000


def results(
    rows: dict[str, dict], questions: Iterable[Question], visibility: str = "visible"
) -> dict:
    """One student's rows, by question, as the object that Gradescope reads.

    A question is a test; its output is what the feedback page says. An answer that waits for a
    person has no score, the total is the sum of the others, and the text on top says so.
    """
    if visibility not in VISIBILITIES:
        names = ", ".join(VISIBILITIES)
        raise ValueError(f"results: visibility must be one of {names}; got {visibility!r}")
    told = [tell(rows.get(question.id), question) for question in questions]
    open_ones = [one.question.id for one in told if one.points is None]
    waits = f"A person still looks at {', '.join(open_ones)}; no points for that yet."
    return {
        "score": sum(one.points or 0 for one in told),
        "output": waits if open_ones else "",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": [_test(one, visibility) for one in told],
    }


def _test(one: Told, visibility: str) -> dict:
    question = one.question
    graded = {} if one.points is None else {"score": one.points, "max_score": question.points}
    status = {} if one.points is None else {"status": "passed" if one.full else "failed"}
    return {
        **graded,
        **status,
        "name": f"{question.title}: {question.name}",
        "name_format": "text",
        "number": question.id,
        "output": visible(str(one), OUTPUT_AT_MOST, lines=True),
        "output_format": "text",
        "visibility": visibility,
    }


def results_text(
    rows: dict[str, dict], questions: Iterable[Question], visibility: str = "visible"
) -> str:
    """The text of results.json for one student, in ASCII."""
    return json.dumps(results(rows, questions, visibility), indent=2) + "\n"


def write_gradescope(
    rows: Iterable[dict], questions: Iterable[Question], folder: Path, visibility: str = "visible"
) -> dict[str, str]:
    """Write STUDENT/results.json for each student and return where each one's is.

    Those that an earlier run wrote for students who aren't among these are removed.
    """
    rows, folder = list(rows), Path(folder)
    columns, students = asked(rows, questions), by_student(rows)
    names = {student: f"{stem}/results.json" for student, stem in file_names(students).items()}
    for student, mine in students.items():
        write(folder / names[student], results_text(mine, columns, visibility))
    there = [path for path in folder.glob("*/results.json") if not path.parent.is_symlink()]
    for path in remove_old(there, [folder / name for name in names.values()], _is_ours):
        with contextlib.suppress(OSError):  # something else lies there
            path.parent.rmdir()
    return names


def _is_ours(path: Path) -> bool:
    """It holds what `results` makes, to the order."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and list(found) == list(results({}, []))

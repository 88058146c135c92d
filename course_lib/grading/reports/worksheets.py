"""moodle_NN.csv: a grading worksheet a chapter, for the assignment of Moodle that the files are of.

In their names Moodle tells the assignment's own number for each participant, which nothing else in
Moodle takes: Submissions, Upload grading worksheet, with comma and UTF-8. For that

- the assignment is of one chapter and takes a submission of each student, not of a group, whose
  number is another kind;
- under Feedback types it has the Offline grading worksheet, and its grading is simple;
- its maximum grade is the chapter's points: Moodle leaves out a line above it without a word;
- Moodle is set to English, because it looks for the words of the language that it is set to.

Moodle then shows by name whose grade it will set. It leaves a grade alone that stands there
already, unless you allow that. Versions that know several markers set no zero: do that by hand.
"""

from collections.abc import Iterable
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.grading.reports.gradebook import chapters, csv_text, standings
from course_lib.grading.reports.output import remove_old, write
from course_lib.grading.reports.rows import asked, known

HEAD = ["Identifier", "Grade", "Last modified (grade)"]  # what Moodle doesn't start without
NEVER = "-"  # nobody has looked into Moodle for when a grade was set


def worksheets(rows: Iterable[dict], questions: Iterable[Question]) -> dict[str, str]:
    """The text for each chapter of which a participant's number is known.

    Students are left out where the number isn't sure, or stands at two chapters: the assignment
    has one grade for both. An empty cell is no grade, and changes none.
    """
    rows = list(rows)
    numbers = known(rows, "moodle", lambda row: (row["student"], row["question"].split(".")[0]))
    everyone = standings(rows, questions)
    found = {}
    for chapter, part in chapters(asked(rows, questions)).items():
        lines = [
            [f"Participant {numbers[one.student, chapter]}", one.grade(part), NEVER]
            for one in everyone
            if (one.student, chapter) in numbers
        ]
        if lines:
            found[chapter] = csv_text([HEAD, *lines], but=NEVER)
    return found


def write_worksheets(rows: Iterable[dict], questions: Iterable[Question], folder: Path) -> None:
    """Write them, and take away those of an earlier run that these rows don't give."""
    texts = {f"moodle_{name}.csv": text for name, text in worksheets(rows, questions).items()}
    for name, text in texts.items():
        write(folder / name, text)
    there, written = folder.glob("moodle_[0-9][0-9].csv"), [folder / name for name in texts]
    remove_old(there, written, ours=lambda path: True)

"""inventory.json: from which files a folder of grades was made, and so which of its rows count.

results.jsonl loses nothing: it keeps the rows of files that were handed in anew since, and of
students who left. Beside it this list stands for the files themselves, so that a merge, or one
student's new file, gives what a run over all files gives.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks.question import Question
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.reports.output import write
from course_lib.grading.reports.rows import ResultsError
from course_lib.grading.row import fingerprint, named, version

NAME = "inventory.json"
FIELDS = ("student", "chapter", "path", "problem", "unclear", "number")


@dataclass(frozen=True)
class Earlier(Submission):
    """A file that was graded before and isn't at hand: its digest is known, its bytes aren't."""

    sha: str = ""

    @property
    def digest(self) -> str:
        """The file's SHA-256, by which rows know it again."""
        return self.sha


@dataclass(frozen=True)
class Inventory:
    """The files of a folder of grades, the chapters that were asked, and what decided beside them.

    `version` is the grader's, and `key` the fingerprint of the key. `elsewhere` are students of the
    class who are in other parts of it.
    """

    version: str
    key: str
    chapters: list[str]
    files: list[Submission]
    elsewhere: list[str]


def inventory_of(
    handed_in: list[Submission],
    everything: list[Submission],
    questions: list[Question],
    key: bytes,
    out: Path,
) -> Inventory:
    """What a folder is to be made from: of everything in the class, what is graded here.

    Where one student's files alone were given, the others of the class are known from before.
    """
    before = inventory_in(out) if any(isinstance(s, Earlier) for s in everything) else None
    chapters = sorted({question.chapter for question in questions})
    there = {named(s.student) for s in everything} | {*(before.elsewhere if before else ())}
    elsewhere = sorted(there - {named(s.student) for s in handed_in})
    return Inventory(version(), fingerprint(key), chapters, handed_in, elsewhere)


def keep_inventory(out: Path, inventory: Inventory) -> None:
    """Write down what a folder is made from, before anything of it is graded."""
    files = [{f: getattr(one, f) for f in FIELDS} | {"sha": one.digest} for one in inventory.files]
    text = json.dumps(vars(inventory) | {"files": files}, indent=1)
    write(out / NAME, f"{text}\n")


def inventory_in(out: Path) -> Inventory | None:
    """What a folder was made from; `None` where an earlier version of the grader made it."""
    path = out / NAME
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_bytes())
        files = [Earlier(data=b"", **one) for one in found["files"]]
        return Inventory(**found | {"files": files})
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ResultsError(
            f"{path} is damaged: give the whole of what was handed in with --resume, "
            "and it is made anew"
        ) from None

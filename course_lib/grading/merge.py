"""Several folders of grades become one, with the rows of one run over all that was handed in."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from course_lib.checks.question import Question
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.inventory import NAME, Inventory, inventory_in, keep_inventory
from course_lib.grading.plan import answers, asked_of, not_handed_in
from course_lib.grading.reports.by_hand import files_of, read_by_hand
from course_lib.grading.reports.output import counted, line, listed
from course_lib.grading.reports.results import joined, keep_rows, read
from course_lib.grading.reports.rows import ResultsError, key_of
from course_lib.grading.row import named
from course_lib.grading.shards import be_whole, shard_in

NO_KEY = b""  # what has a row's version and fingerprint needs no key


class Merged(NamedTuple):
    """What came of a merge.

    `known` is whoever was ever graded in a part: who left may have points that a person gave.
    `told` is what an instructor should hear of such points, and `left_behind` of the students.
    """

    rows: list[dict]
    questions: list[Question]
    known: set[str]
    told: list[str]
    left_behind: str


def merge(parts: list[Path], out: Path, by_hand: str) -> Merged:
    """Join the results of parts, whose points are in files called `by_hand`.

    All that can be wrong is told before anything is written.
    """
    if not parts:
        raise ResultsError("Which parts? Give the --out folders of the shards.")
    if out.resolve() in [part.resolve() for part in parts] or shard_in(out):
        raise ResultsError(f"{out} is one of the parts. Give another --out.")
    paths = [part / "results.jsonl" for part in parts]
    if lacking := [path.parent for path in paths if not path.is_file()]:
        raise ResultsError(f"{lacking[0]}: no results.jsonl is there. Give --out folders of shards")
    be_whole(parts)
    inventories = {part: _inventory(part) for part in sorted(parts)}
    whole = together(inventories)
    questions = asked_of(whole.files, whole.chapters)
    rows = rows_of(whole, questions, inventories)
    files, known = [part / by_hand for part in parts], _students_in(paths)
    told = read_by_hand(out / by_hand, files_of(rows), files, known).told
    keep_inventory(out, whole)
    keep_rows(rows, out / "results.jsonl")
    return Merged(rows, questions, known, told, _left_behind(inventories.values()))


def _students_in(paths: Iterable[Path]) -> set[str]:
    return {row["student"] for path in paths for row in read(path)}


def _left_behind(inventories: Collection[Inventory]) -> str:
    """Whom a part saw in the class and none graded, in a line: who came after theirs was."""
    graded = {named(file.student) for one in inventories for file in one.files}
    names = sorted({name for one in inventories for name in one.elsewhere} - graded)
    if not names:
        return ""
    told = f"In the class and in no part: {listed(names)}."
    return f"{told} Run each part again with --resume, and merge."


def together(inventories: dict[Path, Inventory]) -> Inventory:
    """The files of all parts; two hand-ins of one student for one chapter are an error."""
    first, *others = inventories.values()
    if any((one.version, one.key) != (first.version, first.key) for one in others):
        raise ResultsError("The parts were graded with other keys or versions: give all one --key.")
    found: dict[tuple[str, ...], tuple[Submission, Path]] = {}
    for part, inventory in inventories.items():
        for one in inventory.files:
            place = (named(one.student), one.chapter, "" if one.chapter else one.path)
            other, where = found.setdefault(place, (one, part))
            if (one.digest, one.number, one.problem) != (other.digest, other.number, other.problem):
                whose = f"{line(one.student, 60)} for {one.chapter}"
                raise ResultsError(
                    f"{where} and {part} hold two hand-ins of {whose}. Put the new one into the "
                    "class's folder, run its part again with --resume, and merge without the "
                    "other folder. Or give only one of the two."
                )
    files = sorted((one for one, _ in found.values()), key=lambda s: (s.student, s.chapter, s.path))
    chapters = {chapter for one in inventories.values() for chapter in one.chapters}
    return Inventory(first.version, first.key, sorted(chapters), files, [])


def rows_of(
    whole: Inventory, questions: list[Question], inventories: dict[Path, Inventory]
) -> list[dict]:
    """The row of every student and question: what the parts graded, and what nobody handed in."""
    stamp = {"version": whole.version, "key": whole.key}
    absent = [row | stamp for row in not_handed_in(whole.files, questions, NO_KEY)]

    def graded(inventory: Inventory) -> set:
        return {k._replace(**stamp) for k in answers(inventory.files, questions, NO_KEY)}

    rows = joined([part / "results.jsonl" for part in inventories], graded(whole))
    there = {key_of(row) for row in rows}
    for part, inventory in inventories.items():
        if lacking := sorted(graded(inventory) - there, key=lambda k: (k.student, k.question)):
            first = f"{line(lacking[0].student, 60)}, {lacking[0].question}"
            chapter = lacking[0].question.split(".")[0]
            more = "" if chapter in inventory.chapters else f" and chapter {chapter}"
            raise ResultsError(
                f"{part}: {counted(len(lacking), 'answer')} not graded yet, first {first}. "
                f"Run that part again with --resume{more}, and merge then."
            )
    return sorted([*rows, *absent], key=lambda row: (row["student"], row["question"]))


def _inventory(part: Path) -> Inventory:
    found = inventory_in(part)
    if found is None:
        raise ResultsError(f"{part}: no {NAME} is there. Run that part again with --resume.")
    return found

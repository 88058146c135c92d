"""What was handed in: one notebook of each student and chapter, or in words why there is none."""

import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.checks import QUESTIONS
from course_lib.grading.handed_in.answers import Unreadable, cells, defined
from course_lib.grading.handed_in.files import Found, find, shown
from course_lib.grading.handed_in.names import (
    NOUNS,
    Who,
    chapter_of,
    from_platform,
    owner,
    students_of,
)

LAYOUTS = """These layouts are known, also within zips:
  ana/03_masks.ipynb                          a folder for each student
  submitted/ana/masks/03_masks.ipynb          nbgrader's, from the course folder or from submitted
  ana_03_masks.ipynb                          files side by side
  ana_123_456_03_masks.ipynb                  as Canvas names them
  Ana Lopez_123_assignsubmission_file_/03_masks.ipynb   as Moodle names them
A .py file may stand for a notebook."""
NO_STUDENT = "no student's name: call it NAME_03_masks.ipynb, or put it into a folder of that name"
NO_CHAPTER = "neither its name nor what it defines says which chapter it is of"
LISTED = 5


class NothingHandedIn(ValueError):
    """A folder in which nothing can be graded; names the layouts that are known."""


@dataclass(frozen=True)
class Submission:
    """One file to grade. With a `problem` there are no bytes, and a person has to look.

    `unclear` says that no file is at fault: which one counts, or for what, can't be told.
    `chapter` is "" where it couldn't be told. `path` is relative to the folder, and goes on inside
    a zip: "class.zip/ana/03_masks.ipynb". `number` is "canvas 12345" or "moodle 4711" where a
    platform's name for the file tells one. `unread` marks what a problem kept from being graded.
    """

    student: str
    chapter: str
    path: str
    data: bytes
    problem: str = ""
    unclear: bool = False
    number: str = ""
    unread: bytes = b""

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 by which rows know a file again, wherever it lies."""
        return _sha256(self.unread or self.data)


def collect(folder: Path) -> list[Submission]:
    """Every student's file for every chapter, sorted; nothing is run or written.

    `folder` may be a zip, or what one student handed in: a folder of that name with nobody's name
    in it, or a file. Two candidates for one student and chapter are never chosen from:
    they make one submission with a problem that names both.
    """
    folder = Path(folder)
    if not folder.exists():
        raise NothingHandedIn(f"{folder} doesn't exist. {LAYOUTS}")
    place = place_of(folder)
    found = list(find(place))
    students = students_of([one.parts for one in found], wrapped=place.name != "submitted")
    if _are_of_one(found, students):
        students = [_owner(place)] * len(found)
    drafts: dict[str, list[Found]] = defaultdict(list)
    for student, one in zip(students, found, strict=True):
        drafts[student.name].append(replace(one, number=student.told))
    submissions = [s for student, own in drafts.items() for s in _of_student(student, own)]
    if not submissions:
        raise NothingHandedIn(f"Nothing in {folder} can be graded. {LAYOUTS}")
    return sorted(submissions, key=lambda s: (s.student, s.chapter, s.path))


def place_of(folder: Path) -> Path:
    """The place to look in: of nbgrader's course folder, only what students handed in."""
    inner = folder / "submitted"
    return inner if inner.is_dir() and not inner.is_symlink() else folder


def _are_of_one(found: list[Found], students: list[Who]) -> bool:
    """Whether files are there, and nobody's name stands at one that may answer something."""
    files = [(s.name, f) for s, f in zip(students, found, strict=True) if f.is_code or f.problem]
    if all(student for student, _ in files):
        return False
    return not any(student and _chapter(one) != ("", NO_CHAPTER) for student, one in files)


def _owner(place: Path) -> Who:
    """The student whose folder this is, or whose file: the folder around it tells."""
    folder = place.resolve() if place.is_dir() else place.resolve().parent
    if (who := owner(shown(folder.name))).name:
        return who
    raise NothingHandedIn(f"No student's name stands at what is in {place}. {LAYOUTS}")


def _of_student(student: str, own: list[Found]) -> list[Submission]:
    if not student:
        return _unnamed(own)
    by_chapter: dict[str, list[Submission]] = defaultdict(list)
    for one in own:
        if one.is_code or one.problem:
            chapter, problem = _chapter(one)
            if chapter or problem:
                data = b"" if problem else one.data
                unclear = bool(problem) and not one.problem
                draft = Submission(student, chapter, one.path.rstrip("/"), data, problem, unclear)
                unread = _mark(problem, [one.data]) if problem else b""
                draft = replace(draft, number=one.number, unread=unread)
                by_chapter[chapter].append(draft)
    unplaced = by_chapter.pop("", [])
    placed = [_one_of(drafts) for _, drafts in sorted(by_chapter.items())]
    if placed:  # a helper's file beside them needs no chapter
        unplaced = [draft for draft in unplaced if draft.problem != NO_CHAPTER]
    if placed or unplaced:
        return placed + unplaced
    return _nothing_of(student, own)


def _chapter(one: Found) -> tuple[str, str]:
    """The chapter of a file, or why it has none: by its name, else by what it defines."""
    chapter = chapter_of(one.parts)
    if chapter or one.problem:
        return chapter, one.problem
    try:
        names = defined(cells(one.data, one.path), [q.name for q in QUESTIONS])
    except Unreadable as error:
        return "", f"{NO_CHAPTER}: {error}"
    counts = {number: 0 for number in NOUNS}
    for question in QUESTIONS:
        counts[question.chapter] += question.name in names
    first, second = sorted(counts, key=lambda number: (-counts[number], number))[:2]
    if not names:
        return "", NO_CHAPTER
    if 2 * counts[second] >= counts[first]:  # a helper may have the name of another's answer
        both = " and ".join(sorted((first, second)))
        return "", f"it answers chapters {both}: one file for each is needed"
    return first, ""


def _one_of(drafts: list[Submission]) -> Submission:
    """The one candidate of a student for a chapter, or a submission that names them all."""
    number = _agreed(drafts)
    kinds = {(draft.data, draft.problem): draft for draft in reversed(drafts)}
    rivals = sorted(kinds.values(), key=lambda draft: draft.path)
    if len(rivals) > 1:
        rivals = _own_work(rivals)
    if len(rivals) > 1:
        answering = [draft for draft in rivals if draft.problem or _answers(draft)]
        rivals = answering or rivals
    if len(rivals) == 1:
        return replace(rivals[0], number=number)
    many = "two" if len(rivals) == 2 else str(len(rivals))
    paths = [f"{draft.path} ({draft.problem})".replace(" ()", "") for draft in rivals]
    listed = ", ".join(paths[:LISTED]) + (", ..." if paths[LISTED:] else "")
    problem = f"{many} candidate notebooks: {listed}"
    unread = _mark("candidates", [draft.unread or draft.data for draft in rivals])
    given = {"data": b"", "problem": problem, "unclear": True, "number": number}
    return replace(rivals[0], unread=unread, **given)


def _mark(problem: str, files: list[bytes]) -> bytes:
    return " ".join([problem, *sorted(map(_sha256, files))]).encode("utf-8", "surrogatepass")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _agreed(found: Iterable[Found | Submission]) -> str:
    """The number that files of one student tell, "" where they tell two."""
    numbers = {one.number for one in found} - {""}
    return numbers.pop() if len(numbers) == 1 else ""


def _own_work(rivals: list[Submission]) -> list[Submission]:
    """Of somebody who hands in the whole course, what lies in its exercises."""
    names = {draft.path.split("/")[-1] for draft in rivals}
    worked = [d for d in rivals if d.path.split("/")[-2:-1] == ["exercises"]]
    beside = {d.path.split("/")[-2] for d in rivals if d not in worked and "/" in d.path}
    return worked if len(names) == 1 and beside <= {"notebooks", "solutions"} and worked else rivals


def _answers(draft: Submission) -> bool:
    """Whether a file defines an answer of its chapter; one that can't be read may."""
    names = [q.name for q in QUESTIONS if q.chapter == draft.chapter]
    try:
        return bool(defined(cells(draft.data, draft.path), names))
    except Unreadable:
        return True


def _unnamed(own: list[Found]) -> list[Submission]:
    """Files that nobody's name stands at: each is reported, under its own name."""
    found = [one for one in own if one.is_code or one.problem]
    return [
        Submission(
            one.path,
            chapter_of(one.parts),
            one.path,
            b"",
            one.problem or NO_STUDENT,
            unclear=not one.problem,
            unread=_mark(one.problem or NO_STUDENT, [one.data]),
        )
        for one in found
        if one.path
    ]


def _nothing_of(student: str, own: list[Found]) -> list[Submission]:
    """A student's folder without anything to grade."""
    if not any(len(one.parts) > 1 or from_platform(one.parts[-1]).name for one in own):
        return []  # a file beside the folders: a list of names, a timetable
    files = [one.path for one in own if one.parts[-1]]
    listed = ", ".join(files[:LISTED]) + (", ..." if files[LISTED:] else "")
    problem = "nothing that can be graded was handed in" + (f": {listed}" if listed else "")
    path = "/".join(own[0].parts[:-1])
    unread = _mark("nothing", [one.data for one in own])
    return [Submission(student, "", path, b"", problem, number=_agreed(own), unread=unread)]

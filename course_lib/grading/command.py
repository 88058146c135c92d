"""`python -m course_lib grade FOLDER --out GRADES`: from what was handed in to a gradebook."""

import argparse
import functools
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tqdm import tqdm

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question
from course_lib.grading import doctor
from course_lib.grading.confined.process import GraderFault
from course_lib.grading.grade import absent, blank
from course_lib.grading.handed_in.collect import NothingHandedIn, Submission, collect
from course_lib.grading.pool import Task, graded
from course_lib.grading.reports.classroom import write_class
from course_lib.grading.reports.feedback import write_feedback
from course_lib.grading.reports.gradebook import canvas, moodle, write_gradebook
from course_lib.grading.reports.gradescope import write_gradescope
from course_lib.grading.reports.output import write
from course_lib.grading.reports.results import Results, merge, read
from course_lib.grading.reports.rows import Key, ResultsError, key_of

KEY_BYTES = 32
Rows = Iterator[tuple[Submission, dict | None]]  # None after the last one of a submission


def run(arguments: argparse.Namespace) -> int:
    """Grade, and write everything that comes of it; returns the exit status."""
    try:
        return _run(arguments)
    except (UsageError, NothingHandedIn, ResultsError) as error:
        print(error, file=sys.stderr)
        return 2
    except GraderFault as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        if error.filename is None:  # no file that the reader could do something about
            raise
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. Go on with --resume.", file=sys.stderr)
        return 130


class UsageError(ValueError):
    """What was asked for can't be done; says why."""


def _run(arguments: argparse.Namespace) -> int:
    first, *others = arguments.submissions
    if str(first) == "doctor" and not first.exists():
        return doctor.run()
    if not first.exists() and str(first) != "merge":
        raise UsageError(f"{first} doesn't exist. Give the folder that was handed in, or doctor.")
    if arguments.out is None:
        raise UsageError("Where do the grades go? Give --out GRADES.")
    if str(first) == "merge" and not first.exists():
        return merged(others, arguments.out)
    if others:
        raise UsageError(f"One folder or zip at a time, not {len(arguments.submissions)}.")
    if arguments.shard and not arguments.key:
        raise UsageError("--shard needs --key FILE, the same for all parts.")
    path = arguments.out / "results.jsonl"
    if path.exists() and not arguments.resume:
        raise UsageError(f"{path} is there already. Add --resume, or give another --out.")
    everything = collect(first)
    questions = asked_of(everything, arguments.only)
    if not questions:
        chapters = " or ".join(arguments.only or sorted({q.chapter for q in QUESTIONS}))
        raise UsageError(f"{first}: nothing of chapter {chapters} is there.")
    handed_in = part_of(everything, arguments.shard)
    if arguments.require_isolation and not arguments.dask:
        require(arguments.require_isolation)
    key = the_key(arguments.key or arguments.out / "key", may_make=not path.exists())
    with Results(path) as results:
        tasks = begin(results, handed_in, questions, key)
        grade_into(results, tasks, ways(arguments)(tasks, key))
    rows = read(path, wanted(handed_in, questions, key))
    write_reports(rows, questions, arguments.out)
    print(summary(rows, arguments.out))
    return 0


def merged(parts: list[Path], out: Path) -> int:
    """Join the results of shards, and write the reports of the whole class."""
    if not parts:
        raise UsageError("Which parts? Give the --out folders of the shards.")
    if out.resolve() in [part.resolve() for part in parts]:
        raise UsageError(f"{out} is one of the parts. Give another --out.")
    paths = [part / "results.jsonl" for part in parts]
    if len({(row["key"], row["version"]) for path in paths for row in read(path)}) > 1:
        raise UsageError("The parts were graded with other keys or versions: give all one --key.")
    out.mkdir(parents=True, exist_ok=True)
    rows = merge(paths, out / "results.jsonl")
    graded = {row["question"] for row in rows}
    chapters = {name.split(".")[0] for name in graded}
    write_reports(rows, [q for q in QUESTIONS if q.chapter in chapters], out)
    print(summary(rows, out))
    return 0


def the_key(path: Path, may_make: bool = True) -> bytes:
    """The key in a file, which is made if it isn't there and only its owner can read."""
    if not path.exists():
        if not may_make:
            raise UsageError(f"{path} isn't there: with which key was the beginning graded?")
        write(path, secrets.token_hex(KEY_BYTES) + "\n", mode=0o600)
    text = path.read_text().strip()
    if len(text) < KEY_BYTES:
        raise UsageError(f"{path}: expected a key of at least {KEY_BYTES} characters")
    return text.encode()


def asked_of(handed_in: list[Submission], only: list[str] | None) -> list[Question]:
    """The questions of the chapters that somebody handed in."""
    chapters = {s.chapter for s in handed_in}
    return [q for q in QUESTIONS if q.chapter in chapters and q.chapter in (only or chapters)]


def part_of(handed_in: list[Submission], shard: tuple[int, int] | None) -> list[Submission]:
    """The I-th of N parts of a class; a student is never in two."""
    i, n = shard or (1, 1)
    students = sorted({s.student for s in handed_in})
    own = set(students[i - 1 :: n])
    return [s for s in handed_in if s.student in own]


def ways(arguments: argparse.Namespace) -> Callable[[list[Task], bytes], Rows]:
    """What grades: the cores of this machine, or the workers of a cluster."""
    if not arguments.dask:
        return functools.partial(graded, jobs=arguments.jobs)
    try:
        from course_lib.grading import cluster
    except ModuleNotFoundError as error:
        need = "--dask needs Dask distributed: pip install -c constraints.txt -e '.[dask]'"
        raise UsageError(f"{need} ({error})") from error
    full = arguments.require_isolation == "full"
    return functools.partial(cluster.graded, address=arguments.dask, full=full)


def begin(
    results: Results, handed_in: list[Submission], questions: list[Question], key: bytes
) -> list[Task]:
    """Append the rows that need no grading, and return what is left to grade."""
    for row in not_handed_in(handed_in, questions, key):
        if key_of(row) not in results.done:
            results.append(row)
    tasks = []
    for submission in handed_in:
        own = [q for q in questions if q.chapter == submission.chapter]
        left = [q.id for q in own if key_of(blank(submission, q, key)) not in results.done]
        tasks += [Task(submission, left)] if left else []
    return tasks


def grade_into(results: Results, tasks: list[Task], rows: Rows) -> None:
    """Append every row as it comes."""
    with tqdm(total=len(tasks), unit="submission", smoothing=0.05, disable=not tasks) as bar:
        for submission, row in rows:
            if row is not None:
                results.append(row)
                continue
            bar.set_postfix_str(submission.student[:20], refresh=False)
            bar.update()


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
                row = blank(unknown[student], question, key)
                problem = unknown[student].problem
                yield row | {"status": "unreadable", "points": None, "note": problem}
            else:
                yield absent(student, question, key)


def wanted(handed_in: list[Submission], questions: list[Question], key: bytes) -> set[Key]:
    """The keys of all that lies in the folder now; results may hold rows of an earlier hand-in."""
    keys = {key_of(row) for row in not_handed_in(handed_in, questions, key)}
    for submission in handed_in:
        own = [q for q in questions if q.chapter == submission.chapter]
        keys |= {key_of(blank(submission, q, key)) for q in own}
    return keys


def write_reports(rows: list[dict], questions: list[Question], out: Path) -> None:
    """Everything that is drawn from the rows; the same rows give the same bytes."""
    write_gradebook(rows, questions, out / "gradebook.csv")
    write(out / "canvas.csv", canvas(rows, questions))
    write(out / "moodle.csv", moodle(rows, questions))
    write_feedback(rows, questions, out / "feedback")
    write_gradescope(rows, questions, out / "gradescope")
    write_class(rows, questions, out / "class.html")


def summary(rows: list[dict], out: Path) -> str:
    """What was done, in a few lines for a terminal."""
    students = len({row["student"] for row in rows})
    waiting = sum(row["points"] is None for row in rows)
    walls = Counter(row["isolation"] for row in rows if row["isolation"])
    held = ", ".join(f"{level} for {count} that ran" for level, count in walls.most_common())
    lines = [f"{students} students, {len(rows)} answers. Isolation: {held or 'nothing ran'}."]
    if walls.keys() - {"full"}:
        lines.append(
            "Not all walls held. `python -m course_lib grade doctor` says what gets through."
        )
    if waiting:
        lines.append(f"{waiting} answers need a person: see class.html.")
    return "\n".join([*lines, f"Written to {out}: gradebook.csv, class.html, feedback/ and more."])


def require(level: str) -> None:
    """Refuse to go on where the walls aren't all there."""
    if level == "full" and (missing := doctor.lacking()):
        raise UsageError(f"This machine gives no full isolation: {missing} is missing.")

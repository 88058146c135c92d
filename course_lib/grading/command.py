"""`python -m course_lib grade FOLDER --out GRADES`: from what was handed in to a gradebook."""

import argparse
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tqdm import tqdm

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question
from course_lib.grading import doctor
from course_lib.grading.confined.process import GraderFault
from course_lib.grading.handed_in.collect import NothingHandedIn, Submission, collect, place_of
from course_lib.grading.interrupts import STATUS, STOPPED, unheard
from course_lib.grading.inventory import inventory_of, keep_inventory
from course_lib.grading.kept import be_kept, be_of_the_part, kept, with_the_others
from course_lib.grading.key import KeyFileError, key_in, make_key
from course_lib.grading.merge import merge
from course_lib.grading.options import JOBS, without_meaning
from course_lib.grading.plan import asked_of, begin, wanted
from course_lib.grading.pool import Task, graded
from course_lib.grading.reports.by_hand import counted_by_hand, read_by_hand
from course_lib.grading.reports.classroom import write_class
from course_lib.grading.reports.feedback import write_feedback
from course_lib.grading.reports.gradebook import canvas, moodle, write_gradebook
from course_lib.grading.reports.gradescope import write_gradescope
from course_lib.grading.reports.output import counted, line, listed, write
from course_lib.grading.reports.results import Results, read
from course_lib.grading.reports.rows import Key, ResultsError, doubts, package
from course_lib.grading.reports.worksheets import write_worksheets
from course_lib.grading.shards import be_that_part, keep_shard, part_of

LISTED = 5  # packages
BY_HAND_FILE = "by_hand.csv"
Rows = Iterator[tuple[Submission, dict | None]]  # None after the last one of a submission


def run(arguments: argparse.Namespace) -> int:
    """Grade, and write everything that comes of it; returns the exit status."""
    try:
        return _run(arguments)
    except (UsageError, KeyFileError, NothingHandedIn, ResultsError) as error:
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
        print(STOPPED, file=sys.stderr)
        return STATUS


class UsageError(ValueError):
    """What was asked for can't be done; says why."""


def _run(arguments: argparse.Namespace) -> int:
    first, *others = arguments.submissions
    task = "" if first.exists() else str(first)
    if task == "doctor":
        be_meant(task, arguments)
        if others:
            raise UsageError("grade doctor takes no folder: it is about this machine.")
        return doctor.run()
    if task == "merge":
        be_meant(task, arguments, "out")
    elif task:
        raise UsageError(f"{first} doesn't exist. Give the folder that was handed in, or doctor.")
    if arguments.out is None:
        raise UsageError("Where do the grades go? Give --out GRADES.")
    be_a_folder(arguments.out)
    if task == "merge":
        return merged(others, arguments.out)
    if others:
        raise UsageError(f"One folder or zip at a time, not {len(arguments.submissions)}.")
    if arguments.out.resolve().is_relative_to(place_of(first).resolve()):
        raise UsageError(f"--out {arguments.out} lies in {first}, among what was handed in.")
    if arguments.shard and not arguments.key:
        raise UsageError("--shard needs --key FILE, the same for all parts.")
    return graded_class(first, arguments)


def graded_class(place: Path, arguments: argparse.Namespace) -> int:
    """Grade what lies there. All that can be wrong is told before anything is written."""
    path = arguments.out / "results.jsonl"
    key_file = arguments.key or arguments.out / "key"
    key = key_in(key_file) if key_file.exists() else None
    way = ways(arguments)
    everything = collect(place)
    if arguments.resume:
        everything = with_the_others(everything, place, arguments.out)
    questions = asked_of(everything, arguments.only)
    if not questions:
        chapters = " or ".join(arguments.only or sorted({q.chapter for q in QUESTIONS}))
        raise UsageError(f"{place}: nothing of chapter {chapters} is there.")
    handed_in = part_of(everything, arguments.shard)
    if path.exists() and not arguments.resume:
        raise UsageError(f"{path} is there already. Add --resume, or give another --out.")
    if path.exists() and key is None:
        raise UsageError(f"{key_file} isn't there: with which key was the beginning graded?")
    be_that_part(arguments.out, arguments.shard)
    be_of_the_part(everything, handed_in)
    if key:
        be_kept(handed_in, questions, key, arguments.out)
    known = {row["student"] for row in read(path)} if path.exists() else set()
    keys = wanted(handed_in, questions, key or b"")
    there = {(one.student, one.question): one.submission for one in keys}
    by_hand = read_by_hand(arguments.out / BY_HAND_FILE, there, known=known)
    if arguments.require_isolation and not arguments.dask:
        require(arguments.require_isolation)
    if key is None and arguments.key:
        print(f"{key_file} isn't there: it gets a new key. Keep it.", file=sys.stderr)
    key = key or make_key(key_file)
    keep_shard(arguments.out, arguments.shard)
    inventory = inventory_of(handed_in, everything, questions, key, arguments.out)
    keep_inventory(arguments.out, inventory)
    keys = wanted(handed_in, questions, key)
    with Results(path) as results:
        tasks = begin(results, handed_in, questions, key)
        now = sum(len(task.questions) for task in tasks)
        grade_into(results, tasks, way(tasks, key))
    if arguments.resume:
        print("\n".join(filter(None, [resumed(now, keys, known), kept(handed_in, known)])))
    rows = read(path, keys)
    rows = write_reports(rows, questions, arguments.out, known=known)
    print(summary(rows, arguments.out, by_hand.told))
    return 0


def be_meant(task: str, arguments: argparse.Namespace, *meant: str) -> None:
    """Refuse an option that would be ignored."""
    if others := without_meaning(arguments, *meant):
        raise UsageError(f"grade {task} doesn't take {others}.")


def be_a_folder(out: Path) -> None:
    """Refuse a place for grades where no folder can be."""
    there = next(place for place in (out, *out.parents) if place.exists())
    if not there.is_dir():
        raise UsageError(f"--out {out}: {there} is a file, and grades need a folder.")


def merged(parts: list[Path], out: Path) -> int:
    """Join the results of parts, and write the reports of the whole class."""
    found = merge(parts, out, BY_HAND_FILE)
    by_hand = [part / BY_HAND_FILE for part in parts]
    rows = write_reports(found.rows, found.questions, out, by_hand, found.known)
    print("\n".join(filter(None, [found.left_behind, summary(rows, out, found.told)])))
    return 0


def ways(arguments: argparse.Namespace) -> Callable[[list[Task], bytes], Rows]:
    """What grades: the cores of this machine, or the workers of a cluster."""
    if not arguments.dask:
        return functools.partial(graded, jobs=arguments.jobs or JOBS)
    try:
        from course_lib.grading import cluster
    except ModuleNotFoundError as error:
        need = "--dask needs Dask distributed: pip install -c constraints.txt -e '.[dask]'"
        raise UsageError(f"{need} ({error})") from error
    full = arguments.require_isolation == "full"
    return functools.partial(cluster.graded, address=arguments.dask, full=full)


def grade_into(results: Results, tasks: list[Task], rows: Rows) -> None:
    """Append every row as it comes."""
    with tqdm(total=len(tasks), unit="submission", smoothing=0.05, disable=not tasks) as bar:
        for submission, row in rows:
            if row is not None:
                results.append(row)
                continue
            bar.set_postfix_str(submission.student[:20], refresh=False)
            bar.update()


def write_reports(
    rows: list[dict],
    questions: list[Question],
    out: Path,
    by_hand: Iterable[Path] = (),
    known: Iterable[str] = (),
) -> list[dict]:
    """Everything that is drawn from the rows; the same rows give the same bytes.

    `by_hand` are the parts' files of points, and `known` are students who have no row now and may
    have points. Returns the rows with all that a person gave.
    """
    rows = counted_by_hand(rows, out / BY_HAND_FILE, by_hand, known)
    write_gradebook(rows, questions, out / "gradebook.csv")
    write(out / "canvas.csv", canvas(rows, questions))
    write(out / "moodle.csv", moodle(rows, questions))
    write_worksheets(rows, questions, out)
    write_feedback(rows, questions, out / "feedback")
    write_gradescope(rows, questions, out / "gradescope")
    write_class(rows, questions, out / "class.html")
    return rows


def resumed(now: int, keys: set[Key], known: set[str]) -> str:
    """How much a run added to an earlier one, and whom that knew who isn't here now."""
    lines = [f"Graded now: {counted(now, 'answer')} of {len(keys)}."]
    if gone := sorted(known - {one.student for one in keys}):
        lines.append(f"Left out, for want of their files: {listed(gone)}. Their pages are removed.")
        lines.append("Give the whole class's folder, and they are there again.")
    return "\n".join(lines)


def summary(rows: list[dict], out: Path, told: Iterable[str] = ()) -> str:
    """What was done, in a few lines for a terminal."""
    names = sorted({row["student"] for row in rows})
    walls = Counter(row["isolation"] for row in rows if row["isolation"])
    held = ", ".join(f"{level} for {count} that ran" for level, count in walls.most_common())
    who = f" ({line(names[0], 60)})" if len(names) == 1 else ""
    lines = [
        f"{counted(len(names), 'student')}{who}, {counted(len(rows), 'answer')}. "
        f"Isolation: {held or 'nothing ran'}."
    ]
    if walls.keys() - {"full"}:
        lines.append(
            "Not all walls held. `python -m course_lib grade doctor` says what gets through."
        )
    lacking = Counter(filter(None, map(package, rows)))
    if lacking:
        named = [f"{name} ({counted(n, 'answer')})" for name, n in lacking.most_common(LISTED)]
        named += ["..."] if len(lacking) > LISTED else []
        lines.append(f"Not installed here, so not graded: {', '.join(named)}. See class.html.")
    if waiting := [row for row in rows if row["points"] is None and not package(row)]:
        files = counted(len({(row["student"], row["path"]) for row in waiting}), "file")
        students = counted(len({row["student"] for row in waiting}), "student")
        answers = counted(len(waiting), "answer")
        lines.append(f"For a person: {answers} in {files} of {students}. See class.html.")
    if doubted := sum(bool(doubts(row)) for row in rows):
        lines.append(f"{counted(doubted, 'answer')} with a property that no machine can tell.")
    lines += told
    return "\n".join([*lines, f"Written to {out}: gradebook.csv, class.html, feedback/ and more."])


def require(level: str) -> None:
    """Refuse to go on where the walls aren't all there."""
    with unheard():
        missing = doctor.lacking()
    if level == "full" and missing:
        raise UsageError(f"This machine gives no full isolation: {missing} is missing.")

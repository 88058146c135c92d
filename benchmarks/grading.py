"""What grading a class costs on this machine, and what nbgrader needs for some of the same files.

    python benchmarks/grading.py --students 300 --jobs 2 --nbgrader 10

Makes a class for one chapter: right answers, wrong ones as the named mistakes write them,
untouched exercises, and one in ten that is hostile or broken. Writes nothing without --out.
"""

import argparse
import ast
import contextlib
import ctypes
import inspect
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
import torch
from tqdm import tqdm

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question
from course_lib.grading.grade import Grader
from course_lib.grading.handed_in.collect import Submission, collect
from course_lib.grading.options import JOBS
from course_lib.grading.reports.results import read

ROOT = Path(__file__).parents[1]
KNOWN = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor\n"
START = """
import sys, time
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.pool import Task, graded
jobs = int(sys.argv[1])
begun = time.perf_counter()
empty = [Submission(str(i), "01", "", b"", "no file") for i in range(jobs)]
for _ in graded([Task(one, ["01.1"]) for one in empty], b"a key", jobs):
    seconds = time.perf_counter() - begun
print(seconds)
"""
ROUNDS = 3
SUBREAPER = 36  # prctl: what a command leaves behind becomes this process's child, and is counted
UNTOUCHED, WRONG = 0.1, 0.4  # of the answers; the others are right
HOSTILE = {
    "a loop": "while True:\n    pass",
    "a sleep": "import time\ntime.sleep(1_000)",
    "an exit": "import os\nos._exit(0)",
    "memory": "return [bytearray(1 << 28) for _ in range(1_000)]",
    "a fork": "import os\nwhile True:\n    os.fork()",
    "torch rewritten": "torch.allclose = torch.equal = lambda *a, **k: True\nreturn args[0]",
    "recursion": "def deeper(n):\n    return deeper(n + 1)\nreturn deeper(0)",
    "a segfault": "import ctypes\nctypes.string_at(0)",
    "the key": "return open('key').read()",
}
BROKEN = {"a syntax error": "return (", "no answer": "pass"}


@dataclass(frozen=True)
class Measured:
    """What a command took: seconds on the clock, and CPU seconds of it and all its processes."""

    wall: float
    cpu: float


def sources(functions: Iterator[Callable], name: str) -> list[str]:
    """Those functions that need nothing but torch and math, as a student would hand them in."""
    known: dict = {}
    exec(KNOWN, known)
    found = []
    for function in functions:
        used = inspect.getclosurevars(function)
        if used.nonlocals or any(known.get(n) is not v for n, v in used.globals.items()):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except SyntaxError:  # a lambda within a line
            continue
        if isinstance(tree.body[0], ast.FunctionDef):
            tree.body[0].name, tree.body[0].decorator_list = name, []
            tree.body[0].returns = None
            found.append(ast.unparse(tree))
    return found


def answers(chapter: str) -> dict[str, tuple[list[str], list[str]]]:
    """For each question of a chapter: right ways to write it, and wrong ones."""
    return {
        q.name: (
            sources(iter(q.alternatives), q.name),
            sources((m.run for m in q.mistakes), q.name),
        )
        for q in QUESTIONS
        if q.chapter == chapter
    }


def a_class(chapter: str, students: int) -> dict[str, str]:
    """A notebook a student; every tenth is hostile or broken, and called so."""
    path = next((ROOT / "solutions").glob(f"{chapter}_*.ipynb"))
    solved = nbformat.read(path, as_version=4)
    exercise = nbformat.read(ROOT / "exercises" / path.name, as_version=4)
    known, draw = answers(chapter), random.Random(chapter)
    bad = list((HOSTILE | BROKEN).items())
    written = {}
    for i in range(students):
        notebook, student = nbformat.from_dict(exercise), f"student{i:04}"
        notebook.cells = [nbformat.from_dict(dict(cell)) for cell in exercise.cells]
        kind, body = bad[i // 10 % len(bad)] if i % 10 == 9 else ("", "")
        student += f" {kind}" * bool(kind)
        for cell, right in zip(notebook.cells, answer_cells(solved, exercise), strict=True):
            if right is not None:
                name = next(n for n in known if f"def {n}(" in right)
                cell.source = f"def {name}(*args):\n{textwrap.indent(body, '    ')}" if kind else (
                    one_answer(cell.source, right, known[name], draw)
                )  # fmt: skip
        written[student] = nbformat.writes(notebook) + "\n"
    return written


def answer_cells(solved: object, exercise: object) -> list[str | None]:
    """The right source for every cell of an exercise that asks for an answer, else None."""
    right = {cell.id: cell.source for cell in solved.cells}
    asks = [cell.metadata.get("nbgrader", {}).get("solution") for cell in exercise.cells]
    return [right[c.id] if a else None for c, a in zip(exercise.cells, asks, strict=True)]


def one_answer(stub: str, solution: str, known: tuple[list, list], draw: random.Random) -> str:
    """What one student wrote into one cell."""
    chance = draw.random()
    if chance < UNTOUCHED:
        return stub
    if chance < UNTOUCHED + WRONG and known[1]:
        return KNOWN + draw.choice(known[1])
    return draw.choice([solution, *(KNOWN + source for source in known[0])])


def ran(command: list, folder: Path, **more: object) -> Measured:
    """Run a command to its end; its error, if it ends with one."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)
    wall = time.perf_counter() - start
    with contextlib.suppress(ChildProcessError):  # what it began outlives it for a moment
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return Measured(wall, sum(after[:2]) - sum(before[:2]))


def handed_in(written: dict[str, str], folder: Path, chapter: str) -> Path:
    name = next((ROOT / "exercises").glob(f"{chapter}_*.ipynb")).name
    for student, text in written.items():
        (folder / student).mkdir(parents=True)
        (folder / student / name).write_text(text)
    return folder


def a_start(jobs: int) -> float:
    """Seconds on the clock until so many workers have each something to do, and have done it."""
    done = subprocess.run(
        [sys.executable, "-c", START, str(jobs)], cwd=ROOT, capture_output=True, text=True
    )
    return float(done.stdout)


def warmed(submissions: list[Submission], questions: list[Question]) -> dict[str, float]:
    """CPU milliseconds a question and submission in one worker that has graded the class before.

    The least of some rounds: what shares a core with others counts their cache misses as its own.
    """
    grader = Grader(b"a key for measuring, and nothing else")
    least: dict[str, float] = {}
    try:
        for counted in range(1 + ROUNDS):
            for one in tqdm(submissions, desc=f"round {counted}", leave=False):
                if counted != 1 and " " in one.student:
                    continue  # it takes its seconds every time
                before = _cpu()
                rows = len(list(grader.rows(one, questions)))
                if counted:
                    taken = 1e3 * (_cpu() - before) / rows
                    least[one.student] = min(taken, least.get(one.student, taken))
    finally:
        grader.close()
    well = [taken for student, taken in least.items() if " " not in student]
    return {
        "ms_mean": statistics.mean(least.values()),
        "ms_mean_well_meant": statistics.mean(well),
        "ms_median_well_meant": statistics.median(well),
    }


def _cpu() -> float:
    """CPU seconds of this process, of those below it, and of all that these have ended."""
    mine = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (mine, *mine.children()))


def nbgrader(written: dict[str, str], chapter: str, folder: Path) -> Measured:
    """nbgrader's autograder on these submissions, its release made before the clock starts."""
    path = next((ROOT / "solutions").glob(f"{chapter}_*.ipynb"))
    (folder / "source" / "assignment").mkdir(parents=True)
    shutil.copy(path, folder / "source" / "assignment")
    for student, text in written.items():
        own = folder / "submitted" / student / "assignment"
        own.mkdir(parents=True)
        (own / path.name).write_text(text)
    command = [sys.executable, "-m", "nbgrader"]
    scripts = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    scripts |= {"HOME": str(folder), "OMP_NUM_THREADS": "1"}
    ran([*command, "generate_assignment", "assignment", "--create"], folder, env=scripts)
    return ran([*command, "autograde", "assignment", "--create"], folder, env=scripts)


def measure(args: argparse.Namespace, scratch: Path) -> dict:
    """Everything, as one object."""
    written = a_class(args.chapter, args.students)
    folder, out = handed_in(written, scratch / "class", args.chapter), scratch / "grades"
    questions = [q for q in QUESTIONS if q.chapter == args.chapter]
    command = [sys.executable, "-m", "course_lib", "grade", folder, "--out", out]
    whole = ran([*command, "--jobs", str(args.jobs)], ROOT)
    rows = read(out / "results.jsonl")
    found = {
        "command": " ".join(["python benchmarks/grading.py", *sys.argv[1:]]),
        "machine": f"{platform.platform()}, {psutil.cpu_count()} threads",
        "torch": torch.__version__,
        "chapter": args.chapter,
        "submissions": len(written),
        "hostile_or_broken": sum(" " in student for student in written),
        "answers": len(rows),
        "without_points": sum(row["points"] is None for row in rows),
        "unearned": sum(row["points"] or 0 for row in rows if " " in row["student"]),
        "isolation": sorted({row["isolation"] for row in rows if row["isolation"]}),
        "start_of_one_worker": a_start(1),
        "start_of_all_workers": a_start(args.jobs),
        "jobs": args.jobs,
        "wall": whole.wall,
        "cpu_a_submission": whole.cpu / len(written),
        **warmed(collect(folder), questions),
    }
    sample = {student: text for student, text in written.items() if " " not in student}
    sample = dict(list(sample.items())[: args.nbgrader])
    if sample:
        theirs = nbgrader(sample, args.chapter, scratch / "nbgrader")
        ours = ran(
            [*command[:-3], handed_in(sample, scratch / "sample", args.chapter), "--out",
             scratch / "sampled", "--jobs", "1"], ROOT,
        )  # fmt: skip
        found["nbgrader_submissions"] = len(sample)
        found["nbgrader_cpu_a_submission"] = theirs.cpu / len(sample)
        found["ours_same_files_with_start"] = ours.cpu / len(sample)
        warm = found["ms_mean_well_meant"] * len(questions) / 1e3
        found["ratio"] = found["nbgrader_cpu_a_submission"] / warm
    return found


def table(found: dict) -> str:
    """The numbers for a terminal."""
    shown = {k: f"{v:.3g}" if isinstance(v, float) else str(v) for k, v in found.items()}
    width = max(map(len, shown))
    return "\n".join(f"{name.replace('_', ' '):<{width}}  {value}" for name, value in shown.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", default="02")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--nbgrader", type=int, default=0, metavar="N", help="of them, the first N")
    parser.add_argument("--out", type=Path, help="a JSON file")
    args = parser.parse_args()
    torch.set_num_threads(1)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(args, Path(scratch))
    print(table(found))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

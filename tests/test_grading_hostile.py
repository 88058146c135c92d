"""A class of hostile submissions in one batch: nothing is earned, broken, changed or left over."""

import collections
import ctypes
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import hostile
import psutil
import pytest

from course_lib.checks import QUESTIONS
from course_lib.grading.confined import confine
from course_lib.grading.confined.process import walls_here

ROOT = Path(__file__).parents[1]
EVERY = 1 if os.environ.get("COURSE_HOSTILE") == "all" else 3  # of how many kinds one is tried
SECONDS = 300  # that nothing hangs: it takes about 40 on two free cores
HONEST = "~honest"  # the last to be graded
SUBREAPER = 36  # prctl: what a process leaves behind becomes this one's child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")


class Batch:
    """A class on the disk, graded by the command."""

    def __init__(self, folder: Path):
        self.folder, self.out = folder / "class", folder / "grades"
        solution = ROOT / "solutions" / "02_attention.ipynb"
        honest = self.folder / HONEST / solution.name
        places = {
            "ROOT": ROOT,
            "CLASS": self.folder,
            "SOLUTION": solution,
            "STUDENT": honest,
            "KEY": self.out / "key",
            "RESULTS": self.out / "results.jsonl",
        }
        self.kinds = hostile.kinds({name: str(path) for name, path in places.items()})[::EVERY]
        self._hand_in(honest.relative_to(self.folder), solution.read_bytes())
        for kind in self.kinds:
            for name, data in kind.files.items():
                self._hand_in(name, data)
        before = self._hashes()
        self._grade()
        self.changed = {path for path, found in self._hashes().items() ^ before.items()}
        text = (self.out / "results.jsonl").read_text()
        self.rows = [json.loads(line) for line in text.splitlines()]
        self.by_place = {(row["student"], row["question"]): row for row in self.rows}

    def _hand_in(self, name: str | Path, data: bytes | Path) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(data) if isinstance(data, Path) else path.write_bytes(data)

    def _hashes(self) -> dict[str, str]:
        """What lies in the class, the course and the folder for shared memory."""
        places = [self.folder, *(ROOT / name for name in ("solutions", "exercises", "course_lib"))]
        files = [path for place in places for path in place.rglob("*")]
        files = [path for path in files if "__pycache__" not in path.parts]
        shared = Path("/dev/shm")
        left = {path: "" for path in shared.iterdir() if path.name.startswith("left")}
        return left | {path: f"{path.lstat().st_mode} {_digest(path)}" for path in files}

    def _grade(self) -> None:
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        mine, start = set(psutil.Process().children()), time.monotonic()
        command = [sys.executable, "-m", "course_lib", "grade", str(self.folder)]
        command += ["--out", str(self.out), "--jobs", "2"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        try:
            self.ended = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=SECONDS
            )
            self.seconds = time.monotonic() - start
            psutil.wait_procs(self._left(mine), timeout=5)
            self.left = [" ".join(p.cmdline()) for p in self._left(mine)]
        finally:
            for process in self._left(mine):
                process.kill()
            ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)

    def _left(self, mine: set[psutil.Process]) -> list[psutil.Process]:
        return [p for p in psutil.Process().children(recursive=True) if p not in mine]


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    held = walls_here()
    if missing := set(confine.FULL) - set(held):
        pytest.skip(f"this machine has no {' and no '.join(sorted(missing))}")
    return Batch(tmp_path_factory.mktemp("hostile"))


KINDS = hostile.kinds(collections.defaultdict(str))[::EVERY]


def test_the_corpus_is_large():
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names) >= 45


def test_the_batch_ends_in_time(batch):
    assert batch.ended.returncode == 0, batch.ended.stderr
    used = sum(row["cpu_ms"] for row in batch.rows) / 1e3
    print(f"{len(KINDS)} hostile kinds in {batch.seconds:.0f} s, {used:.0f} s of CPU in answers")
    for name in ("gradebook.csv", "class.html", "canvas.csv", "moodle.csv"):
        assert (batch.out / name).stat().st_size > 0


def test_nothing_outside_is_changed(batch):
    assert not batch.changed
    key = batch.out / "key"
    assert key.stat().st_mode & 0o777 == 0o600


def test_no_process_is_left(batch):
    assert not batch.left


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_hostile(batch, kind):
    row = batch.by_place.get((kind.who, kind.question))
    assert row is not None or kind.beside is None, sorted(batch.by_place)
    rows = [row for row in batch.rows if row["student"] == kind.who and row["points"]]
    attacked = [row for row in rows if row["question"] == kind.question]
    assert sum(row["points"] for row in attacked) == kind.earns, attacked
    if row is not None:
        assert row["status"] != "not graded", row["note"]
    if kind.beside is not None:
        assert batch.by_place[kind.who, "02.1"]["points"] == kind.beside


def test_who_comes_last_is_graded_as_alone(batch):
    own = [q for q in QUESTIONS if q.chapter == "02"]
    assert [batch.by_place[HONEST, q.id]["points"] for q in own] == [q.points for q in own]


def test_every_answer_that_ran_was_behind_all_walls(batch):
    assert {row["isolation"] for row in batch.rows} <= {"full", ""}

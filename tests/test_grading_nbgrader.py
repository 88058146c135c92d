"""nbgrader makes a release of our solutions, and what it collects is graded here."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from a_class import RIGHT, UNSCALED

from course_lib.__main__ import main
from course_lib.grading.handed_in.collect import collect
from course_lib.grading.reports.results import read

nbgraderformat = pytest.importorskip("nbgrader.nbgraderformat")

ROOT = Path(__file__).parents[1]
NAME = "02_attention.ipynb"


def nbgrader(course: Path, *arguments: str) -> None:
    """Run it as an instructor does, in the folder of a course."""
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls alembic
    environment = os.environ | {"PATH": scripts, "PYTHONPATH": str(ROOT), "HOME": str(course)}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course of nbgrader with one assignment, released from our solutions."""
    course = tmp_path_factory.mktemp("course")
    (course / "source" / "attention").mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / NAME, course / "source" / "attention")
    nbgrader(course, "generate_assignment", "attention", "--create")
    return course


def answers(path: Path) -> dict[str, dict]:
    """The metadata of the cells that ask for an answer, read and validated by nbgrader."""
    notebook = nbgraderformat.read(path, as_version=4)
    found = {cell.id: cell.metadata.get("nbgrader", {}) for cell in notebook.cells}
    return {id: dict(own) for id, own in found.items() if own.get("solution")}


@pytest.mark.parametrize("path", sorted((ROOT / "exercises").glob("*.ipynb")), ids=lambda p: p.stem)
def test_nbgrader_reads_our_exercises(path):
    assert answers(path) and answers(path) == answers(ROOT / "solutions" / path.name)


def test_its_release_of_our_solutions_asks_what_our_exercises_ask(course):
    released = course / "release" / "attention" / NAME
    theirs, ours = answers(released), answers(ROOT / "exercises" / NAME)
    assert {id: own["points"] for id, own in theirs.items()} == {
        id: own["points"] for id, own in ours.items()
    }
    text = released.read_text("utf-8")
    assert "SOLUTION" not in text and text.count("YOUR CODE HERE") == len(ours)


def test_its_validator_runs_our_exercise(course, tmp_path):
    release = course / "release" / "attention" / NAME
    nbgrader(tmp_path, "validate", str(shutil.copy(release, tmp_path)))


def test_what_it_collected_is_graded_here(course):
    release = nbformat.read(course / "release" / "attention" / NAME, as_version=4)
    first = next(cell for cell in release.cells if cell.id == "scores-answer")
    for student, source in {"ana": RIGHT, "ben": UNSCALED, "cem": first.source}.items():
        first.source = source
        own = course / "submitted" / student / "attention"
        own.mkdir(parents=True)
        nbformat.write(release, own / NAME)
        (own / "timestamp.txt").write_text("2026-01-31 12:00:00 UTC\n")
    assert [(s.student, s.chapter, s.problem) for s in collect(course)] == [
        (student, "02", "") for student in ("ana", "ben", "cem")
    ]
    for folder in (course, course / "submitted"):
        grades = course / f"grades of {folder.name}"
        assert main(["grade", str(folder), "--out", str(grades), "--jobs", "1"]) == 0
        rows = [r for r in read(grades / "results.jsonl") if r["question"] == "02.1"]
        assert [r["points"] for r in rows][::2] == [7, 0] and 0 < rows[1]["points"] < 7
        assert rows[2]["status"] == "missing", "the line that nbgrader put there still stands"

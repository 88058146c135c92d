"""The recipes do what their READMEs say, as far as one machine can tell."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from a_class import RIGHT, UNSCALED, hand_in

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"
KEY = "0123456789abcdef" * 4
posix = pytest.mark.skipif(os.name != "posix", reason="they run on Linux")


@pytest.fixture(scope="module")
def autograder(tmp_path_factory) -> Path:
    """Gradescope's folder for chapter 02, made from the zip."""
    place = tmp_path_factory.mktemp("autograder")
    (place / "key").write_text(KEY)
    command = [sys.executable, RECIPES / "gradescope" / "build.py", "02", "--key", place / "key"]
    subprocess.run([*command, "--out", place / "autograder.zip"], check=True, capture_output=True)
    with zipfile.ZipFile(place / "autograder.zip") as archive:
        archive.extractall(place / "source")
    shutil.copy(place / "source" / "run_autograder", place)
    return place


def ran(autograder: Path, handed_in: dict[str, str]) -> tuple[dict, str]:
    """What comes of a submission: results.json, and what instructors see."""
    shutil.rmtree(autograder / "submission", ignore_errors=True)
    shutil.rmtree(autograder / "results", ignore_errors=True)
    (autograder / "submission").mkdir()
    for name, text in handed_in.items():
        (autograder / "submission" / name).write_text(text)
    users = {"users": [{"id": 7, "name": "Ana", "email": "ana@example.org"}]}
    (autograder / "submission_metadata.json").write_text(json.dumps(users))
    own = {"AUTOGRADER": str(autograder), "COURSE_PYTHON": sys.executable, "PYTHONPATH": ""}
    command = ["bash", autograder / "run_autograder"]
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((autograder / "results" / "results.json").read_text()), done.stdout


@posix
def test_gradescope_grades_a_submission_and_tells_instructors_what_held(autograder):
    results, said = ran(autograder, {"02_attention.py": RIGHT})
    assert results["score"] == 7 and results["tests"][0]["score"] == 7
    assert results["stdout_visibility"] == "hidden"
    assert "Isolation: " in said and KEY not in said + json.dumps(results)
    results, _ = ran(autograder, {"my work.py": UNSCALED, "notes.txt": "none"})
    assert 0 < results["score"] < 7, "a file of another name, known by what it defines"


@posix
def test_gradescope_says_that_nothing_can_be_graded(autograder):
    results, said = ran(autograder, {"report.pdf": "%PDF"})
    assert results["score"] == 0 and "Hand in the notebook" in results["output"]
    assert "Traceback" not in said


def test_the_zip_holds_no_solutions_and_what_runs_can_run(autograder):
    with zipfile.ZipFile(autograder / "autograder.zip") as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert modes["setup.sh"] & 0o100 and modes["run_autograder"] & 0o100
    page = "course/course_lib/grading/reports/templates/class.html"
    assert modes["key"] == 0o600 and page in modes
    assert not [name for name in modes if "solutions" in name or name.endswith((".ipynb", ".pyc"))]


def test_a_file_that_is_no_key_makes_no_zip(tmp_path):
    command = [
        sys.executable,
        RECIPES / "gradescope" / "build.py",
        "02",
        "--key",
        ROOT / "README.md",
    ]
    done = subprocess.run([*command, "--out", tmp_path / "a.zip"], capture_output=True, text=True)
    assert done.returncode == 2 and "README.md is no key: expected one line" in done.stderr
    assert not (tmp_path / "a.zip").exists()


def test_the_scripts_parse():
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", RECIPES / "gradescope" / script], check=True)


@posix
def test_the_workflow_is_one_and_its_commands_grade_a_class(tmp_path):
    workflow = yaml.safe_load((RECIPES / "github" / "grade.yml").read_text())
    job = workflow["jobs"]["grade"]
    assert workflow[True] == {"workflow_dispatch": workflow[True]["workflow_dispatch"]}  # on:
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    hand_in(tmp_path / "submitted")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = job["env"] | {"SUBMISSIONS": "submitted", "KEY": KEY, "RUNNER_TEMP": str(tmp_path)}
    given |= {"PATH": path, "PYTHONPATH": str(ROOT)}
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert "constraints.txt" in steps.pop("Install")
    for command in steps.values():
        assert "${{" not in command, "an expression within a command can be used to run another"
        run = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
        done = subprocess.run(run, cwd=tmp_path, env=os.environ | given, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
    [kept] = [s["with"]["path"] for s in job["steps"] if "upload-artifact" in s.get("uses", "")]
    assert (tmp_path / kept / "gradebook.csv").exists()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600

"""`python -m course_lib grade`: the same gradebook however it was interrupted or divided."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from a_class import RIGHT, hand_in, reports
from test_grading_merge import zero

from course_lib.__main__ import main
from course_lib.grading import doctor, pool
from course_lib.grading.confined.process import GraderFault
from course_lib.grading.options import JOBS
from course_lib.grading.reports.results import read

ROOT = Path(__file__).parents[1]
KEY = "0123456789abcdef" * 4
SECONDS = 120  # this machine has other work


def grade(*arguments: object) -> int:
    """The exit status of the command."""
    try:
        return main(["grade", *map(str, arguments)])
    except SystemExit as ended:  # argparse
        return ended.code


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a class and a key, and in it `whole`: what one run made of them."""
    place = tmp_path_factory.mktemp("grading")
    hand_in(place / "class")
    (place / "key").write_text(KEY)
    given = [place / "class", "--key", place / "key", "--jobs", 1]
    assert grade(*given, "--out", place / "whole") == 0
    return place


@pytest.fixture
def copy(place, tmp_path) -> Path:
    """The grades of that run, to change."""
    return Path(shutil.copytree(place / "whole", tmp_path / "copy"))


def row(folder: Path, student: str, question: str) -> dict:
    rows = read(folder / "results.jsonl")
    return next(r for r in rows if (r["student"], r["question"]) == (student, question))


# --- one run ---


def test_a_run_writes_a_gradebook_and_pages(place):
    names = reports(place / "whole").keys()
    assert {"gradebook.csv", "canvas.csv", "moodle.csv", "class.html"} <= names
    assert {"feedback/ana.html", "gradescope/ana/results.json"} <= names


def test_right_answers_have_all_points_and_wrong_ones_a_name(place):
    ana, ben = row(place / "whole", "ana", "02.1"), row(place / "whole", "ben", "02.1")
    assert ana["points"] == ana["of"] == 7
    assert ben["points"] < 7 and ben["mistake"]
    assert row(place / "whole", "ana", "02.2")["status"] == "missing"


def test_a_warning_and_a_print_cost_nothing(place):
    assert row(place / "whole", "cem", "02.1")["points"] == 7


def test_who_lacks_a_chapter_that_another_handed_in_has_no_points_there(place):
    assert row(place / "whole", "dia", "03.1")["points"] > 0
    lacking = row(place / "whole", "ana", "03.1")
    assert lacking["status"] == "missing" and lacking["points"] == 0


def test_a_syntax_error_and_an_answer_without_end_are_told(place):
    assert "line 1" in row(place / "whole", "dia", "02.1")["note"]
    endless = row(place / "whole", "eva", "02.1")
    assert endless["points"] == 0 and endless["status"] == "graded"


@pytest.mark.skipif(os.name != "posix", reason="rights of another kind")
def test_only_its_owner_can_read_a_new_key(tmp_path, place, monkeypatch):
    monkeypatch.setattr("course_lib.grading.command.graded", lambda tasks, key, jobs: iter(()))
    assert grade(place / "class", "--out", tmp_path / "grades") == 0
    assert (tmp_path / "grades" / "key").stat().st_mode & 0o777 == 0o600
    assert KEY not in (tmp_path / "grades" / "key").read_text()


def test_a_new_key_is_told_of_where_it_was_asked_for(tmp_path, place, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.grading.command.graded", lambda tasks, key, jobs: iter(()))
    for name, told in (("new", "isn't there: it gets a new key"), ("key", "")):
        (place / "new").unlink(missing_ok=True)
        assert grade(place / "class", "--key", place / name, "--out", tmp_path / name) == 0
        assert told in (said := capsys.readouterr().err) and bool(told) == ("new key" in said)


# --- again, in parts, and after a crash ---


def test_two_shards_make_the_gradebook_of_one_run(place, tmp_path, capsys):
    for i in (1, 2):
        given = [place / "class", "--key", place / "key", "--jobs", 1, "--shard", f"{i}/2"]
        assert grade(*given, "--out", tmp_path / f"part{i}") == 0
    parts = [read(tmp_path / f"part{i}" / "results.jsonl") for i in (1, 2)]
    assert not {r["student"] for r in parts[0]} & {r["student"] for r in parts[1]}
    assert grade("merge", tmp_path / "part1", "--out", tmp_path / "all") == 2
    assert "Shard 2/2 is missing" in capsys.readouterr().err and not (tmp_path / "all").exists()
    assert grade("merge", tmp_path / "part1", tmp_path / "part2", "--out", tmp_path / "all") == 0
    assert reports(tmp_path / "all") == reports(place / "whole")


def stored(place: Path):
    """A way to grade that takes every row from the run that was."""

    def graded(tasks, key, jobs):
        for task in tasks:
            for question in task.questions:
                yield task.submission, row(place / "whole", task.submission.student, question)
            yield task.submission, None

    return graded


def test_shards_may_be_empty_and_others_were_graded_without(place, tmp_path, monkeypatch, copy):
    monkeypatch.setattr("course_lib.grading.command.graded", stored(place))
    parts = [tmp_path / f"part{i}" for i in range(1, 9)]  # one more than students, so one is empty
    for i, part in enumerate(parts, 1):
        given = ["--key", place / "key", "--shard", f"{i}/8", "--out", part]
        assert grade(place / "class", *given) == 0
    assert not (parts[-1] / "results.jsonl").read_bytes()
    assert grade("merge", copy, *parts, "--out", tmp_path / "all") == 0
    assert reports(tmp_path / "all") == reports(place / "whole")
    assert grade("merge", copy, *parts[1:], "--out", parts[0]) == 2, "its rows would be gone"


def test_a_part_that_was_stopped_is_resumed_as_that_part(place, tmp_path, monkeypatch, capsys):
    def stops(tasks, key, jobs):
        yield next(stored(place)(tasks, key, jobs))
        raise KeyboardInterrupt

    given = [place / "class", "--key", place / "key", "--out", tmp_path / "part"]
    with monkeypatch.context() as patch:
        patch.setattr("course_lib.grading.command.graded", stops)
        assert grade(*given, "--shard", "2/2") == 130
    before = (tmp_path / "part" / "results.jsonl").read_bytes()
    for other in ([], ["--shard", "1/2"]):
        assert grade(*given, "--resume", *other) == 2
        assert "part holds shard 2/2: add --shard 2/2" in capsys.readouterr().err
    assert (tmp_path / "part" / "results.jsonl").read_bytes() == before
    monkeypatch.setattr("course_lib.grading.command.graded", stored(place))
    assert grade(*given, "--resume", "--shard", "2/2") == 0


def started(place: Path, out: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "course_lib", "grade", place / "class", "--jobs", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    given = [*command, "--key", place / "key", "--out", out]
    said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(given, env=environment, start_new_session=True, **said)


def until(holds) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a parent's death isn't told")
@pytest.mark.parametrize(("rows", "sent"), [(1, "SIGINT"), (20, "SIGKILL")])
def test_stopped_in_the_middle_and_resumed_it_ends_the_same(place, tmp_path, rows, sent):
    """By Ctrl-C, which goes to all its processes, and of which one line is said; and by force."""
    out = tmp_path / "grades"
    results = out / "results.jsonl"
    run = started(place, out)
    absent = 7 * 6  # rows of chapter 03 that need no grading
    until(lambda: results.exists() and results.read_bytes().count(b"\n") >= absent + rows)
    family = psutil.Process(run.pid).children(recursive=True)
    (os.killpg if sent == "SIGINT" else os.kill)(run.pid, getattr(signal, sent))
    _, said = run.communicate()
    if sent == "SIGINT":
        bar, line = said.rstrip("\n").rsplit("\n", 1)
        assert run.returncode == 130 and line == "Stopped. Go on with --resume."
        assert re.fullmatch(r"(\s|.*submission.*)*", bar), said
    kept = results.read_bytes()
    assert len(family) >= 2, "nothing was being graded"
    until(lambda: not [p for p in family if p.is_running() and p.status() != "zombie"])
    assert not (out / "gradebook.csv").exists()

    results.write_bytes(kept + b'{"student": "ana", "quest')  # and the disk was full
    given = [place / "class", "--key", place / "key", "--jobs", 1, "--out", out]
    assert grade(*given) == 2, "an existing file is an error without --resume"
    assert grade(*given, "--resume") == 0
    assert reports(out) == reports(place / "whole")
    assert results.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
    counts = Counter((line["student"], line["question"]) for line in lines)
    assert set(counts.values()) == {1}, "something was graded twice"


def test_a_finished_run_is_resumed_without_grading_anything(place, copy, monkeypatch):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    before = (copy / "results.jsonl").read_bytes()
    (copy / "gradebook.csv").unlink()
    given = [place / "class", "--key", place / "key", "--out", copy, "--resume"]
    assert grade(*given) == 0
    assert (copy / "results.jsonl").read_bytes() == before
    assert reports(copy) == reports(place / "whole")


def test_a_students_number_reaches_the_exports_and_outlives_a_resume(tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.grading.command.graded", zero)
    there, out = tmp_path / "class", tmp_path / "grades"
    ben = there / "Ben Ito_4711_assignsubmission_file_" / "02_attention.py"
    ben.parent.mkdir(parents=True)
    for path in (there / "ana_1234_9001_02_attention.py", ben):
        path.write_text(RIGHT)
    assert grade(there, "--out", out) == 0
    canvas = [line.split(",")[:2] for line in (out / "canvas.csv").read_text().splitlines()[2:]]
    assert canvas == [["Ben Ito", ""], ["ana", "1234"]]
    assert (out / "moodle_02.csv").read_text().split()[-2:] == ["Participant", "4711,0,-"]

    first = reports(out)
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    assert grade(there, "--out", out, "--resume") == 0 and reports(out) == first
    assert grade("merge", out, "--out", tmp_path / "merged") == 0
    assert reports(tmp_path / "merged") == first
    monkeypatch.setattr("course_lib.grading.command.graded", zero)
    ben.parent.rename(there / "Ben Ito_4712_assignsubmission_file_")
    assert grade(there, "--out", out, "--resume") == 0
    assert b"Participant 4712" in reports(out)["moodle_02.csv"]


def test_points_by_hand_outlive_a_resume_and_a_merge(place, copy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    resume = [place / "class", "--key", place / "key", "--out", copy, "--resume"]
    merge = ["merge", place / "whole", "--out", tmp_path / "merged"]
    (tmp_path / "merged").mkdir()
    mine = b"student,question,of,points,why\ndia,02.1 scores,7,3,nearly\n"
    for folder, given in ((copy, resume), (tmp_path / "merged", merge)):
        before = (folder / "by_hand.csv").write_bytes(mine)
        assert grade(*given) == grade(*given) == 0
        assert (folder / "by_hand.csv").read_bytes()[:before] == mine
        assert "\ndia,3,0," in (folder / "gradebook.csv").read_text("utf-8")
        assert row(folder, "dia", "02.1")["points"] == 0, "results are the grader's"
    (copy / "by_hand.csv").write_bytes(mine.replace(b",3,", b",8,"))
    assert grade(*resume) == 2
    assert "by_hand.csv, line 2: 8 points are more than the 7 of 02.1" in capsys.readouterr().err
    assert "\ndia,3,0," in (copy / "gradebook.csv").read_text("utf-8")


def test_points_by_hand_for_an_earlier_file_are_told(place, copy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    (tmp_path / "all").mkdir()
    mine = b"student,question,of,points,why,file\n\ndia,02.1,7,3,nearly,sha256:0123456789abcdef\n"
    resume = [place / "class", "--key", place / "key", "--out", copy, "--resume"]
    for given in (resume, ["merge", place / "whole", "--out", tmp_path / "all"]):
        (given[given.index("--out") + 1] / "by_hand.csv").write_bytes(mine)
        assert grade(*given) == 0
        said = capsys.readouterr().out
        assert said.count("Handed in anew since you gave points: dia, 02.1. ") == 1
    for folder in (copy, tmp_path / "all"):
        assert "\ndia,0,0," in (folder / "gradebook.csv").read_text("utf-8")


@pytest.mark.parametrize(
    "said, wrong",
    [
        (" isn't written in UTF-8: save it as CSV UTF-8", b"ana,02.1,7,5,caf\xe9\n"),
        (", line 2: 8 points are more than the 7 of 02.1", b"ana,02.1,7,8,\n"),
        (", line 3: a line above gives other", b"ana,02.1,7,5,\nana,02.1,7,4,\n"),
        (", line 2: no student is 'eve'", b"eve,02.1,7,3,\n"),
        (", line 2: 9 points are more than the 7 of 04.1", b"ben,04.1,8,9,not graded now\n"),
    ],
)
def test_a_bad_line_is_told_before_anything_is_graded(
    place, tmp_path, monkeypatch, capsys, said, wrong
):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    path = tmp_path / "grades" / "by_hand.csv"
    path.parent.mkdir()
    path.write_bytes(b"student,question,of,points,why\n" + wrong)
    for given in ([place / "class", "--key", place / "key"], ["merge", place / "whole"]):
        assert grade(*given, "--out", path.parent) == 2
        assert f"{path}{said}" in capsys.readouterr().err
        assert list(path.parent.iterdir()) == [path], "something was written before"


def test_points_in_a_part_s_folder_count_for_the_class(copy, place, tmp_path, capsys):
    mine = "student,question,of,points,why\nben,02.1,7,6,late\n"
    (copy / "by_hand.csv").write_text(mine)
    for _ in range(2):
        assert grade("merge", place / "whole", copy, "--out", tmp_path / "all") == 0
        assert "\nben,6,0," in (tmp_path / "all" / "gradebook.csv").read_text("utf-8")
        given = (tmp_path / "all" / "by_hand.csv").read_text("utf-8-sig")
        assert given.splitlines()[1:] == ['"ben","02.1 scores",7,6,"late",""']
    other = tmp_path / "other" / "by_hand.csv"
    other.parent.mkdir()
    other.write_text(mine.replace(",6,", ",5,"))
    assert grade("merge", place / "whole", copy, "--out", other.parent) == 2
    assert f"{copy / 'by_hand.csv'}, line 2 gives ben, 02.1, 6 points" in capsys.readouterr().err
    assert list(other.parent.iterdir()) == [other], "something was written before"


def never(tasks, key, jobs):
    assert not tasks
    return iter(())


def test_only_some_chapters(place, copy, monkeypatch):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    given = [place / "class", "--key", place / "key", "--out", copy, "--resume"]
    assert grade(*given, "--only", "3") == 0
    head = (copy / "gradebook.csv").read_text("utf-8").splitlines()[0]
    assert "03.1" in head and "02.1" not in head


def test_what_is_interrupted_at_its_reports_goes_on_there(place, copy, monkeypatch, capsys):
    def interrupted(rows, questions, path):
        raise KeyboardInterrupt

    monkeypatch.setattr("course_lib.grading.command.graded", never)
    (copy / "class.html").unlink()
    given = [place / "class", "--key", place / "key", "--out", copy, "--resume"]
    with monkeypatch.context() as patch:
        patch.setattr("course_lib.grading.command.write_class", interrupted)
        assert grade(*given) == 130
    assert capsys.readouterr().err == "Stopped. Go on with --resume.\n"
    assert grade(*given) == 0 and reports(copy) == reports(place / "whole")


# --- walls ---


def test_full_isolation_may_be_demanded(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("course_lib.grading.command.graded", lambda tasks, key, jobs: iter(()))
    given = [place / "class", "--out", tmp_path / "grades", "--require-isolation", "full"]
    monkeypatch.setattr(doctor, "walls_here", lambda: ["limits", "seccomp"])
    assert grade(*given) == 2
    assert "landlock is missing" in capsys.readouterr().err
    assert not (tmp_path / "grades").exists(), "it left something behind"
    monkeypatch.setattr(doctor, "walls_here", lambda: ["limits", "own user", "landlock", "seccomp"])
    assert grade(*given) == 0


def test_walls_that_are_missing_are_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ana_02_attention.py").write_text(RIGHT)
    some = functools.partial(pool.graded, walls=("limits", "seccomp"))
    monkeypatch.setattr("course_lib.grading.command.graded", some)
    out = tmp_path / "grades"
    assert grade(tmp_path / "class", "--out", out, "--jobs", 1) == 0
    assert row(out, "ana", "02.1")["isolation"] == "limits, seccomp"
    said = capsys.readouterr().out
    assert "1 student (ana), 5 answers. " in said
    assert "Isolation: limits, seccomp for 1 that ran" in said and "grade doctor" in said


def test_a_grader_that_does_not_start_ends_the_run(place, tmp_path, monkeypatch, capsys):
    class Lost(tuple):
        def __reduce__(self):  # on the way to a worker
            return tuple, ((None,),)

    def no_twin(self):
        raise GraderFault("it has ended")

    monkeypatch.setattr(pool.Warm, "twin", no_twin)
    broken = functools.partial(pool.graded, walls=Lost())
    monkeypatch.setattr("course_lib.grading.command.graded", broken)
    assert grade(place / "class", "--out", tmp_path / "grades", "--jobs", 1) == 1
    assert "grade doctor" in capsys.readouterr().err


def test_whom_an_earlier_run_knew_and_this_one_does_not_is_told(place, copy, tmp_path, capsys):
    given = ["--key", place / "key", "--out", copy, "--resume"]
    assert grade(place / "class", *given) == 0
    assert "Graded now: 0 answers of" in (said := capsys.readouterr().out)
    assert "Left out" not in said
    shutil.copytree(place / "class" / "李雷", tmp_path / "two" / "李雷")
    shutil.copytree(place / "class" / "fay", tmp_path / "two" / "fay")
    assert grade(tmp_path / "two", *given) == 0
    said = capsys.readouterr().out
    assert "Left out, for want of their files: ana, ben, cem, dia, eva. Their pages" in said
    assert {name for name in reports(copy) if "feedback/" in name} == {
        "feedback/fay.html",
        "feedback/李雷.html",
    }
    assert grade(place / "class", *given) == 0 and reports(copy) == reports(place / "whole")


def test_points_by_hand_wait_for_a_student_who_is_not_there_now(
    place, copy, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("course_lib.grading.command.graded", never)
    given = ["--key", place / "key", "--out", copy, "--resume"]
    mine = b"student,question,of,points,why\ndia,02.1,7,3,nearly\n"
    for name in ("ana", "fay"):
        shutil.copytree(place / "class" / name, tmp_path / "two" / name)
    for folder, has_dia in ((tmp_path / "two", False), (place / "class", True)):
        (copy / "by_hand.csv").write_bytes(mine)
        assert grade(folder, *given) == 0, capsys.readouterr().err
        assert (copy / "by_hand.csv").read_bytes().startswith(mine)
        nobody = "Points by hand that count for nobody now: dia, 02.1.\n"
        assert (nobody in capsys.readouterr().out) != has_dia
        book = (copy / "gradebook.csv").read_text("utf-8")
        assert ("\ndia,3,0," in book) == ("\ndia," in book) == has_dia


# --- what can't be done ---


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "SUBMISSIONS"),
        (["class"], "--out GRADES"),
        (["nowhere", "--out", "o"], "nowhere doesn't exist"),
        (["empty", "--out", "o"], "empty"),
        (["class", "class", "--out", "o"], "One folder"),
        (["class", "--out", "whole"], "--resume"),
        (["class", "--out", "o", "--jobs", "0"], "1 or more; got '0'"),
        (["class", "--out", "o", "--jobs", "all"], "got 'all'"),
        (["class", "--out", "o", "--only", "masks"], "such as 03; got 'masks'"),
        (["class", "--out", "o", "--only", "06"], "nothing of chapter 06"),
        (["class", "--out", "o", "--shard", "3/2"], "such as 1/4; got '3/2'"),
        (["class", "--out", "o", "--shard", "half"], "got 'half'"),
        (["class", "--out", "o", "--shard", "1/2"], "--shard needs --key"),
        (["class", "--out", "o", "--key", "short"], "short is no key: expected one line of 32 to"),
        (["class", "--out", "o", "--key", "empty"], "empty is no key"),
        (
            ["class", "--out", "o", "--key", "class/ben/02_attention.py"],
            "02_attention.py is no key",
        ),
        (["class", "--out", "class/grades"], "among what was handed in"),
        (["class", "--out", "key/o"], "key is a file, and grades need a folder"),
        (["class", "--out", "key"], "--out key: key is a file"),
        (["merge", "whole", "--out", "key"], "--out key: key is a file"),
        (["class", "--out", "whole", "--only", "06"], "nothing of chapter 06"),
        (["class", "--out", "whole", "--key", "short"], "short is no key"),
        (["class", "--out", "whole", "--shard", "1/2"], "--shard needs --key"),
        (["class", "--out", "whole", "--key", "none", "--resume"], "none isn't there"),
        (["class", "--out", "o", "--require-isolation", "some"], "full"),
        (["merge", "--out", "o"], "Which parts?"),
        (["merge", "whole"], "--out GRADES"),
        (["merge", "whole", "nowhere", "--out", "o"], "nowhere: no results.jsonl is there"),
        (["merge", "class", "--out", "o"], "class: no results.jsonl is there"),
        (["merge", "whole", "other", "--out", "o"], "one --key"),
        (["merge", "whole", "--out", "whole"], "one of the parts"),
        (
            ["merge", "whole", "--out", "o", "--shard", "1/2", "--jobs", "3", "--only", "3"],
            "grade merge doesn't take --jobs, --only, --shard.",
        ),
        (["merge", "--key", "key", "--resume"], "grade merge doesn't take --key, --resume."),
        (
            ["doctor", "--out", "o", "--require-isolation", "full", "--dask", "there"],
            "grade doctor doesn't take --dask, --out, --require-isolation.",
        ),
        (["doctor", "class"], "grade doctor takes no folder"),
    ],
)
def test_what_cannot_be_done_is_said(place, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(place)
    (place / "empty").mkdir(exist_ok=True)
    (place / "short").write_text("1234")
    (place / "other").mkdir(exist_ok=True)
    text = (place / "whole" / "results.jsonl").read_text("utf-8")
    changed = [json.dumps(json.loads(line) | {"key": "of another"}) for line in text.splitlines()]
    (place / "other" / "results.jsonl").write_text("\n".join(changed) + "\n")
    inventory = json.loads((place / "whole" / "inventory.json").read_text())
    changed = json.dumps(inventory | {"key": "of another"})
    (place / "other" / "inventory.json").write_text(changed)
    assert grade(*arguments) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error and "Errno" not in error
    assert not (place / "o").exists(), "it left something behind"


def test_help_says_what_a_merge_and_the_doctor_take(capsys):
    assert grade("merge", "--help") == 0
    assert "A merge takes --out alone of the options, and doctor takes none." in (
        capsys.readouterr().out
    )


def test_as_many_jobs_as_are_said_and_else_one_more_than_cores(place, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "course_lib.grading.command.graded", lambda tasks, key, jobs: asked.append(jobs) or iter(())
    )
    for i, given in enumerate(([], ["--jobs", JOBS + 2])):
        assert grade(place / "class", "--out", tmp_path / str(i), *given) == 0
    assert asked == [JOBS, JOBS + 2]


def test_a_cluster_needs_dask(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "course_lib.grading.cluster", raising=False)
    monkeypatch.delattr("course_lib.grading.cluster", raising=False)  # the package remembers it
    assert grade(place / "class", "--out", tmp_path / "grades", "--dask", "tcp://there:1") == 2
    assert "[dask]" in capsys.readouterr().err
    assert not (tmp_path / "grades").exists(), "it left something behind"

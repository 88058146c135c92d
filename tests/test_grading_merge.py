"""What is merged has the rows of one run over all that was handed in, or says why it can't."""

import json
import shutil
from pathlib import Path

import pytest
from a_class import RIGHT, reports

from course_lib.__main__ import main
from course_lib.checks import find
from course_lib.grading.reports.results import read
from course_lib.grading.row import blank

NAMES = ["amy", "ben", "cat", "dan", "eve"]  # of three parts, dan alone is the second


def zero(tasks, key, jobs):
    """No points for anything that was handed in, without a process."""
    for task in tasks:
        asked = [find(name) for name in task.questions]
        yield from ((task.submission, blank(task.submission, q, key)) for q in asked)
        yield task.submission, None


def grade(*arguments: object) -> int:
    return main(["grade", *map(str, arguments)])


def put(path: str, source: str = RIGHT) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(source)


def work_in(folder: Path, monkeypatch) -> None:
    """A folder with a key, in which nothing is run."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("course_lib.grading.command.graded", zero)
    Path("key").write_text("0123456789abcdef" * 4)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder to work in, with a key and a class that handed in chapter 03."""
    work_in(tmp_path, monkeypatch)
    for name in NAMES:
        put(f"class/{name}/03_masks.py")


def run(folder: str, out: str, *more: object) -> None:
    assert grade(folder, "--key", "key", "--out", out, *more) == 0


def three_parts(*more: object) -> list[str]:
    for i in (1, 2, 3):
        run("class", f"p{i}", "--shard", f"{i}/3", *more)
    return ["p1", "p2", "p3"]


def same(one: str, other: str) -> bool:
    """The same rows, and the same bytes of everything that is drawn from them."""
    rows, others = (read(Path(folder) / "results.jsonl") for folder in (one, other))
    assert rows == others
    return reports(Path(one)) == reports(Path(other))


def test_who_comes_late_with_another_chapter_leaves_nothing_open(capsys):
    parts = three_parts()
    put("late/dan/02_attention.py")
    run("late", "late_grades")
    assert grade("merge", *parts, "late_grades", "--out", "all") == 0
    assert "For a person" not in capsys.readouterr().out
    rows = {(r["student"], r["question"]): r for r in read(Path("all/results.jsonl"))}
    assert rows["amy", "02.1"]["note"] == "Nothing was handed in." and len(rows) == 5 * 11
    assert rows["amy", "02.1"]["status"] == "missing" and rows["dan", "02.1"]["path"]
    assert "no result" not in Path("all/gradebook.csv").read_text("utf-8-sig")
    shutil.copytree("late", "class", dirs_exist_ok=True)
    run("class", "whole")
    assert same("all", "whole")


def test_a_file_of_no_known_chapter_waits_for_a_person_in_each(capsys):
    put("class/eve/notes.py", "import torch\n")
    Path("class/eve/03_masks.py").unlink()
    parts = three_parts()
    put("late/fay/02_attention.py")
    run("late", "late_grades")
    assert grade("merge", "late_grades", *parts, "--out", "all") == 0
    shutil.copytree("late", "class", dirs_exist_ok=True)
    run("class", "whole")
    assert same("all", "whole")
    status = {r["status"] for r in read(Path("all/results.jsonl")) if r["student"] == "eve"}
    assert status == {"unclear"}


def test_two_hand_ins_of_one_chapter_say_what_helps(capsys):
    parts = three_parts()
    put("late/dan/03_masks.py", "# again\n")
    run("late", "late_grades")
    assert grade("merge", *parts, "late_grades", "--out", "all") == 2
    said = capsys.readouterr().err
    assert "late_grades and p2 hold two hand-ins of dan for 03. Put the new one into the" in said
    assert "run its part again with --resume, and merge without" in said
    assert not Path("all").exists()
    shutil.copy("late/dan/03_masks.py", "class/dan/03_masks.py")  # and that does help
    run("class", "p2", "--shard", "2/3", "--resume")
    assert grade("merge", *parts, "--out", "all") == 0
    run("class", "whole")
    assert same("all", "whole")


def test_the_same_file_in_two_folders_is_one_hand_in():
    parts = three_parts()
    run("class/dan", "late_grades")  # there its path is another
    assert grade("merge", *parts, "late_grades", "--out", "all") == 0
    assert {r["student"] for r in read(Path("all/results.jsonl"))} == {*NAMES}


def test_what_a_part_graded_earlier_does_not_come_back():
    put("class/dan/02_attention.py")
    put("class/fay/03_masks.py")
    parts = three_parts()
    shutil.rmtree("class/fay")
    Path("class/dan/02_attention.py").unlink()
    put("class/amy/03_masks.py", "# again\n")
    three_parts("--resume")
    assert {r["student"] for p in parts for r in read(Path(p, "results.jsonl"))} > {*NAMES}
    for folder in ("p1", "p2", "p3"):
        points = "student,question,of,points,why\nfay,03.1,6,2,before she left\n"
        Path(folder, "by_hand.csv").write_text(points)
    assert grade("merge", *parts, "--out", "all") == 0
    Path("all/by_hand.csv").unlink()
    run("class", "whole")
    assert same("all", "whole")


def test_who_came_after_their_part_was_graded_is_named(capsys):
    run("class", "p1", "--shard", "1/3")
    put("class/abe/03_masks.py")  # of the first part
    for i in (2, 3):
        run("class", f"p{i}", "--shard", f"{i}/3")
    capsys.readouterr()
    assert grade("merge", "p1", "p2", "p3", "--out", "all") == 0
    said = capsys.readouterr().out
    assert said.startswith("In the class and in no part: abe. Run each part again with --resume")
    run("class", "p1", "--shard", "1/3", "--resume")
    assert grade("merge", "p1", "p2", "p3", "--out", "all") == 0
    assert "in no part" not in capsys.readouterr().out
    run("class", "whole")
    assert same("all", "whole")


def test_a_part_that_was_stopped_is_named(monkeypatch, capsys):
    def stops(tasks, key, jobs):
        yield next(zero(tasks, key, jobs))
        raise KeyboardInterrupt

    parts = three_parts()
    shutil.rmtree("p2")
    with monkeypatch.context() as patch:
        patch.setattr("course_lib.grading.command.graded", stops)
        given = ["--key", "key", "--shard", "2/3", "--out", "p2"]
        assert grade("class", *given) == 130
    assert grade("merge", *parts, "--out", "all") == 2
    said = "p2: 5 answers not graded yet, first dan, 03.2. Run that part again with --resume, and"
    assert said in capsys.readouterr().err and not Path("all").exists()
    run("class", "p2", "--shard", "2/3", "--resume")
    assert grade("merge", *parts, "--out", "all") == 0


def test_a_chapter_that_only_some_parts_asked_is_named(capsys):
    put("class/amy/02_attention.py")
    three_parts("--only", "03")
    assert grade("merge", "p1", "p2", "p3", "--out", "some") == 0
    assert {r["question"][:2] for r in read(Path("some/results.jsonl"))} == {"03"}
    run("class", "p2", "--shard", "2/3", "--resume")
    assert grade("merge", "p1", "p2", "p3", "--out", "all") == 2
    said = "p3: 5 answers not graded yet, first amy, 02.1. Run that part again with --resume and "
    assert said + "chapter 02, and merge then." in capsys.readouterr().err


def test_a_part_without_its_list_of_files_is_run_again(capsys):
    run("class", "whole")
    Path("whole/inventory.json").rename("kept")
    assert grade("merge", "whole", "--out", "all") == 2
    assert "whole: no inventory.json is there. Run that part again" in capsys.readouterr().err
    run("class", "whole", "--resume")
    assert Path("kept").read_text() == Path("whole/inventory.json").read_text()
    assert json.loads(Path("kept").read_text())["chapters"] == ["03"]

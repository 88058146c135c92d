"""One student's files, graded into the grades of a class, change that student's line alone."""

import shutil
from pathlib import Path

import pytest
from a_class import CAUSAL, RIGHT, reports
from test_grading_merge import grade, put, work_in

from course_lib.grading.reports.results import read

NAMES = ["bea", "joe", "kim", "lou"]
RESUME = ["--key", "key", "--out", "grades", "--resume"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder to work in, with a key, a class, and its grades."""
    work_in(tmp_path, monkeypatch)
    for name in NAMES:
        put(f"class/{name}/03_masks.py", CAUSAL)
    put("class/joe/02_attention.py")
    put("class/lou/notes.py", "import torch\n")
    Path("class/lou/03_masks.py").unlink()
    assert grade("class", "--key", "key", "--out", "grades") == 0


def is_as_the_whole() -> bool:
    """Whether the grades have the bytes of a run over the class that there is now.

    But for by_hand.csv, which is the instructor's and keeps the lines of earlier runs.
    """
    assert grade("class", "--key", "key", "--out", "whole") == 0
    one, other = (reports(Path(folder)) for folder in ("grades", "whole"))
    return one | {"by_hand.csv": b""} == other | {"by_hand.csv": b""}


@pytest.mark.parametrize("chapter", ["03_masks", "04_heads", "02_attention"])
def test_the_others_stay_as_they_were_graded(chapter, capsys):
    put(f"class/joe/{chapter}.py", f"{RIGHT}# again\n")
    assert grade("class/joe", *RESUME) == 0
    said = capsys.readouterr().out
    assert "Kept as graded before: 3 students.\n" in said and "Left out" not in said
    assert is_as_the_whole()


def test_a_new_student_is_added_and_who_had_left_stays_away(capsys):
    shutil.rmtree("class/kim")
    assert grade("class", *RESUME) == 0
    put("late/mia/03_masks.py", CAUSAL)
    assert grade("late", *RESUME) == 0
    assert "Kept as graded before: 3 students." in capsys.readouterr().out
    put("class/mia/03_masks.py", CAUSAL)
    assert is_as_the_whole()


def test_one_file_leaves_the_students_other_chapters(capsys):
    put("class/joe/03_masks.py", f"{CAUSAL}# again\n")
    assert grade("class/joe/03_masks.py", *RESUME) == 0
    said = capsys.readouterr().out
    assert "Kept as graded before: 3 students, chapter 02 of joe." in said
    assert is_as_the_whole()


def test_a_file_that_nobody_can_tell_hides_behind_no_earlier_one():
    shutil.rmtree("class/joe")
    put("class/joe/work.py", "import torch\n")
    assert grade("class/joe", *RESUME) == 0
    rows = [row for row in read(Path("grades/results.jsonl")) if row["path"] == "joe/work.py"]
    assert {row["status"] for row in rows} == {"unclear"} and is_as_the_whole()


def test_a_part_keeps_its_others():
    part = ["--key", "key", "--shard", "1/2", "--out"]
    assert grade("class", *part, "part") == 0
    names = {row["student"] for row in read(Path("part/results.jsonl"))}
    for name in sorted(names):
        put(f"class/{name}/03_masks.py", f"{CAUSAL}# again\n")
        assert grade(f"class/{name}", *part, "part", "--resume") == 0
    assert len(names) > 1 and grade("class", *part, "whole") == 0
    assert reports(Path("part")) == reports(Path("whole")), "with who is in other parts"


def test_a_student_of_another_part_is_told(capsys):
    for i in (1, 2):
        assert grade("class", "--key", "key", "--shard", f"{i}/2", "--out", f"part{i}") == 0
    joes = next(i for i in (1, 2) if any(r["student"] == "joe" for r in rows_in(f"part{i}")))
    given = ["class/joe", "--key", "key", "--shard", f"{3 - joes}/2", "--out", f"part{3 - joes}"]
    assert grade(*given, "--resume") == 2
    assert "joe is in another part of the class" in capsys.readouterr().err


def rows_in(folder: str) -> list[dict]:
    return read(Path(folder, "results.jsonl"))


def test_other_chapters_are_not_left_out_for_one_student(capsys):
    before = reports(Path("grades"))
    assert grade("class/joe", *RESUME, "--only", "03") == 2
    assert "grades holds chapter 02 too, and its grades would go" in capsys.readouterr().err
    assert reports(Path("grades")) == before
    assert grade("class", "--key", "key", "--out", "some", "--only", "02") == 0
    given = ["class/joe", "--key", "key", "--out", "some", "--resume"]
    assert grade(*given) == 2
    assert "chapter 03 lacks. Add --only 02." in capsys.readouterr().err
    assert grade(*given, "--only", "02") == 0


def test_who_is_new_is_named(capsys):
    put("late/Joe/03_masks.py", CAUSAL)
    assert grade("late", *RESUME) == 0
    assert "Kept as graded before: 4 students. New in these grades: Joe." in capsys.readouterr().out


def test_one_of_two_namesakes_is_known_by_the_number(tmp_path, capsys):
    def name(number: int, chapter: str, files: int) -> str:
        return f"li_{number}_{files}_{chapter}.py"

    put(f"canvas/{name(2001, '03_masks', 7001)}", CAUSAL)
    put("canvas/mo_2009_7002_03_masks.py", CAUSAL)
    given = ["--key", "key", "--out", "two", "--resume"]
    assert grade("canvas", *given) == 0
    before = reports(Path("two"))
    for chapter in ("03_masks", "02_attention"):
        other = name(2002, chapter, 7003)
        put(other, CAUSAL)
        assert grade(other, *given) == 2
        assert "holds one with that of canvas 2001" in capsys.readouterr().err
        assert reports(Path("two")) == before
    put(f"canvas/{name(2002, '03_masks', 7003)}", CAUSAL)
    assert grade("canvas", *given) == 0
    anew = name(2001, "03_masks", 7005)
    put(anew, f"{CAUSAL}# again\n")
    assert grade(anew, *given) == 0
    lines = Path("two/canvas.csv").read_text().splitlines()[2:]
    assert [line.split(",")[:2] for line in lines] == [
        ["li_2001", "2001"],
        ["li_2002", "2002"],
        ["mo", "2009"],
    ]


@pytest.mark.parametrize(
    "said, change",
    [
        ("2 students graded with another key", {"fingerprint": lambda key: "f" * 12}),
        ("2 students graded by another version", {"version": lambda: "other"}),
    ],
)
def test_others_of_another_key_or_version_are_no_others(monkeypatch, capsys, said, change):
    before = reports(Path("grades"))
    for name, other in change.items():
        for module in ("row", "kept"):
            monkeypatch.setattr(f"course_lib.grading.{module}.{name}", other)
    assert grade("class/joe", *RESUME) == 2
    assert f"grades holds {said}" in capsys.readouterr().err
    assert reports(Path("grades")) == before


def test_others_without_a_list_or_of_a_run_that_was_stopped_are_no_others(capsys):
    rows = Path("grades/results.jsonl")
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(line for line in lines if b'"kim", "question": "03' not in line))
    assert grade("class/joe", *RESUME) == 2
    assert "1 student graded not in full: chapter 03 lacks. Give" in capsys.readouterr().err
    Path("grades/inventory.json").unlink()
    assert grade("class/joe", *RESUME) == 2
    assert "3 students graded by another version of the grader" in capsys.readouterr().err
    assert grade("class", *RESUME) == 0 and is_as_the_whole()

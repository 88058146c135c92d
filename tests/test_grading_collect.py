"""What was handed in: layouts, names, zips, and what is never opened, followed or guessed."""

import io
import json
import os
import random
import stat
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.grading.handed_in import collect as module
from course_lib.grading.handed_in import files
from course_lib.grading.handed_in.cells import LARGEST
from course_lib.grading.handed_in.collect import NothingHandedIn, collect
from course_lib.grading.handed_in.names import NOUNS

ROOT = Path(__file__).parents[1]
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links, pipes and odd names")


def notebook(*sources: str) -> bytes:
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()


MASKS = notebook("def causal(Tq, Tk):\n    return 1")
HEADS = notebook("def split(x, H):\n    return x")


def lay(folder: Path, tree: dict[str, bytes]) -> Path:
    for name, data in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def zipped(tree: dict[str, bytes], **how) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **{"compression": zipfile.ZIP_DEFLATED, **how}) as archive:
        for name, data in tree.items():
            archive.writestr(name, data)
    return file.getvalue()


def entry(info: zipfile.ZipInfo, data: bytes = MASKS) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(info, data)
    return file.getvalue()


def rows(folder: Path) -> list[tuple[str, str, str, str]]:
    return [(s.student, s.chapter, s.path, s.problem) for s in collect(folder)]


def whose(folder: Path) -> list[tuple[str, str]]:
    found = collect(folder)
    assert not [s.problem for s in found if s.problem]
    return [(s.student, s.chapter) for s in found]


def test_nouns_are_those_of_the_exercises():
    stems = {path.stem for path in (ROOT / "exercises").glob("*.ipynb")}
    assert {f"{chapter}_{noun}" for chapter, noun in NOUNS.items()} == stems


# --- layouts ---

BOTH = [("ana", "03"), ("ben", "04")]
LAYOUTS = {
    "folders": ("ana/03_masks.ipynb", "ben/04_heads.ipynb"),
    "flat": ("ana_03_masks.ipynb", "ben_04_heads.ipynb"),
    "flat, name last": ("03_masks_ana.ipynb", "04_heads_ben.ipynb"),
    "flat, dashes": ("ana-03-masks.ipynb", "ben-04-heads.ipynb"),
    "nbgrader": ("submitted/ana/masks/03_masks.ipynb", "submitted/ben/ps2/04_heads.ipynb"),
    "canvas": ("ana_1234_5678_03_masks.ipynb", "ben_1235_5679_04_heads.ipynb"),
    "canvas, late": ("ana_LATE_1234_5678_03_masks.ipynb", "ben_1235_5679_04_heads-1.ipynb"),
    "moodle": (
        "ana_123_assignsubmission_file_/03_masks.ipynb",
        "ben_124_assignsubmission_file/04_heads.ipynb",
    ),
    "moodle, flat": (
        "ana_123_assignsubmission_file_03_masks.ipynb",
        "ben_124_assignsubmission_file_04_heads.ipynb",
    ),
    "blackboard": (
        "HW_ana_attempt_2026-01-02-03-04-05_03_masks.ipynb",
        "HW_ben_attempt_2026-01-02-03-04-05_04_heads.ipynb",
    ),
    "by chapter": ("03_masks/ana/answers.ipynb", "04_heads/ben/04_heads.ipynb"),
    "by chapter, flat": ("03_masks/ana_03_masks.ipynb", "04_heads/ben.ipynb"),
    "wrapped": ("fall/ana/03_masks.ipynb", "fall/ben/04_heads.ipynb"),
    "wrapped, flat": ("fall/ana_03_masks.ipynb", "fall/ben_04_heads.ipynb"),
    "deep": ("ana/homework/final/03_masks.ipynb", "ben/x/y/04_heads.ipynb"),
    "noun alone": ("ana/masks.ipynb", "ben/my heads.ipynb"),
    "digits alone": ("ana/03.ipynb", "ben/ch04.ipynb"),
    "one digit": ("ana/3_masks.ipynb", "ben/4 heads.ipynb"),
    "upper case": ("ana/03_Masks.IPYNB", "ben/04_HEADS.ipynb"),
    "a browser's ending": ("ana/03_masks.ipynb.txt", "ben/04_heads.ipynb.json"),
    "by definitions": ("ana/homework.ipynb", "ben/Untitled7.ipynb"),
    "digits and noun disagree": ("ana/04_masks.ipynb", "ben/03_heads.ipynb"),
    "a copy alone": ("ana/03_masks (1).ipynb", "ben/04_heads-Copy1.ipynb"),
}


@pytest.mark.parametrize("names", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("packed", [False, True], ids=["disk", "zip"])
def test_layout(tmp_path, names, packed):
    tree = dict(zip(names, (MASKS, HEADS), strict=True))
    lay(tmp_path, {"class.zip": zipped(tree)} if packed else tree)
    assert whose(tmp_path) == BOTH
    assert [s.data for s in collect(tmp_path)] == [MASKS, HEADS]
    start = "class.zip/" if packed else ""
    expected = [start + name.removeprefix("" if packed else "submitted/") for name in names]
    assert [s.path for s in collect(tmp_path)] == expected


def test_layout_in_a_zip_given_by_itself(tmp_path):
    lay(tmp_path, {"hw.zip": zipped({"ana/03_masks.ipynb": MASKS, "ben/04_heads.ipynb": HEADS})})
    assert whose(tmp_path / "hw.zip") == BOTH


def test_nbgrader_submitted_folder_by_itself(tmp_path):
    lay(tmp_path, {"submitted/ana/one/03_masks.ipynb": MASKS, "submitted/ana/two/h.ipynb": HEADS})
    assert whose(tmp_path / "submitted") == [("ana", "03"), ("ana", "04")]


def test_nbgrader_other_folders_dont_count(tmp_path):
    tree = {f"{d}/ana/03/03_masks.ipynb": MASKS + b" " for d in ("autograded", "source", "release")}
    lay(tmp_path, {**tree, "submitted/ana/03/03_masks.ipynb": MASKS})
    assert whose(tmp_path) == [("ana", "03")]


def test_program_stands_for_a_notebook(tmp_path):
    lay(tmp_path, {"ana/03_masks.py": b"def causal(Tq, Tk): pass", "ben_04_heads.py": b"x = 1"})
    assert whose(tmp_path) == BOTH


ZIPS = {
    "a zip each": {"ana.zip": {"03_masks.ipynb": MASKS}, "ben.zip": {"x/04_heads.ipynb": HEADS}},
    "canvas": {
        "ana_1234_5678_hw.zip": {"03_masks.ipynb": MASKS},
        "ben_1235_5679_hw.zip": {"04_heads.ipynb": HEADS},
    },
    "named by chapter": {
        "ana_03_masks.zip": {"03_masks.ipynb": MASKS},
        "ben_04_heads.zip": {"work/answers.ipynb": HEADS},
    },
    "in folders": {
        "ana/hw.zip": {"03_masks.ipynb": MASKS},
        "ben/04_heads.zip": {"a/answers.ipynb": HEADS},
    },
}


@pytest.mark.parametrize("zips", ZIPS.values(), ids=ZIPS)
def test_zip_of_one_student(tmp_path, zips):
    lay(tmp_path, {name: zipped(tree) for name, tree in zips.items()})
    assert whose(tmp_path) == BOTH


def test_zips_in_a_zip(tmp_path):
    inner = {
        "ana_1_assignsubmission_file_/a.zip": zipped({"03_masks.ipynb": MASKS}),
        "ben.zip": zipped({"4_heads.ipynb": HEADS}),
    }
    lay(tmp_path, {"class.zip": zipped(inner)})
    assert whose(tmp_path) == BOTH


def test_folders_in_a_students_zip_are_nobody(tmp_path):
    ana = {"on masks/03.ipynb": MASKS, "on heads/04.ipynb": HEADS, "more/06_tiling.ipynb": MASKS}
    lay(tmp_path, {"ana.zip": zipped(ana), "ben.zip": zipped({"03_masks.ipynb": MASKS})})
    assert whose(tmp_path) == [("ana", "03"), ("ana", "04"), ("ana", "06"), ("ben", "03")]


def test_a_students_zip_of_others_names_takes_nothing_from_them(tmp_path):
    theirs = {
        f"{name}/03_masks.ipynb": notebook(f"x = '{name}'") for name in ("adam", "bob", "zoe")
    }
    own = {"adam/03_masks.ipynb": MASKS, "zoe/03_masks.ipynb": MASKS}
    lay(tmp_path, own | {"mal.zip": zipped(theirs)})
    found = {(who, problem) for who, _, _, problem in rows(tmp_path)}
    assert {("adam", ""), ("zoe", "")} <= found and "bob" not in {who for who, _ in found}


def test_sections_as_zips(tmp_path):
    sections = [("ana", "ben", "cleo"), ("dan", "eva", "fay")]
    zips = {
        f"section {i}.zip": zipped({f"{name}/03_masks.ipynb": MASKS for name in names})
        for i, names in enumerate(sections)
    }
    lay(tmp_path, zips)
    assert [student for student, _ in whose(tmp_path)] == sorted([*sections[0], *sections[1]])


# --- what one student handed in, by itself ---

OWN = {"03_masks.ipynb": MASKS, "04_heads.ipynb": HEADS}
OWN_FOLDERS = {
    "files": OWN,
    "by chapter": {"masks/03_masks.ipynb": MASKS, "04_heads/answers.ipynb": HEADS},
    "in a folder": {f"exercises/{name}": data for name, data in OWN.items()},
    "with helpers": OWN
    | {"plots.py": b"def plot(): pass", "tools/a.py": b"x = 1", "data/a.csv": b""},
    "by definitions": {"homework1.ipynb": MASKS, "homework 2.ipynb": HEADS},
    "the whole course": {f"exercises/{name}": data for name, data in OWN.items()}
    | {"notebooks/00_start_here.ipynb": notebook("x = 1"), "solutions/03_masks.ipynb": HEADS},
}


@pytest.mark.parametrize("tree", OWN_FOLDERS.values(), ids=OWN_FOLDERS)
def test_folder_of_one_student(tmp_path, tree):
    lay(tmp_path / "ana", tree)
    assert whose(tmp_path / "ana") == [("ana", "03"), ("ana", "04")]


def test_folder_of_one_student_as_platforms_name_it(tmp_path):
    lay(tmp_path / "Ana Lopez_123_assignsubmission_file_", OWN)
    lay(tmp_path / "course" / "submitted" / "ana" / "masks", OWN)
    assert {s for s, _ in whose(tmp_path / "Ana Lopez_123_assignsubmission_file_")} == {"Ana Lopez"}
    assert {s for s, _ in whose(tmp_path / "course" / "submitted" / "ana")} == {"ana"}


def test_file_or_zip_of_one_student(tmp_path, monkeypatch):
    lay(tmp_path / "ana", OWN | {"03_masks.zip": zipped({"03_masks.ipynb": MASKS})})
    lay(tmp_path, {"ben.zip": zipped(OWN)})
    for place in ("ana/03_masks.ipynb", "ana/03_masks.zip"):
        assert whose(tmp_path / place) == [("ana", "03")]
    assert whose(tmp_path / "ben.zip") == [("ben", "03"), ("ben", "04")]
    monkeypatch.chdir(tmp_path / "ana")
    assert whose(Path("04_heads.ipynb")) == [("ana", "04")]
    (tmp_path / "ana" / "03_masks.zip").unlink()
    assert whose(Path(".")) == [("ana", "03"), ("ana", "04")], "as in the whole class"


@pytest.mark.parametrize("name", ["solutions", "submissions", "03_masks", "Downloads"])
def test_files_of_nobody_in_a_folder_of_nobody_say_what_to_do(tmp_path, name):
    lay(tmp_path / name, OWN)
    for place in (tmp_path / name, tmp_path / name / "03_masks.ipynb"):
        with pytest.raises(NothingHandedIn, match=r"No student's name.*\n.*ana/03_masks.ipynb"):
            collect(place)


@pytest.mark.parametrize("other", ["ben.ipynb", "ben_04_heads.py", "ben.zip", "ben/03_masks.ipynb"])
def test_a_name_at_one_file_makes_it_no_folder_of_one(tmp_path, other):
    data = {"ben.ipynb": MASKS, "ben.zip": b"PK"}.get(other, b"<html>")
    lay(tmp_path / "ana", OWN | {other: data})
    assert {s.student for s in collect(tmp_path / "ana")} == {*OWN, "ben"}


# --- one of a name ---


def test_two_of_one_name_with_a_platforms_numbers_are_two(tmp_path):
    names = ("li_1111_9_03_masks.ipynb", "li_1111_9001_03_masks.ipynb", "li_2222_9002_03_masks.py")
    lay(tmp_path, {names[1]: MASKS, names[2]: b"def causal(): pass"})
    assert whose(tmp_path) == [("li_1111", "03"), ("li_2222", "03")]


def test_moodle_gives_one_student_another_number_for_each_assignment(tmp_path):
    tree = {
        "Ana Lopez_123_assignsubmission_file_/03_masks.ipynb": MASKS,
        "Ana Lopez_987_assignsubmission_file_/04_heads.ipynb": HEADS,
    }
    assert whose(lay(tmp_path, tree)) == [("Ana Lopez", "03"), ("Ana Lopez", "04")]


# --- the number that a platform gave ---


def numbers(folder: Path) -> list[tuple[str, str, str]]:
    return [(s.student, s.chapter, s.number) for s in collect(folder)]


TOLD = {
    "canvas": ("canvas 1234", "canvas 1235"),
    "canvas, late": ("canvas 1234", "canvas 1235"),
    "moodle": ("moodle 123", "moodle 124"),
    "moodle, flat": ("moodle 123", "moodle 124"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_number_is_told_with_its_platform_where_one_made_the_name(tmp_path, layout):
    tree = dict(zip(LAYOUTS[layout], (MASKS, HEADS), strict=True))
    ana, ben = TOLD.get(layout, ("", ""))
    for folder, laid in (("disk", tree), ("zip", {"class.zip": zipped(tree)})):
        lay(tmp_path / folder, laid)
        assert numbers(tmp_path / folder) == [("ana", "03", ana), ("ben", "04", ben)]


def test_a_number_is_told_of_a_zip_of_one_students_folder_and_of_what_cant_be_graded(tmp_path):
    tree = {name: zipped(files) for name, files in ZIPS["canvas"].items()}
    lay(tmp_path / "zips", tree | {"cy_1236_5680_hw.pdf": b"%PDF"})
    told = [("ana", "03", "canvas 1234"), ("ben", "04", "canvas 1235"), ("cy", "", "canvas 1236")]
    assert numbers(tmp_path / "zips") == told
    ana = tmp_path / "Ana Lopez_123_assignsubmission_file_"
    lay(ana, OWN)
    found = numbers(ana)
    assert found == [("Ana Lopez", chapter, "moodle 123") for chapter in ("03", "04")]


def test_each_assignment_of_moodle_has_its_own_number_of_a_student(tmp_path):
    tree = {
        "Ana Lopez_123_assignsubmission_file_/03_masks.ipynb": MASKS,
        "Ana Lopez_987_assignsubmission_file_/04_heads.ipynb": HEADS,
        "Ben Ito_124_assignsubmission_file_/a.ipynb": MASKS,
        "Ben Ito_988_assignsubmission_file_/b.ipynb": MASKS,
    }
    assert numbers(lay(tmp_path, tree)) == [
        ("Ana Lopez", "03", "moodle 123"),
        ("Ana Lopez", "04", "moodle 987"),
        ("Ben Ito_124", "03", "moodle 124"),
        ("Ben Ito_988", "03", "moodle 988"),
    ]
    two = {
        "Ana Lopez_123_assignsubmission_file_/03_masks.ipynb": MASKS,
        "Ana Lopez_987_assignsubmission_file_/work.ipynb": MASKS,
    }
    assert numbers(lay(tmp_path / "two", two)) == [("Ana Lopez", "03", "")]


@pytest.mark.parametrize("third", ["work.ipynb", "06_tiling.ipynb", "hw.pdf"])
def test_two_of_one_name_with_two_numbers_of_canvas_are_two_students(tmp_path, third):
    """Those who handed in different chapters became one, who had the work of both."""
    names = ("li_1111_9001_03_masks.ipynb", "li_1111_9002_04_heads.ipynb")
    tree = dict(zip(names, (MASKS, HEADS), strict=True))
    lay(tmp_path, tree | {"mo_3333_9004_03_masks.ipynb": MASKS})
    assert {number for _, _, number in numbers(tmp_path)} == {"canvas 1111", "canvas 3333"}
    lay(tmp_path, {f"li_2222_9003_{third}": MASKS})
    found = {(student, number) for student, _, number in numbers(tmp_path)}
    assert found == {
        ("li_1111", "canvas 1111"),
        ("li_2222", "canvas 2222"),
        ("mo", "canvas 3333"),
    }


@pytest.mark.parametrize("number", ["١٢٣٤", "0123", "1" * 20])
def test_what_no_platform_gives_for_a_number_is_none(tmp_path, number):
    lay(tmp_path, {f"ana_{number}_5678_03_masks.ipynb": MASKS})
    (ana,) = collect(tmp_path)
    assert ana.number == ""


@pytest.mark.parametrize(
    "second", ["03_masks-1.ipynb", "03_masks (1).ipynb", "03_masks-Copy1.ipynb", "old/m.ipynb"]
)
def test_two_candidates_are_never_chosen_from(tmp_path, second):
    other = notebook("def causal(Tq, Tk):\n    return 2")
    lay(tmp_path, {"ana/03_masks.ipynb": MASKS, f"ana/{second}": other, "ben/masks.ipynb": MASKS})
    ana, ben = collect(tmp_path)
    assert ana.problem.startswith("two candidate notebooks: ana/")
    assert f"ana/{second}" in ana.problem and "ana/03_masks.ipynb" in ana.problem
    assert ana.data == b"" and ana.chapter == "03" and not ben.problem
    assert ana.unclear and not ben.unclear, "each of the two can be read"


def test_what_waits_is_known_again_by_its_bytes_and_its_problem(tmp_path):
    known = []
    for at in range(4):
        files = {"ana/03_masks.ipynb": MASKS + b" " * (at > 0), "ana/masks.ipynb": MASKS + b"  "}
        files |= {"ana/old/masks.ipynb": MASKS + b"   "} if at > 1 else {}
        files |= {"ana/old/masks.ipynb": MASKS} if at > 2 else {}
        lay(tmp_path, files)
        (ana,) = collect(tmp_path)
        assert ana.unclear and collect(tmp_path)[0].digest == ana.digest
        known.append(ana.digest)
    assert len(set(known)) == 4
    (tmp_path / "ana" / "zz").mkdir()
    (tmp_path / "ana" / "03_masks.ipynb").rename(tmp_path / "ana" / "zz" / "masks.ipynb")
    (last,) = collect(tmp_path)
    assert last.problem != ana.problem and last.digest == ana.digest, "wherever they lie"


def test_an_empty_file_is_known_by_its_bytes_when_it_turns_out_to_be_unreadable(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": b""})
    (ana,) = collect(tmp_path)
    assert not ana.problem and replace(ana, problem="it is empty").digest == ana.digest


def test_three_flat_candidates_are_counted(tmp_path):
    names = ("ana_03_masks.ipynb", "ana_03_masks-1.ipynb", "ana_03_masks (2).ipynb")
    lay(tmp_path, {name: MASKS + b" " * i for i, name in enumerate(names)})
    (ana,) = collect(tmp_path)
    assert ana.student == "ana" and ana.problem.startswith("3 candidate notebooks: ")


def test_identical_copies_are_one(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": MASKS, "ana/03_masks (1).ipynb": MASKS})
    assert whose(tmp_path) == [("ana", "03")]


def test_what_answers_nothing_is_no_candidate(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": MASKS, "ana/masks_scratch.ipynb": notebook("x = 1")})
    assert rows(tmp_path) == [("ana", "03", "ana/03_masks.ipynb", "")]


def test_an_unreadable_copy_is_a_candidate(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": MASKS, "ana/03_masks-1.ipynb": MASKS[:50]})
    assert collect(tmp_path)[0].problem.startswith("two candidate")


def test_whole_course_handed_in_counts_by_its_exercises(tmp_path):
    course = {f"{d}/03_masks.ipynb": MASKS + d.encode() for d in ("notebooks", "solutions")}
    course |= {"exercises/03_masks.ipynb": MASKS, "course_lib/masks.py": b"def causal(): pass"}
    lay(tmp_path, {f"ana/attention-main/{name}": data for name, data in course.items()})
    expected = [("ana", "03", "ana/attention-main/exercises/03_masks.ipynb", "")]
    assert rows(tmp_path) == expected


def test_one_file_with_two_chapters_is_told(tmp_path):
    both = notebook("def causal(): pass", "def split(): pass")
    lay(tmp_path, {"ana/all.ipynb": both})
    (ana,) = collect(tmp_path)
    assert (ana.chapter, ana.data) == ("", b"") and "03 and 04" in ana.problem and ana.unclear


def test_a_helper_named_as_anothers_answer_changes_no_chapter(tmp_path):
    three = "def split(x): pass\ndef merge(x): pass\ndef take_head(x): pass"
    lay(tmp_path, {"ana/work.ipynb": notebook(three, "def softmax(x): pass")})
    assert whose(tmp_path) == [("ana", "04")]


def test_a_group_has_a_number_and_no_chapter(tmp_path):
    lay(tmp_path, {"group 04/work.ipynb": MASKS, "group 05/work.ipynb": MASKS})
    assert whose(tmp_path) == [("group 04", "03"), ("group 05", "03")]


# --- what is ignored, and what is told ---


def test_ignored(tmp_path):
    other = notebook("def causal(): return 3")
    names = [
        "ana/.ipynb_checkpoints/03_masks-checkpoint.ipynb",
        "ana/03_masks-checkpoint.ipynb",
        "__MACOSX/ana/._03_masks.ipynb",
        "ana/.03_masks.ipynb",
        "ana/venv/lib/masks.py",
        "ana/feedback/03_masks.ipynb",
        "ana/03_masks_feedback.ipynb",
        "feedback/ana/03_masks.ipynb",
        "ana/helpers.py",
        "roster.csv",
    ]
    tree = {"ana/03_masks.ipynb": MASKS, **dict.fromkeys(names, other)}
    tree |= {"ana/helpers.py": b"def help_me(): pass"}
    lay(tmp_path, tree)
    assert whose(tmp_path) == [("ana", "03")]
    lay(tmp_path / "zips", {"class.zip": zipped(tree)})
    assert whose(tmp_path / "zips") == [("ana", "03")]


@pytest.mark.parametrize("tree", [{}, {"notes.txt": b"hello"}, {".x/03_masks.ipynb": MASKS}])
def test_folder_without_anything_names_the_layouts(tmp_path, tree):
    with pytest.raises(NothingHandedIn, match=r"layouts are known.*\n.*ana/03_masks.ipynb"):
        collect(lay(tmp_path, tree))


def test_no_such_folder(tmp_path):
    with pytest.raises(NothingHandedIn, match="doesn't exist"):
        collect(tmp_path / "nowhere")


def test_student_with_another_thing_is_told(tmp_path):
    lay(tmp_path, {"ana/03_masks.pdf": b"%PDF", "ben/03_masks.ipynb": MASKS})
    (tmp_path / "cleo").mkdir()
    nothing = "nothing that can be graded was handed in"
    assert rows(tmp_path) == [
        ("ana", "", "ana", f"{nothing}: ana/03_masks.pdf"),
        ("ben", "03", "ben/03_masks.ipynb", ""),
        ("cleo", "", "cleo", nothing),
    ]


def test_another_thing_that_a_platform_names_for_a_student_is_told(tmp_path):
    """Beside notebooks in Canvas's one flat folder; a list of names is nobody's."""
    files = {"hoppergrace_1002_20012_03_masks.ipynb": MASKS, "names_2026.csv": b"a, b"}
    lay(tmp_path, files | {"lovelaceada_1004_20041_homework.pdf": b"%PDF"})
    nothing = "nothing that can be graded was handed in: lovelaceada_1004_20041_homework.pdf"
    assert rows(tmp_path) == [
        ("hoppergrace", "03", "hoppergrace_1002_20012_03_masks.ipynb", ""),
        ("lovelaceada", "", "", nothing),
    ]


def test_file_of_nobody_is_told(tmp_path):
    lay(tmp_path, {"03_masks.ipynb": MASKS, "ana_03_masks.ipynb": MASKS})
    nobody, ana = collect(tmp_path)
    assert (nobody.chapter, nobody.data) == ("03", b"") and "no student's name" in nobody.problem
    assert nobody.unclear and ana.student == "ana"


def test_chapter_that_nothing_tells(tmp_path):
    lay(tmp_path, {"ana/work.ipynb": notebook("x = 1"), "ben/work.ipynb": b"<html>"})
    ana, ben = collect(tmp_path)
    assert ana.chapter == ben.chapter == "" and "which chapter" in ana.problem
    assert "web page" in ben.problem


def test_too_large(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": b" " * (LARGEST + 1), "ben/03_masks.ipynb": MASKS})
    ana, ben = collect(tmp_path)
    assert (ana.problem, ana.data) == ("larger than 5 MB", b"") and not ben.problem
    assert not ana.unclear


def test_another_archive_is_told(tmp_path):
    lay(tmp_path, {"ana_03_masks.rar": b"Rar!"})
    assert rows(tmp_path)[0][3] == "a .rar file: only zips are read"


# --- names ---

NAMES = {
    "comma": "Lopez, Ana",
    "formula": "=HYPERLINK(1)",
    "at": "@SUM(1+1)*cmd",
    "Chinese": "王小明",
    "Arabic": "محمد",
    "quotes": 'O\'Brien "x"',
    "dots": "ana.lopez",
    "mail": "ana@example.org",
}


@posix
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_name_of_a_student(tmp_path, name):
    lay(tmp_path / "a", {f"{name}/03_masks.ipynb": MASKS})
    lay(tmp_path / "b", {f"{name}_03_masks.ipynb": MASKS})
    lay(tmp_path / "c", {"class.zip": zipped({f"{name}/03_masks.ipynb": MASKS})})
    for folder in "abc":
        assert whose(tmp_path / folder) == [(name, "03")]


def test_name_is_composed(tmp_path):
    lay(tmp_path, {"Zoe\u0308/03_masks.ipynb": MASKS, "Zo\u00eb/04_heads.ipynb": HEADS})
    assert whose(tmp_path) == [("Zo\u00eb", "03"), ("Zo\u00eb", "04")]


def test_name_in_a_zip_that_doesnt_say_it_is_utf8(tmp_path):
    data = bytearray(zipped({"王/03_masks.ipynb": MASKS, "ben/03_masks.ipynb": MASKS}))
    for start, flags in ((b"PK\3\4", 7), (b"PK\1\2", 9)):
        data[data.index(start) + flags] &= ~0x08
    assert "王/03_masks.ipynb" not in zipfile.ZipFile(io.BytesIO(data)).namelist()
    lay(tmp_path, {"class.zip": bytes(data)})
    assert whose(tmp_path) == [("ben", "03"), ("王", "03")]


@posix
def test_name_that_cant_be_decoded_or_acts(tmp_path):
    for name in (b"an\xff\xfea", b"be\nn", "cl\u202eeo".encode()):
        folder = os.path.join(os.fsencode(tmp_path), name)
        os.mkdir(folder)
        with open(os.path.join(folder, b"03_masks.ipynb"), "wb") as file:
            file.write(MASKS)
    found = {student for student, _ in whose(tmp_path)}
    assert found == {"an\ufffd\ufffda", "be\ufffdn", "cl\ufffdeo"}


def test_very_long_name(tmp_path):
    name = "a" * 235
    lay(tmp_path, {f"{name}_03_masks.ipynb": MASKS})
    assert whose(tmp_path) == [(name, "03")]
    lay(tmp_path / "z", {"class.zip": zipped({"b" * 60_000 + "/03_masks.ipynb": MASKS})})
    (found,) = collect(tmp_path / "z")
    assert "too long" in found.problem and len(found.path) < 600


# --- links and devices ---


@posix
def test_links_are_reported_and_not_followed(tmp_path):
    secret = lay(tmp_path / "secret", {"03_masks.ipynb": MASKS})
    folder = lay(tmp_path / "in", {"ben/03_masks.ipynb": MASKS})
    (folder / "ana").mkdir()
    (folder / "ana/03_masks.ipynb").symlink_to(secret / "03_masks.ipynb")
    (folder / "cleo").symlink_to(secret)
    (folder / "dan_03_masks.zip").symlink_to(secret / "none.zip")
    link = "a symbolic link, which isn't followed"
    assert [(s.student, s.problem) for s in collect(folder)] == [
        ("ana", link),
        ("ben", ""),
        ("cleo", link),
        ("dan", link),
    ]


@posix
def test_pipe_is_never_opened(tmp_path):
    (tmp_path / "ana").mkdir()
    os.mkfifo(tmp_path / "ana/03_masks.ipynb")  # opening it would wait for ever
    (found,) = collect(tmp_path)
    assert "it isn't opened" in found.problem and found.chapter == "03"


@posix
def test_link_put_in_the_place_of_a_file_isnt_opened(tmp_path):
    lay(tmp_path, {"a": b"secret"})
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError):
        files._open(tmp_path / "b")
    os.mkfifo(tmp_path / "c")
    with pytest.raises(OSError, match="no file"):
        files._open(tmp_path / "c")


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read all")
def test_file_without_permission(tmp_path):
    lay(tmp_path, {"ana/03_masks.ipynb": MASKS})
    (tmp_path / "ana/03_masks.ipynb").chmod(0)
    assert "permission denied" in collect(tmp_path)[0].problem


def test_folders_in_folders(tmp_path):
    lay(tmp_path, {f"ana/{'x/' * 30}03_masks.ipynb": MASKS, "ben/03_masks.ipynb": MASKS})
    assert "too many folders" in collect(tmp_path)[0].problem


def test_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ENTRIES", 5)
    tree = {f"ana/{i}.txt": b"" for i in range(9)}
    lay(tmp_path, {**tree, **{f"s{i}/03_masks.ipynb": MASKS for i in range(9)}})
    found = collect(tmp_path)
    assert found[0].problem == "more than 5 files lie here" and len(found) == 10


# --- hostile zips ---

TRICKS = {
    "up": "../../etc/03_masks.ipynb",
    "up, inside": "ana/../../03_masks.ipynb",
    "absolute": "/etc/03_masks.ipynb",
    "drive": "C:/windows/03_masks.ipynb",
    "drive, backslashes": "C:\\windows\\03_masks.ipynb",
    "share": "\\\\server\\share\\03_masks.ipynb",
    "up, backslashes": "..\\..\\03_masks.ipynb",
}


@pytest.mark.parametrize("name", TRICKS.values(), ids=TRICKS)
def test_path_trick(tmp_path, name):
    before = sorted(tmp_path.rglob("*"))
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    lay(tmp_path, {"ana.zip": entry(info), "ben.zip": zipped({"03_masks.ipynb": MASKS})})
    ana, ben = collect(tmp_path)
    assert ana.problem == "its path leads out of the zip" and ana.data == b"" and not ben.problem
    assert sorted(tmp_path.rglob("*")) == sorted([*before, *tmp_path.glob("*.zip")])


def test_null_byte_in_a_name(tmp_path):
    data = zipped({"03_masks.ipynbX.png": MASKS}).replace(b"ipynbX", b"ipynb\0")
    lay(tmp_path, {"ana.zip": data})
    assert collect(tmp_path)[0].problem == "its path leads out of the zip"


def test_backslashes_of_an_old_windows_program(tmp_path):
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = "hw\\03_masks.ipynb"
    lay(tmp_path, {"ana.zip": entry(info)})
    assert whose(tmp_path) == [("ana", "03")]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_link_or_device_in_a_zip(tmp_path, kind):
    info = zipfile.ZipInfo("03_masks.ipynb")
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    lay(tmp_path, {"ana.zip": entry(info, b"/etc/passwd")})
    (ana,) = collect(tmp_path)
    assert ("link" in ana.problem or "device" in ana.problem) and ana.data == b""


def test_bomb(tmp_path):
    lay(tmp_path, {"ana.zip": zipped({"03_masks.ipynb": b"\0" * (4 << 20)})})
    assert "zip bomb" in collect(tmp_path)[0].problem


def test_too_large_in_a_zip(tmp_path):
    lay(tmp_path, {"ana.zip": zipped({"03_masks.ipynb": random.Random(0).randbytes(6 << 20)})})
    assert collect(tmp_path)[0].problem == "larger than 5 MB"


def test_many_that_are_too_large_together(tmp_path):
    bulk = {f"03_masks ({i}).ipynb": (b"%09d" % i) * 100_000 for i in range(60)}
    small = zipped({"03_masks.ipynb": MASKS})
    lay(tmp_path, {"ana.zip": zipped(bulk), "ben.zip": small})
    ana, ben = collect(tmp_path)
    assert "candidate notebooks" in ana.problem and not ben.problem
    read = [one for one in files.find(tmp_path) if one.parts[0] == "ana.zip"]
    assert sum(len(one.data) for one in read) <= files.ZIP_AT_LEAST
    assert "more lies here" in read[-1].problem


def test_size_that_lies(tmp_path):
    data = zipped({"03_masks.ipynb": b"x" * 100_000})
    size = (100_000).to_bytes(4, "little")
    lay(tmp_path, {"ana.zip": data.replace(size, (1_000).to_bytes(4, "little"))})
    assert "damaged" in collect(tmp_path)[0].problem


def test_zip_of_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ENTRIES", 20)
    lay(tmp_path, {"ana.zip": zipped({f"{i}.txt": b"" for i in range(30)})})
    assert "more than 20 files" in collect(tmp_path)[0].problem


def test_zip_in_a_zip_in_a_zip(tmp_path):
    inner = zipped({"c.zip": zipped({"03_masks.ipynb": MASKS})})
    lay(tmp_path, {"ana.zip": zipped({"b.zip": inner})})
    assert "a zip in a zip in a zip" in collect(tmp_path)[0].problem


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression(tmp_path, how):
    lay(tmp_path, {"ana.zip": zipped({"03_masks.ipynb": MASKS}, compression=how)})
    assert "deflate" in collect(tmp_path)[0].problem


def test_password(tmp_path):
    data = bytearray(zipped({"03_masks.ipynb": MASKS}))
    data[data.index(b"PK\1\2") + 8] |= 1
    lay(tmp_path, {"ana.zip": bytes(data)})
    assert collect(tmp_path)[0].problem == "locked with a password"


def test_damaged_zips_are_told_and_stop_nothing(tmp_path):
    good = zipped({"03_masks.ipynb": MASKS, "04_heads.ipynb": HEADS})
    draw = random.Random(0)
    for i in range(300):
        bad = bytearray(good[: draw.randrange(20, len(good))] if i % 3 else good)
        for _ in range(draw.randrange(1, 6)):
            bad[draw.randrange(len(bad))] = draw.randrange(256)
        lay(tmp_path, {f"s{i}.zip": bytes(bad)})
    lay(tmp_path, {"zed.zip": good, "empty.zip": b""})
    found = collect(tmp_path)
    zed = [s for s in found if s.student == "zed"]
    assert [(s.chapter, s.problem) for s in zed] == [("03", ""), ("04", "")]
    assert any(s.student == "empty" and "can't be read" in s.problem for s in found)


# --- the whole ---


def test_sorted_and_the_same_twice(tmp_path):
    tree = {
        f"{n}/{c}.ipynb": MASKS for n in ("zoe", "ana", "Ben") for c in ("04_heads", "03_masks")
    }
    lay(tmp_path, tree)
    first = collect(tmp_path)
    assert [(s.student, s.chapter) for s in first] == sorted((s.student, s.chapter) for s in first)
    assert collect(tmp_path) == first and len(first) == 6


def test_nothing_is_written(tmp_path):
    lay(tmp_path, {"class.zip": zipped({"ana/03_masks.ipynb": MASKS})})
    before = {p: p.stat().st_mtime_ns for p in [tmp_path, *tmp_path.rglob("*")]}
    collect(tmp_path)
    assert before == {p: p.stat().st_mtime_ns for p in [tmp_path, *tmp_path.rglob("*")]}


def test_nothing_of_a_submission_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "__evil__", [], raising=False)
    evil = (
        "import course_lib.grading.handed_in.collect as c; c.__evil__.append(1)\ndef causal(): pass"
    )
    lay(tmp_path, {"ana/work.ipynb": notebook(evil), "ana/03_masks.py": evil.encode()})
    collect(tmp_path)
    assert module.__evil__ == []


def test_three_hundred_students_take_seconds(tmp_path):
    data = notebook(*["def causal(Tq, Tk):\n    return 1"] * 20)
    lay(tmp_path, {f"student{i:03}/03_masks.ipynb": data for i in range(300)})
    assert len(whose(tmp_path)) == 300

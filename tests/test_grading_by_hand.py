"""by_hand.csv: a person's points count everywhere, and nothing that a person wrote is lost."""

import csv
import io
import json
import re

import pytest
from made_rows import ASKED, NAMES, absent, open_row, row, sha, shuffled, with_mistake
from test_grading_feedback import Page

from course_lib.checks import QUESTIONS
from course_lib.grading.command import write_reports
from course_lib.grading.reports.by_hand import counted_by_hand, files_of, read_by_hand
from course_lib.grading.reports.lines_by_hand import Answer, cell_for
from course_lib.grading.reports.rows import LOOK, ResultsError

FIRST, SECOND = ASKED[:2]
OTHER = next(question for question in ASKED if question.chapter == "04")
HEAD = "student,question,of,points,why\r\n"


def doubted(student: str, question) -> dict:
    """A row with a line, its second, that no machine can tell."""
    found = row(student, question)
    found["lines"][1] |= {"holds": False, "fact": f"it reaches out: {LOOK}"}
    points = question.points - found["lines"][1]["points"]
    return found | {"points": points, "note": f"No machine can tell, so {LOOK}: x."}


def lines(path) -> list[dict]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def test_a_line_an_answer_that_waits_and_no_other(tmp_path):
    path = tmp_path / "by_hand.csv"
    rows = [open_row("bo", FIRST, "unclear", "two notebooks"), doubted("ana", SECOND)]
    rows += [row("ana", FIRST), row("bo", SECOND, holds=False), absent("cy", FIRST)]
    assert counted_by_hand(shuffled(rows), path) == sorted(
        rows, key=lambda one: (one["student"], one["question"])
    )
    ana, bo = lines(path)
    assert [ana[name] for name in ("student", "question", "points")] == ["ana", "03.2 padding", ""]
    assert ana["of"] == f"{SECOND.points}"
    assert ana["why"].startswith(f"{rows[1]['points']} points so far, and no machine can tell: ")
    assert bo["question"] == "03.1 causal" and bo["why"] == "unclear: two notebooks"
    counted_by_hand(rows[2:], tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists(), "nothing waits"


def test_what_stands_there_is_kept_to_the_byte(tmp_path):
    path = tmp_path / "by_hand.csv"
    mine = "\ufeffwhy;points ;student;question;of;seen by\r\nlate, ok;2;ana;03.1;6;me"
    path.write_bytes(mine.encode())
    rows = [open_row("ana", FIRST), open_row("bo", SECOND), row("ana", SECOND)]
    found = counted_by_hand(rows, path)
    assert [one["points"] for one in found] == [2, SECOND.points, None]
    data = path.read_bytes()
    assert data.startswith(mine.encode() + b"\r\n") and data.count(b"\r\n") == 3
    assert data.decode().splitlines()[2] == '"not graded";"";"bo";"03.2 padding";6;""'
    assert counted_by_hand(rows, path) == found and path.read_bytes() == data


def test_points_of_a_person_count_in_every_report(tmp_path):
    rows = [open_row("ana", FIRST, "unclear", "No cell defines causal."), row("ana", OTHER)]
    rows += [with_mistake("bo", FIRST), absent("bo", OTHER)]
    text = HEAD + f"ana,03.1 causal,6,4,x\r\nbo,03.1,6,6,\r\nbo,04.1,{OTHER.points},3,late\r\n"
    (tmp_path / "by_hand.csv").write_text(text, newline="")
    written = write_reports(rows, QUESTIONS, tmp_path)
    assert (tmp_path / "by_hand.csv").read_bytes() == text.encode()
    assert [one["points"] for one in written] == [4, OTHER.points, 6, 3]
    totals = {"ana": 4 + OTHER.points, "bo": 9}
    for one in csv.DictReader(io.StringIO((tmp_path / "gradebook.csv").read_text("utf-8-sig"))):
        assert one[f"total (of {6 + OTHER.points})"] == f"{totals[one['student']]}"
        assert one["needs a person"] == "0" and "by hand: 03.1" in one["note"]
    assert (tmp_path / "canvas.csv").read_text().splitlines()[-1] == "bo,,bo,,6,3"
    assert (tmp_path / "moodle.csv").read_text().splitlines()[1] == f"ana,4,{OTHER.points}"
    scope = json.loads((tmp_path / "gradescope" / "ana" / "results.json").read_text())
    assert scope["score"] == totals["ana"] and scope["output"] == ""
    ana, bo = (Page((tmp_path / "feedback" / f"{n}.html").read_text()).text for n in totals)
    assert "4 of 6 points A person" not in bo and ana.count("A person gave the points") == 1
    assert bo.count("A person gave the points") == 2 and "not yet" not in bo
    assert rows[2]["says"] not in bo and "No cell defines causal." in ana
    page = Page((tmp_path / "class.html").read_text("utf-8")).text
    assert "Every answer has its points" in page and "no total yet" not in page


def test_a_doubt_is_gone_when_a_person_has_looked(tmp_path):
    path = tmp_path / "by_hand.csv"
    path.write_text(HEAD + "ana,03.2,6,5,\nbo,03.2,6,,\n")
    ana, bo = counted_by_hand([doubted("ana", SECOND), doubted("bo", SECOND)], path)
    assert LOOK not in f"{ana['lines']}{ana['note']}" and ana["points"] == 5
    assert len(ana["lines"]) == len(bo["lines"]) - 1 and bo == doubted("bo", SECOND)


def filled(path, points: int) -> None:
    """Fill in every line that is still empty."""
    text = path.read_text("utf-8-sig").replace(',"",', f",{points},")
    path.write_text(text, encoding="utf-8", newline="")


def test_points_count_for_the_file_they_were_given_for(tmp_path):
    path = tmp_path / "by_hand.csv"
    first = open_row("ana", FIRST, "unclear", "No cell defines causal.")
    counted_by_hand([first], path)
    assert re.fullmatch("sha256:[0-9a-f]{16}", lines(path)[0]["file"]), "no number, no 1e5"
    filled(path, 5)
    mine = path.read_bytes()
    assert counted_by_hand([first], path)[0]["points"] == 5
    for holds, points in ((True, 6), (False, 0)):
        second = row("ana", FIRST, holds, submission=sha("anew"))
        assert counted_by_hand([second], path) == [second] and second["points"] == points
        assert path.read_bytes() == mine, "nothing waits"
        assert read_by_hand(path, files_of([second])).told == [
            "Handed in anew since you gave points: ana, 03.1. Those count no more; what waits "
            "has a new line."
        ]
    waits = first | {"submission": sha("anew")}
    assert counted_by_hand([waits], path)[0]["points"] is None
    assert path.read_bytes().startswith(mine) and len(lines(path)) == 2
    filled(path, 4)
    assert counted_by_hand([waits], path)[0]["points"] == 4, "two points for two files"
    assert counted_by_hand([first], path)[0]["points"] == 5, "as it was handed in first"
    assert read_by_hand(path, files_of([waits])).told == []


@pytest.mark.parametrize("head", [HEAD, HEAD.replace("why", "why,file")])
def test_a_line_that_names_no_file_counts_for_each(tmp_path, head):
    path = tmp_path / "by_hand.csv"
    path.write_text(head + "ana,03.1,6,4,late,03_masks.ipynb\n", newline="")
    for text in ("first", "anew"):
        found = [row("ana", FIRST, submission=sha(text)), open_row("bo", SECOND)]
        assert [one["points"] for one in counted_by_hand(found, path)] == [4, None]
        assert read_by_hand(path, files_of(found)).told == []
    named = [cell_for(sha("bo"))] if "file" in head else []
    assert [*lines(path)[1].values()] == ["bo", "03.2 padding", "6", "", "not graded", *named]


def test_whoever_they_are_their_line_is_found_again(tmp_path):
    path = tmp_path / "by_hand.csv"
    rows = [open_row(name, FIRST, note="=1+1\x07") for name in NAMES]
    counted_by_hand(rows, path)
    for cell in (cell for one in lines(path) for cell in one.values()):
        assert not cell.lstrip(" ").startswith(tuple("=+-@\t\r＝"))
    filled(path, 5)
    assert [one["points"] for one in counted_by_hand(rows, path)] == [5] * len(NAMES)


def test_a_chapter_that_isnt_graded_now_keeps_its_lines(tmp_path):
    path = tmp_path / "by_hand.csv"
    path.write_text(HEAD + "ana,04.1,8,3,\nana,03.1,6,0,\n", newline="")
    there = {("ana", "03.1"): ""}
    assert read_by_hand(path, there).points == {Answer("ana", "04.1"): 3, Answer("ana", "03.1"): 0}
    path.write_text(HEAD + "\nana,04.1,,9,\n", newline="")
    with pytest.raises(ResultsError, match=r"line 3: 9 points are more than the 7 of 04\.1"):
        read_by_hand(path, there)


# --- the files of the parts that are merged ---


def files(folder, *texts: str) -> list:
    """A part's folder for each text, with that file in it; the last one is the class's."""
    paths = [folder / name / "by_hand.csv" for name in [*"abc"[: len(texts) - 1], "all"]]
    for path, text in zip(paths, texts, strict=True):
        path.parent.mkdir(exist_ok=True)
        if text:
            path.write_text(text, encoding="utf-8", newline="")
    return paths


def test_what_the_parts_say_is_said_once_as_if_one_run_had_asked(tmp_path):
    rows = [open_row(name, FIRST, note=f"=1+1 {name}\x07 ") for name in shuffled(NAMES)]
    once = tmp_path / "by_hand.csv"
    counted_by_hand(rows, once)
    a, b, out = files(tmp_path, "", "", "")
    counted_by_hand(rows[::2], a)
    counted_by_hand(rows[1::2] + rows[2:6], b)
    for parts in ([b, a], [a, b]):
        counted_by_hand(rows, out, parts)
        assert out.read_bytes() == once.read_bytes()


def test_points_and_notes_of_the_parts_are_taken_over(tmp_path):
    one = "\ufeffwhy;points;student;question;of;seen by\r\n=late, ok;2;ana;03.1;6;me\r\n"
    note = f"two\nlines, {'long ' * 200}"
    two = HEAD + f'bo,03.2,6,,"{note}"\ncy,03.1,6,0,sent late, see mail\ngone,03.1,6,,\n'
    a, b, out = files(tmp_path, one, two, "")
    rows = [open_row("ana", FIRST), open_row("bo", SECOND), row("cy", FIRST)]
    found = counted_by_hand(rows, out, [b, a])
    assert [one["points"] for one in found] == [2, None, 0]
    assert [tuple(one.values()) for one in lines(out)] == [
        ("ana", "03.1 causal", "6", "2", "'=late, ok; seen by: me", ""),
        ("bo", "03.2 padding", f"{SECOND.points}", "", note, ""),
        ("cy", "03.1 causal", "6", "0", "sent late;  see mail", ""),
    ]
    data = out.read_bytes()
    assert counted_by_hand(rows, out, [a, b]) == found and out.read_bytes() == data
    b.write_text(two.replace("bo,03.2,6,,", "bo,03.2,6,4,"), newline="")
    assert counted_by_hand(rows, out, [a, b])[1]["points"] == 4
    assert out.read_bytes().startswith(data) and len(lines(out)) == 4
    out.write_text("student,question,of,points,why,seen by\n")
    assert counted_by_hand(rows, out, [a, b])[0]["points"] == 2
    ana = lines(out)[0]
    assert (ana["why"], ana["seen by"]) == ("'=late, ok", "me"), "it has that column"


def test_what_is_taken_over_fills_our_own_empty_line_and_no_other(tmp_path):
    a, out = files(tmp_path, "", "")
    rows = [open_row(name, FIRST, "unclear", 'a "note"') for name in ("ana", "bo", "cy")]
    for path in (a, out):
        counted_by_hand(rows, path)
    empty = out.read_bytes().decode()
    filled(a, 5)
    assert [one["points"] for one in counted_by_hand(rows, out, [a])] == [5, 5, 5]
    assert lines(out) == lines(a) and out.read_bytes().count(b"\r\n") == 4, "each in its place"
    edited = [empty.replace('"unc', '"mine: unc'), empty.replace('"ana"', "ana"), empty.strip()]
    for mine, kept in zip(edited, ([0, 1, 2], [0], [2]), strict=True):
        out.write_text(mine, encoding="utf-8", newline="")
        assert [one["points"] for one in counted_by_hand(rows, out, [a])] == [5, 5, 5]
        found = out.read_text("utf-8").splitlines()
        assert [i for i in range(3) if found[i + 1] == mine.splitlines()[i + 1]] == kept
        assert len(found) == 4 + len(kept), "as it was edited, and what is taken over below"


@pytest.mark.parametrize("points, first", [((5, 3, None), "a"), ((None, 3, 5), "all")])
def test_two_files_that_disagree_are_refused(tmp_path, points, first):
    texts = ["" if n is None else HEAD + f"\nana,03.1,6,{n},\n" for n in points]
    a, b, out = files(tmp_path, *texts)
    with pytest.raises(ResultsError) as error:
        counted_by_hand([row("ana", FIRST)], out, [b, a])
    assert str(error.value) == (
        f"{b}, line 3 gives ana, 03.1, 3 points, and {tmp_path / first / 'by_hand.csv'} gives 5: "
        "write the same into both"
    )
    assert out.exists() == bool(texts[-1]), "nothing is written"


def test_points_for_an_earlier_file_stay_in_their_part(tmp_path):
    a, out = files(tmp_path, "", "")
    counted_by_hand([open_row("ana", FIRST)], a)
    filled(a, 3)
    second = [open_row("ana", FIRST, submission=sha("anew"))]
    given = read_by_hand(out, files_of(second), [a])
    assert given.taken == [] and "since you gave points: ana, 03.1." in given.told[0]
    assert counted_by_hand(second, out, [a])[0]["points"] is None
    assert [one["file"] for one in lines(out)] == [cell_for(sha("anew"))]


def test_points_for_which_there_is_no_answer_are_told(tmp_path):
    a, out = files(tmp_path, HEAD + "ana,04.1,7,3,\nana,03.2,6,,\n", HEAD + "bo,03.1,6,5,\n")
    rows = [row("ana", FIRST)]
    told = "Points by hand that count for nobody now: {}."
    assert read_by_hand(out, files_of(rows), [a], ["bo"]).told == [
        told.format("ana, 04.1; bo, 03.1")
    ]
    assert counted_by_hand(rows, out, [a], ["bo"]) == rows
    assert [(one["student"], one["points"]) for one in lines(out)] == [
        ("bo", "5"),
        ("ana", ""),
        ("ana", "3"),
    ]
    many = {f"s{i}": f"s{i},03.1,6,4,\n" for i in range(7)}
    a.write_text(HEAD + "".join(many.values()))
    first = "; ".join(f"s{i}, 03.1" for i in range(5))
    assert read_by_hand(a, {}, (), many).told == [told.format(f"{first}; ...")]


def test_what_stands_in_the_class_s_file_is_not_said_again(tmp_path):
    a, out = files(tmp_path, HEAD + "ana,03.1,6,,\nbo,03.1,6,3,\n", HEAD + "ana,3.1 x,6,,")
    out.write_text(mine := HEAD + "bo,03.1,6,3,seen\nana,03.1,6,4,\n", newline="")
    rows = [open_row("ana", FIRST), open_row("bo", FIRST)]
    assert [one["points"] for one in counted_by_hand(rows, out, [a])] == [4, 3]
    assert out.read_bytes() == mine.encode()

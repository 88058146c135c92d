"""gradebook.csv is safe in a spreadsheet, and Canvas and Moodle read their forms of it."""

import csv
import io
import re

import pytest
from made_rows import ASKED, NAMES, a_class, absent, missing, open_row, row, shuffled

from course_lib.checks import QUESTIONS
from course_lib.grading.reports.gradebook import (
    FORMULA,
    canvas,
    csv_text,
    gradebook,
    moodle,
    standings,
    write_gradebook,
)
from course_lib.grading.reports.rows import ResultsError

FIRST, SECOND, THIRD = ASKED[:3]
OTHER = next(question for question in ASKED if question.chapter == "04")


def parsed(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))


def by_title(text: str) -> list[dict[str, str]]:
    head, *body = parsed(text)
    assert len(set(head)) == len(head)
    return [dict(zip(head, cells, strict=True)) for cells in body]


def test_a_line_a_student_a_column_a_question_a_chapter_and_the_total():
    rows = [row("ana", FIRST), row("ana", OTHER, holds=False), missing("bo", FIRST)]
    ana, bo = by_title(gradebook([*rows, row("bo", OTHER)], QUESTIONS))
    a, b = FIRST.points, OTHER.points
    assert list(ana) == [
        "student",
        f"03.1 causal (of {a})",
        f"04.1 split (of {b})",
        f"chapter 03 (of {a})",
        f"chapter 04 (of {b})",
        f"total (of {a + b})",
        "needs a person",
        "note",
    ]
    assert list(ana.values()) == ["ana", f"{a}", "0", f"{a}", "0", f"{a}", "0", ""]
    assert list(bo.values()) == ["bo", "0", f"{b}", "0", f"{b}", f"{b}", "0", ""]


def test_what_waits_for_a_person_is_empty_and_so_are_its_sums():
    rows = [row("ana", FIRST), open_row("ana", SECOND, "unreadable"), row("ana", OTHER)]
    (ana,) = by_title(gradebook([*rows, row("bo", THIRD)], QUESTIONS))[:1]
    empty = [ana[title] for title in ana if title.startswith(("03.2", "03.3", "chapter 03"))]
    assert empty == ["", "", ""]
    assert ana[f"chapter 04 (of {OTHER.points})"] == f"{OTHER.points}"
    assert ana[next(title for title in ana if title.startswith("total"))] == ""
    assert ana["needs a person"] == "2"
    so_far = FIRST.points + OTHER.points
    assert ana["note"] == f"{so_far} points so far; 03.2 unreadable, 03.3 no result"


@pytest.mark.parametrize("form", [gradebook, canvas, moodle])
def test_no_cell_is_computed_and_every_student_has_a_line(form):
    text = form(a_class(len(NAMES)), QUESTIONS)
    lines = parsed(text)
    assert len(lines) == len(NAMES) + 1 + (form is canvas)
    assert len({len(cells) for cells in lines}) == 1
    for cells in lines:
        for cell in cells:
            assert cell == "-" or not cell.lstrip(" ").startswith(FORMULA), cell
            assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e\ud800-\udfff]", cell), cell
    assert "李雷" in text and "'@SUM(A1)" in text
    assert '"name;=1+1"' in text, "a semicolon outside quotes divides cells in half of Europe"


@pytest.mark.parametrize("start", FORMULA)
def test_a_formula_is_a_text_whatever_it_begins_with(start):
    ((cell,),) = parsed(csv_text([[f"{start}1+1"]]))
    assert cell.startswith(("'", "⟨U+"))
    ((cell,),) = parsed(csv_text([[f"  {start}1+1"]]))
    assert cell.startswith(("'", "  ⟨U+"))


def test_excel_is_told_that_it_is_utf8(tmp_path):
    write_gradebook([row("李雷", FIRST)], QUESTIONS, tmp_path / "out" / "gradebook.csv")
    data = (tmp_path / "out" / "gradebook.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfstudent,") and data.count(b"\r\n") == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["gradebook.csv"]


@pytest.mark.parametrize("form", [gradebook, canvas, moodle])
def test_the_order_of_the_rows_changes_nothing(form):
    rows = a_class()
    assert form(rows, QUESTIONS) == form(shuffled(rows), reversed(QUESTIONS[::-1]))


@pytest.mark.parametrize("by", ["chapter", "question"])
def test_canvas_finds_students_columns_and_points(by):
    """The rules of Canvas's importer, lib/gradebook_importer.rb."""
    rows = [found for found in a_class(6) if found["points"] is not None]
    rows += [row("Points Possible", question) for question in ASKED]
    head, worth, *students = parsed(canvas(rows, QUESTIONS, by=by))
    assert "Student" in head[0] and "ID" in head[1]
    assert re.search(r"SIS\s+Login\s+ID", head[2]) and "Section" in head[3]
    titles = head[4:]
    assert len(titles) == {"chapter": 2, "question": len(ASKED)}[by]
    for title in titles:
        assert not re.search(r"\(\d+\)$", title), "Canvas takes that for an assignment's number"
        assert not re.search("(Current|Final|Override) (Score|Points|Grade|Status)", title)
    assert "Points Possible" in worth[0]
    assert sum(map(int, worth[4:])) == sum(question.points for question in ASKED)
    for cells in students:
        assert "Points Possible" not in cells[0], "Canvas would take this student for that line"
        assert cells[2] == cells[0] and all(re.fullmatch(r"\d*", cell) for cell in cells[4:])


def test_canvas_gets_its_own_number_of_a_student_and_no_other():
    rows = [row("ana", FIRST, number="canvas 12345"), absent("ana", OTHER)]
    rows += [row("bo", FIRST, number="moodle 4711"), row("bo", OTHER)]
    rows += [row("cy", FIRST, number="canvas 222"), row("cy", OTHER, number="canvas 333")]
    rows += [row("di", FIRST, number="moodle 12345"), row("di", OTHER, number="canvas 9876543210")]
    rows += [row(name, FIRST, number="canvas 2026") for name in ("ed", "flo")]
    found = [cells[:3] for cells in parsed(canvas(shuffled(rows), QUESTIONS))[2:]]
    assert found == [
        ["ana", "12345", "ana"],
        ["bo", "", "bo"],
        ["cy", "", "cy"],
        ["di", "9876543210", "di"],
        ["ed", "", "ed"],
        ["flo", "", "flo"],
    ]
    assert not re.search("4711|12345", moodle(rows, QUESTIONS) + gradebook(rows, QUESTIONS))


def test_moodle_gets_a_dash_where_a_person_must_look():
    """`grade/import/csv/classes/load_data.php`: a dash is no grade, in new columns too."""
    rows = [open_row("ana", FIRST), row("ana", OTHER), row("bo", FIRST), missing("bo", OTHER)]
    head, ana, bo = parsed(moodle(rows, QUESTIONS))
    assert head == ["username", "Chapter 03", "Chapter 04"]
    assert ana == ["ana", "-", f"{OTHER.points}"] and bo == ["bo", f"{FIRST.points}", "0"]


def test_nothing_handed_in_is_zero_with_a_note_and_no_grade_where_others_import():
    rows = [row("ana", FIRST), row("ana", SECOND), absent("ana", OTHER)]
    rows += [absent("bo", FIRST), absent("bo", SECOND), missing("bo", OTHER)]
    rows += [absent("cy", FIRST), open_row("cy", SECOND), open_row("cy", OTHER)]
    ana, bo, cy = by_title(gradebook(rows, QUESTIONS))
    here = FIRST.points + SECOND.points
    assert ana[f"chapter 04 (of {OTHER.points})"] == "0" and ana["needs a person"] == "0"
    assert ana[f"total (of {here + OTHER.points})"] == f"{here}"
    assert [ana["note"], bo["note"]] == ["nothing handed in for 04", "nothing handed in for 03"]
    assert cy["note"] == "0 points so far; 03.2 not graded, 04.1 not graded"
    grades = [cells[4:] for cells in parsed(canvas(rows, QUESTIONS))[2:]]
    assert grades == [[f"{here}", ""], ["", "0"], ["", ""]]
    assert [cells[1:] for cells in parsed(moodle(rows, QUESTIONS))[1:]] == [
        [cell or "-" for cell in cells] for cells in grades
    ]
    by_question = parsed(canvas(rows, QUESTIONS, by="question"))[2][4:]
    assert by_question == [f"{FIRST.points}", f"{SECOND.points}", ""]


def test_an_empty_class_is_a_head():
    assert parsed(gradebook([], QUESTIONS)) == [
        ["student", "total (of 0)", "needs a person", "note"]
    ]
    assert len(parsed(canvas([], QUESTIONS))) == 2 and len(parsed(moodle([], QUESTIONS))) == 1


def test_what_cant_be_a_column_is_said():
    with pytest.raises(ResultsError, match=r"no question 99.1"):
        gradebook([row("ana", FIRST) | {"question": "99.1"}], QUESTIONS)
    with pytest.raises(ValueError, match="by must be"):
        canvas([row("ana", FIRST)], QUESTIONS, by="week")
    assert standings([], QUESTIONS) == []

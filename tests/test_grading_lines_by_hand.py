"""The lines of by_hand.csv: what can be meant in one way alone is taken so, all else is told."""

import pytest
from made_rows import ASKED, open_row, row
from test_grading_by_hand import HEAD

from course_lib.checks import QUESTIONS
from course_lib.grading.command import write_reports
from course_lib.grading.reports.by_hand import counted_by_hand
from course_lib.grading.reports.lines_by_hand import question_in
from course_lib.grading.reports.rows import ResultsError

FIRST = ASKED[0]
NAMED = HEAD.replace("\r", ",file\r")


@pytest.mark.parametrize(
    "cell", ["03.1", "03.1 causal", " 03.1\xa0 Causal ", "causal", "3.1", "3,1", "3.1 causal"]
)
def test_a_question_is_known_by_its_number_or_its_name(tmp_path, cell):
    path = tmp_path / "by_hand.csv"
    path.write_text(HEAD + f'ana,"{cell}",5,4,\n', encoding="utf-8", newline="")
    assert counted_by_hand([open_row("ana", FIRST)], path)[0]["points"] == 4


def test_what_a_spreadsheet_makes_of_a_number_may_be_two_questions(monkeypatch):
    titles = {"03.1": "03.1 a", "03.10": "03.10 b", "03.2": "03.2 c"}
    monkeypatch.setattr("course_lib.grading.reports.lines_by_hand.TITLES", titles)
    assert [question_in(cell) for cell in ("03.1", "03.10", "3.20")] == ["03.1", "03.10", "03.2"]
    with pytest.raises(ResultsError, match=r"no question is '3\.1'"):
        question_in("3.1")


@pytest.mark.parametrize(
    "text, number, said",
    [
        (HEAD + "ana,03.1,6,most,\n", 2, "a whole number or empty, not 'most'"),
        (HEAD + "ana,03.1,6,,\nana,03.1,6,4.5,\n", 3, "not '4.5'"),
        (HEAD + "\nana,03.1,6,-1,\n", 3, "not '-1'"),
        (HEAD + "ana,03.1,6,7,\n", 2, "7 points are more than the 6 of 03.1"),
        (HEAD + "ana,3.7,6,5,\n", 2, "no question is '3.7'; one is '01.1 call_shapes'"),
        (HEAD + "ana,03.2 causal,6,5,\n", 2, "no question is '03.2 causal'; one is '03.2 padding'"),
        (HEAD + "ana,03.1 casual,6,5,\n", 2, "one is '03.1 causal'"),
        (HEAD + "ana,03.1 causal,3,,\n", 2, "of is 3, and 03.1 is worth 6: points go into"),
        (HEAD + "ana,causal,3/6,,\n", 2, "of is 3/6, and"),
        (HEAD + "ana,,6,5\n", 2, "no question is ''"),
        (HEAD + 'bo,03.1,6,,"two\nlines"\neve,03.1,6,5,\n', 4, "no student is 'eve'"),
        (HEAD + "ana,03.1,6,5,\nana,03.1,6,4,\n", 3, "a line above gives other points"),
        (HEAD + 'ana,03.1,6,9,"two\nlines"\n', 2, "9 points"),
        (HEAD + "'=x,03.1,6,5,\n", 2, "two students are"),
        ("student,question,of,why\n", 1, "no column is 'points'"),
        ("\ufeffstudent;question;of;points;why\nana;03.1;6;8;\n", 2, "8 points are more"),
        (HEAD + f"ana,03.1,6,5,{'x' * 140_000}\n", 2, "field larger"),
        (HEAD + 'ana,03.1,6,5,\nana,03.2,6,4,"late\nbo,03.1,6,4,\n', 3, "left open?"),
        ('"student,question\n', 1, "left open?"),
        (NAMED + "ana,03.1,6,5,,sha256:35341f\n", 2, "no file is 'sha256:35341f'"),
    ],
)
def test_what_cant_be_meant_is_said_before_anything_is_written(tmp_path, text, number, said):
    path = tmp_path / "by_hand.csv"
    path.write_text(text, newline="")
    rows = [open_row(name, FIRST) for name in ("ana", "bo", "=x", "'=x")]
    with pytest.raises(ResultsError) as error:
        write_reports(rows, QUESTIONS, tmp_path)
    assert f"{path}, line {number}: " in str(error.value) and said in str(error.value)
    assert [one.name for one in tmp_path.iterdir()] == ["by_hand.csv"]
    assert path.read_bytes() == text.encode()


def test_a_line_without_points_is_never_at_fault(tmp_path):
    path = tmp_path / "by_hand.csv"
    text = HEAD + "left,03.1 causal,6,,\nana,99.9 gone,6,,\n\nana\n'=x,03.1,6,,\n"
    path.write_text(text, newline="")
    rows = [open_row("=x", FIRST), open_row("'=x", FIRST), row("ana", FIRST)]
    assert [one["points"] for one in counted_by_hand(rows, path)] == [None, None, 6]
    assert path.read_bytes() == text.encode(), "both of those look like that line"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding_is_said_of_the_file_and_of_no_line(tmp_path, encoding):
    path = tmp_path / "by_hand.csv"
    path.write_bytes((HEAD + "Jos\xe9,03.1,6,5,\n").encode(encoding))
    with pytest.raises(ResultsError) as error:
        counted_by_hand([open_row("José", FIRST)], path)
    assert str(error.value) == f"{path} isn't written in UTF-8: save it as CSV UTF-8"


@pytest.mark.parametrize(
    "head",
    [
        "Student;QUESTION;Of;Points ;why",
        "sep=;\r\nstudent;question;of;points;why",
        '\ufeff"sep=;"\nstudent;question;of;points;a,b,c,d,e,f,why,;why',
    ],
)
def test_a_head_in_capitals_or_below_its_separator_is_taken(tmp_path, head):
    path = tmp_path / "by_hand.csv"
    path.write_bytes(mine := f"{head}\r\nana;03.1;6;4\r\n".encode())
    rows = [open_row("ana", FIRST), open_row("bo", FIRST)]
    found = counted_by_hand(rows, path)
    assert [one["points"] for one in found] == [4, None]
    data = path.read_bytes()
    assert data.startswith(mine) and data[len(mine) :].startswith(b'"bo";"03.1 causal";6;""')
    assert counted_by_hand(rows, path) == found and path.read_bytes() == data
    path.write_bytes(mine.replace(b";4", b";9"))
    number = len(mine.splitlines())
    with pytest.raises(ResultsError, match=f"line {number}: 9 points"):
        counted_by_hand(rows, path)


@pytest.mark.parametrize(
    "text, number", [("\ufeff", 1), ("sep=;\na;b\n", 2), ("\n", 1), ("ana;03.1;6;4;\n", 1)]
)
def test_a_file_without_a_head_is_told(tmp_path, text, number):
    path = tmp_path / "by_hand.csv"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ResultsError, match=f"line {number}: no column is 'student'; there must be"):
        counted_by_hand([open_row("ana", FIRST)], path)
    assert path.read_bytes() == text.encode()

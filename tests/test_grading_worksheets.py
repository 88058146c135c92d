"""moodle_NN.csv: what an assignment of Moodle takes, by its own numbers and by no others."""

from made_rows import ASKED, absent, open_row, row, shuffled

from course_lib.checks import QUESTIONS
from course_lib.grading.command import write_reports
from course_lib.grading.reports.worksheets import worksheets

FIRST, SECOND = ASKED[:2]
OTHER = next(question for question in ASKED if question.chapter == "04")
HEAD = "Identifier,Grade,Last modified (grade)"


def lines(text: str) -> list[str]:
    head, *body = text.removesuffix("\r\n").split("\r\n")
    assert head == HEAD
    return body


def test_an_assignment_gets_the_points_of_its_chapter_by_its_participants():
    """`mod/assign/feedback/offline/importgradeslib.php`: it starts with these three columns."""
    rows = [row("ana", FIRST, number="moodle 4711"), row("ana", SECOND, number="moodle 4711")]
    rows += [row("ana", OTHER, number="moodle 88"), row("bo", OTHER, number="moodle 89")]
    rows += [absent("bo", FIRST), absent("bo", SECOND)]
    rows += [open_row("cy", FIRST) | {"number": "moodle 4713"}, row("cy", SECOND)]
    rows += [row("di", OTHER, holds=False, number="moodle 90")]
    found = worksheets(shuffled(rows), QUESTIONS)
    points, other = FIRST.points + SECOND.points, OTHER.points
    assert lines(found["03"]) == [f"Participant 4711,{points},-", "Participant 4713,,-"]
    assert lines(found["04"]) == [
        f"Participant 88,{other},-",
        f"Participant 89,{other},-",
        "Participant 90,0,-",
    ]
    assert list(found) == ["03", "04"]


def test_a_number_that_isnt_sure_or_isnt_moodles_is_in_none():
    rows = [row("ana", FIRST, number="canvas 12345"), row("bo", FIRST, number="moodle 1")]
    rows += [row("bo", SECOND, number="moodle 2"), row("ana", OTHER)]
    assert worksheets(rows, QUESTIONS) == {}
    both = [row(name, FIRST, number="moodle 77") for name in ("cy", "di")]
    assert worksheets(rows + both, QUESTIONS) == {}
    both = [row("ed", question, number="moodle 78") for question in (FIRST, OTHER)]
    sure = [row("flo", question, number="moodle 79") for question in (FIRST, SECOND)]
    found = worksheets([*rows, *both, *sure], QUESTIONS)
    points = FIRST.points + SECOND.points
    assert found.keys() == {"03"} and lines(found["03"]) == [f"Participant 79,{points},-"]


def test_a_file_a_chapter_and_none_of_an_earlier_run_stays(tmp_path):
    rows = [row("ana", FIRST, number="moodle 4711"), row("bo", OTHER, number="moodle 88")]
    names = {"moodle_03.csv", "moodle_04.csv"}
    mine = tmp_path / "moodle_week1.csv"
    mine.touch()
    write_reports(rows, QUESTIONS, tmp_path)
    assert {path.name for path in tmp_path.glob("moodle_*")} == {*names, mine.name}
    assert lines((tmp_path / "moodle_04.csv").read_bytes().decode()) == [
        f"Participant 88,{OTHER.points},-"
    ]
    write_reports([rows[0], row("bo", OTHER)], QUESTIONS, tmp_path)
    assert {path.name for path in tmp_path.glob("moodle_*")} == {"moodle_03.csv", mine.name}
    (tmp_path / "by_hand.csv").write_text("student,question,of,points,why\nana,03.1,6,2,late\n")
    write_reports(rows, QUESTIONS, tmp_path)
    assert lines((tmp_path / "moodle_03.csv").read_bytes().decode()) == ["Participant 4711,2,-"]

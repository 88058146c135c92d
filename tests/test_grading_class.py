"""The page about a class counts right, groups what is alike, and is the same for the same rows."""

import re
from urllib.parse import unquote

import pytest
from made_rows import (
    ASKED,
    NAMES,
    a_class,
    absent,
    missing,
    open_row,
    row,
    sha,
    shuffled,
    with_mistake,
)
from test_grading_feedback import Page

from course_lib.checks import QUESTIONS
from course_lib.grading.reports.classroom import (
    class_page,
    difficulty,
    histogram,
    misconceptions,
    unmatched,
    write_class,
)
from course_lib.grading.reports.feedback import write_feedback
from course_lib.grading.reports.for_a_person import (
    list_of_students,
    not_run,
    packages,
    waiting,
)
from course_lib.grading.reports.gradebook import standings
from course_lib.grading.reports.rows import LACKS, LOOK

FIRST, SECOND, THIRD = ASKED[:3]


def test_difficulty_counts_what_has_points():
    rows = [row("a", FIRST), row("b", FIRST, holds=False), missing("c", FIRST)]
    rows += [open_row("d", FIRST), row("d", SECOND)]
    found = difficulty(rows, FIRST, students=5)
    assert (found.counted, found.full, found.untouched, found.open) == (3, 1, 1, 2)
    assert found.mean == pytest.approx(100 / 3)
    assert difficulty([], FIRST, 0).mean == 0


def test_the_histogram_holds_each_total_once():
    rows = [row("all", FIRST), missing("none", FIRST), open_row("open", FIRST)]
    bars = histogram(standings(rows, QUESTIONS), [FIRST])
    assert [bar.count for bar in bars] == [1, *[0] * 9, 1]
    assert bars[-1].label == "100 %"
    nearly = FIRST.points - 1
    assert histogram(standings([row("x", FIRST, points=nearly)], QUESTIONS), [FIRST])[-1].count == 0


def test_misconceptions_come_with_their_students_most_frequent_first():
    rows = [with_mistake(name, FIRST, 1) for name in ("a", "b", "c")]
    rows += [with_mistake("d", FIRST, 0), with_mistake("a", SECOND, 0), row("e", FIRST)]
    first, *others = misconceptions(rows, ASKED)
    assert first.students == ("a", "b", "c") and first.row["mistake"] == FIRST.mistakes[1].name
    assert [one.question.id for one in others] == ["03.1", "03.2"]
    text = Page(class_page(rows, QUESTIONS)).text
    assert FIRST.mistakes[1].says.replace("`", "") in text and "3 students" in text


def test_answers_without_a_name_are_grouped_by_what_they_give():
    same = sha("out")[:12]
    rows = [row(name, FIRST, holds=False, group=same) for name in "abc"]
    rows += [row("d", FIRST, holds=False, group=sha("other")[:12]), row("e", FIRST)]
    rows += [row(name, SECOND, holds=False, group=same) for name in "ab"]
    rows += [row(name, SECOND, holds=False, note="NameError at cell 3") for name in "cd"]
    rows += [row("e", SECOND, holds=False, note="IndexError at cell 3"), with_mistake("f", FIRST)]
    groups = [(one.question.id, one.students) for one in unmatched(rows, ASKED)]
    assert groups[0] == ("03.1", ("a", "b", "c"))
    assert sorted(groups[1:3]) == [("03.2", ("a", "b")), ("03.2", ("c", "d"))]
    assert groups[3:] == [("03.1", ("d",)), ("03.2", ("e",))]
    text = Page(class_page(rows, QUESTIONS)).text
    assert "03.1 causal : 3 students, 0 of 6 points" in text
    assert "2 wrong answers that nobody else gave" in text
    assert rows[0]["lines"][1]["property"] in text and rows[0]["lines"][1]["fact"] in text


def test_a_person_is_told_which_file_and_why():
    why = "two notebooks: a.ipynb, b.ipynb"
    rows = [open_row("ana", FIRST, "unclear", why), open_row("ana", SECOND, "unclear", why)]
    rows += [open_row("bo", FIRST, "unreadable", "not JSON"), row("bo", SECOND)]
    rows += [open_row("cy", FIRST, "unclear", "no causal"), row("cy", SECOND)]
    rows += [open_row("cy", ASKED[2], "unclear", "no decoder_mask")]
    found = [(one.student, [said for said, _ in one.reasons]) for one in waiting(rows, ASKED[:2])]
    assert found[:2] == [("ana", ["chapter 03"]), ("bo", ["03.1"])]
    first, _, third = waiting(rows, ASKED[:3])
    assert [said for said, _ in first.reasons] == ["03.1, 03.2"]
    assert [said for said, _ in third.reasons] == ["03.1", "03.3"], "a line a file, not a reason"
    text = Page(class_page(rows, QUESTIONS)).text
    assert why in text and text.count("cy/03.ipynb") == 1 and "03.1 unreadable: not JSON" in text
    assert "03.1 unclear: no causal 03.3 unclear: no decoder_mask" in text
    assert "3 students have no total yet" in text


def test_every_student_is_listed_with_points_by_chapter_and_what_waits():
    other = next(question for question in ASKED if question.chapter == "04")
    rows = [row("ana", FIRST), open_row("ana", THIRD), row("ana", other)]
    rows += [row("bo", FIRST), row("bo", THIRD, holds=False), row("bo", other)]
    doubted = row("cy", other, points=3)
    doubted["lines"][0] |= {"holds": False, "fact": f"it reaches out: {LOOK}"}
    rows += [row("cy", FIRST, points=2), row("cy", THIRD), doubted]
    columns = [FIRST, THIRD, other]
    found = list_of_students(rows, standings(rows, QUESTIONS), columns)
    a, b, c = (question.points for question in columns)
    assert [one.points for one in found] == [(None, c, None), (a, c, a + c), (2 + b, 3, 5 + b)]
    assert [one.waits for one in found] == ["03.3", "", "04.1"]
    shown = Page(class_page(rows, QUESTIONS))
    assert f"Student 03 04 Total ana waits: 03.3 – {c} – bo {a} {c} {a + c} cy" in shown.text
    assert {"href": "feedback/bo.html"} in shown.all("a")


def test_zeros_of_what_was_not_handed_in_are_told_from_earned_ones():
    other = next(question for question in ASKED if question.chapter == "04")
    rows = [row("ana", FIRST), absent("ana", other), row("bo", FIRST), row("bo", other)]
    text = Page(class_page(rows, QUESTIONS)).text
    a, b = FIRST.points, other.points
    assert f"ana nothing handed in for 04 {a} 0 {a} bo {a} {b} {a + b}" in text


@pytest.mark.parametrize("size, folded", [(40, False), (41, True)])
def test_a_long_list_of_students_is_folded_away(size, folded):
    text = class_page([row(f"s{i:02d}", FIRST) for i in range(size)], QUESTIONS)
    assert (f"All {size} students" in Page(text).text) == folded
    assert text.count('href="feedback/') == size


def test_answers_that_didnt_run_are_listed_by_their_reason():
    def broken(name: str, question, note: str):
        return row(name, question, points=0, lines=[], note=note)

    open_bracket = "cell 6, line 2: '(' was never closed"
    rows = [broken("ana", FIRST, "cell 2 didn't end"), broken("bo", SECOND, open_bracket)]
    rows += [broken("ana", SECOND, open_bracket), broken("bo", FIRST, open_bracket)]
    rows += [row("cy", FIRST, holds=False, note="IndexError"), missing("cy", SECOND, "not there")]
    found = [(one.questions, one.answers, one.students) for one in not_run(rows, ASKED)]
    assert found == [("03.1, 03.2", 3, ("ana", "bo")), ("03.1", 1, ("ana",))]
    text = Page(class_page(rows, QUESTIONS)).text
    listed = text[text.index("Answers that didn't run") : text.index("Isolation")]
    assert open_bracket in listed and "3 answers" in listed and "cell 2 didn't end" in listed
    assert "IndexError" not in listed and "not there" not in text
    assert "didn't run" not in Page(class_page(rows[-2:], QUESTIONS)).text


def test_sentences_for_a_person_wrap_on_a_narrow_screen():
    why = "two notebooks: " + ", ".join(f"a{i}.ipynb" for i in range(9))
    shown = Page(class_page([open_row("ana", FIRST, "unclear", why)], QUESTIONS))
    assert {"class": "prose"} in shown.all("table")
    scrolled = [one["aria-label"] for one in shown.all("div") if one.get("class") == "scroll"]
    assert scrolled == ["Students", "Questions"], "numbers may need it, prose may not"


def test_packages_that_are_not_here_are_counted_and_no_file_is_blamed():
    def lacks(name: str, question, what: str):
        return open_row(name, question, note=LACKS.format(what))

    rows = [lacks("ana", FIRST, "einops"), lacks("ana", SECOND, "einops")]
    rows += [lacks("bo", FIRST, "einops"), lacks("bo", SECOND, "a.b"), open_row("cy", FIRST)]
    found = [(one.name, one.answers, one.students) for one in packages(rows)]
    assert found == [("einops", 3, ("ana", "bo")), ("a.b", 1, ("bo",))]
    assert [one.student for one in waiting(rows, ASKED)] == ["cy"]
    text = Page(class_page(rows, QUESTIONS)).text
    assert "einops 3 2 students" in text and "--resume" in text and "ana/03.ipynb" not in text
    text = Page(class_page(rows[:2], QUESTIONS)).text
    assert "einops 2 ana" in text and "Every answer has its points" not in text
    assert "Packages" not in Page(class_page(rows[-1:], QUESTIONS)).text


def test_mistakes_of_one_student_each_are_folded_away():
    shared = [with_mistake(name, FIRST, 0) for name in "ab"]
    alone = [with_mistake("c", FIRST, 1), with_mistake("d", FIRST, 2), with_mistake("c", SECOND)]
    shown = Page(class_page(shared + alone, QUESTIONS))
    assert "3 mistakes of one student each" in shown.text
    assert len([table for table in shown.all("table") if table.get("class") == "mistakes"]) == 2
    assert {} in shown.all("details") and {"open": None} not in shown.all("details")
    shown = Page(class_page(alone[:1], QUESTIONS))
    assert "1 mistake of one student each" in shown.text
    assert {"open": None} in shown.all("details"), "nothing else is there to see"
    assert "one student each" not in Page(class_page(shared, QUESTIONS)).text


def test_levels_of_isolation_are_counted():
    rows = [row("a", FIRST), row("b", FIRST), row("c", FIRST, isolation="rlimits alone")]
    text = Page(class_page(rows, QUESTIONS)).text
    assert "full: 2 answers" in text and "rlimits alone: 1 answer" in text


@pytest.mark.parametrize("size", [0, 1, 2, 120])
def test_classes_of_every_size(size, tmp_path):
    rows = a_class(size)
    text = class_page(rows, QUESTIONS)
    shown = Page(text)
    assert shown.all("html") == [{"lang": "en"}] and not shown.all("script")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", text)
    assert text == class_page(shuffled(rows), QUESTIONS)
    assert len(text) < 30_000 + 4_000 * size
    if not rows:
        assert "Nothing was graded" in shown.text
        return
    assert "Written answers and effort aren't graded by machine." in shown.text
    assert len(shown.all("desc")) == len(shown.all("svg")) <= 1
    index = write_feedback(rows, QUESTIONS, tmp_path / "feedback")
    write_class(rows, QUESTIONS, tmp_path / "class.html")
    links = {a["href"] for a in shown.all("a") if not a["href"].startswith("#")}
    assert links and all((tmp_path / unquote(link)).is_file() for link in links)
    assert {unquote(link) for link in links} <= {f"feedback/{name}" for name in index.values()}


def test_hostile_names_are_texts():
    shown = Page(class_page(a_class(len(NAMES)), QUESTIONS))
    assert not {"script", "img", "iframe"} & {tag for tag, _ in shown.elements}
    assert not any(key.startswith("on") for _, attrs in shown.elements for key in attrs)
    assert "<script>alert(1)</script>" in shown.text and "{{ 7 * 7 }}" in shown.text
    assert all("scope" in th or th.get("aria-hidden") for th in shown.all("th"))

"""Right answers of odd forms keep every point."""

import odd
import pytest

from course_lib.checks import find
from course_lib.grading.grade import Grader
from course_lib.grading.handed_in.collect import Submission


@pytest.fixture(scope="module")
def grader():
    made = Grader(b"a key for tests, of some length.")
    yield made
    made.close()


def test_the_corpus_is_large():
    assert len({form.name for form in odd.FORMS}) == len(odd.FORMS) >= 30


@pytest.mark.parametrize("form", odd.FORMS, ids=lambda form: form.name)
def test_odd_but_right(grader, form):
    question = find(form.question)
    path = f"ana/{question.chapter}_answers.{form.ending}"
    (row,) = grader.rows(Submission("ana", question.chapter, path, form.data), [question])
    assert row["points"] == question.points, row

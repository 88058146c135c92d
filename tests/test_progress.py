"""Progress outlives the kernel, a cut line and a folder that can't be written."""

import functools
import json
import os
import subprocess
import sys

import pytest
import torch

from course_lib.checks import QUESTIONS, check, find
from course_lib.checks.progress import (
    HOME,
    entries,
    path,
    progress,
    record_check,
    record_prediction,
    recorded_prediction,
)


def test_the_best_verdict_counts():
    first = QUESTIONS[0]
    for points in (1, first.points, 0):
        record_check(first.id, points, first.points, None)
    (row,) = [row for row in progress().rows if row.chapter == first.chapter]
    assert (row.points, row.solved) == (first.points, 1)
    assert QUESTIONS[1].id in progress().next


def test_the_first_prediction_counts():
    record_prediction("02.growth", "64 times", False)
    record_prediction("02.growth", "8 times", True)
    assert recorded_prediction("02.growth") == "64 times"
    (row,) = [row for row in progress().rows if row.chapter == "02"]
    assert (row.right, row.predicted) == (0, 1)
    assert recorded_prediction("02.other") is None


def test_a_cut_line_costs_only_itself():
    record_prediction("02.growth", "8 times", True)
    with path().open("a") as file:
        file.write('{"prediction": "02.cut", "chos\n[]\n')
    record_prediction("02.last", "no", False)
    assert [entry["prediction"] for entry in entries()] == ["02.growth", "02.last"]


def test_a_file_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "missing" / "file"))
    with pytest.warns(UserWarning, match="progress isn't kept"):
        record_prediction("02.growth", "8 times", True)
    assert entries() == []


def test_all_solved_says_so():
    for question in QUESTIONS:
        record_check(question.id, question.points, question.points, None)
    assert progress().next == "All solved."
    assert all(row.solved == row.questions for row in progress().rows)


def test_it_reads_in_a_page():
    record_prediction("00.chain", "T", True)
    page = progress()._repr_html_()
    assert page.count('<th scope="row"') == len(progress().rows) and "1 of 6 made, 1 right" in page


def test_every_chapter_stands_in_the_table_before_anything_is_done():
    rows = progress().rows
    notebooks = sorted(path.name[:2] for path in (HOME.parent / "notebooks").glob("*.ipynb"))
    assert [row.chapter for row in rows] == notebooks and len(notebooks) >= 3
    assert all(row.asked >= 5 and row.predictions == f"0 of {row.asked} made" for row in rows)
    assert rows[0].exercises == "none" and rows[0].bar == ""


def test_without_a_setting_it_lies_in_the_course_folder(monkeypatch):
    monkeypatch.delenv("COURSE_PROGRESS")
    assert path() == HOME and path().name == ".progress.jsonl"


def test_a_check_is_recorded_and_shown_by_a_new_process():
    def softmax(scores):
        return torch.softmax(scores, -1)

    verdict = check(softmax)
    assert verdict.passed and entries()[-1]["question"] == verdict.question.id
    shown = subprocess.run(
        [sys.executable, "-m", "course_lib", "progress"],
        capture_output=True, text=True, check=True, env=os.environ,
    ).stdout  # fmt: skip
    assert f"{verdict.points} of" in shown and "Next: 01.1" in shown


def test_check_says_which_questions_there_are():
    def sofmax(scores):
        return scores

    assert "Did you mean softmax?" in str(check(sofmax))
    assert "a value (int), not a function. Run the cell" in str(check(3))
    assert "without quotes: check(softmax)" in str(check("softmax"))
    assert "Write it with def" in str(check(lambda scores: scores))
    assert "is a class" in str(check(torch.nn.Softmax))
    assert "one function" in str(check(sofmax, sofmax))
    assert check(lambda scores: torch.softmax(scores, -1), "02.2").passed
    assert "No question is answered by '02.99'" in str(check(sofmax, "02.99"))
    assert entries()[0]["question"] == "02.2"
    assert json.dumps(entries())


def test_a_learners_decorator_is_part_of_the_answer():
    def doubled(fn):
        return functools.wraps(fn)(lambda *inputs: 2 * fn(*inputs))

    @doubled
    def softmax(scores):
        return torch.softmax(scores, -1)

    assert "every number is 2 times what it should be" in str(check(softmax))


def test_a_bound_method_is_called_as_one():
    class Mine:
        def softmax(self, scores):
            return torch.softmax(scores, -1)

    assert check(Mine().softmax).passed


def test_check_reports_even_what_breaks_whoever_looks_at_it():
    class Trap:
        def __eq__(self, other):
            raise RuntimeError("don't look")

        __hash__ = None

    def call_flops(B, H, Tq, Tk, Dh):
        return {"flops": Trap()} if B else Trap()

    assert "points" in str(check(call_flops)) or "can't be looked at" in str(check(call_flops))


def test_ids_and_names_are_unique_and_found():
    assert len({q.id for q in QUESTIONS}) == len({q.name for q in QUESTIONS}) == len(QUESTIONS)
    assert all(find(q.id) is q and find(q.name) is q for q in QUESTIONS)

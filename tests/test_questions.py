"""Every question of the course is proven: right passes, wrong is refused by its name."""

import pytest

from course_lib.__main__ import main
from course_lib.checks import QUESTIONS
from course_lib.checks.proof import describe, prove

SEEDS = 50


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_proof(question):
    proof = prove(question, SEEDS)
    assert proof.holds, describe(proof)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_size_of_the_bank(question):
    assert len(question.mistakes) >= 8 and len(question.alternatives) >= 3
    assert len({m.name for m in question.mistakes}) == len(question.mistakes)
    assert question.stars in (1, 2, 3) and 4 <= question.points <= 8


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: f"{q.id}-{q.name}")
def test_every_mistake_says_asks_and_points_back(question):
    for mistake in question.mistakes:
        assert mistake.says.endswith(".") and mistake.asks.endswith("?"), mistake.name
        assert mistake.reread.startswith(f'{question.chapter}, "'), mistake.name
        assert len(f"{mistake.says} {mistake.asks}") < 300, mistake.name


def test_the_command_lists_them_all(capsys):
    assert main(["questions"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{q.id}" in shown and q.name in shown for q in QUESTIONS)

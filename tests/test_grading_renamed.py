"""An answer under another name is found for a person, and what is none isn't."""

import ast
from pathlib import Path

import pytest

from course_lib.checks import QUESTIONS, find
from course_lib.grading.handed_in.answers import cells
from course_lib.grading.handed_in.renamed import ASKED, GIVEN, renamed

ROOT = Path(__file__).parents[1]
SCORES = find("02.1")  # scores(q, k)
MINE = "def mine(x):\n    return x"


def found(*sources: str, stub: bool = False) -> str:
    return renamed([(f"cell {i}", text) for i, text in enumerate(sources, 1)], SCORES, stub)


CASES = {
    "as many arguments": (["", "def dots(a, b):\n    return a"], "cell 2 defines dots(a, b)"),
    "a default more": (
        ["def dots(a, b, scale=1):\n    return a"],
        "cell 1 defines dots(a, b, scale)",
    ),
    "any number": (["def dots(a, *more):\n    return a"], "cell 1 defines dots(a)"),
    "a lambda": (["dots = lambda a, b: a"], "cell 1 defines dots(a, b)"),
    "a name like it": (["def my_Scores(x):\n    return x"], "cell 1 defines my_Scores(x)"),
    "the last of its name": (
        ["def dots(a, b):\n    return a", "def dots(c, d):\n    return c"],
        "cell 2 defines dots(c, d)",
    ),
    "two": (
        ["def b(x, y): return x\ndef a(x, y): return y"],
        "cell 1 defines b(x, y), cell 1 defines a(x, y)",
    ),
    "four": (
        [f"def g{i}(x, y): return x" for i in range(4)],
        "cell 1 defines g0(x, y), cell 2 defines g1(x, y), cell 3 defines g2(x, y), ...",
    ),
    "neither": ([MINE], ""),
    "a default that is needed": (["def g(a, b, c):\n    return a"], ""),
    "another exercise's": (["def softmax_gradient(weights, upstream):\n    return 1"], ""),
    "a stub": (["def dots(a, b):\n    raise NotImplementedError"], ""),
    "a method": (["class A:\n    def dots(a, b):\n        return a"], ""),
    "nothing": ([], ""),
    "checked in its place": ([MINE, 'check(mine, "02.1")'], 'cell 2 calls check(mine, "02.1")'),
    "by keyword": ([MINE, 'check(mine, question="02.1")'], 'cell 2 calls check(mine, "02.1")'),
    "checked as another": (["def dots(a, b): return a", 'check(dots, "02.5")'], ""),
    "its own check": (['check(scores)\ncheck(scores, "02.1")'], ""),
}


@pytest.mark.parametrize(("sources", "said"), CASES.values(), ids=CASES)
def test_what_may_be_the_answer(sources, said):
    assert found(*sources) == said


def test_where_the_stub_stands_only_a_check_says_so():
    assert found("def dots(a, b): return a", stub=True) == ""
    lambda_checked = 'check(lambda a, b: a, "02.1")'
    assert found(lambda_checked, stub=True) == 'cell 1 calls check(..., "02.1")'


def test_what_the_exercises_define_themselves_is_no_answer():
    given = set()
    for path in (ROOT / "exercises").glob("*.ipynb"):
        for _, source in cells(path.read_bytes(), path.name):
            tree = ast.parse(source)
            given |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert given - {question.name for question in QUESTIONS} == GIVEN
    assert given >= ASKED.keys() and len(ASKED) == len(QUESTIONS)
    assert found("def broken(a, b): return a") == ""

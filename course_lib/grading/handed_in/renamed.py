"""Functions that may be an answer under another name: told to a person, and never run."""

import ast
import difflib

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question
from course_lib.grading.handed_in.answers import is_stub, statements
from course_lib.grading.handed_in.statements import here

ASKED = {question.name: question.id for question in QUESTIONS}
GIVEN = {"broken"}  # what the exercises define themselves, to be mended
ALIKE = 0.6  # the share of two names that agrees, as difflib counts it
LISTED = 3


def renamed(cells: list[tuple[str, str]], question: Question, stub: bool) -> str:
    """Where such a function stands, as in "cell 7 defines my_scores(q, k)"; "" where none does.

    It is one that a cell checks with the question's id, or, where the exercise's stub is gone, one
    that no exercise asks for and that takes as many arguments or has a name like the exercise's.
    """
    checked, written = {}, {}
    for statement in statements(cells):
        cell = statement.where.rpartition(", line ")[0]
        for node in here(statement.node):
            if id := _checked_as(node):
                name = getattr(node.args[0], "id", "...")
                checked[name, id] = f'{cell} calls check({name}, "{id}")'
            written |= {name: (cell, takes) for name, takes in _functions(node)}
    said = [text for (name, id), text in checked.items() if id == question.id]
    others = {name for name, _ in checked} | (written.keys() if said or stub else set())
    for name, (cell, takes) in written.items():
        if name not in others and _may_be(name, takes, question):
            said.append(f"{cell} defines {name}({', '.join(_names(takes))})")
    return ", ".join(said[:LISTED]) + (", ..." if said[LISTED:] else "")


def below_the_stub(cells: list[tuple[str, str]], question: Question) -> str:
    """The cell in which an answer is written below the line that still raises, or ""."""
    for statement in statements(cells):
        node = statement.node
        ours = isinstance(node, ast.FunctionDef) and node.name == question.name
        if ours and is_stub(node) and any(map(_answers, node.body)):
            return statement.where.rpartition(", line ")[0]
    return ""


def _answers(node: ast.stmt) -> bool:
    return not isinstance(node, ast.Raise | ast.Expr | ast.Pass)


def _checked_as(node: ast.AST) -> str:
    """The id in `check(mine, "02.1")`, which says that `mine` answers that question."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "check" or not node.args:
        return ""
    given = [*node.args[1:], *[keyword.value for keyword in node.keywords]]
    ids = {value.value for value in given if isinstance(value, ast.Constant)}
    own = ASKED.get(getattr(node.args[0], "id", ""))
    return next((id for id in ASKED.values() if id in ids and id != own), "")


def _functions(node: ast.AST) -> list[tuple[str, ast.arguments]]:
    if isinstance(node, ast.FunctionDef) and not is_stub(node):
        return [(node.name, node.args)]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return [(to.id, node.value.args) for to in node.targets if isinstance(to, ast.Name)]
    return []


def _names(takes: ast.arguments) -> list[str]:
    return [one.arg for one in (*takes.posonlyargs, *takes.args, *takes.kwonlyargs)][:20]


def _may_be(name: str, takes: ast.arguments, question: Question) -> bool:
    if name in ASKED or name in GIVEN:
        return False
    most = len(takes.posonlyargs) + len(takes.args)
    least = most - len(takes.defaults)
    as_many = least <= len(question.names) and (takes.vararg or len(question.names) <= most)
    names = name.lower(), question.name.lower()
    return bool(as_many) or difflib.SequenceMatcher(None, *names).ratio() >= ALIKE

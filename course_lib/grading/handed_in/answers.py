"""The slice of a notebook that an answer needs, found by reading: nothing is run here."""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from course_lib.checks.guard import STUB
from course_lib.checks.verdict import UNWRITTEN
from course_lib.grading.handed_in.cells import Unreadable, cells
from course_lib.grading.handed_in.statements import (
    DEFINES,
    IMPORTS,
    Broken,
    Statement,
    here,
    read,
    root,
)
from course_lib.grading.handed_in.syntax import with_room

__all__ = ["Code", "Unreadable", "cells", "code_for", "defined", "statements"]

MAKERS = {"partial", "compile", "script", "vmap", "vectorize"}  # what they return is called
NONE, VALUE, PERHAPS, REAL = range(4)  # how surely a statement makes a name an answer


@dataclass(frozen=True)
class Code:
    """The pieces that make an answer, to run in this order, each with its place.

    Without pieces nothing can be run, and `problem` says why. With them it says what else a person
    should know: a cell that seems to define the answer as well, and isn't Python. `left_out` are
    the places of statements that aren't among the pieces and might change what the answer reads;
    `whole` are the pieces with them.
    """

    pieces: tuple[tuple[str, str], ...]
    problem: str = ""
    left_out: tuple[str, ...] = ()
    whole: tuple[tuple[str, str], ...] = ()


def code_for(cells: list[tuple[str, str]], name: str) -> Code | None:
    """What the answer `name` needs, or None where no cell defines it.

    These are the statements that bind or change the name, or a name which those need: imports,
    functions, tables. Cells that plot, print, train or check aren't among them. Where a name
    is defined more than once, all definitions run in order, so the last one counts; but an
    exercise's own stub, an import and a plain value never stand in for a definition.
    """
    return with_room(lambda: _notebook(tuple(cells)).code_for(name))


def defined(cells: list[tuple[str, str]], names: list[str]) -> list[str]:
    """Those of the names that some cell defines, be it with the exercise's stub."""
    return with_room(lambda: [n for n in names if _notebook(tuple(cells)).code_for(n)])


def statements(cells: list[tuple[str, str]]) -> list[Statement]:
    """Every top-level statement of the cells, in order."""
    return with_room(lambda: _notebook(tuple(cells)).statements)


@functools.lru_cache(maxsize=2)
def _notebook(cells: tuple[tuple[str, str], ...]) -> "_Notebook":
    return _Notebook(*read(cells))


class _Notebook:
    """The statements of one notebook, by the names that they bind or change."""

    def __init__(self, statements: list[Statement], broken: list[Broken]):
        self.statements, self.broken = statements, broken
        self.binders: dict[str, list[int]] = defaultdict(list)
        self.changers: dict[str, list[int]] = defaultdict(list)
        for i, statement in enumerate(statements):
            for name in statement.binds:
                self.binders[name].append(i)
        written = {name for name in self.binders if self._is_written(name)}
        self._drop_stubs(written)
        self.functions = {name for name in written if any(self._defines(name))}
        for i, statement in enumerate(statements):
            effects = statement.sets | {n for n in statement.calls if not self._is_module(n)}
            for called in statement.runs & self.functions:
                effects |= {w for j in self.binders[called] for w in statements[j].writes}
            for name in effects:
                self.changers[name].append(i)

    def code_for(self, name: str) -> Code | None:
        """The answer's slice; see code_for() of the module."""
        looks = re.compile(rf"^[ \t]*(?:def[ \t]+{re.escape(name)}\b|{name}[ \t]*=)", re.MULTILINE)
        faults = [b.fault.at(b.label) for b in self.broken if looks.search(b.source)]
        problem = faults[-1] if faults else ""
        chosen = self._definitions(name)
        if chosen is None or (not chosen and problem):
            return Code((), problem) if problem else None
        if not chosen:
            return Code((), UNWRITTEN)
        kept = self._slice(name, chosen)
        needed = {name for i in kept for name in self.statements[i].needs}
        left_out = sorted({i for name in needed for i in self.takers.get(name, ())} - kept)
        places = tuple(self.statements[i].where for i in left_out)
        whole = self._pieces(self._slice(name, chosen, self.takers)) if left_out else ()
        return Code(self._pieces(kept), problem, places, whole)

    def _pieces(self, kept: set[int]) -> tuple[tuple[str, str], ...]:
        return tuple((self.statements[i].where, self.statements[i].source) for i in sorted(kept))

    @functools.cached_property
    def takers(self) -> dict[str, list[int]]:
        """By a table, the statements that hand it on: fill(W), insort(D, 3), V = W."""
        found = defaultdict(list)
        for i, statement in enumerate(self.statements):
            for name in statement.hands_on - self.functions:
                if self.binders[name] and not self._is_module(name):
                    found[name].append(i)
        return found

    def _definitions(self, name: str) -> list[int] | None:
        """Which statements define the answer: an empty list for a stub alone, None for nothing."""
        kinds = {i: self._kind(i, name) for i in self.binders[name]}
        real = [i for i, kind in kinds.items() if kind == REAL]
        stubs = [i for i in real if is_stub(self.statements[i].node)]
        if len(real) > len(stubs):
            return [i for i in real if i not in stubs]
        perhaps = [i for i, kind in kinds.items() if kind == PERHAPS and i > max(stubs, default=-1)]
        return perhaps or ([] if stubs else None)

    def _kind(self, i: int, name: str) -> int:
        """How surely a statement that binds the name makes it something to call."""
        kinds = [NONE]
        for node in here(self.statements[i].node):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                kinds.append(REAL if node.name == name else NONE)
            elif isinstance(node, IMPORTS):
                kinds.append(PERHAPS)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
                targets = getattr(node, "targets", [getattr(node, "target", None)])
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    kinds.append(self._kind_of(node.value, name))
        return max(kinds)

    def _kind_of(self, value: ast.expr | None, name: str) -> int:
        if isinstance(value, ast.Lambda):
            return REAL
        if isinstance(value, ast.Name):
            return REAL if value.id in self.functions else VALUE
        if isinstance(value, ast.Attribute):  # softmax = torch.softmax
            own = self._is_module(root(value)) or root(value) in self.functions
            return REAL if own else PERHAPS  # softmax = Soft.apply; softmax = soft.run
        if not isinstance(value, ast.Call):
            return VALUE
        if getattr(value.func, "attr", getattr(value.func, "id", "")) in MAKERS:
            return REAL
        if root(value.func) == name or name in _names_in(value.func):  # scores = scores(q, k)
            return VALUE
        given = [*value.args, *[keyword.value for keyword in value.keywords]]
        return REAL if any(isinstance(a, ast.Name) and a.id == name for a in given) else PERHAPS

    def _slice(
        self, name: str, chosen: list[int], more: Mapping[str, list[int]] = MappingProxyType({})
    ) -> set[int]:
        """The statements that the name needs, and those that these need, and so on.

        With `more` statements by the name for which they are taken, too; what these bind may be
        another name for the same thing.
        """
        futures = [i for i, s in enumerate(self.statements) if _is_future(s.node)]
        kept, left = set(), [*futures, *chosen, *self.changers[name]]
        seen, unbound = {name}, False
        while left:
            i = left.pop()
            if i in kept:
                continue
            kept.add(i)
            names = self.statements[i].needs | (self.statements[i].binds if more else set())
            for needed in names - seen:
                seen.add(needed)
                left += self.binders[needed] + self.changers[needed] + more.get(needed, [])
                unbound |= not self.binders[needed]
            if not left and unbound:  # from math import * may bind it, or hide a builtin
                left, unbound = [*self.binders["*"]], False
        return kept

    def _drop_stubs(self, written: set[str]) -> None:
        """Where a name has a real definition, the exercise's stub binds it no more."""
        for name in written:
            own = self.binders[name]
            self.binders[name] = [i for i in own if not is_stub(self.statements[i].node)]

    def _is_written(self, name: str) -> bool:
        return any(not is_stub(node) for node in self._defines(name))

    def _defines(self, name: str | None) -> list[ast.AST]:
        """The nodes that define the name as a function, a class or a lambda."""
        found = []
        for i in self.binders.get(name, ()):
            for node in here(self.statements[i].node):
                is_lambda = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
                if is_lambda or (isinstance(node, DEFINES) and node.name == name):
                    found.append(node)
        return found

    def _is_module(self, name: str | None) -> bool:
        """Bound by imports alone: a call of its functions changes nothing of the answer's own."""
        own = self.binders.get(name, ())
        return bool(own) and all(isinstance(self.statements[i].node, IMPORTS) for i in own)


def is_stub(node: ast.AST) -> bool:
    """An exercise as it was handed out, or a body that is as empty."""
    if not isinstance(node, ast.FunctionDef):
        return False
    body = node.body[ast.get_docstring(node, clean=False) is not None :]
    return not body or _raises_unwritten(body[0]) or all(map(_is_nothing, body))


def _raises_unwritten(node: ast.stmt) -> bool:
    """It raises NotImplementedError, bare or with the words of the exercise."""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    error, args = node.exc, []
    if isinstance(error, ast.Call):
        error, args = error.func, error.args
    if not isinstance(error, ast.Name) or error.id != "NotImplementedError":
        return False
    text = getattr(args[0], "value", None) if args else STUB
    return isinstance(text, str) and (not text or text.endswith(STUB))


def _is_nothing(node: ast.stmt) -> bool:
    dots = isinstance(node, ast.Expr) and getattr(node.value, "value", None) is ...
    return dots or isinstance(node, ast.Pass)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

"""What each top-level statement of a notebook binds, changes and needs; nothing is run."""

import ast
import builtins
import contextlib
import functools
import itertools
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from course_lib.grading.handed_in.syntax import CELL_AT_MOST, Fault, parse

ALL_AT_MOST = 200_000  # characters of code in one notebook
STATEMENTS_AT_MOST = 3_000  # at the top level; an exercise has about 30
BEYOND = "it stands after more code than is read of one notebook"
CHUNKS_AT_MOST = 200
STARTS = re.compile(r"^(?:def|class|async def|@)(?!\w)", re.MULTILINE)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
# Names under which plots and notebooks are imported: what they are given stays as it is.
READERS = {"plt", "ax", "axes", "fig", "sns", "px", "display"}
# Functions that change their first argument, besides those that end in an underscore.
FILLERS = {"setattr", "delattr", "update_wrapper", "heappush", "heapify", "shuffle"}


@dataclass(frozen=True)
class Broken:
    """A part of a cell that isn't Python, with its fault."""

    label: str
    source: str
    fault: Fault


@dataclass(frozen=True, eq=False)
class Statement:
    """One top-level statement: where it stands, its text and its tree."""

    where: str
    source: str
    node: ast.stmt

    @functools.cached_property
    def binds(self) -> set[str]:
        """The names that have a value of its making once it ran; "*" where it doesn't say which."""
        node = self.node
        if ":=" not in self.source:
            if isinstance(node, DEFINES):
                return {node.name}
            if isinstance(node, IMPORTS):
                return {a.asname or a.name.split(".")[0] for a in node.names}
            if isinstance(node, ast.Expr | ast.Assert | ast.Pass | ast.Delete):
                return set()
        top = next(self._tables(), None)
        found = top.get_symbols() if top else []
        return {s.get_name() for s in found if s.is_assigned() or s.is_imported()}

    @functools.cached_property
    def needs(self) -> set[str]:
        """Every global name that it or a function in it loads, those in quoted annotations too."""
        found = set()
        for i, table in enumerate(self._tables()):
            for symbol in table.get_symbols():
                loaded = symbol.is_referenced() and (i == 0 or symbol.is_global())
                if loaded or symbol.is_declared_global():  # `calls += 1` doesn't count as loaded
                    found.add(symbol.get_name())
        return found | set(_quoted(self.node))

    @functools.cached_property
    def sets(self) -> set[str]:
        """Names of which it sets an attribute or an item."""
        return set(_set(here(self.node)))

    @functools.cached_property
    def calls(self) -> set[str]:
        """Names of which it calls a method as a statement, or that it hands to a filler."""
        return set(_methods(here(self.node)))

    @functools.cached_property
    def hands_on(self) -> set[str]:
        """Names that it gives to a call, gives another name, or lays into a list or a dict."""
        return set().union(*map(_handed_on, here(self.node)))

    @functools.cached_property
    def runs(self) -> set[str]:
        """Functions that it calls for their effect: `fill()` alone on a line, or a decorator."""
        found = [n.value.func for n in here(self.node) if _is_bare_call(n)]
        found += [getattr(by, "func", by) for by in getattr(self.node, "decorator_list", [])]
        return {func.id for func in found if isinstance(func, ast.Name)}

    @functools.cached_property
    def writes(self) -> set[str]:
        """Globals that a function defined here rebinds or changes when it is called."""
        if not isinstance(self.node, ast.FunctionDef):
            return set()
        found = {
            symbol.get_name()
            for table in self._tables()
            for symbol in table.get_symbols()
            if symbol.is_declared_global() and symbol.is_assigned()
        }
        inside = list(ast.walk(self.node))
        return found | (self.needs & {*_set(inside), *_methods(inside)})

    def _tables(self) -> Iterator[symtable.SymbolTable]:
        """The scopes in it, its own first; none where Python's compiler refuses it."""
        with contextlib.suppress(SyntaxError, RecursionError, MemoryError, ValueError, SystemError):
            left = [symtable.symtable(self.source + "\n", "answer", "exec")]
            while left:
                table = left.pop()
                yield table
                left += table.get_children()


def here(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run with the statement itself: bodies of functions and classes don't."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, SCOPES):
            left += ast.iter_child_nodes(node)


def root(node: ast.AST) -> str | None:
    """The name at the beginning of `name.a[0].b`, also of `name.get(0).append`."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func
        elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        else:
            return None
    return node.id


def _handed_on(node: ast.AST) -> set[str]:
    """See Statement.hands_on; Python's own functions and plots only read what they are given."""
    if isinstance(node, ast.Call):
        own = hasattr(builtins, getattr(node.func, "id", "")) and node.func.id != "next"
        reads = own or root(node.func) in READERS
        values = [] if reads else [*node.args, *[keyword.value for keyword in node.keywords]]
        return {root(value) for value in values} - {None}
    values = getattr(node, "elts", getattr(node, "values", []))
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        values = [node.value]
    return {value.id for value in values if isinstance(value, ast.Name)}


def _set(nodes: Iterator[ast.AST] | list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        is_place = isinstance(node, ast.Attribute | ast.Subscript)
        if is_place and not isinstance(node.ctx, ast.Load) and (name := root(node)):
            yield name


def _methods(nodes: Iterator[ast.AST] | list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if _is_bare_call(node):
            call = node.value
            if isinstance(call.func, ast.Attribute) and (name := root(call.func)):
                yield name
            last = getattr(call.func, "attr", getattr(call.func, "id", ""))
            fills = last in FILLERS or (last.endswith("_") and not last.endswith("__"))
            if fills and call.args and (name := root(call.args[0])):
                yield name
        for by in getattr(node, "decorator_list", []):  # @fn.register
            by = getattr(by, "func", by)
            if isinstance(by, ast.Attribute) and (name := root(by)):
                yield name


def _is_bare_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _quoted(node: ast.AST) -> Iterator[str]:
    """Names in annotations that are a string as a whole; a shape in brackets is none."""
    for inner in ast.walk(node):
        for field in ("annotation", "returns"):
            text = getattr(getattr(inner, field, None), "value", None)
            if isinstance(text, str) and isinstance(tree := parse(text), ast.Module):
                yield from (n.id for n in ast.walk(tree) if isinstance(n, ast.Name))


def read(cells: tuple[tuple[str, str], ...]) -> tuple[list[Statement], list[Broken]]:
    """Every top-level statement in order, and the parts that aren't Python.

    Where a cell doesn't parse, the definitions in it that do still count: a fault costs itself.
    """
    statements: list[Statement] = []
    broken: list[Broken] = []
    total = 0
    for label, source in cells:
        total += len(source) if len(source) <= CELL_AT_MOST else 0
        if total > ALL_AT_MOST or len(statements) > STATEMENTS_AT_MOST:
            broken.append(Broken(label, source, Fault(0, BEYOND)))
            continue
        tree = parse(source)
        parts = [source]
        if isinstance(tree, Fault) and len(source) <= CELL_AT_MOST:
            parts = _parts(source)
        for part in parts:
            tree = parse(part) if len(parts) > 1 else tree
            if isinstance(tree, Fault):
                broken.append(Broken(label, part, tree))
            else:
                room = STATEMENTS_AT_MOST + 1 - len(statements)
                statements += itertools.islice(_statements(label, part, tree), max(room, 0))
                if len(tree.body) > room:
                    broken.append(Broken(label, part, Fault(0, BEYOND)))
    return statements, broken


def _parts(source: str) -> list[str]:
    """A source cut where definitions begin; blank lines before each keep the numbers."""
    lines = source.split("\n")
    starts = [i for i, line in enumerate(lines) if STARTS.match(line)]
    starts = [i for i in starts if i == 0 or not lines[i - 1].startswith("@")]
    cuts = [0, *[i for i in starts if i > 0][:CHUNKS_AT_MOST], len(lines)]
    pairs = itertools.pairwise(cuts)
    return ["\n" * start + "\n".join(lines[start:end]) for start, end in pairs]


def _statements(label: str, source: str, tree: ast.Module) -> Iterator[Statement]:
    lines = source.split("\n")
    for node in tree.body:
        first = min([node.lineno, *[by.lineno for by in getattr(node, "decorator_list", [])]])
        text = lines[first - 1 : node.end_lineno]
        text[-1] = text[-1].encode()[: node.end_col_offset].decode(errors="ignore")
        if first == node.lineno and node.col_offset:  # behind a semicolon
            text[0] = text[0].encode()[node.col_offset :].decode(errors="ignore")
        yield Statement(f"{label}, line {first}", "\n".join(text), node)

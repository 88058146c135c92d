"""Whether an answer can be watched from outside: read off its source, which is never run here.

Two kinds of property aren't values that a grader compares. Which tensors torch made and what a
kernel loaded is told by the answer's own process, whose code could change what it tells. So that
is believed only of a source which names nothing but what everyday answers name. This decides
whose word counts; it is no sandbox: what a source may do, the walls decide.
"""

import ast
import builtins
import re
from collections.abc import Iterator

from course_lib.grading.handed_in.syntax import Fault, parse, with_room
from course_lib.grading.handed_in.watched_kernels import SIMULATOR, beyond_a_kernel, kernels_of
from course_lib.grading.handed_in.watched_names import (
    BASES,
    FUNCTIONS,
    KERNELS,
    METHODS,
    RESERVED,
    UNSETTABLE,
    Rules,
)

SAYS = "{}: `{}` may reach around what watches this"
DIMS = re.compile(r"[\w .*#+=-]*")  # what names a shape; jaxtyping would run anything else
NAMERS = ("namedtuple", "NamedTuple", "register_buffer", "register_parameter")
BINDERS = ("id", "name", "asname", "rest", "arg")  # fields of nodes that hold a name


def reaches_out(pieces: tuple[tuple[str, str], ...], is_kernel: bool) -> str:
    """The first thing in an answer's code that could reach what watches it, or ""."""
    try:
        return with_room(lambda: _first(pieces, is_kernel))
    except (RecursionError, ValueError):  # thousands of brackets, or of a number's digits
        return "The code is nested too deeply to be read"


def _first(pieces: tuple[tuple[str, str], ...], is_kernel: bool) -> str:
    trees = [parse(source) for _, source in pieces]
    space = _Space(KERNELS if is_kernel else FUNCTIONS, trees)
    kernels = kernels_of(space.nodes, space.path)
    for (place, _), tree in zip(pieces, trees, strict=True):
        if isinstance(tree, Fault):
            return tree.at(place)
        found = list(space.beyond(tree))
        if is_kernel:
            found += beyond_a_kernel(tree, space.path, kernels)
        if found:
            node, what = min(found, key=lambda one: one[0].lineno)
            cell, _, line = place.rpartition(", line ")
            return SAYS.format(f"{cell}, line {int(line) + node.lineno - 1}", what)
    return ""


class _Space:
    """The names of an answer: what it imports, what it defines, and whether it may."""

    def __init__(self, rules: Rules, trees: list[ast.Module | Fault]):
        self.rules = rules
        self.nodes = [n for t in trees if isinstance(t, ast.Module) for n in ast.walk(t)]
        self.parents = {child: n for n in self.nodes for child in ast.iter_child_nodes(n)}
        self.imported = {"torch": "torch", "math": "math"}  # as the child has them
        self.twice: set[str] = set()
        self.aliases: set[ast.AST] = set()
        for node in self.nodes:
            for name, path in _imports(node):
                self._import(name, path)
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                self._alias(node)
        self.bound = {n for node in self.nodes if node not in self.aliases for n in _bound(node)}
        classes = {node.name for node in self.nodes if isinstance(node, ast.ClassDef)}
        self.classes = classes - self.bound - set(self.imported)
        own = {name for node in self.nodes for name in _own(node)} - RESERVED
        self.own = {name for name in own if name[0] != "_"}

    def _import(self, name: str, path: str) -> None:
        if self.imported.setdefault(name, path) != path:
            self.twice.add(name)

    def _alias(self, node: ast.Assign) -> None:
        """Take tl = triton.language for the import that it is."""
        (target, *others), path = node.targets, self.path(node.value)
        if path in self.rules.modules and isinstance(target, ast.Name) and not others:
            self._import(target.id, path)
            self.aliases |= {node.value, target}

    def path(self, node: ast.AST) -> str:
        """The dotted name of what was imported, or "" for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        start = self.imported.get(node.id, "") if isinstance(node, ast.Name) else ""
        return ".".join([start, *reversed(parts)]) if start else ""

    def beyond(self, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
        """What in a tree isn't among what a source may name, with the text to show for it."""
        for node in ast.walk(tree):
            names = [getattr(node, field, None) for field in BINDERS]
            hidden = [name for name in names if _is_hidden(name)]
            if hidden and not (isinstance(node, ast.FunctionDef) and hidden[0] in METHODS):
                yield node, hidden[0]
            elif what := self._beyond_in(node):
                yield node, what

    def _beyond_in(self, node: ast.AST) -> str:
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
                return next((n for n in names if _known(n) not in self.rules.modules), "")
            case ast.ImportFrom():
                return self._in_import(node)
            case ast.Name():
                return self._in_name(node)
            case ast.Attribute():
                return self._in_attribute(node)
            case ast.Subscript():
                return self._in_shape(node)
            case ast.ClassDef():
                return self._in_class(node)
            case ast.keyword(arg=str(name)) if name[0] == "_":  # an option for torch itself
                return name
            case ast.MatchClass():  # it reads attributes by names that needn't stand there
                return ast.unparse(node)
        return ""

    def _in_import(self, node: ast.ImportFrom) -> str:
        module = "." * node.level + _known(node.module or "")
        if module not in self.rules.modules:
            return module
        everything = module == "math"
        wrong = [
            a.name
            for a in node.names
            if not (self._has(module, a.name) or (a.name == "*" and everything))
        ]
        return f"{module}.{wrong[0]}" if wrong else ""

    def _has(self, module: str, name: str) -> bool:
        return name in self.rules.modules[module] or f"{module}.{name}" in self.rules.modules

    def _in_name(self, node: ast.Name) -> str:
        unknown = hasattr(builtins, node.id) and node.id not in self.rules.builtins
        if unknown or node.id in self.twice or not self._is_placed(node):
            return node.id
        return "type" if node.id == "type" and not self._is_compared(node) else ""

    def _is_compared(self, node: ast.Name) -> bool:
        """Whether it is `type(x)` beside `==` or `is`; called with more, it makes a class."""
        call = self.parents[node]
        calls = isinstance(call, ast.Call) and call.func is node and len(call.args) == 1
        return calls and isinstance(self.parents[call], ast.Compare)

    def _in_attribute(self, node: ast.Attribute) -> str:
        text = f".{node.attr}"
        if not isinstance(node.ctx, ast.Load):
            of_self = isinstance(node.value, ast.Name) and node.value.id in ("self", "ctx")
            settable = node.attr not in UNSETTABLE and node.attr in self.own
            return "" if of_self and settable else text
        if (module := self.path(node.value)) in self.rules.modules:
            has = self._has(module, node.attr) and self._is_placed(node)
            return "" if has else self.path(node)
        if node.attr in METHODS:
            return "" if _is_super(node.value) else text
        return "" if node.attr in self.rules.values or node.attr in self.own else text

    def _is_placed(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether a module is only used for what is in it, and a type with shapes to annotate."""
        path, parent = self.path(node), self.parents[node]
        if path in self.rules.modules:
            return node in self.aliases or isinstance(parent, ast.Attribute)
        if path.startswith("jaxtyping."):
            return isinstance(parent, ast.Subscript) and parent.value is node
        return True

    def _in_shape(self, node: ast.Subscript) -> str:
        if not self.path(node.value).startswith("jaxtyping."):
            return ""
        dims = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
        text = getattr(dims, "value", None)
        return "" if isinstance(text, str) and DIMS.fullmatch(text) else ast.unparse(node)

    def _in_class(self, node: ast.ClassDef) -> str:
        if node.keywords:  # a metaclass
            return ast.unparse(node.keywords[0].value)
        for base in node.bases:
            of = base.value if isinstance(base, ast.Subscript) else base  # Generic[T]
            plain = self._path_of_one(of) in BASES or getattr(of, "id", "") in self.classes
            if not plain:
                return ast.unparse(base)
        for by in node.decorator_list:
            if self._path_of_one(getattr(by, "func", by)) != "dataclasses.dataclass":
                return ast.unparse(by)
        return ""

    def _path_of_one(self, node: ast.AST) -> str:
        """The path, or the name of a builtin, where nothing else in the code has that name."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        name = getattr(root, "id", "")
        hidden = name in self.bound or name in self.classes
        return "" if hidden else self.path(node) or name


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with its dotted name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.split(".")[0]
            yield alias.asname or top, _known(alias.name if alias.asname else top)
    elif isinstance(node, ast.ImportFrom):
        module = _known(node.module or "")
        yield from ((a.asname or a.name, f"{module}.{a.name}") for a in node.names)


def _known(module: str) -> str:
    """A module's name to the rules: a kernel that imports Triton gets the simulator."""
    return re.sub(r"^triton\b", SIMULATOR, module)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node gives a value, imports and classes aside."""
    is_name = isinstance(node, ast.Name)
    if is_name and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif not isinstance(node, ast.Name | ast.ClassDef | ast.alias | ast.keyword):
        names = (getattr(node, field, None) for field in BINDERS)
        yield from (name for name in names if isinstance(name, str))


def _own(node: ast.AST) -> Iterator[str]:
    """Attributes that an answer gives its own classes and objects."""
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            targets = getattr(part, "targets", [getattr(part, "target", None)])
            names = [getattr(part, "name", ""), *(getattr(t, "id", "") for t in targets)]
            yield from filter(None, names)
    elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ("self", "ctx"):
        if not isinstance(node.ctx, ast.Load):
            yield node.attr
    elif isinstance(node, ast.Call) and _name(node.func) in NAMERS:
        texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
        yield from (word for t in texts if isinstance(t, str) for word in re.findall(r"\w+", t))


def _is_hidden(name: object) -> bool:
    hidden = isinstance(name, str) and name.startswith("__") and name.strip("_")
    return bool(hidden) and name != "__name__"


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"

"""What a kernel's source may hold beside the names it may use: functions, constants, steps."""

import ast
from collections.abc import Callable, Iterator

SIMULATOR = "course_lib.simulator"
JIT = f"{SIMULATOR}.jit"
STEPS = (
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr),
    *(ast.Pass, ast.Break, ast.Continue, ast.Assert, ast.BinOp, ast.UnaryOp, ast.BoolOp),
    *(ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice),
    *(ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Starred, ast.arguments, ast.arg),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
MAKES = ("jit", "constexpr", "cdiv", "next_power_of_2")

Path = Callable[[ast.AST], str]
Found = Iterator[tuple[ast.AST, str]]


def beyond_a_kernel(tree: ast.Module, path: Path, kernels: set[str]) -> Found:
    """What at the top level is no import, constant or kernel, and what in them is no plain step."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.FunctionDef):
            outside = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
            inside = [*node.body, node.args]
            by = [path(getattr(one, "func", one)) for one in node.decorator_list]
            if any(name != JIT for name in by):
                yield node, ast.unparse(node.decorator_list[0])
        else:
            outside, inside = [node], [node]
            if not isinstance(node, ast.Assign | ast.AnnAssign) and not _is_text(node):
                yield node, _shown(node)
        if not _makes_a_kernel(node, path):
            free = kernels - _local(node)
            yield from ((n, n.id) for part in outside if part for n in _handed_on(part, kernels))
            yield from ((n, n.id) for part in inside for n in _handed_on(part, free))
        yield from ((n, _shown(n)) for part in outside if part for n in _calls(part, path))
        yield from ((n, _shown(n)) for part in inside for n in _no_steps(part))


def kernels_of(nodes: list[ast.AST], path: Path) -> set[str]:
    """The names of an answer's kernels: copy = triton.jit(mine) names one too."""
    found = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        if _makes_a_kernel(node, path):
            found |= {getattr(target, "id", "") for target in node.targets}
    return found


def _makes_a_kernel(node: ast.AST, path: Path) -> bool:
    call = getattr(node, "value", None)
    return isinstance(node, ast.Assign) and isinstance(call, ast.Call) and path(call.func) == JIT


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _shown(node: ast.AST) -> str:
    return ast.unparse(node).split("\n")[0][:60]


def _local(node: ast.AST) -> set[str]:
    """The names that a function binds itself."""
    if not isinstance(node, ast.FunctionDef):
        return set()
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _stores(n)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def _stores(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _handed_on(part: ast.AST, kernels: set[str]) -> Iterator[ast.Name]:
    """A kernel that is more than called: launched in a program, it would count as other ones."""
    nodes = list(ast.walk(part))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    loads = (n for n in nodes if isinstance(n, ast.Name) and not _stores(n) and n not in called)
    return (node for node in loads if node.id in kernels)


def _calls(part: ast.AST, path: Path) -> Iterator[ast.Call]:
    """Calls that make more than a constant or a kernel, and would run before any launch."""
    for node in ast.walk(part):
        if isinstance(node, ast.Call):
            name = path(node.func) or getattr(node.func, "id", "")
            ours = name.startswith(SIMULATOR) and name.rpartition(".")[2] in MAKES
            if not (ours or name.startswith("math.") or name in ("float", "int")):
                yield node


def _no_steps(part: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(part):
        sets = isinstance(node, ast.Attribute) and _stores(node)
        if hasattr(node, "lineno") and (sets or not isinstance(node, STEPS)):
            yield node

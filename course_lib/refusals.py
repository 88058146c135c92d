"""What Triton's compiler refuses, read off a kernel's source before the simulator runs it.

The simulator's tiles are tensors, so it would run much that no card ever will. Only what is surely
refused is: a kernel without source is left alone.
"""

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator

from torch import Tensor

STATEMENTS = {
    ast.Break: "break: every turn of a loop runs; let its range end earlier",
    ast.Continue: "continue: every turn of a loop runs; use a mask, or an if",
    ast.Try: "try: nothing is raised on a card",
    ast.Lambda: "lambda: call a function under @triton.jit",
    ast.Dict: "dict: a kernel has numbers, tiles and tuples",
    ast.Set: "set: a kernel has numbers, tiles and tuples",
    ast.Import: "import: what a kernel needs is imported above it",
    ast.Yield: "yield: a kernel returns",
}
OF_TRITON = ("cdiv", "next_power_of_2", "language")
CUT = (
    "a tile keeps its sides, and a pointer has none: [:, None] adds an axis, a mask turns lanes off"
)
LIBRARIES = ("torch", "np", "numpy")
MEMBERS = (
    "T abs argmax argmin associative_scan broadcast_to cast cdiv ceil cos cumprod cumsum dtype "
    "element_ty erf exp exp2 expand_dims flip floor gather histogram item load log log2 "
    "logical_and logical_or max min permute ravel reduce reshape rsqrt shape sigmoid sin softmax "
    "sort split sqrt sqrt_rn store sum to trans type value view xor_sum "
)
"""What tiles, pointers and their types have. Triton 3.7.1, `triton.language.tensor`."""


class CompilationError(Exception):
    """A kernel that Triton wouldn't compile; names the line and what stands against it."""


def refusal(fn: Callable) -> str | None:
    """Why Triton wouldn't compile a function, or None where it would, or where one can't know."""
    return _of_function(fn) if inspect.isfunction(fn) else None  # only those last as long as this


@functools.cache
def _of_function(fn: Callable) -> str | None:
    try:
        lines, _ = inspect.getsourcelines(fn)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return None
    for node, why in [*_refused(function), *_called(function, fn.__globals__)]:
        text = lines[node.lineno - 1].strip()
        return f"line {node.lineno} of {function.name}, `{text}`: {why}"
    return None


def _refused(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    at_run_time = {a.arg for a in function.args.args if not _is_constant(a.annotation)}
    for statement in function.body:
        for node in ast.walk(statement):
            if why := _why(node, at_run_time):
                yield node, why


def _called(function: ast.FunctionDef, known: dict) -> Iterator[tuple[ast.AST, str]]:
    """Calls of functions that are no kernels: Python's own, and the simulator's, are others."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and _binds(node)}
    own |= {argument.arg for argument in function.args.args}
    for node in (node for statement in function.body for node in ast.walk(statement)):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        called = known.get(name) if name not in own else None
        ours = getattr(called, "__module__", "") == "course_lib.simulator"
        if inspect.isfunction(called) and not ours:
            yield node, f"{name} isn't under @triton.jit, and a kernel calls nothing else"


def _binds(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_constant(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).strip("'\"").endswith("constexpr")


def _why(node: ast.AST, at_run_time: set[str]) -> str | None:
    if type(node) in STATEMENTS:
        return f"Triton has no {STATEMENTS[type(node)]}"
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
        return "Triton has no @ for tiles: tl.dot multiplies them"
    if isinstance(node, ast.Attribute):
        return _why_attribute(node)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        cut = [part for part in parts if not isinstance(part, ast.Constant | ast.Slice)]
        cut += [p for p in parts if isinstance(p, ast.Slice) and (p.lower or p.upper or p.step)]
        return CUT if cut else None
    if isinstance(node, ast.keyword) and node.arg in ("dim", "keepdim"):
        return f"Triton says axis and keep_dims, not {node.arg}"
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.arange":
        names = {
            part.id for arg in node.args for part in ast.walk(arg) if isinstance(part, ast.Name)
        }
        if late := sorted(names & at_run_time):
            return f"tl.arange needs constants, and {late[0]} is only known when the kernel runs"
    return None


def _why_attribute(node: ast.Attribute) -> str | None:
    base = node.value.id if isinstance(node.value, ast.Name) else None
    if base == "math":
        return None  # a number such as math.pi is a constant
    if base in LIBRARIES:
        return f"{base} isn't there on a card: a kernel computes with tl"
    if base == "triton" and node.attr not in OF_TRITON:
        return f"what a kernel computes with is in tl, not in triton: tl.{node.attr}?"
    if base in ("tl", "triton") or node.attr in MEMBERS.split():
        return None
    return f"Triton's tiles have no .{node.attr}"


def wide_only(of_tensors: Callable) -> Callable:
    """A function that a card has for float32, and for nothing narrower."""

    def fn(tile: Tensor) -> Tensor:
        if tile.dtype.itemsize < 4:
            raise TypeError(f"expected float32, got {tile.dtype}; convert it with .to(tl.float32)")
        return of_tensors(tile)

    return fn

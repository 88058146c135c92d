"""Exercises are solutions with the answers taken out.

`solutions/` is the only source. In it an answer stands between `### BEGIN SOLUTION` and
`### END SOLUTION` in a function's body; the exercise gets one `raise NotImplementedError` there,
and keeps the signature and the docstring. `python -m course_lib exercises` writes, with `--check`
it compares.
"""

import ast
import re
from pathlib import Path

import nbformat

from course_lib.checks.guard import STUB

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
ALMOST_A_MARKER = re.compile(r"#+\s*(begin|end)\s+solution", re.IGNORECASE)
CHECK_CALL = re.compile(r"^\s*check\(", re.MULTILINE)
TO_EXERCISES = re.compile(r"\]\((?:\.\./exercises|\./?)/")

# nbgrader's metadata, schema 3. An answer is graded by hand there: nbgrader gives full marks to
# a test cell that raises nothing, and check() never raises.
ANSWER = {"schema_version": 3, "solution": True, "grade": True, "locked": False, "task": False}
CHECK = {"schema_version": 3, "solution": False, "grade": False, "locked": True, "task": False}


class ExerciseError(ValueError):
    """A solution notebook from which no honest exercise can be made; names notebook and cell."""


def generate(source_dir: Path, target_dir: Path) -> list[Path]:
    """Write one exercise for each solution and return the files that changed.

    An exercise whose solution is gone is removed.
    """
    wanted, target_dir = _exercises(Path(source_dir)), Path(target_dir)
    changed = _differences(wanted, target_dir)
    target_dir.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (target_dir / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            (target_dir / name).unlink()
    return [target_dir / name for name in changed]


def stale(source_dir: Path, target_dir: Path) -> list[str]:
    """Return the names of the exercises that generate() would write or remove."""
    return _differences(_exercises(Path(source_dir)), Path(target_dir))


def stub(source: str, where: str = "cell") -> str:
    """Return a cell's code with each answer replaced by one raise that says what to do."""
    lines = source.split("\n")
    answers = _answers(lines, where)
    tree = _parse(source, where, "the solution")
    for begin, end in reversed(answers):
        function = _function_around(tree, begin, end, where)
        indent = lines[begin - 1][: -len(lines[begin - 1].lstrip())]
        todo = f"Write {function.name}: {STUB}"
        lines[begin - 1 : end] = [f'{indent}raise NotImplementedError("{todo}")']
    result = "\n".join(lines)
    _parse(result, where, "the exercise")
    return result


def _exercises(source_dir: Path) -> dict[str, str]:
    """Return the text of every exercise, by file name."""
    paths = sorted(source_dir.glob("*.ipynb"))
    if not paths:
        raise ExerciseError(f"{source_dir}: no solution notebook, so there is nothing to compare")
    return {path.name: _exercise(path) for path in paths}


def _differences(wanted: dict[str, str], target_dir: Path) -> list[str]:
    found = {path.name: path.read_text("utf-8") for path in target_dir.glob("*.ipynb")}
    return sorted(n for n in wanted.keys() | found.keys() if wanted.get(n) != found.get(n))


def _exercise(path: Path) -> str:
    """Return the exercise of one solution notebook: no answers, no outputs, the same cell ids."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [
        c for c in notebook.cells if "solution-only" not in c.metadata.get("tags", [])
    ]
    answers = 0
    for cell in notebook.cells:
        where = f"{path.parent.name}/{path.name}, cell {cell.id}"
        if cell.cell_type == "markdown":
            cell.source = TO_EXERCISES.sub("](", cell.source)
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        if _answers(cell.source.split("\n"), where):
            answers += 1
            cell.source = stub(cell.source, where)
            _hold_metadata(cell, ANSWER, where)
        elif CHECK_CALL.search(cell.source):
            _hold_metadata(cell, CHECK, where)
        elif "nbgrader" in cell.metadata:
            raise ExerciseError(f"{where}: nbgrader metadata, but neither an answer nor a check()")
    if not answers:
        raise ExerciseError(f"{path.parent.name}/{path.name}: no {BEGIN} in it")
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def _answers(lines: list[str], where: str) -> list[tuple[int, int]]:
    """Return the line numbers of each BEGIN and its END, counted from 1."""
    pairs, begin = [], None
    for number, line in enumerate(lines, start=1):
        if line.strip() == BEGIN and begin is None:
            begin = number
        elif line.strip() == END and begin is not None:
            pairs.append((begin, number))
            begin = None
        elif ALMOST_A_MARKER.search(line):
            raise ExerciseError(f"{where}: line {number} is no place for {line.strip()!r}")
    if begin is not None:
        raise ExerciseError(f"{where}: {BEGIN} in line {begin} has no {END}")
    return pairs


def _parse(source: str, where: str, what: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ExerciseError(f"{where}: {what} doesn't parse: {error}") from error


def _function_around(tree: ast.Module, begin: int, end: int, where: str) -> ast.FunctionDef:
    """Return the function whose body holds an answer, and refuse an answer that isn't one."""
    statements = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and begin < n.lineno < end]
    if not [s for s in statements if not isinstance(s, ast.Pass)]:
        raise ExerciseError(f"{where}: the solution in line {begin} is empty")
    if any(s.end_lineno > end for s in statements):
        raise ExerciseError(f"{where}: {END} in line {end} cuts a statement in two")
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    around = [f for f in functions if f.lineno < begin < statements[0].lineno <= f.end_lineno]
    if not around:
        raise ExerciseError(f"{where}: {BEGIN} in line {begin} stands outside a function")
    function = max(around, key=lambda f: f.lineno)
    if function.body[0].lineno > begin and ast.get_docstring(function):
        raise ExerciseError(f"{where}: the docstring of {function.name} is inside the solution")
    return function


def _hold_metadata(cell: nbformat.NotebookNode, expected: dict, where: str) -> None:
    """Refuse a cell whose nbgrader metadata isn't what its role in the notebook asks for."""
    found = dict(cell.metadata.get("nbgrader", {}))
    points = found.pop("points", None)
    wanted = expected | {"grade_id": cell.id}
    if found != wanted:
        raise ExerciseError(f"{where}: nbgrader metadata should be {wanted}, not {found}")
    if wanted["grade"] and not (isinstance(points, int) and points > 0):
        raise ExerciseError(f"{where}: nbgrader metadata needs points above zero, not {points}")
    if not wanted["grade"] and points is not None:
        raise ExerciseError(f"{where}: a check has no points, not {points}")

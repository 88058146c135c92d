"""The rules of the house: what may import what, how long a thing may be, what a notebook holds."""

import ast
import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "course_lib"
MODULES = sorted(LIBRARY.rglob("*.py"))
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXERCISES = sorted(p for d in ("solutions", "exercises") for p in (ROOT / d).glob("*.ipynb"))
NOTEBOOKS = CHAPTERS + EXERCISES
README = ROOT / "README.md"

# How many claims the syllabus has for each chapter.
CLAIMS = {
    "00_start_here": 5,
    "01_shapes": 4,
    "02_attention": 6,
    "03_masks": 8,
    "04_heads": 5,
    "05_positions": 7,
    "06_tiling": 7,
    "07_kernel": 7,
    "08_block": 5,
    "09_transformer": 7,
    "10_decoding": 6,
    "11_cheaper": 3,
    "12_dispatch": 5,
    "13_papers": 4,
}

# A module imports from lower floors only. Those beside may use any floor; no floor uses them.
FLOORS = {
    **dict.fromkeys(("shapes", "refusals", "slow_memory", "made"), 0),
    **dict.fromkeys(("attention", "masks", "positions", "simulator", "tiles"), 1),
    **dict.fromkeys(("leaks", "tiling", "kernel"), 2),
    **dict.fromkeys(("heads", "decoding", "traffic", "flash"), 3),
    **dict.fromkeys(("block", "cheaper", "kernel_tuned"), 4),
    "transformer": 5,
}
BESIDE = {"__init__", "__main__", "show", "tasks", "checks", "grading", "dispatch", "environment"}
BESIDE |= {"exercises", "machine_code"}

ONLY_IN = {
    "triton": ("kernel.py", "machine_code.py"),
    "matplotlib": ("show",),
    "ipywidgets": ("show",),
    "anywidget": ("show",),
    "distributed": ("grading",),
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=name_of)


def imports(path: Path) -> set[str]:
    """Every dotted name that a file imports, anywhere in it."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


def place(path: Path) -> str:
    """The module or the package of course_lib that a file belongs to."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


# --- the library ---


def test_library_is_here():
    assert {"shapes", "attention", "show", "checks", "exercises"} <= {place(p) for p in MODULES}


@each(MODULES)
def test_module_has_its_floor_and_imports_from_lower_ones(path):
    own = place(path)
    assert own in FLOORS or own in BESIDE, f"{own} has no floor: add it to FLOORS or BESIDE"
    if own not in FLOORS:
        return
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "course_lib":
            used = parts[1]
            assert used in FLOORS, f"{own} uses {used}, which stands beside the floors"
            assert FLOORS[used] < FLOORS[own], f"{own} uses {used}, which isn't on a lower floor"


@each(MODULES)
def test_optional_packages_are_imported_in_one_place(path):
    for package, places in ONLY_IN.items():
        if path.relative_to(LIBRARY).parts[0] not in places:
            used = [name for name in imports(path) if name.split(".")[0] == package]
            assert not used, f"{package} belongs in {' and '.join(places)} alone"


@each(MODULES)
def test_module_is_short_enough_to_read(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 260
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            assert lines <= 45, f"{node.name} has {lines} lines"
            taken = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
            taken = [name for name in taken if name not in ("self", "cls")]
            most = 7 if "checks" in path.parts else 6  # a question may hand over a layer's weights
            if any("triton.jit" in ast.unparse(by) for by in node.decorator_list):
                continue  # a kernel takes every pointer and size by itself
            assert len(taken) <= most, f"{node.name} takes {len(taken)} parameters"


def public(body: list[ast.stmt]):
    """The public functions and classes of a module, and the public methods of such classes."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


@each(MODULES)
def test_what_is_public_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree) or not tree.body, "the module says nothing about itself"
    silent = [node.name for node in public(tree.body) if not ast.get_docstring(node)]
    assert not silent


@each([*MODULES, *sorted(LIBRARY.rglob("*.mjs")), *NOTEBOOKS])
def test_nothing_names_a_folder_of_one_machine(path):
    found = re.findall(r"[\"'` (](?:/work|/tmp|/root|/home|/Users)/\S*", path.read_text())
    assert not found


def test_importing_attention_is_light():
    code = """
import sys, time, torch
start = time.process_time()
import course_lib.attention
print(time.process_time() - start)
print(*{"matplotlib", "ipywidgets", "beartype", "triton", "anywidget"} & sys.modules.keys())
"""
    for _ in range(5):  # the first on a cold disk, or beside other work, takes longer
        run = [sys.executable, "-c", code]
        out = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        seconds, loaded = out.split("\n")[:2]
        assert not loaded, f"import course_lib.attention also loads {loaded}"
        if float(seconds) < 0.25:
            return
    raise AssertionError(f"import course_lib.attention adds {seconds} s to import torch")


# --- every notebook ---


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def prose(path: Path) -> str:
    """The markdown of a notebook, without the code in it."""
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    return re.sub(r"```.*?```|`[^`\n]*`", "", "\n\n".join(cells), flags=re.DOTALL)


def parse(cell) -> ast.Module:
    """A code cell as a tree; IPython's own lines count as comments."""
    return ast.parse(re.sub(r"^(\s*)[%!]", r"\1# ", cell.source, flags=re.MULTILINE))


def is_hidden(cell) -> bool:
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def calls(cell, name: str) -> list[ast.Call]:
    """The calls of a function or a method of that name."""
    found = [node for node in ast.walk(parse(cell)) if isinstance(node, ast.Call)]
    return [c for c in found if name in (getattr(c.func, "id", ""), getattr(c.func, "attr", ""))]


def test_chapters_are_here():
    assert {"00_start_here", "01_shapes", "02_attention"} <= {path.stem for path in CHAPTERS}
    assert {path.stem for path in CHAPTERS} <= CLAIMS.keys()


def test_exercises_belong_to_chapters():
    stems = {path.stem for path in EXERCISES}
    assert {"01_shapes", "02_attention"} <= stems <= {path.stem for path in CHAPTERS}


@each(NOTEBOOKS)
def test_notebook_is_committed_clean(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert notebook.nbformat_minor >= 5
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert re.fullmatch(r"(?![0-9a-f]{8}$)[a-z0-9]+(-[a-z0-9]+)*", cell.id), cell.id
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None, cell.id
    text = nbformat.writes(notebook).rstrip("\n") + "\n"
    assert path.read_text() == text, "not as nbformat writes it, so a diff shows whole cells"


@each(NOTEBOOKS)
def test_notebook_works_offline(path):
    words = r"^\s*[!%]\s*pip|^\s*!|\burllib\b|\brequests\b|\bwget\b|torch\.hub|download=True"
    for cell in code_cells(path):
        assert not re.search(words, cell.source, re.MULTILINE), cell.id
    assert not re.search(r"!\[[^\]]*\]\(\s*(https?:)?//|<(img|script|iframe)\b", prose(path))


@each(NOTEBOOKS)
def test_cells_are_short(path):
    assert len(code_cells(path)[0].source.splitlines()) <= 8, "setup cell"
    row = 0
    for cell in read(path).cells:
        if cell.cell_type == "code":
            lines = len(cell.source.splitlines())
            assert lines <= 30 or is_hidden(cell), f"{cell.id}: {lines} lines"
            row += not is_hidden(cell)
            assert row <= 2, f"{cell.id} is the third code cell in a row"
        else:
            row = 0
            text = re.sub(r"^\s*\|.*$|\]\([^)]*\)", "", cell.source, flags=re.MULTILINE)
            words = len(text.split())
            assert words < 120, f"{cell.id}: {words} words"


@each(NOTEBOOKS)
def test_headings_go_down_one_step_at_a_time(path):
    levels = [len(found) for found in re.findall(r"^(#+) ", prose(path), re.MULTILINE)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels


def anchors(path: Path) -> set[str]:
    """The anchors that Jupyter gives to the headings of a notebook."""
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    headings = re.findall(r"^#+ (.+?)\s*$", "\n".join(cells), re.MULTILINE)
    return {re.sub(r"[`*]", "", heading).replace(" ", "-") for heading in headings}


@each(NOTEBOOKS)
def test_links_and_pictures_lead_somewhere(path):
    for bang, text, target in re.findall(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        assert text.strip(), f"{target}: no {'alt text' if bang else 'link text'}"
        file, _, anchor = unquote(target).partition("#")
        found = (path.parent / file).resolve() if file else path
        assert found.exists() and found.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(found), target


# --- the chapters ---


@each(CHAPTERS)
def test_chapter_turns_on_shape_checking(path):
    assert "%load_ext course_lib" in code_cells(path)[0].source


@each(CHAPTERS)
def test_every_claim_of_the_syllabus_is_measured_and_asserted(path):
    number, claimed = int(path.stem[:2]), set()
    for cell in read(path).cells:
        tags = [tag for tag in cell.metadata.get("tags", []) if tag.startswith("claim-")]
        claimed |= set(tags)
        if tags:
            assert cell.cell_type == "code", cell.id
            asserts = [n for n in ast.walk(parse(cell)) if isinstance(n, ast.Assert)]
            assert asserts, f"{cell.id} measures {tags} and asserts nothing"
    assert claimed == {f"claim-{number}.{i + 1}" for i in range(CLAIMS[path.stem])}


def predictions(path: Path) -> list[tuple[nbformat.NotebookNode, ast.Call]]:
    return [(cell, call) for cell in code_cells(path) for call in calls(cell, "predict")]


@each(CHAPTERS)
def test_predictions_explain_every_option_and_hide_the_answer(path):
    found = predictions(path)
    assert len(found) >= 5
    for cell, call in found:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        options, answer = ast.literal_eval(given["options"]), ast.literal_eval(given["answer"])
        assert is_hidden(cell), f"{cell.id}: the answer can be read in the source"
        assert answer in options and len(options) >= 2, cell.id
        for label, reason in options.items():
            assert isinstance(reason, str) and len(reason.split()) >= 2, f"{cell.id}: {label}"


@each(CHAPTERS)
def test_every_prediction_is_measured_later(path):
    cells = code_cells(path)
    for cell, call in predictions(path):
        named = [
            node.targets[0].id
            for node in parse(cell).body
            if isinstance(node, ast.Assign) and ast.unparse(node.value) == ast.unparse(call)
        ]
        assert named, f"{cell.id}: give the prediction a name"
        later = [c for other in cells[cells.index(cell) + 1 :] for c in calls(other, "measured")]
        owners = [call.func.value.id for call in later if isinstance(call.func, ast.Attribute)]
        assert named[0] in owners, f"{cell.id}: {named[0]}.measured(...) is never called"


def test_prediction_ids_are_unique():
    ids = [ast.literal_eval(call.args[0]) for path in CHAPTERS for _, call in predictions(path)]
    assert len(ids) == len(set(ids))


@each(CHAPTERS)
def test_opening_picture_is_current(path):
    noun = path.stem.split("_", 1)[1]
    picture = ROOT / "notebooks" / "figures" / f"{path.stem}.svg"
    assert f"(figures/{picture.name})" in prose(path), "the chapter doesn't show its opening"
    show = importlib.import_module(f"course_lib.show.{noun}")
    constraints = (ROOT / "constraints.txt").read_text()
    tested = re.search(r"^matplotlib==(.+)$", constraints, re.MULTILINE)[1]
    if version("matplotlib") != tested:
        pytest.skip(f"drawn with matplotlib {tested}, here is {version('matplotlib')}")
    svg = show.opening().svg
    assert picture.read_text() == (svg if isinstance(svg, str) else svg.decode()), "make figures"


# --- the README ---


def test_readme_names_what_is_in_the_tree():
    text = README.read_text()
    linked = set(re.findall(r"\]\((?:\./)?([\w./-]+)(?:#[^)]*)?\)", text))
    missing = [target for target in linked if not (ROOT / target).exists()]
    assert not missing, f"links that lead nowhere: {missing}"
    for chapter in CHAPTERS:
        assert name_of(chapter) in linked, f"{name_of(chapter)} isn't linked"
    for module in {place(path) for path in MODULES} - {"__init__", "__main__"}:
        assert re.search(rf"\b{module}\b", text), f"the module map lacks {module}"


def test_makefile_targets_in_the_readme_exist():
    targets = re.findall(r"\bmake ([a-z]+)", README.read_text())
    recipe = (ROOT / "Makefile").read_text()
    assert "lab" in targets and "test" in targets
    assert all(re.search(rf"^.PHONY:.*\b{t}\b", recipe, re.MULTILINE) for t in targets)


def test_python_floor_is_said_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    major, minor = map(int, re.findall(r"\d+", project["requires-python"]))
    assert f"({major}, {minor})" in (ROOT / "Makefile").read_text()

"""exercises/ is solutions/ without the answers, byte for byte, and the generator refuses a slip."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.exercises import ANSWER, BEGIN, CHECK, END, ExerciseError, generate, stale, stub

ROOT = Path(__file__).parents[1]
SOLUTIONS, EXERCISES = ROOT / "solutions", ROOT / "exercises"

FUNCTION = f'''def double(x: float) -> float:
    """Return twice x."""
    {BEGIN}
    twice = x + x
    return twice
    {END}
'''


def answer_cell(source: str = FUNCTION, **changes):
    metadata = ANSWER | {"grade_id": "double-mine", "points": 3} | changes
    return new_code_cell(source, id="double-mine", metadata={"nbgrader": metadata})


def check_cell(**changes):
    metadata = CHECK | {"grade_id": "double-check"} | changes
    return new_code_cell("check(double)", id="double-check", metadata={"nbgrader": metadata})


def write(folder: Path, *cells, name: str = "02_attention.ipynb") -> Path:
    folder.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), folder / name)
    return folder


@pytest.fixture
def folders(tmp_path):
    prose = new_markdown_cell("See [masks](../exercises/03_masks.ipynb) and [a](#a).", id="prose")
    secret = new_code_cell("sketch = 1", id="sketch", metadata={"tags": ["solution-only"]})
    answer, check = answer_cell(), check_cell()
    answer.execution_count = 3
    answer.outputs = [nbformat.v4.new_output("stream", text="done")]
    return write(tmp_path / "solutions", prose, answer, check, secret), tmp_path / "exercises"


def test_answer_goes_and_signature_docstring_and_indentation_stay():
    assert stub(FUNCTION) == (
        "def double(x: float) -> float:\n"
        '    """Return twice x."""\n'
        '    raise NotImplementedError("Write double: replace this line with your answer, '
        'then run the check.")\n'
    )


def test_two_answers_in_one_cell_each_name_their_function():
    method = FUNCTION.replace("double", "treble").replace("\n", "\n    ").rstrip()
    cell = f"{FUNCTION}\nclass Numbers:\n    {method}\n"
    written = stub(cell)
    assert '    raise NotImplementedError("Write double' in written
    assert '        raise NotImplementedError("Write treble' in written
    assert "x + x" not in written


def test_an_answer_may_be_one_branch_of_the_function():
    branch = f"    if x:\n        {BEGIN}\n        return 7 * x\n        {END}\n"
    source = f"def f(x):\n{branch}    return 0\n"
    written = stub(source)
    assert "7 * x" not in written and written.endswith("    return 0\n")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (f"def f():\n    {BEGIN}\n    return 1\n", "has no ### END SOLUTION"),
        (f"def f():\n    return 1\n    {END}\n", "line 3 is no place"),
        (f"def f():\n    {BEGIN}\n    {BEGIN}\n    return 1\n    {END}\n", "line 3 is no place"),
        (f"def f():\n    ## begin solution\n    return 1\n    {END}\n", "line 2 is no place"),
        (f"def f():\n    x = 1  {BEGIN}\n    return x\n    {END}\n", "line 2 is no place"),
        (f"{BEGIN}\nx = 1\n{END}\n", "outside a function"),
        (f"def f():\n    return 1\n{BEGIN}\nx = 1\n{END}\n", "outside a function"),
        (f"def f():\n    {BEGIN}\n    # later\n    {END}\n    return 1\n", "is empty"),
        (f"def f():\n    {BEGIN}\n    pass\n    {END}\n", "is empty"),
        (f"def f(:\n    {BEGIN}\n    return 1\n    {END}\n", "the solution doesn't parse"),
        (f"def f():\n  {BEGIN}\n  return [\n  {END}\n  ]\n", "cuts a statement in two"),
        (f"def f():\n    {BEGIN}\n    '''Doc.'''\n    return 1\n    {END}\n", "docstring of f"),
        (
            f"def f():\n      {BEGIN}\n    x = 1\n    {END}\n    return x\n",
            "exercise doesn't parse",
        ),
    ],
)
def test_slip_in_the_markers_is_refused(source, complaint):
    with pytest.raises(ExerciseError, match=complaint):
        stub(source)


@pytest.mark.parametrize(
    ("cells", "complaint"),
    [
        ([answer_cell(points=0)], "points above zero"),
        ([answer_cell(locked=True)], "nbgrader metadata should be"),
        ([answer_cell(grade_id="other")], "nbgrader metadata should be"),
        ([answer_cell(schema_version=2)], "nbgrader metadata should be"),
        ([new_code_cell(FUNCTION, id="double-mine")], "nbgrader metadata should be"),
        ([answer_cell(), new_code_cell("check(double)", id="double-check")], "should be"),
        ([answer_cell(), check_cell(grade=True)], "nbgrader metadata should be"),
        ([answer_cell(), check_cell(points=2)], "a check has no points"),
        ([answer_cell("x = 1\n")], "neither an answer nor a check"),
        ([new_markdown_cell("Nothing to do.", id="prose")], "no ### BEGIN SOLUTION in it"),
    ],
)
def test_slip_in_the_notebook_is_refused_and_nothing_is_written(tmp_path, cells, complaint):
    source = write(tmp_path / "solutions", *cells)
    with pytest.raises(ExerciseError, match=complaint):
        generate(source, tmp_path / "exercises")
    assert not (tmp_path / "exercises").exists()


def test_error_names_notebook_and_cell(tmp_path):
    source = write(tmp_path / "solutions", answer_cell(points=0))
    with pytest.raises(ExerciseError, match=r"solutions/02_attention\.ipynb, cell double-mine"):
        stale(source, tmp_path / "exercises")


def test_no_solution_at_all_is_an_error(tmp_path):
    for run in (generate, stale):
        with pytest.raises(ExerciseError, match="no solution notebook"):
            run(tmp_path, tmp_path / "exercises")


def test_exercise_keeps_ids_and_metadata_and_drops_outputs_and_solution_only_cells(folders):
    source, target = folders
    assert generate(source, target) == [target / "02_attention.ipynb"]
    before = nbformat.read(source / "02_attention.ipynb", 4)
    after = nbformat.read(target / "02_attention.ipynb", 4)
    nbformat.validate(after)
    assert [c.id for c in after.cells] == ["prose", "double-mine", "double-check"]
    for old, new in zip(before.cells, after.cells, strict=False):
        assert old.metadata == new.metadata
    assert after.cells[1].outputs == [] and after.cells[1].execution_count is None
    assert after.cells[0].source == "See [masks](03_masks.ipynb) and [a](#a)."


def test_second_run_changes_nothing(folders):
    source, target = folders
    generate(source, target)
    first = (target / "02_attention.ipynb").read_bytes()
    assert generate(source, target) == [] == stale(source, target)
    assert (target / "02_attention.ipynb").read_bytes() == first


def test_stale_tells_an_edited_a_missing_and_an_orphaned_exercise(folders):
    source, target = folders
    assert stale(source, target) == ["02_attention.ipynb"]
    generate(source, target)
    (target / "02_attention.ipynb").write_text("{}")
    write(target, check_cell(), name="09_gone.ipynb")
    assert stale(source, target) == ["02_attention.ipynb", "09_gone.ipynb"]
    changed = [target / "02_attention.ipynb", target / "09_gone.ipynb"]
    assert generate(source, target) == changed
    assert stale(source, target) == [] and not (target / "09_gone.ipynb").exists()


def test_committed_exercises_are_current():
    assert stale(SOLUTIONS, EXERCISES) == [], "python -m course_lib exercises"


def solution_lines() -> set[str]:
    """Lines that stand between the markers and nowhere else in the solutions."""
    secret, given = set(), set()
    for path in SOLUTIONS.glob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            into = secret if "solution-only" in cell.metadata.get("tags", []) else given
            for line in (text.strip() for text in cell.source.split("\n")):
                into = secret if line == BEGIN else given if line == END else into
                into.add(line)
    return {line for line in secret - given if len(line) > 12 and line != BEGIN}


def test_no_line_of_an_answer_is_in_an_exercise():
    lines = solution_lines()
    assert len(lines) >= 5
    exercises = list(EXERCISES.glob("*.ipynb"))
    assert exercises
    for path in exercises:
        text = "\n".join(cell.source for cell in nbformat.read(path, 4).cells)
        assert BEGIN not in text and END not in text
        found = sorted(line for line in lines if line in text)
        assert not found, f"{path.name} gives away {found}"


def test_every_file_in_exercises_is_generated():
    assert {p.name for p in EXERCISES.iterdir() if not p.name.startswith(".")} == {
        p.name for p in SOLUTIONS.glob("*.ipynb")
    }

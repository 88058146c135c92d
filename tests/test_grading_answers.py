"""The slice that an answer needs: each case is something people do, with what then is right."""

import ast
import functools
import json
import sys
import threading
import time
from pathlib import Path

import nbformat
import pytest

from course_lib.checks import QUESTIONS
from course_lib.checks.guard import STUB
from course_lib.checks.verdict import UNWRITTEN
from course_lib.grading.handed_in.answers import Code, Unreadable, cells, code_for, defined
from course_lib.grading.handed_in.syntax import Fault, parse, with_room

ROOT = Path(__file__).parents[1]
OWN_STUB = f'def f():\n    """What it does."""\n    raise NotImplementedError("Write f: {STUB}")'


def noted(*sources: str, **more) -> bytes:
    listed = [{"cell_type": "code", "source": source, **more} for source in sources]
    return json.dumps({"cells": listed, "nbformat": 4}).encode()


def code(*sources: str, name: str = "f") -> Code | None:
    return code_for(cells(noted(*sources), "f.ipynb"), name)


def ran(found: Code) -> dict:
    """Run the pieces as a child would: each by itself, one that fails left out."""
    space = {"__name__": "answer"}
    for where, source in found.pieces:
        try:
            exec(compile(source, where, "exec", dont_inherit=True), space)
        except Exception as error:
            space.setdefault("failed", []).append(f"{where}: {type(error).__name__}")
    return space


def answer(*sources: str) -> object:
    found = code(*sources)
    assert found is not None and found.pieces, found
    return ran(found)["f"]()


DEF = "def f():\n    return {}"
ONE, TWO = DEF.format(1), DEF.format(2)

RIGHT = {
    "a function": ([ONE], 1),
    "the last of two": ([ONE, TWO], 2),
    "two in one cell": ([f"{ONE}\n{TWO}"], 2),
    "a doubled cell": ([ONE, ONE], 1),
    "the stub, then the answer": ([OWN_STUB, ONE], 1),
    "the answer, then the stub": ([ONE, OWN_STUB], 1),
    "a bare stub after it": ([ONE, "def f():\n    raise NotImplementedError"], 1),
    "a bare call after it": ([ONE, "def f():\n    raise NotImplementedError()"], 1),
    "dots after it": ([ONE, "def f(): ..."], 1),
    "pass after it": ([ONE, "def f():\n    'doc'\n    pass"], 1),
    "answer under the raise, in a copy": ([ONE, OWN_STUB + "\n    return 3"], 1),
    "raise left under the answer": ([DEF.format(1) + "\n    raise NotImplementedError()"], 1),
    "a lambda": (["f = lambda: 1"], 1),
    "a lambda after a function": ([ONE, "f = lambda: 2"], 2),
    "another name for it": (["def mine():\n    return 1", "f = mine"], 1),
    "another's name after a stub": ([OWN_STUB, "def mine():\n    return 1\nf = mine"], 1),
    "wrapped": ([ONE, "def twice(g): return lambda: 2 * g()", "f = twice(f)"], 2),
    "made by a factory": (["def make(n):\n    return lambda: n", "f = make(1)"], 1),
    "factory after the stub": ([OWN_STUB, "def make(n):\n    return lambda: n", "f = make(1)"], 1),
    "its result under its name": ([ONE, "f = f()"], 1),
    "a number under its name": ([ONE, "f = 3"], 1),
    "a loop variable of its name": ([ONE, "for f in range(3): print(f)"], 1),
    "part of its result": ([ONE, "f = f()[0]"], 1),
    "an import under its name": ([ONE, "from os.path import join as f"], 1),
    "in an if": (["if True:\n    def f():\n        return 1"], 1),
    "in a try": (["try:\n    import nothing_here\nexcept ImportError:\n    def f(): return 1"], 1),
    "a class that is called": (
        [
            "class M:\n    def __call__(self):\n        return 1",
            "m = M()",
            "def f():\n    return m()",
        ],
        1,
    ),
    "an instance as the answer": (["class M:\n    def __call__(self): return 1", "f = M()"], 1),
    "a helper": (["def g():\n    return 1", "def f():\n    return g()"], 1),
    "a helper below": (["def f():\n    return g()", "def g():\n    return 1"], 1),
    "a helper of a helper": (
        ["def h():\n    return 1", "def g():\n    return h()", "def f():\n    return g()"],
        1,
    ),
    "a helper written again": (
        ["def g():\n    return 1", "def f():\n    return g()", "def g():\n    return 2"],
        2,
    ),
    "a helper's stub below": (
        [
            "def g():\n    return 1",
            "def f():\n    return g()",
            "def g():\n    raise NotImplementedError",
        ],
        1,
    ),
    "recursion": (["def f(n=3):\n    return n and f(n - 1)"], 0),
    "each other": (
        ["def f(n=3):\n    return n and g(n - 1)", "def g(n):\n    return n and f(n - 1)"],
        0,
    ),
    "a constant": (["N = 1", "def f():\n    return N"], 1),
    "constants in one line": (["M, (N, *R) = 0, (1, 2)", "def f():\n    return N"], 1),
    "with a type": (["N: int = 1", "def f():\n    return N"], 1),
    "added to": (["N = 1", "N += 1", "def f():\n    return N"], 2),
    "of a constant": (["M = 1", "N = M + 1", "def f():\n    return N"], 2),
    "as a default": (["N = 1", "def f(n=N):\n    return n"], 1),
    "as a default that changes": (["N = 1", "def f(n=N):\n    return n", "N = 2"], 1),
    "semicolons": (["x = 0; N = 1; print(N)", "def f(): return N"], 1),
    "letters before a semicolon": (["x = 'é'; N = '王'; y = 'ü'", "def f(): return N"], "王"),
    "walrus": (["print(N := 1)", "def f():\n    return N"], 1),
    "walrus in a condition": (["if (N := 1) > 0:\n    pass", "def f():\n    return N"], 1),
    "a table filled": (["T = []", "T.append(1)", "def f():\n    return T"], [1]),
    "a table filled in a loop": (
        ["T = []\nfor i in range(2):\n    T.append(i)", "def f(): return T"],
        [0, 1],
    ),
    "a table's place": (["T = [0]", "T[0] = 1", "def f():\n    return T"], [1]),
    "a place deleted": (["T = [0, 1]", "del T[0]", "def f():\n    return T"], [1]),
    "a deep place": (["T = {}", "T.setdefault(0, []).append(1)", "def f(): return T"], {0: [1]}),
    "a table filled by a function": (
        ["T = []", "def fill():\n    T.append(1)", "fill()", "def f(): return T"],
        [1],
    ),
    "a global set by a function": (
        ["def g():\n    global N\n    N = 1", "g()", "def f(): return N"],
        1,
    ),
    "a counter": (["N = 0", "def f():\n    global N\n    N += 1\n    return N"], 1),
    "an attribute of its own": (["def f():\n    return f.n", "f.n = 1"], 1),
    "an attribute by setattr": (["def f():\n    return f.n", "setattr(f, 'n', 1)"], 1),
    "an attribute of an object": (
        ["class A: pass", "a = A()", "a.n = 1", "def f(): return a.n"],
        1,
    ),
    "a method put on later": (
        ["class A: pass", "A.g = lambda self: 1", "def f(): return A().g()"],
        1,
    ),
    "a patched module": (["import math", "math.tau2 = 2", "def f(): return math.tau2"], 2),
    "a registry": (
        [
            "R = {}",
            "def keep(g):\n    R[0] = g",
            "@keep\ndef g(): return 1",
            "def f(): return R[0]()",
        ],
        1,
    ),
    "singledispatch": (
        [
            "from functools import singledispatch\n@singledispatch\ndef g(x): return 0",
            "@g.register\ndef _(x: int): return 1",
            "def f(): return g(5)",
        ],
        1,
    ),
    "a deleted helper": (["def g(): return 1", "def f(): return g()", "del g"], 1),
    "a module": (["import math", "def f(): return math.floor(1.5)"], 1),
    "under another name": (["import math as m", "def f(): return m.floor(1.5)"], 1),
    "a part of a module": (["import os.path", "def f(): return os.path.join('a')"], "a"),
    "a module twice": (["import os", "import os.path", "def f(): return os.path.join('a')"], "a"),
    "everything of a module": (["from math import *", "def f(): return floor(1.5)"], 1),
    "everything hides a builtin": (["from math import *", "def f(): return pow(2, 2)"], 4.0),
    "an import inside": (["def f():\n    import math\n    return math.floor(1.5)"], 1),
    "an import below": (["def f(): return math.floor(1.5)", "import math"], 1),
    "an import tried": (
        [
            "try:\n    import nothing_here as n\nexcept ImportError:\n    n = None",
            "def f(): return n",
        ],
        None,
    ),
    "a decorator": (["def twice(g): return lambda: 2 * g()", f"@twice\n{ONE}"], 2),
    "a decorator of a library": (["import functools", f"@functools.cache\n{ONE}"], 1),
    "two decorators": (["def a(g): return g", f"@a\n@a\n{ONE}"], 1),
    "a nested function": (["N = 1", "def f():\n    def g():\n        return N\n    return g()"], 1),
    "a nested lambda": (["N = 1", "def f():\n    return (lambda: N)()"], 1),
    "a comprehension": (["N = 1", "def f():\n    return [N for _ in range(1)]"], [1]),
    "a class body": (["N = 1", "class A:\n    n = N", "def f(): return A.n"], 1),
    "a base class": (["class B:\n    n = 1", "class A(B): pass", "def f(): return A.n"], 1),
    "a dataclass": (
        [
            "from dataclasses import dataclass",
            "@dataclass\nclass A:\n    n: int = 1",
            "def f(): return A().n",
        ],
        1,
    ),
    "a type alias": (
        ["from typing import Any\nX = list[Any]", "def f(x: X = 1) -> X: return x"],
        1,
    ),
    "a quoted annotation": (
        [
            "class X: pass",
            "import typing",
            "def f(x: 'X' = 1): return len(typing.get_type_hints(f))",
        ],
        1,
    ),
    "a with": (
        ["import io\nwith io.StringIO('a') as s:\n    N = s.read()", "def f(): return N"],
        "a",
    ),
    "a while": (["N = 0\nwhile N < 3:\n    N += 1", "def f(): return N"], 3),
    "a match": (["match 1:\n    case N: pass", "def f(): return N"], 1),
    "a star": (["A = [1]", "B = [*A, 2]", "def f(): return B"], [1, 2]),
    "an f-string": (["N = 1", "def f(): return f'{N}'"], "1"),
    "long strings": (['T = """\n  a\n# b\n"""', "def f(): return T"], "\n  a\n# b\n"),
    "long strings behind a semicolon": (['x = 1; T = """\n a\n"""', "def f(): return T"], "\n a\n"),
    "a backslash": (["N = \\\n    1", "def f(): return N"], 1),
    "a comment behind": (["def f(): return 1  # done; N = 2"], 1),
    "its name in a comment": ([ONE, "# def f(): return 2"], 1),
    "its name in a string": ([ONE, "print('def f(): return 2')"], 1),
    "its name as another's method": ([ONE, "class A:\n    def f(self): return 2"], 1),
    "its name inside another": ([ONE, "def g():\n    def f(): return 2\n    return f"], 1),
    "its name as an argument": ([ONE, "def g(f): return f()"], 1),
    "an async one beside": ([ONE, "async def f(): return 2"], 1),
    "an odd escape": ([r"def f(): return '\d'"], r"\d"),
    "a dim named as a global": (["def Tq(): return x", "def f(x: 'B Tq' = 1): return x"], 1),
}


@pytest.mark.parametrize("case", RIGHT.values(), ids=RIGHT)
def test_right(case):
    sources, expected = case
    assert answer(*sources) == expected


def test_rebinding_goes_on_from_the_definition():
    found = code(ONE, "import torch", "f = torch.compile(f)", "f = torch.jit.script(fn=f)")
    assert [w for w, _ in found.pieces] == [f"cell {i}, line 1" for i in (1, 2, 3, 4)]


BYSTANDERS = {
    "a check": "check(f)",
    "a print": "print(f())",
    "a result": "f()",
    "a shape": "f().shape",
    "a result's method": "f().sum()",
    "a plot": "import matplotlib.pyplot as plt\nplt.plot([f()])\nplt.show()",
    "an assert": "assert f() == 1",
    "a loop": "for i in range(10):\n    print(f())",
    "a training": "x = 0\nfor step in range(10**9):\n    x += step",
    "a display": "f",
    "a time": "import time\nstart = time.time(); f(); print(time.time() - start)",
    "a switch": "import torch\ntorch.set_default_device('cuda')",
    "a seed": "import torch\ntorch.manual_seed(0)",
    "its module's call": "import math\nmath.floor(1)",
    "the course": "from course_lib.checks import check, progress\nprogress()",
    "exit": "import sys\nsys.exit()",
    "a main": "if __name__ == '__main__':\n    print(f())",
    "a document": '"""What I did."""',
}


@pytest.mark.parametrize("source", BYSTANDERS.values(), ids=BYSTANDERS)
def test_bystander_isnt_run(source):
    own = "import torch, math, time\ndef f():\n    x = torch\n    return 1 or time or math"
    for order in ((own, source), (source, own)):
        kept = {ast.unparse(ast.parse(text)) for _, text in code(*order).pieces}
        shown = {ast.unparse(line) for line in ast.parse(source).body if not is_import(line)}
        assert not kept & shown


def is_import(line: ast.stmt) -> bool:
    return isinstance(line, ast.Import | ast.ImportFrom)


def test_own_names_need_nothing_of_the_notebook():
    body = "def f(q, *k, v=0, **w):\n    scores = q\n    for i in k: scores += i\n"
    body += "    return [j for j in w], lambda m: m, scores"
    train = "q = k = v = w = scores = i = j = m = input('waits')"
    assert [where for where, _ in code(train, body).pieces] == ["cell 2, line 1"]


def test_pieces_say_where_they_stand():
    found = code("# first\n\nimport math\n\n\nN = 1; M = 2", "", "@math.foo\n@N\ndef f():\n    M")
    assert found.pieces == (
        ("cell 1, line 3", "import math"),
        ("cell 1, line 6", "N = 1"),
        ("cell 1, line 6", "M = 2"),
        ("cell 3, line 1", "@math.foo\n@N\ndef f():\n    M"),
    )


def test_future_imports_come_first():
    found = code("def f(x: Missing): return x", "from __future__ import annotations")
    assert [text for _, text in found.pieces][1].startswith("from __future__")


def test_not_defined():
    assert code("x = 1", "print(f)", "f.a = 1") is None
    assert code() is None and code("") is None
    assert code("f = 3") is None and code("for f in []: pass") is None


def test_stub_alone_is_told():
    assert code(OWN_STUB) == Code((), UNWRITTEN) == code(OWN_STUB, "f = 3", OWN_STUB)
    assert code("def f():\n    pass") == Code((), UNWRITTEN)


def test_stub_after_an_import_stands():
    assert code("from math import floor as f", OWN_STUB) == Code((), UNWRITTEN)
    assert code(OWN_STUB, "from math import floor as f").pieces


@pytest.mark.parametrize("path", sorted((ROOT / "exercises").glob("*.ipynb")), ids=lambda p: p.stem)
def test_exercises_are_stubs_and_solutions_are_answers(path):
    handed_out = cells(path.read_bytes(), path.name)
    solved = cells((ROOT / "solutions" / path.name).read_bytes(), path.name)
    for question in QUESTIONS:
        if question.chapter == path.stem[:2]:
            assert code_for(handed_out, question.name) == Code((), UNWRITTEN)
            mixed = [code_for(c, question.name) for c in (solved, solved + handed_out)]
            for found in (*mixed, code_for(handed_out + solved, question.name)):
                assert not found.problem
                text = "\n".join(source for _, source in found.pieces)
                assert "check(" not in text and "progress" not in text
                assert callable(ran(found)[question.name])


def test_defined():
    read = cells(noted(ONE, "g = lambda: 1", OWN_STUB.replace("f()", "h()")), "a.ipynb")
    assert defined(read, ["f", "g", "h", "i"]) == ["f", "g", "h"]


# --- cells that aren't Python ---


def test_fault_costs_only_its_cell():
    assert answer("def g(:", ONE, "print 'hello'", "x = (") == 1


def test_fault_in_the_answer_names_cell_and_line():
    found = code("import math", "x = 1", "# mine\n\ndef f()\n    return 1")
    assert found == Code((), "cell 3, line 3: expected ':'")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f():\nreturn 1", "cell 1, line 2: expected an indented block"),
        ("def f():\n    return (1", "cell 1, line 2: '(' was never closed"),
        ("f = lambda: ]", "cell 1, line 1: unmatched ']'"),
        ("def f():\n\treturn 1\n        x", "cell 1, line 3: "),
        ("if True:\n    def f():\n        x = = 1", "cell 1, line 3: invalid syntax"),
        ("def f():\n    return 'a", "cell 1, line 2: unterminated string"),
    ],
)
def test_fault_in_words(source, says):
    found = code(source)
    assert not found.pieces and found.problem.startswith(says)


def test_fault_beside_an_answer_is_told_with_it():
    found = code(ONE, "def f(:\n    return 2")
    assert found.problem.startswith("cell 2, line 1: ") and ran(found)["f"]() == 1


def test_fault_beside_the_stub_is_what_is_told():
    assert code(OWN_STUB, "def f(:\n    return 2").problem.startswith("cell 2, line 1: ")


def test_fault_elsewhere_isnt_told():
    assert code(ONE, "def g(:").problem == "" and code("def ff(:") is None
    assert code("def fx(:\n    f(1)") is None


def test_fault_in_a_program_costs_one_function():
    program = (
        b"import math\n\ndef g(:\n    return 1\n\n@print\n\ndef h(): return 2\n\n" + ONE.encode()
    )
    read = cells(program, "x/03_masks.py")
    assert code_for(read, "f").pieces == (("03_masks.py, line 10", ONE),)
    assert code_for(read, "g").problem.startswith("03_masks.py, line 3: ")


# --- what IPython alone understands ---

MAGICS = {
    "a magic": "%load_ext course_lib\n",
    "a shell line": "!pip install einops\n",
    "pip without a mark": "pip install einops\n",
    "a shell line of two": "!pip install \\\n  einops\n",
    "a shell line with a quote": "!echo \"it's\n",
    "help": "?print\n",
    "help behind": "print?\n",
    "more help": "print??\n",
    "files": "files = !ls\n",
    "a magic's value": "t = %timeit -o 1\n",
    "in a block": "if True:\n    !ls\n",
    "in a loop": "for i in range(3):\n    %time print(i)\n",
    "time": "%%time\n",
    "timeit": "%%timeit -n 1\n",
    "capture": "\n\n%%capture out\n",
    "two": "%load_ext a\n%matplotlib inline\n!ls\n",
    "a hundred": "%load_ext a\n" * 100,
}


@pytest.mark.parametrize("start", MAGICS.values(), ids=MAGICS)
def test_magic_is_blanked_and_lines_keep_their_numbers(start):
    found = code(f"{start}def f():\n    return 1")
    line = start.count("\n") + 1
    assert found.pieces == ((f"cell 1, line {line}", "def f():\n    return 1"),)


def test_percent_that_goes_on_with_an_expression_stays():
    body = "%load_ext x\nN = (7\n  % 4\n  != 3)\nT = '''\n%a\n!b\n'''\ndef f(): return N, T"
    assert answer(body) == (False, "\n%a\n!b\n")


def test_measured_statement_counts():
    assert answer("%time N = 1", "def f(): return N") == 1


@pytest.mark.parametrize("magic", ["bash", "html", "writefile a.py", "javascript", "python2"])
def test_cell_of_another_language_is_dropped(magic):
    assert code(f"%%{magic}\n{ONE}") is None


def test_cell_indented_as_a_whole():
    assert answer("    N = 1\n    def f():\n        return N") == 1


# --- the file ---


def test_cells_are_counted_as_a_reader_does():
    listed = [
        {"cell_type": "markdown", "source": "a"},
        {"cell_type": "code", "source": ["a = 1\n", "b = 2"]},
        {"cell_type": "raw", "source": "def f(): pass"},
        {"cell_type": "code", "source": ""},
        {"cell_type": "code", "source": "c", "metadata": {}, "outputs": []},
    ]
    read = cells(json.dumps({"cells": listed}).encode(), "a.ipynb")
    assert read == [("cell 1", "a = 1\nb = 2"), ("cell 2", ""), ("cell 3", "c")]


def test_notebook_of_jupyter(tmp_path):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("é = 1")])
    assert cells(nbformat.writes(made).encode(), "a.ipynb") == [("cell 1", "é = 1")]


def test_notebook_of_long_ago():
    sheet = {"cells": [{"cell_type": "code", "input": ["a\n", "b"], "language": "python"}]}
    assert cells(json.dumps({"worksheets": [sheet]}).encode(), "a.ipynb") == [("cell 1", "a\nb")]


def test_lost_metadata():
    listed = [{"source": ONE, "outputs": []}, {"source": "prose"}, 3, None, {"cell_type": "code"}]
    read = cells(json.dumps({"cells": listed}).encode(), "a.ipynb")
    assert read == [("cell 1", ONE), ("cell 2", "")]


@pytest.mark.parametrize("source", [3, None, {"a": 1}, [1, None, "a"], [["a"]]])
def test_source_of_another_form_is_no_code(source):
    text = "a" if isinstance(source, list) and "a" in source else ""
    assert cells(noted(source), "a.ipynb") == [("cell 1", text)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding):
    text = json.dumps({"cells": [{"cell_type": "code", "source": "é = 1"}]}, ensure_ascii=False)
    assert cells(text.encode(encoding), "a.ipynb") == [("cell 1", "é = 1")]
    assert cells("é = 1".encode(encoding), "b/a.py") == [("a.py", "é = 1")]


def test_program_of_an_old_editor():
    assert cells("# café\nx = 1".encode("latin-1"), "a.py") == [("a.py", "# café\nx = 1")]


def test_line_ends():
    assert cells(b"a\r\nb\rc\nd", "a.py") == [("a.py", "a\nb\nc\nd")]
    assert cells(noted("a\r\nb"), "a.ipynb") == [("cell 1", "a\nb")]


def test_null_bytes_and_halves_of_letters():
    assert answer("# \0\0\n" + ONE, "# \ud800") == 1


UNREADABLE = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "a web page": (b"<!DOCTYPE html><html>", "web page"),
    "a zip": (b"PK\x03\x04....", "zip"),
    "a PDF": (b"%PDF-1.7", "PDF"),
    "null bytes": (b'{"cells": [\0\0]}', "null bytes"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "null bytes"),
    "broken off": (noted(ONE)[:40], "breaks off"),
    "broken off in a string": (b'{"cells": [{"source": "abc', "breaks off"),
    "a merge": (b'{\n<<<<<<< HEAD\n"cells": []\n=======\n>>>>>>> b\n}', "Line 2 holds a mark"),
    "a merge in its first line": (b"<<<<<<< HEAD\n{}\n=======\n", "merge"),
    "a comma": (b'{"cells": [],}', "can't be read"),
    "a list": (b"[]", "no list of cells"),
    "a number": (b"3", "no list of cells"),
    "no cells": (b'{"nbformat": 4}', "no list of cells"),
    "cells of another form": (b'{"cells": {"a": 1}}', "no list of cells"),
    "deep": (b'{"cells":' + b"[" * 1_000_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 500_000, "nested too deeply"),
    "a long number": (b'{"cells": [], "a": ' + b"9" * 1_000_000 + b"}", "number"),
    "many cells": (b'{"cells": [' + b"{}," * 10_000 + b"{}]}", "10,001 cells"),
    "large": (b" " * (6 << 20), "larger than 5 MB"),
    "program": (b"import x", "can't be read"),
}


@pytest.mark.parametrize(("data", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_says_why(data, says):
    with pytest.raises(Unreadable, match=says) as raised:
        cells(data, "ana/03_masks.ipynb")
    assert str(raised.value).endswith(".") and "Traceback" not in str(raised.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("fill(W)", True),
        ("bisect.insort(W, 3)", True),
        ("done = fill(W)", True),
        ("torch.add(W, 1, out=W)", True),
        ("last = next(W)", True),
        ("V = W\nV[0] = 3", True),
        ("kept = {'w': W}\nfill(kept['w'])", True),
        ("both = (W, other)", True),
        ("first = W[0]", False),
        ("print(W, len(W))", False),
        ("fill(other)", False),
        ("W.append(3)", False),  # it is run
    ],
)
def test_what_isnt_run_and_may_change_a_table_of_the_answer_is_told(line, told):
    sources = ["import bisect, torch\nW = [1]\nother = [2]\ndef fill(t):\n    t[0] = 3", line]
    found = code(*sources, "def f(x):\n    return x + W[0]")
    assert found.left_out == (("cell 2, line 1",) if told else ())
    own = {(f"cell 2, line {i}", source) for i, source in enumerate(line.split("\n"), 1)}
    assert set(found.whole) >= {*found.pieces, *own} if told else not found.whole


# --- hostile code ---

N = 40_000
HOSTILE = {
    "brackets": "(" * N + ")" * N,
    "open": "[" * 90_000,
    "minus": "x=" + "-" * N + "1",
    "not": "x=" + "not " * 20_000 + "1",
    "lambda": "x=" + "lambda:" * 12_000 + "1",
    "sum": "x=" + "+".join(["1"] * N),
    "power": "x=" + "**".join(["1"] * 30_000),
    "attributes": "x" + ".a" * N,
    "calls": "x" + "()" * N,
    "conditions": "x=" + "1 if x else " * 8_000 + "1",
    "elif": "if x:pass\n" + "elif x:pass\n" * 8_000,
    "comparisons": "x=" + "<".join(["1"] * N),
    "and": "x=" + " and ".join(["y"] * 15_000),
    "decorators": "@a\n" * 30_000 + "def g(): pass",
    "statements": "a=1\n" * 2_500,
    "names": "\n".join(f"x{i}=x{i + 1}" for i in range(2_500)),
    "functions": "\n".join(f"def g{i}(): g{i + 1}()" for i in range(2_500)),
    "digits": "x=" + "9" * 90_000,
    "one line": "x='" + "a" * 90_000 + "'",
    "backslashes": "\\\n" * N,
    "tabs": "".join("\t" * i + "if x:\n" for i in range(300)),
    "magics": "%a\n" * 30_000,
    "magics that stay": "(\n" + "%a\n" * 30_000,
    "blank": " " * 90_000 + "x",
    "defs": "def f\n" * 16_000,
    "large": "x = 1\n" * 200_000,
    "walrus": "x = [" + "(y := 1)," * 8_000 + "]",
    "annotation": "def g(x: '" + "-" * N + "1'): pass",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_code_costs_only_itself(hostile):
    start = time.process_time()
    assert answer(hostile, ONE, "def f():\n    return 2", hostile) == 2
    found = code(ONE, f"{hostile}\ndef f(:")
    assert ran(found)["f"]() == 1 and found.problem.startswith("cell 2")
    assert time.process_time() - start < 20  # about one second; a busy machine takes longer


def test_all_that_is_read_has_an_end():
    found = code(*["y = 1  # why\n" * 1_000] * 9, ONE)
    assert found.problem.startswith("cell 10: it stands after")


def test_more_statements_than_are_read_are_told():
    found = code(ONE, "a=1\n" * 20_000 + TWO)
    assert ran(found)["f"]() == 1 and found.problem.startswith("cell 2: it stands after")


def test_parser_has_room_in_a_thread_with_none():
    """What kills a process in a thread of 512 KB is a sentence here."""
    got = []

    def go():
        got.append(with_room(lambda: parse("x=" + "not " * 5_000 + "1")))

    before = threading.stack_size(512 << 10)
    try:
        thread = threading.Thread(target=go)
        thread.start()
        thread.join()  # it sets the size and puts it back as well
    finally:
        threading.stack_size(before)
    assert got == [Fault(0, "nested too deeply to be read")]
    assert threading.stack_size() == before


def test_what_the_room_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        with_room(lambda: 1 / 0)


def test_nothing_is_run(monkeypatch):
    monkeypatch.setattr(sys, "touched", [], raising=False)
    touch = "import sys; sys.touched.append(1)\n"
    read = cells(noted(touch + ONE, f"@sys.touched.append\n{ONE}", touch), "a.ipynb")
    assert code_for(read, "f") and sys.touched == []


def test_milliseconds_a_notebook():
    data = (ROOT / "solutions" / "03_masks.ipynb").read_bytes()
    names = [q.name for q in QUESTIONS if q.chapter == "03"]
    took = []
    for i in range(5):
        start = time.process_time()
        read = cells(data.replace(b"Hint", b"hint", i), "a.ipynb")
        read.append(("cell 99", f"x = {i}"))  # another notebook than the last
        functools.reduce(lambda _, name: code_for(read, name), names, None)
        took.append(1e3 * (time.process_time() - start))
    print(f"reading and slicing six answers takes {min(took):.1f} ms")
    assert min(took) < 200

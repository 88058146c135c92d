"""Pieces of a notebook as code that knows its cell and its lines."""

import __future__

import linecache
import os
import traceback
import types

ANNOTATIONS = __future__.annotations.compiler_flag  # kept as text, and never looked up


def compiled(where: str, source: str, flags: int) -> types.CodeType:
    """A piece of a cell as code that knows its lines; `inspect.getsource` finds them too."""
    cell, _, first = where.rpartition(", line ")
    above = int(first) - 1 if cell and first.isdigit() else 0
    cell = cell if above or first == "1" else where
    own = [line + "\n" for line in source.splitlines()]
    lines = list(linecache.cache.get(cell, (0, None, [], cell))[2])
    lines += ["\n"] * (above + len(own) - len(lines))
    lines[above : above + len(own)] = own
    linecache.cache[cell] = (sum(map(len, lines)), None, lines, cell)
    return compile("\n" * above + source, cell, "exec", flags, dont_inherit=True)


def own_line(error: BaseException) -> str:
    """The last line of the student's own code that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not (os.path.isabs(f.filename) or f.filename.startswith("<"))]
    if not own:
        return ""
    text = f": {own[-1].line.strip()}" if own[-1].line else ""
    return f"{own[-1].filename}, line {own[-1].lineno}{text}"

"""The code cells of what was handed in, as text: nothing is run, and a fault is told in words."""

import codecs
import json
import re
from pathlib import PurePosixPath

from course_lib.grading.handed_in.syntax import CELL_AT_MOST, Fault, parse, with_room

LARGEST = 5 << 20  # bytes of a notebook with its pictures; an exercise has about 20,000
CELLS_AT_MOST = 10_000
TRIES = 40  # magics blanked one at a time, each where the parser stumbles
TRIED_AT_MOST = 400_000  # characters parsed in these tries together

# Before the rest of the file is looked at: what else people hand in under this name.
OTHER_THINGS = (
    (b"PK\x03\x04", "This is a zip (or an Office document) with another ending. Unpack it first."),
    (b"%PDF", "This is a PDF with another ending. Hand in the notebook itself."),
    (b"<<<<<<<", "A merge left its marks in this file. Resolve it, then hand it in."),
    (b"<", "This is a web page, not the notebook. Download the notebook itself, then hand it in."),
)
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MAGIC = re.compile(
    r"[ \t]*(?:[%!?]|(?:pip3?|conda|cd|ls|pwd)\b(?!\s*[=.(,:]))"  # %time f(), !ls, ?f, pip install
    r"|[ \t]*[\w.]+\?{1,2}[ \t]*$"  # f?
    r"|[ \t]*[\w.][\w., \t]*=[ \t]*[%!]"  # files = !ls
)
MEASURES = re.compile(r"([ \t]*)%(?:time|prun)[ \t]+(?=[A-Za-z_])")  # the statement itself counts
BODY_COUNTS = re.compile(r"%%(?:time|timeit|capture|prun)\b")


class Unreadable(ValueError):
    """No code can be read from a file; says why in words for the person who handed it in."""


def cells(data: bytes, path: str) -> list[tuple[str, str]]:
    """The code cells of a notebook, or a `.py` file as one, each with the name to show for it.

    A notebook's are named "cell 1", "cell 2": code cells alone are counted, as a reader does who
    looks for the brackets beside them. What only IPython understands is blanked, and each line
    keeps its number.
    """
    if len(data) > LARGEST:
        raise Unreadable("The file is larger than 5 MB. Clear the outputs and save it again.")
    if not data.strip(b" \t\r\n\0"):
        raise Unreadable("The file is empty. Save it again, then hand it in.")
    text = _text(data)
    if re.search(r"\.py(\.txt)?$", path, re.IGNORECASE):
        return [(PurePosixPath(path).name, with_room(lambda: plain(text)))]
    left = [TRIED_AT_MOST]
    sources = _sources(_json(text))
    read = with_room(lambda: [plain(source, left) for source in sources])
    return [(f"cell {i}", source) for i, source in enumerate(read, start=1)]


def _text(data: bytes) -> str:
    for start, instead in OTHER_THINGS:
        if data.lstrip().startswith(start):
            raise Unreadable(instead)
    encoding = next((name for bom, name in BOMS if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # an editor of old; only letters beyond English differ
    if "\0" in text:
        raise Unreadable("The file holds null bytes, so it is no text, or was damaged on its way.")
    return text


def _json(text: str) -> object:
    """The notebook's JSON, or in words what is wrong with it."""
    if found := re.search(r"^(?:<{7} |={7}$|>{7} )", text, re.MULTILINE):
        line = text.count("\n", 0, found.start()) + 1
        raise Unreadable(f"Line {line} holds a mark of an unfinished git merge. Resolve it first.")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise Unreadable("The notebook breaks off before its end. Hand it in again.") from error
        raise Unreadable(
            f"The notebook can't be read: {error.msg} in line {error.lineno} of the file. "
            "Open it in Jupyter, save it and hand it in again."
        ) from error
    except RecursionError as error:
        raise Unreadable("The notebook is nested too deeply to be one.") from error
    except ValueError as error:  # a number of too many digits
        raise Unreadable("The notebook holds a number that is too long to be one.") from error


def _sources(notebook: object) -> list[str]:
    """The text of every code cell; a cell of another form than Jupyter's counts, and is empty."""
    if not isinstance(notebook, dict):
        raise Unreadable("The file is JSON, but no notebook: it has no list of cells.")
    found = notebook.get("cells")
    if found is None and isinstance(sheets := notebook.get("worksheets"), list):  # nbformat 3
        pages = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        found = [cell for page in pages if isinstance(page, list) for cell in page]
    if not isinstance(found, list):
        raise Unreadable("The file is JSON, but no notebook: it has no list of cells.")
    if len(found) > CELLS_AT_MOST:
        raise Unreadable(f"The notebook has {len(found):,} cells; at most 10,000 are read.")
    return [_source(cell) for cell in found if isinstance(cell, dict) and _is_code(cell)]


def _is_code(cell: dict) -> bool:
    kind = cell.get("cell_type")
    if kind is None:  # lost with the rest of its metadata
        return "outputs" in cell or "execution_count" in cell or "input" in cell
    return kind == "code"


def _source(cell: dict) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    return source if isinstance(source, str) else ""


def plain(source: str, left: list[int] | None = None) -> str:
    """Code as Python reads it: one kind of line end, and lines that only IPython reads blanked.

    `left` holds how many characters may still be parsed for that, in all cells together.
    """
    source = source.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    source = source.replace("\0", "")
    if len(source) > CELL_AT_MOST:
        return source  # told of when an answer is looked for in it
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if not BODY_COUNTS.match(lines[first]):
            return ""
        lines[first] = ""
    if not any(map(MAGIC.match, lines)) and not lines[first].startswith((" ", "\t")):
        return "\n".join(lines)
    return "\n".join(_blanked(_dedented(lines, first), left or [TRIED_AT_MOST]))


def _dedented(lines: list[str], first: int) -> list[str]:
    """IPython runs a cell that is indented as a whole; a line that isn't stays as it is."""
    indent = re.match(r"[ \t]*", lines[first])[0]
    return [line.removeprefix(indent) for line in lines] if indent else lines


def _blanked(lines: list[str], left: list[int]) -> list[str]:
    """Blank magics where the parser stumbles: a `%` that goes on with an expression is none."""
    size = sum(map(len, lines)) + len(lines)
    for _ in range(min(TRIES, left[0] // (size + 1))):
        left[0] -= size + 1
        found = parse("\n".join(lines))
        if not isinstance(found, Fault):
            break
        line = min(found.line, len(lines))
        if line < 1 or not MAGIC.match(lines[line - 1]):
            break
        _blank(lines, line - 1)
    else:
        for i, line in enumerate(lines):
            if MAGIC.match(line):
                _blank(lines, i)
    return lines


def _blank(lines: list[str], i: int) -> None:
    """Blank one magic with the lines it goes on in; what `%time` measures stays."""
    if measured := MEASURES.match(lines[i]):
        lines[i] = measured[1] + lines[i][measured.end() :]
        return
    indent = re.match(r"[ \t]*", lines[i])[0]
    goes_on = lines[i].endswith("\\")
    lines[i] = indent + "pass" if indent else ""  # a block must not become empty
    while goes_on and i + 1 < len(lines):
        i += 1
        goes_on = lines[i].endswith("\\")
        lines[i] = ""

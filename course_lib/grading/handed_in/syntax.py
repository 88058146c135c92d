"""Python's parser on text that nobody vouches for: it answers with a tree, or with a sentence."""

import ast
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

CELL_AT_MOST = 100_000  # characters; a chapter's whole code has about 10,000
STACK = 64 << 20  # bytes, only touched as needed: in 512 KB, 5,000 times `not` kill the process


@dataclass(frozen=True)
class Fault:
    """Why a source is no Python: the line, 0 where none can be named, and the parser's words."""

    line: int
    says: str

    def at(self, label: str) -> str:
        """The fault with its place, as in "cell 7, line 3: invalid syntax"."""
        return f"{label}, line {self.line}: {self.says}" if self.line else f"{label}: {self.says}"


def parse(source: str) -> ast.Module | Fault:
    """The tree of a source, or what is wrong with it; never raises. Call it within with_room()."""
    if len(source) > CELL_AT_MOST:
        return Fault(0, f"longer than {CELL_AT_MOST:,} characters, so it isn't read")
    try:
        with warnings.catch_warnings(action="ignore"):  # "\d" in a string is no fault
            return ast.parse(source)
    except SyntaxError as error:
        return Fault(error.lineno or 0, error.msg or "invalid syntax")
    except (RecursionError, MemoryError, SystemError):
        return Fault(0, "nested too deeply to be read")
    except ValueError as error:
        return Fault(0, f"not to be read: {error}")


def with_room(thunk: Callable[[], T]) -> T:
    """What the thunk returns, run where the parser's recursion meets its own limit first.

    Python's parser counts its depth, and trusts that the stack is large enough for the count. It
    isn't in a thread of macOS or on Windows, so this one brings its own.
    """
    got: list[T] = []
    raised: list[BaseException] = []

    def go() -> None:
        try:
            got.append(thunk())
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=go)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]
    return got[0]

"""results.jsonl: a line for each student and question, on the disk before the next is graded.

Whenever the grader is killed, the file holds whole lines and perhaps a torn last one, and a run
that resumes ends with the same rows as one that was left alone.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from course_lib.grading.reports.output import line, write
from course_lib.grading.reports.rows import (
    ADDED,
    NOT_GRADED,
    ROW,
    Key,
    ResultsError,
    checked,
    fitted,
    key_of,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class Results:
    """The file of results while a class is graded: `with Results(path) as results`.

    Opening an existing file resumes it: a torn last line is cut off, and `done` holds the keys
    that needn't be graded again. A row that is "not graded" isn't among them.
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b", buffering=0)
        try:
            self._alone()
            self._cut_torn_line()
            self.done = {k for k, r in _by_key(self.path).items() if r["status"] != NOT_GRADED}
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, row: dict) -> None:
        """Write a row so that it outlives whatever happens next."""
        data, end = _encoded(checked(fitted(row))), self._file.seek(0, os.SEEK_END)
        written = self._file.write(data)
        if written != len(data):
            self._file.truncate(end)
            raise OSError(f"{self.path}: the disk took {written} of {len(data)} bytes")
        os.fsync(self._file.fileno())
        if row["status"] != NOT_GRADED:
            self.done.add(key_of(row))

    def _alone(self) -> None:
        """Two graders in one file would cut off each other's lines."""
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ResultsError(f"{self.path}: another run is writing this file") from None

    def _cut_torn_line(self) -> None:
        """Everything after the last newline was being written when the grader was killed."""
        end = self._file.seek(0, os.SEEK_END)
        kept = 0
        for start in range(end - end % 65_536, -1, -65_536):
            self._file.seek(start)
            newline = self._file.read(65_536).rfind(b"\n")
            if newline >= 0:
                kept = start + newline + 1
                break
        if kept < end:
            self._file.truncate(kept)
            os.fsync(self._file.fileno())


def read(path: Path, wanted: Collection[Key] | None = None) -> list[dict]:
    """The rows of a file, one for each student and question, sorted by these.

    Of several rows the last one counts. With `wanted`, the keys of a run, rows of others are left
    out: those of an answer handed in earlier, or of a student who left.
    """
    latest = {}
    for key, row in _by_key(Path(path)).items():
        if wanted is None or key in wanted:
            latest[key.student, key.question] = row
    return [latest[place] for place in sorted(latest)]


def joined(paths: Iterable[Path], wanted: Collection[Key] | None = None) -> list[dict]:
    """The rows of several files as those of one, sorted.

    Who graded the same answer must agree in all but where it lay, of which the first counts, and
    the CPU time, of which the least is kept.
    """
    found: dict[tuple[str, str], tuple[dict, Path]] = {}
    for path in sorted(map(Path, paths)):
        for row in read(path, wanted):
            place = (row["student"], row["question"])
            other, where = found.get(place, (row, path))
            alike = {"cpu_ms": min(row["cpu_ms"], other["cpu_ms"]), "path": other["path"]}
            if differs := [f for f in ROW if f not in alike and row[f] != other[f]]:
                raise ResultsError(
                    f"{where} and {path} differ about {line(place[0], 60)}, {place[1]}, "
                    f"in {', '.join(differs)}: give only one of the two"
                )
            found[place] = (row | alike, where)
    return [found[place][0] for place in sorted(found)]


def keep_rows(rows: Iterable[dict], path: Path) -> None:
    """Write rows that were graded elsewhere into one file, whole or not at all."""
    write(path, b"".join(map(_encoded, rows)).decode())


def _by_key(path: Path) -> dict[Key, dict]:
    """The last row of each key, in the order in which these came."""
    rows: dict[Key, dict] = {}
    for row in _rows(path):
        rows.pop(key_of(row), None)
        rows[key_of(row)] = row
    return rows


def _rows(path: Path) -> Iterator[dict]:
    with path.open("rb") as file:
        for number, data in enumerate(file, 1):
            if not data.endswith(b"\n"):
                return  # torn: it was being written when the grader was killed
            try:
                found = json.loads(data)
                yield checked(ADDED | found if isinstance(found, dict) else found)
            except (ValueError, RecursionError) as error:
                found = error if isinstance(error, ResultsError) else "it isn't a row"
                raise ResultsError(f"{path}, line {number} is damaged: {found}") from None


def _encoded(row: dict) -> bytes:
    # An unpaired surrogate has no UTF-8; its backslash escape is JSON for the same character.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")

"""Parts of a class: who is in one, which part a folder of grades holds, and whether all are there.

The number stands in a file beside the results, not in their rows: a part may be without rows, and
rows are the same however a class was divided.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.grading.options import shard
from course_lib.grading.reports.output import write
from course_lib.grading.reports.rows import ResultsError
from course_lib.grading.row import named

if TYPE_CHECKING:
    from course_lib.grading.handed_in.collect import Submission

LISTED = 5  # parts that are missing
Shard = tuple[int, int]  # the first of four is 1, 4


def part_of(handed_in: list[Submission], part: Shard | None) -> list[Submission]:
    """The I-th of N parts of a class: a student's own name decides, so nobody moves for another.

    What is handed in between two parts finds everybody where they were. Parts are uneven by chance.
    """
    i, n = part or (1, 1)
    return [s for s in handed_in if _number(s.student) % n == i - 1]


def _number(student: str) -> int:
    """The same for a student on every machine, with whomever they are graded."""
    name = named(student).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:8])


def shard_in(out: Path) -> Shard | None:
    """Which part a folder of grades holds; `None` where it wasn't graded as one."""
    path = out / "shard"
    if not path.exists():
        return None
    try:
        return shard(path.read_text("ascii", "replace").strip())
    except argparse.ArgumentTypeError as error:
        raise ResultsError(f"{path}: {error}") from None


def keep_shard(out: Path, part: Shard | None) -> None:
    """Write down which part a folder holds, before it holds anything of it."""
    if part and shard_in(out) != part:
        write(out / "shard", f"{_named(part)}\n")


def be_that_part(out: Path, part: Shard | None) -> None:
    """Refuse a folder that holds another part."""
    there = shard_in(out)
    if there and there != part:
        named = _named(there)
        raise ResultsError(f"{out} holds shard {named}: add --shard {named}, or give another --out")


def be_whole(folders: Iterable[Path]) -> None:
    """Refuse folders of which some hold parts of a class, and not each of its parts once.

    A folder that holds no part, such as what was handed in late, may be among them.
    """
    found: dict[Shard, Path] = {}
    for folder in sorted(folders):
        part = shard_in(folder)
        if part in found:
            raise ResultsError(f"Shard {_named(part)} is given twice: {found[part]} and {folder}.")
        if part:
            found[part] = folder
    ways = {n: f"{_named((i, n))} is {folder}" for (i, n), folder in sorted(found.items())}
    if len(ways) > 1:
        raise ResultsError(f"Shards of one class have one N: {', '.join(ways.values())}.")
    for n in ways:
        lacking = [_named((i, n)) for i in range(1, n + 1) if (i, n) not in found]
        if len(lacking) == 1:
            raise ResultsError(f"Shard {lacking[0]} is missing: give its folder too.")
        if lacking:
            *some, last = lacking if len(lacking) <= LISTED else [*lacking[:LISTED], "more"]
            named = f"{', '.join(some)} and {last}"
            raise ResultsError(f"Shards {named} are missing: give their folders too.")


def _named(part: Shard) -> str:
    return "{}/{}".format(*part)

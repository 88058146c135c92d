"""All that lies in a folder, zips read in memory: nothing is extracted, followed or run."""

import errno
import io
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.handed_in.cells import LARGEST

ZIP_LARGEST = 64 << 20  # bytes of a zip within a zip, which is held in memory
ALL_AT_MOST = 2 << 30  # bytes of all notebooks together
ZIP_AT_LEAST = 30 << 20  # bytes that a zip may unpack to; a large one, GROWS times its size
GROWS = 20
ENTRIES = 50_000  # files in one zip, or under one folder of the first level
RATIO = 200  # times that deflate may shrink a file larger than 1 MB; a notebook gets to 20
DEEPEST = 12
NAME_AT_MOST = 255

CODE = re.compile(r"\.(ipynb|py)(\.(txt|json))?$", re.IGNORECASE)  # browsers add .txt
ZIP = re.compile(r"\.zip$", re.IGNORECASE)
PACKED = re.compile(r"\.(rar|7z|tar|tgz|gz|bz2|xz)$", re.IGNORECASE)
NOBODYS = re.compile(
    r"\..*|__macosx|__pycache__|venv|env|node_modules|site-packages|feedback|.*\.egg-info"
    r"|course_lib|tests|benchmarks"  # whoever hands in the whole course
    r"|.*-checkpoint\.(ipynb|py)|.*_assignfeedback_.*|(.*[_-])?feedback\.\w+",
    re.IGNORECASE,
)
ACTS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Found:
    """A file with its place, its folders' names first; in a folder's own entry the last is ""."""

    parts: tuple[str, ...]
    data: bytes = b""
    problem: str = ""
    number: str = ""  # of its student, where a platform put one into a name; see names.py

    @property
    def is_code(self) -> bool:
        """A notebook or a program by its name."""
        return bool(CODE.search(self.parts[-1]))

    @property
    def path(self) -> str:
        """The place as one text, relative to where the search began."""
        return "/".join(self.parts)


class Budget:
    """How much may still be read: in one zip, and in all files together."""

    def __init__(self, left: int = ALL_AT_MOST, above: "Budget | None" = None):
        self.left, self.above = left, above

    def refuses(self, size: int, at_most: int = LARGEST) -> str:
        """Why a file of this size isn't read, or ""; what it allows is taken off."""
        if size > at_most:
            return f"larger than {at_most >> 20} MB"
        if size > self.left:
            return "not read: more lies here than is read at once"
        refused = self.above.refuses(size, at_most) if self.above else ""
        self.left -= 0 if refused else size
        return refused


def shown(name: str) -> str:
    """A name as it is shown: composed letters, nothing undecodable and nothing that acts."""
    name = os.fsencode(name).decode("utf-8", "replace") if not name.isascii() else name
    name = ACTS.sub("\ufffd", unicodedata.normalize("NFC", name))
    return name if len(name) <= NAME_AT_MOST else name[: NAME_AT_MOST - 1] + "…"


def find(place: Path) -> Iterator[Found]:
    """Every file under a folder, or in a zip: code with its bytes, others by their names alone."""
    budget = Budget()
    if place.is_dir():
        yield from _entries(place, (), budget, [ENTRIES])
    else:
        yield from _file(place, (shown(place.name),), budget)


def _entries(
    folder: Path, parts: tuple[str, ...], budget: Budget, left: list[int]
) -> Iterator[Found]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        yield Found((*parts, ""), problem=f"the folder can't be opened: {_why(error)}")
        return
    for entry in entries:
        if NOBODYS.fullmatch(entry.name):
            continue
        left = left if parts else [ENTRIES]
        left[0] -= 1
        if left[0] < 0:
            if left[0] == -1:
                yield Found((*parts, ""), problem=f"more than {ENTRIES:,} files lie here")
            return
        name = (*parts, shown(entry.name))
        if entry.is_dir(follow_symlinks=False):
            yield Found((*name, ""), problem="too many folders in folders" * (len(name) > DEEPEST))
            if len(name) <= DEEPEST:
                yield from _entries(Path(entry.path), name, budget, left)
        else:
            yield from _file(Path(entry.path), name, budget)


def _file(path: Path, parts: tuple[str, ...], budget: Budget) -> Iterator[Found]:
    """One file of the disk: opened only where it is code or a zip, and never through a link."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            yield Found(parts, problem="a symbolic link, which isn't followed")
        elif not stat.S_ISREG(mode):
            yield Found(parts, problem="no file, but a device, pipe or socket: it isn't opened")
        elif ZIP.search(parts[-1]):
            with _open(path) as file:
                room = max(ZIP_AT_LEAST, GROWS * os.fstat(file.fileno()).st_size)
                yield from _zip(file, parts, Budget(room, budget))
        elif not CODE.search(parts[-1]):
            yield _other(parts)
        else:
            with _open(path) as file:
                refused = budget.refuses(os.fstat(file.fileno()).st_size)
                data = b"" if refused else file.read(LARGEST + 1)
            refused = refused or "larger than 5 MB" * (len(data) > LARGEST)
            yield Found(parts, b"" if refused else data, refused)
    except OSError as error:
        yield Found(parts, problem=f"can't be opened: {_why(error)}")


def _open(path: Path) -> io.BufferedReader:
    """Open a regular file, even if somebody puts a link or a pipe in its place meanwhile."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no file any more")
    return file


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _other(parts: tuple[str, ...]) -> Found:
    packed = PACKED.search(parts[-1])
    return Found(parts, problem=f"a {packed[0].lower()} file: only zips are read" if packed else "")


def _zip(
    file: io.BufferedReader | io.BytesIO, parts: tuple[str, ...], budget: Budget, depth: int = 1
) -> Iterator[Found]:
    try:
        if _may_hold(file) > ENTRIES:
            yield Found(parts, problem=f"a zip of more than {ENTRIES:,} files: it isn't opened")
            return
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                yield from _member(archive, info, parts, budget, depth)
    except Exception as error:  # of a damaged zip, zipfile raises what it happens to meet
        yield Found(parts, problem=f"a zip that can't be read ({type(error).__name__})")


def _may_hold(file: io.BufferedReader | io.BytesIO) -> int:
    """At most how many entries a zip has, before zipfile makes an object of each."""
    file.seek(0)
    count, tail = 0, b""
    while block := file.read(1 << 20):
        count += (tail + block).count(b"PK\1\2")
        tail = block[-3:]
    file.seek(0)
    return count


def _member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    parts: tuple[str, ...],
    budget: Budget,
    depth: int,
) -> Iterator[Found]:
    """One entry of a zip: its bytes where it is code, what is in it where it's a zip."""
    name = _decoded(info).replace("\\", "/")  # some Windows programs write it so
    inner = [part for part in name.split("/") if part not in ("", ".")]
    if any(NOBODYS.fullmatch(part) and part != ".." for part in inner):
        return
    place = (*parts, *map(shown, inner[:DEEPEST])) if inner else (*parts, "")
    wanted = CODE.search(place[-1]) or ZIP.search(place[-1])
    problem = _trick(info, name, inner)
    if not problem and (name.endswith("/") or not wanted):
        yield Found((*place, "")) if name.endswith("/") else _other(place)
        return
    problem = problem or _unfit(info, depth)
    if not problem:
        at_most = LARGEST if CODE.search(place[-1]) else ZIP_LARGEST
        problem = budget.refuses(info.file_size, at_most)
    if problem:
        yield Found(place, problem=problem)
        return
    try:
        with archive.open(info) as file:
            data = file.read(info.file_size + 1)
    except Exception as error:  # a wrong checksum, a stream that breaks off
        yield Found(place, problem=f"damaged in its zip ({type(error).__name__})")
        return
    if ZIP.search(place[-1]):
        yield from _zip(io.BytesIO(data), place, budget, depth + 1)
    else:
        yield Found(place, data)


def _decoded(info: zipfile.ZipInfo) -> str:
    """The name in a zip, with what zipfile cuts off; macOS writes UTF-8 and doesn't say so."""
    name = info.orig_filename
    if not info.flag_bits & 0x800:
        try:
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            return name
    return name


def _trick(info: zipfile.ZipInfo, name: str, inner: list[str]) -> str:
    """What is wrong with the name or the kind of an entry, if something is."""
    mode = info.external_attr >> 16
    if "\0" in name or name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in inner:
        return "its path leads out of the zip"
    if len(name) > 1_000 or len(inner) > DEEPEST:
        return "its name in the zip is too long"
    if stat.S_ISLNK(mode):
        return "a symbolic link, which isn't followed"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "no file, but a device, pipe or socket: it isn't opened"
    return ""


def _unfit(info: zipfile.ZipInfo, depth: int) -> str:
    """Why an entry isn't unpacked, if it isn't."""
    if info.flag_bits & 0x1:
        return "locked with a password"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "compressed in another way than deflate"
    if info.file_size > 1 << 20 and info.file_size > RATIO * info.compress_size:
        return "a zip bomb: it grows more than 200 times"
    if ZIP.search(info.filename) and depth > 1:
        return "a zip in a zip in a zip: it isn't opened"
    return ""

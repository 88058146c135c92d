"""What leaves the grader as a file: text that shows all it holds, names that every system takes.

Names of students, facts about their code and what it printed come from people who may wish us ill.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

NAME_AT_MOST = 60  # bytes of a student's name in a file name: zips and synced folders add theirs
MARKS_AT_MOST = 4  # accents on one letter; hundreds of them reach into the lines around
SUFFIX = re.compile(r"-[0-9a-f]{8,64}")
DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d|conin_|conout_|index", re.IGNORECASE)
JOINERS = "\u200c\u200d"  # Persian and emoji are written with them
HARMLESS = " _-.,@+'"
CUT = "…"


def visible(text: str, at_most: int = 2_000, lines: bool = False) -> str:
    """The text with whatever would act instead of being read shown by its code, and cut short.

    That is control characters, those that turn the direction of the text around, unpaired
    surrogates. Newlines and tabs stay with `lines`, and are shown by their code without.
    """
    whole, text = len(text) <= at_most, text[:at_most]
    kept = "\n\t" if lines else ""
    rest = text.replace("\n", "").replace("\t", "") if lines else text
    if not (rest.isascii() and rest.isprintable()):
        text = _spelled(text, kept)
    return text if whole and len(text) <= at_most else text[: at_most - 1] + CUT


def line(text: str, at_most: int = 600) -> str:
    """A text in one line, as a fact is read."""
    return visible(" ".join(text[: 4 * at_most].split()), at_most)


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, each short, in one line."""
    return ", ".join(line(name, 60) for name in names[:most]) + ", ..." * bool(names[most:])


def counted(n: int, what: str) -> str:
    """A number with its word, as in "1 answer" and "2 answers"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _spelled(text: str, kept: str) -> str:
    shown, marks = [], 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > MARKS_AT_MOST:
            continue
        acts = category in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and char not in JOINERS + kept
        shown.append(f"⟨U+{ord(char):04X}⟩" if acts else char)
    return "".join(shown)


def file_names(students: Iterable[str]) -> dict[str, str]:
    """A file name without extension for each student, that no other student has on any system.

    A name stays as it is where it can. Where it had to change, or differs from another's in
    upper and lower case alone, it ends in a hash of the student's name.
    """
    names = sorted(set(students))
    stems = {name: _stem(name) for name in names}
    for digits in (8, 16, 64):
        folded = [_folded(stem) for stem in stems.values()]
        for name, stem in stems.items():
            if folded.count(_folded(stem)) > 1 or _stands_for_another(name, stem):
                stems[name] = f"{SUFFIX.sub('', stem)}-{_hash(name)[:digits]}"
        if len({_folded(stem) for stem in stems.values()}) == len(names):
            break
    return stems


def _stem(name: str) -> str:
    """The name in letters, digits and harmless signs, short, and not the name of a device."""
    text = unicodedata.normalize("NFKC", name.encode("utf-8", "replace").decode())
    text = "".join(c if c in HARMLESS or unicodedata.category(c)[0] in "LMN" else "_" for c in text)
    text = re.sub(r"^[ .-]+|\.(?=\.)", "_", text)
    text = text.encode()[:NAME_AT_MOST].decode(errors="ignore").rstrip(" .") or "student"
    return f"_{text}" if DEVICES.fullmatch(text.split(".")[0]) else text


def _stands_for_another(name: str, stem: str) -> bool:
    """The stem lost something of the name, or looks like one that did."""
    return stem != name or bool(SUFFIX.search(stem))


def _folded(stem: str) -> str:
    return unicodedata.normalize("NFKD", stem.casefold())


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def write(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file whole or not at all, whenever this process may be killed.

    It never has more rights than `mode`, less what this process's mask takes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{_hash(path.name)[:16]}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(made, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def mark(name: str) -> str:
    """The last line of a page that we wrote under this name; a copy has another name."""
    return f"<!-- course_lib grade {_hash(name)[:16]} -->\n"


def remove_old(
    there: Iterable[Path], written: Iterable[Path], ours: Callable[[Path], bool]
) -> list[Path]:
    """Remove what an earlier run wrote there and this one didn't, and return what that was.

    It is about students who left: their page could be handed out for today's. Only files that are
    `ours` go. They are told apart as files, because a system may keep one name for "Ana" and "ana".
    """
    kept = {(found.st_dev, found.st_ino) for found in map(os.stat, written)}
    removed = []
    for path in sorted(there):
        if path.is_symlink() or not path.is_file():
            continue
        found = path.stat()
        if (found.st_dev, found.st_ino) not in kept and ours(path):
            path.unlink()
            removed.append(path)
    return removed

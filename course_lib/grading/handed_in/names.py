"""Whose file it is and of which chapter, as far as names say: of files, folders and zips."""

import re
import types
from collections import defaultdict
from typing import NamedTuple

from course_lib import checks

NOUNS = {
    module.QUESTIONS[0].chapter: noun
    for noun, module in vars(checks).items()
    if isinstance(module, types.ModuleType) and hasattr(module, "QUESTIONS")
}
"""The noun of each chapter that has questions, as its files are called."""

CHAPTERS = {noun: chapter for chapter, noun in NOUNS.items()}
NAMED = re.compile(
    rf"(?<![^\W_])(?:(?P<number>\d\d?)[ _.-]*)?(?P<noun>{'|'.join(CHAPTERS)})(?![^\W_])",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"(?<![^\W_])(?:ch|chapter)?[ _-]?(?P<number>\d\d)(?![^\W_])", re.IGNORECASE)
ENDING = re.compile(r"\.((ipynb|py)(\.(txt|json))?|zip|rar|7z|tar|tgz|gz|bz2|xz)$", re.IGNORECASE)
WRAPPERS_AT_MOST = 4

# What learning platforms put around a name.
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)_?(?P<rest>.*)")
CANVAS = re.compile(r"(?P<name>.*?[^\W\d_].*?)_(LATE_)?(?P<id>\d{3,})_\d{3,}(_(?P<rest>.*))?")
BLACKBOARD = re.compile(r"[^_]+_(?P<name>[^_]+)(?P<id>)_attempt_[\d-]+(_(?P<rest>.*))?")
PLATFORMS = {"moodle": MOODLE, "canvas": CANVAS, "blackboard": BLACKBOARD}
NUMBER = re.compile("[1-9][0-9]{0,18}")  # as a database has them, and no digits of other scripts

# Folders and words that are nobody's name.
GENERIC = re.compile(
    r"(\d\d?[ _-]*)?(class|course|submissions?|submitted|all|downloads?|desktop|exercises?"
    r"|notebooks?|solutions?|answers?|code|src|source|work|final|old|new|backup|copy|draft"
    r"|start_here|homework|hw|assignments?|attempt|week|chapters?|ch|lab|pset|ps)[ _-]*\d{0,2}",
    re.IGNORECASE,
)
COPY = re.compile(
    r"[ _.-]*(\(\d+\)|-?(copy|kopie|copia|copie)[ _-]?(\(\d+\)|\d*)|v?\d{1,2}|final|new|late)$",
    re.IGNORECASE,
)
EDGES = " _-."


class Who(NamedTuple):
    """A student's name, and the number that a platform gave with it; "" where none is told."""

    name: str
    number: str = ""
    platform: str = ""

    @property
    def told(self) -> str:
        """The number with its platform, as rows have it: "canvas 12345"."""
        return f"{self.platform} {self.number}" if NUMBER.fullmatch(self.number) else ""


def chapter_of(parts: tuple[str, ...]) -> str:
    """The chapter that the file's name tells, else the nearest folder's; "" where neither does."""
    *folders, file = parts
    if found := _chapter_in(_rest(file))[0]:
        return found
    for folder in reversed(folders):
        found, before, after = _chapter_in(_rest(folder))
        if found and (NAMED.search(folder) or not (before + after).strip(EDGES)):
            return found
    return ""


def students_of(paths: list[tuple[str, ...]], wrapped: bool = True) -> list[Who]:
    """The student of each path: the first folder that is somebody's, else the file's name says.

    A folder or zip that wraps the whole class is nobody's, if there may be one. Two of one name
    that Canvas gave different numbers are two students, and have them in their names. Moodle
    numbers a student anew for each assignment: there it is so for two of one chapter.
    """
    whose = [_who(path) for path in (_unwrapped(paths) if wrapped else paths)]
    numbers = defaultdict(set)
    for who, path in zip(whose, paths, strict=True):
        if who.platform == "canvas":
            numbers[who.name, ""].add(who.number)
        elif who.number and ENDING.search(path[-1]):
            numbers[who.name, chapter_of(path)].add(who.number)
    shared = {name for (name, _), found in numbers.items() if len(found) > 1}
    apart = [f"{w.name}_{w.number}" if w.number and w.name in shared else w.name for w in whose]
    return [who._replace(name=name) for who, name in zip(whose, apart, strict=True)]


def owner(folder: str) -> Who:
    """The student whose name a folder or a zip has, one of no name where it has nobody's."""
    return _who((folder, ""))


def _unwrapped(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The paths without first folders and zips that hold several people's."""
    for _ in range(WRAPPERS_AT_MOST):
        inside: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for path in paths:
            if ENDING.search(path[-1]):
                inside[path[0]].append(path[1:])
        wraps = {t for t, inner in inside.items() if _wraps(t, inner, alone=len(inside) == 1)}
        wraps -= _with_others(inside) if len(wraps) < len(inside) else set()
        if not wraps:
            break
        paths = [path[1:] if len(path) > 1 and path[0] in wraps else path for path in paths]
    return paths


def _with_others(inside: dict[str, list[tuple[str, ...]]]) -> set[str]:
    """Those that hold a person's work who has handed in beside them: one student's, of others'."""
    people = {top: {_who(path).name for path in inner if path} for top, inner in inside.items()}
    stems = {top: _who((top, "")).name or _who((top,)).name for top in inside}
    return {
        top
        for top, names in people.items()
        if names & {stems[other] for other in inside if other != top} - {""}
    }


def _wraps(top: str, inner: list[tuple[str, ...]], alone: bool) -> bool:
    """Whether a first folder is the class's: it stands alone, or is a zip of three at the least.

    One student's zip may have folders too; but then no two of them hold the same chapter.
    """
    stem = ENDING.sub("", top)
    if not all(inner) or _by_platform(stem):
        return False  # a platform named it for one student, whoever's names are in it
    if alone and (GENERIC.fullmatch(stem) or _is_chapter(stem)):
        return True
    people = defaultdict(set)
    for path in inner:
        people[chapter_of(path)].add(_who(path).name)
    several = len(set().union(*people.values()) - {""})
    shared = any(len(names) > 1 for chapter, names in people.items() if chapter)
    return (alone and several > 1) or (top != stem and several > 2 and shared)


def _who(parts: tuple[str, ...]) -> Who:
    *folders, file = parts
    for folder in folders:
        stem = ENDING.sub("", folder)
        if found := MOODLE.fullmatch(stem):
            return _numbered(found["name"].strip(), found)
        if ENDING.search(folder):
            if (who := _who_named(stem)).name:
                return who
        elif not (GENERIC.fullmatch(stem) or _is_chapter(stem)):
            return Who(stem.strip())
    return _who_named(ENDING.sub("", file)) if ENDING.search(file) else from_platform(file)


def from_platform(file: str) -> Who:
    """The student for whom a platform named a file, of whatever kind it is."""
    found = _by_platform(file.rpartition(".")[0])
    return _numbered(found["name"].strip(EDGES), found) if found else Who("")


def _numbered(name: str, found: re.Match) -> Who:
    """A student of this name with the number that a platform put beside it."""
    platform = next(one for one, pattern in PLATFORMS.items() if pattern is found.re)
    return Who(name, found["id"], platform)


def _by_platform(stem: str) -> re.Match | None:
    """What a learning platform put into a name, if one made it."""
    return next(filter(None, (p.fullmatch(stem) for p in PLATFORMS.values())), None)


def _who_named(stem: str) -> Who:
    """The student that the name of a file begins with, or where it begins with none, ends with."""
    if found := _by_platform(stem):
        return _numbered(found["name"].strip(EDGES), found)
    _, before, after = _chapter_in(stem)
    while (shorter := COPY.sub("", after)) != after:
        after = shorter
    for text in (before.strip(EDGES), after.strip(EDGES)):
        if text and not GENERIC.fullmatch(text):
            return Who(text)
    return Who("")


def _rest(name: str) -> str:
    """What a platform left of the file's own name."""
    stem = ENDING.sub("", name)
    found = _by_platform(stem)
    return found["rest"] or "" if found else stem


def _is_chapter(folder: str) -> bool:
    chapter, before, after = _chapter_in(folder)
    return bool(chapter) and not (before + after).strip(EDGES)


def _chapter_in(stem: str) -> tuple[str, str, str]:
    """The one chapter that a name tells, and what stands before and after it.

    Nouns come first, those with a number before others; two that disagree tell nothing.
    """
    nouns = list(NAMED.finditer(stem))
    nouns = [found for found in nouns if found["number"]] or nouns
    found = {CHAPTERS[found["noun"].lower()] for found in nouns}
    if not nouns:
        nouns = list(NUMBERED.finditer(stem))
        found = {match["number"] for match in nouns if match["number"] in NOUNS}
    if len(found) != 1 or len({m["number"] and int(m["number"]) for m in nouns}) > 1:
        return "", stem, ""
    chapter, match = found.pop(), nouns[0]
    if match["number"] and int(match["number"]) != int(chapter):
        return "", stem, ""
    return chapter, stem[: match.start()], stem[match.end() :]

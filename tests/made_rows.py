"""Rows of results for classes that were never there."""

import hashlib
import random

from course_lib.checks import QUESTIONS
from course_lib.checks.question import Question

CHAPTERS = ("03", "04")
ASKED = [question for question in QUESTIONS if question.chapter in CHAPTERS]

NAMES = [
    '=HYPERLINK("http://example.org","x")',
    "+cmd|' /C calc'!A0",
    "-1+1",
    "@SUM(A1)",
    "\tTab",
    "\rReturn",
    "＝1+1",
    "name;=1+1",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "../../etc/passwd",
    "CON",
    "nul.txt",
    "index",
    ".",
    "Ana",
    "ana",
    "李雷",
    "עברית",
    "अनन्या",
    "Ünal Ö.",
    'O\'Brien, Pat "P"',
    "two\nlines",
    "x\u202egnp.exe",
    "\udc80undecodable",
    "Points Possible",
    "ü" * 200,
    "z" + "\u0301" * 50 + "algo",
]
"""What people, and people who wish us ill, are called."""

HOSTILE = "ValueError: <img src=x onerror=alert(1)>\x1b[31m \u202e\0 `code` \ud800" + "A" * 3_000


def row(student: str, question: Question, holds: bool = True, **changes: object) -> dict:
    """A row in which every property holds, or none; with `changes` something else."""
    lines = [
        {
            "holds": holds,
            "property": probe.holds,
            "points": probe.points,
            "fact": "" if holds else f"{i} + 1 where {i} is right",
        }
        for i, probe in enumerate(question.probes)
    ]
    found = {
        "student": student,
        "question": question.id,
        "status": "graded",
        "points": question.points if holds else 0,
        "of": question.points,
        "lines": lines,
        "mistake": None,
        "explains": 0,
        "says": "",
        "asks": "",
        "reread": "",
        "note": "",
        "printed": "",
        "group": "",
        "path": f"{student}/{question.chapter}.ipynb",
        "number": "",
        "submission": sha(student),
        "version": "1",
        "key": "5f0c",
        "isolation": "full",
        "cpu_ms": 20.5,
    }
    return found | changes


def sha(text: str) -> str:
    """A hash as a submission has one."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_mistake(student: str, question: Question, which: int = 0, **changes: object) -> dict:
    """A row that a mistake of the bank explains in full."""
    made = question.mistakes[which]
    explained = {"mistake": made.name, "says": made.says, "asks": made.asks}
    explained |= {"reread": made.reread, "explains": len(question.probes)}
    return row(student, question, holds=False) | explained | changes


def open_row(
    student: str, question: Question, status: str = "not graded", note: str = "", **more: object
) -> dict:
    """A row without points, for a person."""
    changes = {"status": status, "points": None, "lines": [], "note": note, "isolation": ""}
    return row(student, question) | changes | more


def missing(student: str, question: Question, note: str = "") -> dict:
    """A row of an answer that isn't there."""
    changes = {"status": "missing", "points": 0, "lines": [], "note": note, "isolation": ""}
    return row(student, question) | changes


def absent(student: str, question: Question) -> dict:
    """A row of a chapter for which nothing was handed in."""
    return missing(student, question, "Nothing was handed in.") | {"path": ""}


def a_class(size: int = 29, seed: int = 0) -> list[dict]:
    """Answers of every kind, by people called anything."""
    chance = random.Random(seed)
    names = (NAMES + [f"student{i:03d}" for i in range(size)])[:size]
    return [_anything(name, question, chance) for name in names for question in ASKED]


def _anything(student: str, question: Question, chance: random.Random) -> dict:
    match chance.randrange(10):
        case 0:
            return missing(student, question)
        case 1:
            return open_row(student, question, "unreadable", HOSTILE)
        case 2:
            return open_row(student, question, "unclear", "two notebooks: a.ipynb, b.ipynb")
        case 3 | 4:
            return with_mistake(student, question, chance.randrange(3))
        case 5:
            group = sha(f"{chance.randrange(2)}")[:12]
            return row(student, question, holds=False, group=group)
        case 6:
            found = row(student, question, holds=False, note=HOSTILE, printed=HOSTILE)
            for line in found["lines"]:
                line["fact"] = HOSTILE
            return found
        case _:
            return row(student, question)


def shuffled(rows: list[dict], seed: int = 1) -> list[dict]:
    """The same rows in another order."""
    return random.Random(seed).sample(rows, len(rows))

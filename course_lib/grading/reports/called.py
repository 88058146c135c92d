"""What a cell of a spreadsheet calls a student, and who is meant when it comes back."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

from course_lib.grading.reports.gradebook import as_text
from course_lib.grading.reports.output import line

# A spreadsheet takes it for a number or a date, and writes something else; not so 4711.
CONVERTED = re.compile(
    r"(?![1-9][0-9]{0,9}$)[0-9][0-9.,:/eE +-]*"
    r"|(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)[ -]?[0-9]+",
    re.IGNORECASE,
)
NEAR = 0.75  # of what difflib finds alike in two names


def name_for(student: str) -> str:
    """What a cell calls a student, so that 0012345 keeps its zeros, and mar15 is no date."""
    text = as_text(student)
    return f"'{text}" if CONVERTED.fullmatch(text) else text


class Called:
    """Students by what may stand in a cell for them."""

    def __init__(self, students: Iterable[str]):
        self.names: dict[str, set[str]] = {}
        for student in students:
            for cell in (student, as_text(student), name_for(student)):
                self.names.setdefault(cell.strip(), set()).add(student)

    def alike(self, cell: str) -> list[str]:
        """The students whom a cell means: more than one where they look alike there.

        Some systems write an accent as a sign of its own.
        """
        if found := self.names.get(cell.strip()):
            return sorted(found)
        name = _composed(cell.strip())
        return sorted(
            {one for key in self.names if _composed(key) == name for one in self.names[key]}
        )

    def nobody(self, cell: str) -> str:
        """That no student is called so, and who may be meant."""
        plain = {_plain(name): min(students) for name, students in sorted(self.names.items())}
        near = difflib.get_close_matches(_plain(cell), plain, n=1, cutoff=NEAR)
        hint = "".join(f". Is it {line(plain[name], 60)!r}?" for name in near)
        return f"no student is {line(cell, 60)!r}{hint}"


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _plain(name: str) -> str:
    """A name without what gets lost on the way: capitals, accents, zeros before a number."""
    letters = unicodedata.normalize("NFKD", name.strip().lstrip("'").casefold())
    return "".join(c for c in letters if not unicodedata.combining(c)).lstrip("0")

"""What the learner reads: a line for each property, then the one mistake that explains them."""

import re
from dataclasses import dataclass
from html import escape

from course_lib.checks.question import Mistake, Question

OVERWRITES = "right, but it changed its argument"
IN_PLACE = (
    "Whoever passed that argument finds it changed. Which line writes into what it didn't make?"
)
UNNAMED = "None of the known mistakes does just this. Begin with the first line that isn't ok."
UNWRITTEN = "The line `raise NotImplementedError` still runs: put your answer in its place."
FORM = re.compile(r"shape \[|it returns |dtype |\w+(Error|Exception): ")
INDENTED = '<span style="display:block;padding-left:1.6em">{}</span>'
UNCALLABLE = "The check calls {}, and your function doesn't take these arguments."


@dataclass(frozen=True)
class Line:
    """One property, and where it doesn't hold, the fact about the answer that says so."""

    ok: bool
    holds: str
    points: int
    fact: str = ""


@dataclass(frozen=True)
class Verdict:
    """The judgement of one answer; text in a terminal, a list in Jupyter."""

    question: Question
    lines: tuple[Line, ...]
    mistake: Mistake | None = None
    explains: int = 0  # how many of the failing lines the mistake accounts for
    where: str = ""
    printed: str = ""
    note: str = ""

    @classmethod
    def without_lines(cls, question: Question, note: str) -> "Verdict":
        """No points, and one message instead of one a property."""
        lines = tuple(Line(False, probe.holds, probe.points) for probe in question.probes)
        return cls(question, lines, note=note)

    @property
    def points(self) -> int:
        """What the properties that hold are worth."""
        return sum(line.points for line in self.lines if line.ok)

    @property
    def passed(self) -> bool:
        """Every property holds."""
        return all(line.ok for line in self.lines)

    @property
    def _shown(self) -> tuple[Line, ...]:
        """The lines as they are read: what is wrong with all of them in one way is told once."""
        if self.note:
            return ()
        ways = {_without_sizes(line.fact) for line in self.lines}
        if len(self.lines) > 1 and len(ways) == 1 and "" not in ways:
            one = f"all {len(self.lines)} properties"
            if len({line.fact for line in self.lines}) > 1:
                one = f"{one} in the same way; the first: {self.lines[0].holds}"
            return (Line(False, one, self.points, self.lines[0].fact),)
        return self.lines

    def _notes(self) -> list[str]:
        """The sentences under the list, in the order in which a person needs them."""
        notes = [self.note] if self.note else []
        failing = sum(not line.ok for line in self.lines)
        if self.where:
            notes.append(f"The error arose at your {self.where}")
        if self.mistake is not None:
            part = f"{self.explains} of the {failing} failing lines fit this mistake: "
            part = part if self.explains < failing else ""
            notes.append(f"{part}{self.mistake.says} {self.mistake.asks}")
            notes.append(f"Reread: {self.mistake.reread}.")
        elif any(OVERWRITES in line.fact for line in self.lines):
            notes.append(IN_PLACE)
        elif len(self._shown) > 1 and failing and not self.where:
            notes.append(UNNAMED)
        if self.printed:
            first = " / ".join(self.printed.strip().splitlines()[:3])
            notes.append("Your function printed: " + first[:100] + ("..." if first[100:] else ""))
        return notes

    def __str__(self) -> str:
        question = self.question
        head = f"check({question.name})"
        title = f"{question.id} {question.title}"
        score = f"{self.points} of {question.points} points"
        lines = [f"{head:<30}  {title:<40}  {score}"]
        for line in self._shown:
            lines.append(f"  {'ok' if line.ok else '--'}   {line.holds}")
            lines += [f"       {line.fact}"] if line.fact else []
        return "\n".join(lines + [f"  {note}" for note in self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        question = self.question
        rows = "".join(
            f'<li style="margin:.3em 0"><b aria-hidden="true">{"✓" if line.ok else "✗"}</b> '
            f"<b>{'ok' if line.ok else 'not yet'}</b> · {escape(line.holds)}"
            f"{INDENTED.format(escape(line.fact)) if line.fact else ''}</li>"
            for line in self._shown
        )
        listed = f'<ul style="list-style:none;padding-left:.5em;margin:.4em 0">{rows}</ul>'
        notes = "".join(f'<p style="margin:.4em 0">{escape(note)}</p>' for note in self._notes())
        return (
            '<div style="border-left:4px solid currentColor;padding:.3em 1em;max-width:52em">'
            f"<p style='margin:.2em 0'><b>{question.id} {escape(question.title)}</b> · "
            f"{self.points} of {question.points} points</p>{listed if rows else ''}{notes}</div>"
        )


def _without_sizes(fact: str) -> str:
    """A fact about the form of what came back, the same on inputs of every size; others as is."""
    return re.sub(r"[\d, ]+", " ", fact) if FORM.match(fact) else fact


@dataclass(frozen=True)
class Notice:
    """A message from `check` when there is nothing to judge."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text)}</p>"

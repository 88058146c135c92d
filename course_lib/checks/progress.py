"""What a learner has done so far, kept in one file of JSON lines that outlives the kernel."""

import contextlib
import json
import os
import re
import time
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape
from pathlib import Path

COURSE = Path(__file__).resolve().parents[2]
HOME = COURSE / ".progress.jsonl"
BAR = 12  # characters of a full bar


def path() -> Path:
    """Where progress is kept: the course's own folder, or the file that COURSE_PROGRESS names."""
    return Path(os.environ.get("COURSE_PROGRESS") or HOME)


def record_check(question: str, points: int, of: int, mistake: str | None) -> None:
    """Note one verdict."""
    _append({"question": question, "points": points, "of": of, "mistake": mistake})


def record_prediction(prediction: str, chosen: str, right: bool) -> None:
    """Note one committed prediction."""
    _append({"prediction": prediction, "chosen": chosen, "right": right})


def recorded_prediction(prediction: str) -> str | None:
    """What was committed before, so that a restart doesn't ask again."""
    chosen = [e["chosen"] for e in entries() if e.get("prediction") == prediction]
    return chosen[0] if chosen else None


def entries() -> list[dict]:
    """Everything noted, oldest first; a line that was cut short is left out, the others stay."""
    try:
        lines = path().read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def _append(entry: dict) -> None:
    line = json.dumps(entry | {"when": time.strftime("%Y-%m-%dT%H:%M:%S")}, ensure_ascii=False)
    try:
        with path().open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        warnings.warn(f"progress isn't kept: {error}", stacklevel=3)


@dataclass(frozen=True)
class Row:
    """One chapter's standing."""

    chapter: str
    points: int
    of: int
    solved: int
    questions: int
    right: int
    predicted: int
    asked: int

    @property
    def bar(self) -> str:
        """The share of points as a bar of text, empty for a chapter without exercises."""
        full = round(BAR * self.points / self.of) if self.of else 0
        return "█" * full + "░" * (BAR - full) if self.of else ""

    @property
    def exercises(self) -> str:
        """The points in words."""
        if not self.of:
            return "none"
        return f"{self.points} of {self.of} points, {self.solved} of {self.questions} solved"

    @property
    def predictions(self) -> str:
        """The predictions in words."""
        made = f"{self.predicted} of {self.asked} made"
        return f"{made}, {self.right} right" if self.predicted else made


@dataclass(frozen=True)
class Progress:
    """The table of all chapters that ask or predict something, and the one question to do next."""

    rows: tuple[Row, ...]
    next: str

    def __str__(self) -> str:
        lines = [f"{'chapter':<10}{'exercises':<48}predictions"]
        for row in self.rows:
            done = f"{row.bar} {row.exercises}".strip()
            lines.append(f"{row.chapter:<10}{done:<48}{row.predictions}")
        return "\n".join([*lines, self.next])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{row.chapter}</th>'
            f'<td style="text-align:left"><span aria-hidden="true">{row.bar}</span> '
            f"{row.exercises}</td>"
            f'<td style="text-align:left">{row.predictions}</td></tr>'
            for row in self.rows
        )
        heads = "".join(
            f'<th scope="col" style="text-align:left">{name}</th>'
            for name in ("chapter", "exercises", "predictions")
        )
        return (
            '<table><caption style="text-align:left">Your progress</caption><thead><tr>'
            f"{heads}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{escape(self.next)}</p>"
        )


def progress() -> Progress:
    """Your points and predictions by chapter; each question counts with its best verdict."""
    from course_lib.checks import QUESTIONS

    best: dict[str, int] = defaultdict(int)
    guesses: dict[str, bool] = {}
    for entry in entries():
        if "question" in entry:
            best[entry["question"]] = max(best[entry["question"]], entry.get("points", 0))
        elif "prediction" in entry:
            guesses.setdefault(entry["prediction"], bool(entry.get("right")))
    asks = _predictions_asked()
    chapters = sorted(
        {q.chapter for q in QUESTIONS} | {id.split(".")[0] for id in guesses} | {*asks}
    )
    rows = []
    for chapter in chapters:
        asked = [q for q in QUESTIONS if q.chapter == chapter]
        guessed = [right for g, right in guesses.items() if g.split(".")[0] == chapter]
        rows.append(
            Row(
                chapter,
                points=sum(min(best[q.id], q.points) for q in asked),
                of=sum(q.points for q in asked),
                solved=sum(best[q.id] >= q.points for q in asked),
                questions=len(asked),
                right=sum(guessed),
                predicted=len(guessed),
                asked=max(asks[chapter], len(guessed)),
            )
        )
    todo = next((q for q in QUESTIONS if best[q.id] < q.points), None)
    following = f"Next: {todo.id} {todo.title}, {todo.minutes} minutes." if todo else "All solved."
    return Progress(tuple(rows), following)


def _predictions_asked() -> Counter[str]:
    """How many predictions each chapter's notebook asks for."""
    asks: Counter[str] = Counter()
    for notebook in sorted((COURSE / "notebooks").glob("*.ipynb")):
        with contextlib.suppress(OSError, ValueError, KeyError):  # half saved: not counted
            cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
            code = "\n".join("".join(cell["source"]) for cell in cells)
            asks.update(re.findall(r'\bpredict\(\s*"(\d\d)\.', code))
    return asks

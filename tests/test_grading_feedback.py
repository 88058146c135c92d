"""A student's page tells what is theirs, escapes what is hostile, and has a name of its own."""

import html.parser
import itertools
import json
import os
import re
import tomllib
import unicodedata
from pathlib import Path

import pytest
from made_rows import (
    ASKED,
    HOSTILE,
    NAMES,
    a_class,
    missing,
    open_row,
    row,
    shuffled,
    with_mistake,
)

from course_lib.checks import QUESTIONS
from course_lib.checks.verdict import IN_PLACE, OVERWRITES, UNNAMED
from course_lib.grading.reports.feedback import PRINTED_AT_MOST, page, tell, write_feedback
from course_lib.grading.reports.gradescope import results, results_text, write_gradescope
from course_lib.grading.reports.output import (
    file_names,
    line,
    mark,
    remove_old,
    visible,
    write,
)
from course_lib.grading.reports.pages import TEMPLATES

FIRST, SECOND = ASKED[:2]
VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(html.parser.HTMLParser):
    """The elements and texts of a page whose tags are all closed, in order."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict]:
        return [attrs for name, attrs in self.elements if name == tag]


def one_page(*rows: dict, questions=ASKED) -> Page:
    mine = {found["question"]: found for found in rows}
    asked = [question for question in questions if question.id in mine]
    return Page(page(rows[0]["student"], mine, asked))


def test_the_page_tells_what_holds_what_doesnt_and_where_to_reread():
    found = with_mistake("ana", FIRST)
    made = FIRST.mistakes[0]
    half = [one | {"holds": i % 2 == 0} for i, one in enumerate(found["lines"])]
    earned = sum(one["points"] for one in half if one["holds"])
    failing = sum(not one["holds"] for one in half)
    found |= {"lines": half, "points": earned, "explains": failing - 1}
    text = one_page(found).text
    assert f"{earned} of {FIRST.points} points." in text
    assert text.count("ok") >= len(half) - failing and text.count("not yet") == failing
    for one in half:
        assert one["property"] in text and (one["holds"] or one["fact"] in text)
    assert f"{failing - 1} of the {failing} failing lines fit this mistake: " in text
    assert f"{made.says} {made.asks}".replace("`", "") in text
    assert f"Reread: {made.reread}." in text and UNNAMED not in text


def test_one_cause_gets_one_message():
    found = row("ana", FIRST, holds=False, note="The error arose at your cell 4, line 2")
    for one in found["lines"]:
        one["fact"] = "NameError: name 'helper' is not defined"
    told = tell(found, FIRST)
    assert [one["property"] for one in told.lines] == [f"all {len(FIRST.probes)} properties"]
    assert told.notes == ("The error arose at your cell 4, line 2",)
    assert tell(row("ana", FIRST, holds=False), FIRST).notes == (UNNAMED,)
    found["lines"] = [one | {"fact": f"{OVERWRITES} x in place"} for one in found["lines"]]
    assert IN_PLACE in tell(found | {"note": ""}, FIRST).notes


def test_a_fault_of_ours_costs_nothing_and_isnt_told():
    fault = open_row("ana", FIRST, "not graded", "Traceback: grade.py, line 7, key 5f0c")
    text = one_page(fault, row("ana", SECOND)).text
    assert "Traceback" not in text and "5f0c" not in text
    assert f"{SECOND.points} points so far." in text and "it costs you nothing" in text
    theirs = one_page(open_row("ana", FIRST, "unreadable", "the file ends in a string")).text
    assert "the file ends in a string" in theirs and "costs you nothing" in theirs


def test_who_must_wait_with_everything_reads_no_zero():
    waits = [open_row("ana", question, "unreadable", "not JSON") for question in ASKED]
    shown = one_page(*waits)
    of = sum(question.points for question in ASKED)
    assert f"Nothing is graded yet. All {of} points wait for a person" in shown.text
    assert "0 of" not in shown.text and not [
        s for s in shown.all("span") if s.get("class") == "bar"
    ]
    some = one_page(*waits[:-1], row("ana", ASKED[-1]))
    assert "Nothing is graded yet" not in some.text
    third = sum(question.points for question in ASKED if question.chapter == "03")
    assert f"Not graded yet: {third} points wait for a person." in some.text
    assert f"Chapter 03 not graded yet {third} wait" in some.text
    assert len([s for s in some.all("span") if s.get("class") == "bar"]) == 1


def test_what_is_unclear_can_be_read():
    note = "No cell defines causal; cell 7 defines my_causal(Tq, Tk)."
    found = tell(open_row("ana", FIRST, "unclear", note), FIRST)
    assert found.points is None and note in found.notes
    assert "couldn't be read" not in str(found) and "isn't clear" in str(found)


def test_nothing_of_the_grader_is_on_the_page():
    found = row("ana", FIRST, isolation="LEVEL", key="SECRET", version="VERSION", path="PATH/x")
    text = page("ana", {FIRST.id: found}, [FIRST])
    assert not re.search("LEVEL|SECRET|VERSION|PATH|" + found["submission"], text)


def test_what_is_missing_says_so():
    assert "no function causal" in one_page(missing("ana", FIRST)).text
    assert (
        "The stub still stands." in one_page(missing("ana", FIRST, "The stub still stands.")).text
    )


def test_hostile_texts_are_read_and_dont_act():
    everything = a_class(len(NAMES))
    asked = [question for question in QUESTIONS if question.chapter in ("03", "04")]
    for name in NAMES:
        mine = {found["question"]: found for found in everything if found["student"] == name}
        text = page(name, mine, asked)
        shown = Page(text)
        tags = {tag for tag, _ in shown.elements}
        assert not tags & {"script", "img", "iframe", "object", "form", "base"}
        assert not any(key.startswith("on") for _, attrs in shown.elements for key in attrs)
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text
        )
        assert "{{ 7 * 7 }}" in shown.text or "{{" not in name
    found = row("ana", FIRST, holds=False, note=HOSTILE, printed=HOSTILE * 9)
    text = one_page(found).text
    assert "⟨U+202E⟩" in text and "<img src=x onerror=alert(1)>" in text
    assert max(map(len, re.findall("A+", text))) <= max(PRINTED_AT_MOST, 600)


def test_the_page_can_be_read_by_all():
    shown = Page(page("ana", {f["question"]: f for f in a_class(1)}, ASKED))
    assert shown.all("html") == [{"lang": "en"}]
    assert all("scope" in th or th.get("aria-hidden") for th in shown.all("th"))
    levels = [int(tag[1]) for tag, _ in shown.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    ids = [attrs["id"] for _, attrs in shown.elements if "id" in attrs]
    assert len(set(ids)) == len(ids)
    assert all(a["href"].removeprefix("#") in ids for a in shown.all("a"))
    assert not shown.all("link") and not shown.all("img"), "one file, from nowhere else"


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def test_colours_stand_out_by_day_and_by_night():
    style = (TEMPLATES / "base.html").read_text()
    schemes = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    for scheme in schemes:
        colour = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        for ground in ("ground", "raised"):
            for ink in ("ink", "quiet", "accent", "yes", "no"):
                a, b = sorted(luminance(colour[name]) for name in (ground, ink))
                assert (b + 0.05) / (a + 0.05) >= 4.5, f"{ink} on {ground}"


RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def test_file_names_are_safe_everywhere_and_nobody_shares_one():
    names = [*NAMES, "con.ipynb", "aux ", "COM¹", "a/b", "a\\b", "a:b", "a b", "a  b", "-rf", " x"]
    names += ["..", "", "ANA", "ana-" + file_names(["Ana", "ana"])["Ana"][-8:], "é", "e\u0301"]
    found = file_names(names)
    assert set(found) == set(names)
    folded = {unicodedata.normalize("NFKD", stem.casefold()) for stem in found.values()}
    assert len(folded) == len(set(names))
    for name, stem in found.items():
        assert not re.search(r'[/\\:*?"<>|\x00-\x1f\u202a-\u202e\ud800-\udfff]', stem), name
        assert stem and stem[0] not in ". -" and stem[-1] not in ". "
        assert not RESERVED.fullmatch(stem.split(".")[0]) and stem.lower() != "index"
        assert len(f"{stem}.html".encode()) <= 150
    assert found["李雷"] == "李雷" and found["Ünal Ö."] != "Ünal Ö."
    assert file_names(["student001"]) == {"student001": "student001"}


def test_templates_travel_with_the_package():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    packed = project["tool"]["setuptools"]["package-data"]["course_lib.grading.reports"]
    names = {path for pattern in packed for path in TEMPLATES.parent.glob(pattern)}
    assert names == set(TEMPLATES.iterdir()) and len(names) == 3


def test_each_student_gets_a_page(tmp_path):
    rows = a_class(len(NAMES))
    index = write_feedback(rows, QUESTIONS, tmp_path / "feedback")
    assert set(index) == set(NAMES)
    written = {path.name for path in (tmp_path / "feedback").iterdir()}
    assert len(written) == len(NAMES)
    before = {path.name: path.read_bytes() for path in (tmp_path / "feedback").iterdir()}
    assert write_feedback(shuffled(rows), QUESTIONS, tmp_path / "feedback") == index
    assert {p.name: p.read_bytes() for p in (tmp_path / "feedback").iterdir()} == before


def test_the_page_of_who_left_is_removed_and_nothing_that_is_not_ours(tmp_path):
    before = {"bo", *NAMES} - {"Ana"}
    index = write_feedback([row(name, FIRST) for name in before], QUESTIONS, tmp_path)
    assert index["ana"] == "ana.html"
    theirs = (tmp_path / "bo.html").read_bytes()
    for name in ("bo, annotated.html", "bo.txt", ".bo.html"):
        (tmp_path / name).write_bytes(theirs)
    (tmp_path / "old.html").write_bytes(theirs[: theirs.rfind(b"<!--")])
    (tmp_path / "empty.html").write_bytes(b"")
    (tmp_path / "cy.html").mkdir()
    (tmp_path / "dia.html").write_text("<p>mine</p>" + mark("eva.html") + mark("dia.html")[:-1])
    mine = {path.name for path in tmp_path.iterdir()} - set(index.values())
    index = write_feedback([row("ana", FIRST), row("Ana", FIRST)], QUESTIONS, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == mine | set(index.values())
    assert len(mine) == 7 and "ana.html" not in index.values()


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_links_and_other_names_of_what_was_written_are_left(tmp_path):
    (tmp_path / "else").mkdir()
    kept, old, away = (tmp_path / name for name in ("ana", "bo", "else/bo"))
    for path in (kept, old, away):
        path.write_text("x")
    os.link(kept, tmp_path / "same")  # as "Ana" is where a system has one file of both names
    (tmp_path / "link").symlink_to(away)
    removed = remove_old(tmp_path.iterdir(), [kept], lambda path: True)
    assert removed == [old] and away.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"ana", "same", "else", "link"}


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    write(tmp_path / "page.html", "old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "page.html", "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("page.html", "old")]


def test_text_shows_what_would_act():
    assert visible("a\x1b[31m\u202eb\n\t\ud800", lines=True) == "a⟨U+001B⟩[31m⟨U+202E⟩b\n\t⟨U+D800⟩"
    assert visible("a\nb") == "a⟨U+000A⟩b" and line(" a\n  b\t") == "a b"
    assert visible("x" * 100, 10) == "x" * 9 + "…" and len(visible("\0" * 100, 10)) == 10
    assert visible("می\u200cخواهم 🏳️\u200d🌈") == "می\u200cخواهم 🏳️\u200d🌈"
    assert len(visible("e" + "\u0301" * 500)) == 5


# --- Gradescope ---


def test_gradescope_gets_its_form():
    """gradescope-autograders.readthedocs.io, Autograder Specifications, Output format."""
    rows = {"03.1": with_mistake("ana", FIRST), "03.2": row("ana", SECOND)}
    found = results(rows, [FIRST, SECOND], "after_published")
    assert set(found) == {"score", "output", "visibility", "stdout_visibility", "tests"}
    assert found["score"] == SECOND.points and found["output"] == ""
    wrong, right = found["tests"]
    assert (wrong["score"], wrong["max_score"], wrong["status"]) == (0, FIRST.points, "failed")
    assert (right["score"], right["max_score"], right["status"]) == (
        SECOND.points,
        SECOND.points,
        "passed",
    )
    assert wrong["number"] == "03.1" and "causal" in wrong["name"]
    assert FIRST.mistakes[0].asks in wrong["output"] and wrong["visibility"] == "after_published"
    with pytest.raises(ValueError, match="visibility must be one of"):
        results(rows, [FIRST, SECOND], "secret")


def test_gradescope_shows_no_score_where_a_person_must_look():
    found = results({"03.1": open_row("ana", FIRST), "03.2": row("ana", SECOND)}, [FIRST, SECOND])
    assert found["score"] == SECOND.points and "03.1" in found["output"]
    assert not {"score", "max_score", "status"} & set(found["tests"][0])


def test_gradescope_files_hold_no_surprise(tmp_path):
    index = write_gradescope(a_class(len(NAMES)), QUESTIONS, tmp_path)
    assert set(index) == set(NAMES)
    for place in index.values():
        text = (tmp_path / place).read_text("ascii")
        found = json.loads(text)
        assert found["score"] == sum(test.get("score", 0) for test in found["tests"])
        for test in found["tests"]:
            assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", test["output"])
            assert len(test["output"]) <= 8_000
    assert results_text({}, [FIRST]).endswith("}\n")


def test_gradescope_s_file_of_who_left_is_removed_and_nothing_that_is_not_ours(tmp_path):
    place, away = tmp_path / "gradescope", tmp_path / "bo"
    write_gradescope([row(name, FIRST) for name in ("ana", "bo", "cy", "li")], QUESTIONS, place)
    (place / "cy" / "notes.txt").write_text("mine")
    for name, text in [("dia", '{"score": 6}'), ("eva", "[" * 9_999), ("fay", "6")]:
        (place / name).mkdir()
        (place / name / "results.json").write_text(text)
    (place / "bo").rename(away)
    (place / "bo").symlink_to(away)
    write_gradescope([row("ana", FIRST)], QUESTIONS, place)
    left = [path.relative_to(place).as_posix() for path in place.glob("*/*")]
    mine = ["cy/notes.txt", *(f"{name}/results.json" for name in ("bo", "dia", "eva", "fay"))]
    assert sorted(left) == sorted(["ana/results.json", *mine]) and not (place / "li").exists()

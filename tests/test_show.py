"""Pictures, tables and predictions: what a reader gets with and without a front end."""

import base64
import json
import re

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_rgb

from course_lib.show import ROLES, figure, label_end, predict, style, table

LONG = "about the same"
OPTIONS = {
    "64 times larger": "That is the variance.",
    LONG: "True of an average.",
    "8 times larger": "The root of 64.",
}


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    file = tmp_path / "progress.jsonl"
    monkeypatch.setenv("COURSE_PROGRESS", str(file))
    return file


def growth(**changed):
    given = {
        "id": "02.growth",
        "question": "`Dh` grows 64-fold. The deviation becomes",
        "answer": "8 times larger",
        "options": OPTIONS,
    }
    return predict(**given | changed)


def draw():
    fig, ax = plt.subplots()
    (line,) = ax.plot([1, 2, 3], [1, 4, 2], **ROLES["query"])
    label_end(ax, line, "query")
    ax.fill_between([1, 2], [0, 1], hatch=style.BLOCKED_HATCH, color=style.BLOCKED)
    return fig


def test_one_drawing_gives_one_file():
    first, second = figure(draw(), "A line."), figure(draw(), "A line.")
    assert first.svg == second.svg
    assert "<dc:date>" not in first.svg
    assert plt.get_fignums() == []


def test_picture_carries_its_description():
    picture = figure(draw(), '  A line\n rises "fast" & falls ', "Caption with `code` < 3")
    assert picture.alt == 'A line rises "fast" & falls'
    assert picture.alt in repr(picture)
    page = picture._repr_html_()
    assert 'alt="A line rises &quot;fast&quot; &amp; falls"' in page
    assert "<figcaption>Caption with <code>code</code> &lt; 3</figcaption>" in page
    assert "max-width:100%" in page and "background:#fff" in page
    data = re.search(r"base64,([^\"]+)", page).group(1)
    assert base64.b64decode(data).decode() == picture.svg


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_picture_needs_a_description(alt):
    fig = draw()
    with pytest.raises(ValueError, match="alt must say in words"):
        figure(fig, alt)
    plt.close(fig)


def test_roles_differ_by_more_than_colour():
    for property in ("color", "linestyle", "marker"):
        assert len({look[property] for look in ROLES.values()}) == len(ROLES)


def test_label_stands_at_the_last_finite_point():
    fig, ax = plt.subplots()
    (line,) = ax.plot([1, 2, 3], [1, 4, float("nan")], color=style.KEY)
    label = label_end(ax, line, "key")
    assert label.xy == (2, 4)
    assert style.contrast(label.get_color()) >= 4.5 > style.contrast(to_rgb(style.KEY))
    line.set_data([], [])
    with pytest.raises(ValueError, match="no finite point"):
        label_end(ax, line, "key")
    plt.close(fig)


def test_table_reads_as_text_and_as_html():
    made = table(
        [["q", torch.tensor(1234), 0.125, "12 %"], ["`k`", 5, 2.0, "3 %"]],
        ["tensor", "elements", "share", "rest"],
        "Sizes < limits",
        marked=[1, (0, 2)],
    )
    assert repr(made).splitlines() == [
        "Sizes < limits",
        "",
        "tensor  elements    share  rest",
        "------  --------  -------  ----",
        "q          1,234  0.125 ◀  12 %",
        "`k`            5        2   3 %  ◀",
    ]
    page = made._repr_html_()
    assert ">Sizes &lt; limits</caption>" in page
    assert page.count('<th scope="col"') == 4
    assert page.count('<th scope="row"') == 2
    assert "<code>k</code>" in page
    assert re.search(r"<td style=\"text-align:right[^>]*>1,234</td>", page)
    assert page.count("◀") == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"caption": " "}, "caption must say"),
        ({"columns": []}, "columns must name"),
        ({"rows": [[1, 2], [1]]}, r"rows\[1\] has 1 cells for 2 columns"),
        ({"marked": [2]}, "marked has 2; there are 1 rows"),
        ({"marked": [(0, 2)]}, r"marked has \(0, 2\)"),
    ],
)
def test_table_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        table(**{"rows": [[1, 2]], "columns": ["a", "b"], "caption": "c"} | given)


def test_prediction_shows_its_question_but_not_its_answer():
    text = growth()._repr_mimebundle_()[0]["text/plain"]
    assert text.splitlines()[0] == "Predict: `Dh` grows 64-fold. The deviation becomes"
    assert all(label in text for label in OPTIONS)
    assert not any(reason in text for reason in OPTIONS.values())


def test_order_depends_on_the_id_alone():
    backwards = dict(reversed(OPTIONS.items()))
    assert growth().options == growth(options=backwards).options
    places = {
        [label for label, _ in growth(id=f"02.n{i}").options].index("8 times larger")
        for i in range(20)
    }
    assert places == {0, 1, 2}


def test_a_commit_is_recorded_once_and_stays(progress_file):
    widget = growth()
    widget.set_state({"chosen": LONG})  # what the front end sends
    widget.set_state({"chosen": "8 times larger"})
    assert widget.chosen == LONG
    (entry,) = map(json.loads, progress_file.read_text().splitlines())
    assert (entry["prediction"], entry["chosen"], entry["right"]) == ("02.growth", LONG, False)


def test_a_commit_outlives_the_kernel(progress_file):
    growth().set_state({"chosen": "8 times larger"})
    again = growth()
    assert again.chosen == "8 times larger"
    again.set_state({"chosen": LONG})
    assert again.chosen == "8 times larger"
    assert len(progress_file.read_text().splitlines()) == 1


def test_a_commit_to_an_option_that_is_gone_is_forgotten():
    growth().set_state({"chosen": LONG})
    rest = {label: reason for label, reason in OPTIONS.items() if label != LONG}
    assert growth(options=rest).chosen == ""


def test_measuring_confronts_the_prediction():
    open_, wrong, right = growth(), growth(), growth(id="02.other")
    wrong.set_state({"chosen": "64 times larger"})
    right.set_state({"chosen": "8 times larger"})
    assert str(open_.measured("8 times larger")) == (
        "Measured: 8 times larger. (You made no prediction: go back to the question.)"
    )
    assert repr(wrong.measured("8 times larger")) == (
        "Measured: 8 times larger. The root of 64. "
        "You predicted “64 times larger”. That is the variance."
    )
    assert "as you predicted. The root of 64." in right.measured("8 times larger")._repr_html_()


def test_measuring_something_else_fails_loudly():
    with pytest.raises(AssertionError, match=r"'9 times larger'.*'8 times larger'"):
        growth().measured("9 times larger")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"id": "growth"}, 'id must look like "02.growth"'),
        ({"id": "02.growth\n"}, "id must look like"),
        ({"question": " "}, "question must not be empty"),
        ({"answer": "9 times larger"}, "answer must be one of"),
        ({"options": {"8 times larger": "Alone."}}, "options must map at least two"),
        ({"options": OPTIONS | {"no": " "}}, r"options\['no'\] needs a reason"),
        ({"options": OPTIONS | {"": "why"}}, "options has an empty label"),
    ],
)
def test_predict_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        growth(**given)

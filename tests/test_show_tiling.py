"""The charts of chapter 06, and what is drawn from its stored measurement."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from pictures import assert_vector

from course_lib.show import measured
from course_lib.show import tiling as charts

STORED = json.loads(
    (Path(__file__).parents[1] / "notebooks" / "measured" / "tiling.json").read_text()
)
ERRORS = {"rising": [1e-8, 3e-7], "negative": [math.nan, 1e-7], "one": [0.0], "peak": [0.5, 1e5]}
MOVED = {
    "naive": {128: 2**20, 256: 2**22},
    "tiles of 64": {128: 2**19, 256: 2**21},
    "tiles of 128": {128: 2**18, 256: 2**19},
}
LSE, KEYS = torch.tensor([1.0, 2.0, -torch.inf]), [30, 1, 0]

PICTURES = {
    "opening": charts.opening,
    "errors": lambda: charts.error_dots(ERRORS, "Errors"),
    "traffic": lambda: charts.traffic_lines(MOVED, MOVED),
    "shares": lambda: charts.share_bars(LSE, KEYS),
    "cost": lambda: measured.cost_lines(STORED),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw)


def texts(monkeypatch, draw) -> list[str]:
    """What a chart writes as its title."""
    written = []
    monkeypatch.setattr(charts.Axes, "set_title", lambda self, text, **look: written.append(text))
    draw()
    return written


def test_error_dots_name_the_worst_of_each_kind_and_nan_above_all():
    alt = charts.error_dots(ERRORS, "Errors").alt
    assert "rising: 3e-07; negative: NaN; one: 0; peak: 1e+05." in alt


def test_error_dots_are_drawn_on_the_axis_whatever_their_size(monkeypatch):
    drawn = []
    monkeypatch.setattr(charts.Axes, "plot", lambda self, x, y, *a, **k: drawn.append(x))
    charts.error_dots(ERRORS, "Errors")
    assert drawn[1][0] == drawn[3][1] == charts.WORST and drawn[2][0] == charts.LEAST


@pytest.mark.parametrize("bits", [3, 8, 13])
def test_bytes_axis_has_a_line_for_each_factor_of_two_and_at_most_eight_numbers(bits):
    fig, ax = charts.plt.subplots()
    ax.set_ylim(2**20, 2 ** (20 + bits))
    charts.bytes_axis(ax)
    numbers, lines = ax.get_yticks(), ax.get_yticks(minor=True)
    assert sorted({*numbers, *lines}) == [2**e for e in range(20, 21 + bits)]
    assert 3 <= len(numbers) <= 8
    charts.plt.close(fig)


def test_traffic_title_compares_the_first_with_the_last_at_the_longest(monkeypatch):
    titles = texts(monkeypatch, lambda: charts.traffic_lines(MOVED, MOVED))
    assert titles == ["At T = 256 the largest tiles move 8.0 times fewer bytes"]
    assert "naive 4 MiB; tiles of 64 2 MiB" in charts.traffic_lines(MOVED, MOVED).alt


def test_shares_are_the_softmax_of_the_lse(monkeypatch):
    alt = charts.share_bars(LSE, KEYS).alt
    assert "30 keys, lse 1.0: 0.27; 1 key, lse 2.0: 0.73; 0 keys, lse -inf: 0.00." in alt
    titles = texts(monkeypatch, lambda: charts.share_bars(LSE, KEYS))
    assert titles == ["The block of 1 key counts most; the largest has 30"]


def test_cost_lines_say_what_the_longest_took_and_where():
    picture = measured.cost_lines(STORED)
    rows = [r for r in STORED["rows"] if not r["causal"] and not r["backward"]]
    T = max(row["T"] for row in rows)
    for row in (row for row in rows if row["T"] == T):
        assert re.search(rf"{row['way']}: \S+ .iB and {row['seconds']:.3g} s", picture.alt)
    for part in (STORED["date"], STORED["machine"]["cpu"], STORED["machine"]["torch"]):
        assert part in picture.caption


def test_times_flash_has_a_row_for_every_case_and_its_provenance():
    text = repr(measured.times_flash(STORED))
    cases = {(row["T"], row["causal"], row["backward"]) for row in STORED["rows"]}
    assert len(re.findall(r"^ *[\d,]+ +(yes|no) +(yes|no) ", text, re.MULTILINE)) == len(cases)
    assert STORED["date"] in text
    tiled = [row["times_flash"] for row in STORED["rows"] if row["way"] == "tiled"]
    assert f"takes {min(tiled):.1f} to {max(tiled):.1f} times as long" in text

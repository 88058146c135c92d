"""The charts of chapter 04: their cells and descriptions say what the heads hold and read."""

import pytest
import torch
from pictures import assert_vector

from course_lib.heads import split
from course_lib.show import heads as charts

NUMBERS = 10 * torch.arange(4)[:, None] + torch.arange(6)
CUTS = {"split": split(NUMBERS[None].double(), 2)[0].long(), "view": NUMBERS.view(2, 4, 3)}
SHARES = torch.linspace(0, 1, 3)
CURVES = {"one": [1.0, 0.4], "two": [1.0, 0.001]}
READ = {"all": torch.eye(3)[:2], "even": torch.full((2, 3), 1 / 3)}
WHERE = torch.tensor([[0, 2], [1, 2]])
POINTS = {"again": (2, 0.001), "from the start": (2, 0.002)}
LEFT = [0.001, 0.01, 0.02, 0.1, 0.2, 0.3]

PICTURES = {
    "opening": charts.opening,
    "slices": lambda: charts.slices(NUMBERS, CUTS, "Two cuts"),
    "share": lambda: charts.share_line(SHARES, torch.full((3,), 0.5)),
    "curves": lambda: charts.error_curves(CURVES, 0.5),
    "read": lambda: charts.places_read(READ, WHERE, "Read"),
    "pair": lambda: charts.weight_pair(READ, "Two"),
    "harm": lambda: charts.harm_bars([0.01, 0.3], 0.0003),
    "removal": lambda: charts.removal_line(LEFT, POINTS),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw)


def test_slices_say_whose_features_each_head_holds():
    alt = charts.slices(NUMBERS, CUTS, "Two cuts").alt
    assert "split: head 1 holds features of tokens 0, 1, 2, 3" in alt
    assert "view: head 0 holds features of tokens 0, 1;" in alt
    assert "view: head 1 holds features of tokens 2, 3." in alt


def test_slices_write_token_and_feature_into_each_cell(monkeypatch):
    written = []
    monkeypatch.setattr(charts.Axes, "text", lambda self, x, y, s, **look: written.append(s))
    charts.slices(NUMBERS, {"split": CUTS["split"]}, "One cut")
    assert written[:7] == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "1.0"]
    assert written[24 + 12 :][:4] == ["0.3", "0.4", "0.5", "1.3"]


def test_share_line_alt_gives_the_range():
    alt = charts.share_line(SHARES, torch.tensor([0.5, 0.51, 0.49])).alt
    assert alt == "3 shares from 0 to 1: the error stays between 0.49 and 0.51."


def test_curves_alt_gives_the_last_error_of_each():
    assert "one: 0.4; two: 0.001. Fixed shares: 0.50." in charts.error_curves(CURVES, 0.5).alt


def test_places_read_alt_averages_over_the_marked_keys():
    alt = charts.places_read(READ, WHERE, "Read").alt
    assert "all: 1.00 on the first mark, 0.00 on the second" in alt
    assert "even: 0.33 on the first mark, 0.33 on the second" in alt


def test_weight_pair_alt_names_the_key_that_each_query_reads_most():
    assert "all: the queries in turn read most from keys 0, 1." in charts.weight_pair(READ, "T").alt


def test_harm_alt_gives_every_bar():
    alt = charts.harm_bars([0.01, 0.3], 0.0003).alt
    assert alt == "Error added to 0.0003 by taking away each head: 0: 0.010, 1: 0.300."


def test_removal_alt_counts_the_heads_left():
    alt = charts.removal_line(LEFT, POINTS).alt
    assert "6 left 0.001, 5 left 0.01" in alt and "1 left 0.3." in alt
    assert "again, 2 heads: 0.001" in alt

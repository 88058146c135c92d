"""The charts of chapter 03: their cells and descriptions say what the masks say."""

import re

import pytest
import torch
from pictures import assert_vector

from course_lib.masks import blocks, causal, padding, window
from course_lib.show import masks as charts
from course_lib.show import style
from course_lib.show.explorables import defaults

SQUARE = {
    "causal": causal(4),
    "window of 2": window(4, 4, 2),
    "packed": blocks(torch.zeros(1, 4).int()),
}
EVEN = torch.full((2, 3), 1 / 3)
CACHED = {"two": (EVEN, EVEN > 0), "one": (EVEN[:1], EVEN[:1] > 0)}

PICTURES = {
    "opening": charts.opening,
    "keeps": lambda: charts.keeps(SQUARE, "Three masks"),
    "weights": lambda: charts.weight_grids({"even": (EVEN, EVEN > 0)}, "Even", sums=True),
    "cached": lambda: charts.weight_grids(CACHED, "Cached", cached=True),
    "view": charts.mask_view,
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw)


def test_keeps_alt_counts_the_pairs_of_the_first_sequence():
    masks = SQUARE | {"padding": padding(torch.tensor([3, 1]), 4).expand(2, 1, 4, 4)}
    alt = charts.keeps(masks, "Four masks").alt
    assert "causal: 10 of 16 pairs" in alt and "window of 2: 7 of 16 pairs" in alt
    assert "packed: 16 of 16 pairs" in alt and "padding: 12 of 16 pairs" in alt


def test_blocked_cells_are_grey_and_hatched():
    allowed, blocked = (
        charts.keeps({"m": torch.full((1, 1, 2, 2), value)}, "One").svg for value in (True, False)
    )
    assert style.BLOCKED.lower() in blocked and "<pattern" in blocked
    assert style.BLOCKED.lower() not in allowed and "<pattern" not in allowed


def test_weight_grids_alt_reads_the_weights_and_knows_nan():
    weights = torch.tensor([[1, 0, 0], [torch.nan] * 3])
    alt = charts.weight_grids({"two": (weights, causal(2, 3)[0, 0])}, "Two").alt
    assert "two: query 0: 1.00, 0.00, 0.00; query 1: NaN, NaN, NaN." in alt


def test_rows_after_a_cache_say_their_place():
    alt = charts.weight_grids(CACHED, "Cached", cached=True).alt
    assert "two: new 0 (place 1): 0.33, 0.33, 0.33; new 1 (place 2):" in alt
    assert "one: new 0 (place 2): 0.33" in alt


def test_a_grid_of_weights_writes_a_number_where_a_blocked_key_has_one(monkeypatch):
    written = []
    monkeypatch.setattr(charts.Axes, "text", lambda self, x, y, s, **look: written.append(s))
    keep = torch.tensor([[True, False, False]])
    charts.weight_grids({"one": (torch.tensor([[0.5, 0.25, 0.0]]), keep)}, "One", sums=True)
    assert written == [".50", ".25", "sum 0.75"]


def test_view_shows_what_the_explorable_starts_with():
    start = defaults("mask")
    assert (start["pattern"], start["means"]) == ("causal", "read")
    rows = re.search(r"a row a query: (.+)\.$", charts.mask_view().alt)[1].split("; ")
    for i, row in enumerate(rows):
        weights = torch.tensor([float(w) for w in row.split(", ")])
        right = torch.tensor(start["scores"][i][: i + 1], dtype=torch.float32).softmax(0)
        assert (weights[: i + 1] - right).abs().max() < 0.006 and not weights[i + 1 :].any()


def test_opening_weights_are_those_of_the_two_masks():
    assert "Padding: every query reads the first 3 keys" in charts.opening().alt

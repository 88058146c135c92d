"""The charts of chapter 05: their titles and descriptions say what the numbers are."""

import re

import pytest
import torch
from pictures import assert_vector

from course_lib.positions import sinusoid, slopes
from course_lib.show import lengths, style
from course_lib.show import positions as charts

PE = sinusoid(torch.arange(20), 8)
MOVED = torch.ones(4, 4) - torch.eye(4)
ALIKE = MOVED.clone()
ALIKE[0, 3] = ALIKE[3, 0] = 0
WEIGHTS = (-slopes(8)[:, None] * torch.arange(100)).softmax(-1)
HALF = [int((w.cumsum(0) < 0.5).sum()) + 1 for w in WEIGHTS]
LINES = {"one layout": [0.5] * 10, "two": [float(i) for i in range(10)]}
FOUND = {"none": [0.5, 0.3], "sinusoid": [1, 0.2], "learned": [1, 0.2], "ALiBi": [1, 0.99]}
FOUND["rotary"] = [1, 0.7]

PICTURES = {
    "opening": charts.opening,
    "swaps": lambda: charts.swaps({"all": MOVED, "alike": ALIKE}, "Two"),
    "bias": lambda: charts.bias_grids(4, 8),
    "reach": lambda: charts.reach_lines(torch.arange(100), WEIGHTS, HALF),
    "bucket": lambda: charts.bucket_steps(128, 160),
    "lines": lambda: lengths.offset_lines(range(10), LINES, "Along"),
    "accuracy": lambda: lengths.accuracy_lines((32, 128), FOUND, 0.125),
}
MAPS = {
    "heat": lambda: charts.heat_map(PE),
    "damage": lambda: lengths.damage(PE @ PE.T, LINES["two"], "Broken"),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw)


@pytest.mark.parametrize("draw", MAPS.values(), ids=MAPS)
def test_map_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw, raster=True)


def test_heat_map_alt_gives_the_turns_of_the_first_and_the_last_pair():
    alt = charts.heat_map(PE).alt
    assert "4 sines and 4 cosines at 20 positions" in alt
    assert "6.3 positions in pair 0, 6,283 in the last" in alt


def test_swaps_alt_names_the_pairs_that_look_alike():
    assert "all: none; alike: 0 and 3." in charts.swaps({"all": MOVED, "alike": ALIKE}, "T").alt


def test_bias_alt_gives_the_slopes():
    assert "first three of 8 heads: slope 1/2, slope 1/4, slope 1/8." in charts.bias_grids(4, 8).alt


def test_bias_grids_write_what_is_added(monkeypatch):
    written = []
    monkeypatch.setattr(charts.Axes, "text", lambda self, x, y, s, **look: written.append(s))
    charts.bias_grids(3, 8)
    assert written[:6] == ["0", "−.5", "0", "−1", "−.5", "0"]


def test_reach_title_and_alt_count_the_same_keys():
    alt = charts.reach_lines(torch.arange(100), WEIGHTS, HALF).alt
    assert f"head 0: {HALF[0]}, head 4: {HALF[4]}, head 7: {HALF[7]}." in alt


def test_bucket_alt_says_where_buckets_begin_to_be_shared_and_the_last_starts():
    alt = charts.bucket_steps(128, 160).alt
    assert "each distance up to 15," in alt and "bucket 31 from distance 113 on" in alt


def test_offset_lines_alt_gives_the_range_of_each():
    alt = lengths.offset_lines(range(10), LINES, "Along").alt
    assert "one layout: from 0.50 to 0.50; two: from 0.00 to 9.00." in alt


def test_damage_alt_gives_the_spread_of_a_diagonal():
    assert "spread by up to 0.00" in lengths.damage(PE @ PE.T, LINES["two"], "T").alt
    broken = PE @ PE.T
    broken[0, 5] += 3
    spread = re.search(r"spread by up to (\d+\.\d+)", lengths.damage(broken, [0.0], "T").alt)[1]
    assert float(spread) == pytest.approx(3, abs=0.01)


def test_accuracy_alt_gives_every_number():
    alt = lengths.accuracy_lines((32, 128), FOUND, 0.125).alt
    assert "lengths 32, 128." in alt and "ALiBi: 1.00, 0.99; rotary: 1.00, 0.70." in alt


def test_labels_of_lines_that_end_together_stand_apart(monkeypatch):
    places = {}
    monkeypatch.setattr(
        style, "label_end", lambda ax, line, text, dy=0: places.update({text.split()[0]: dy})
    )
    lengths.accuracy_lines((32, 128), FOUND, 0.125)
    assert places["ALiBi"] == 0 and places["sinusoid"] != places["learned"]

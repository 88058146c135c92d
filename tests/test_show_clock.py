"""The still view of the clock: its numbers are those of the explorable's first view."""

import math
import re

import pytest
from matplotlib.axes import Axes
from pictures import assert_vector

from course_lib.show.clock import clock_view
from course_lib.show.explorables import defaults


def test_view_is_vector_fits_the_page_and_draws_the_same_twice():
    assert_vector(clock_view)


def test_view_shows_what_the_explorable_starts_with():
    state, alt = defaults("clock"), clock_view().alt
    (a, b), (c, d) = state["query"], state["key"]
    frequency = state["base"] ** (-2 * state["pair"] / state["D"])
    for place in (state["t"], state["t"] + state["k"]):
        sine, cosine = math.sin(place * frequency), math.cos(place * frequency)
        assert f"position {place} has sine {sine:.3f} and cosine {cosine:.3f}" in alt
    between = state["k"] * frequency
    assert f"{between:g} radians between them" in alt
    score = (a * c + b * d) * math.cos(between) + (a * d - b * c) * math.sin(between)
    assert f"their product is {score:.3f} for every t from 0 to 30." in alt


def test_view_shows_the_given_vectors_and_the_product_as_lengths_times_a_cosine(monkeypatch):
    written = []
    monkeypatch.setattr(Axes, "text", lambda self, x, y, s, **look: written.append(s))
    monkeypatch.setattr(Axes, "set_xlabel", lambda self, s: written.append(s))
    clock_view()
    assert {"k = [1, 2]", "q = [2, 1]"} <= set(written)
    (shown,) = [s for s in written if s.startswith("q · k")]
    lengths, angle, product = map(float, re.findall(r"\d+(?:\.\d+)?", shown)[:3])
    assert lengths == 5 and lengths * math.cos(angle) == pytest.approx(product, abs=5e-3)


def test_hands_differ_by_line_style_as_well():
    svg = clock_view().svg
    assert "stroke-dasharray" in svg and svg.count("#0077bb") and svg.count("#b85c00")

"""The still view of the routes: its numbers are those of the explorable's first view."""

import math
import re

from pictures import assert_vector

from course_lib.show.explorables import defaults
from course_lib.show.routes import routes_view


def test_view_is_vector_fits_the_page_and_draws_the_same_twice():
    assert_vector(routes_view)


def test_view_shows_what_the_explorable_starts_with():
    state, alt = defaults("routes"), routes_view().alt
    assert (state["heads"], state["times"]) == ("both", 1)
    assert f"from the query {state['query']}" in alt
    i = state["words"].index(state["query"])
    for h, name in enumerate("AB"):
        powers = [math.exp(state["q"][h][i] * key) for key in state["k"][h]]
        weights = [power / sum(powers) for power in powers]
        said = ", ".join(f"{w} {p:.2f}" for w, p in zip(state["words"], weights, strict=True))
        assert f"head {name}: {said}" in alt
        brings = sum(w * v for w, v in zip(weights, state["v"], strict=True))
        assert re.search(rf"[Hh]ead {name}( brings)? {brings:.2f} to the", alt)


def test_heads_differ_by_line_style_as_well():
    svg = routes_view().svg
    assert "stroke-dasharray" in svg and svg.count("#0077bb") and svg.count("#b85c00")

"""The still view of the offsets: its numbers are those of the explorable's first view."""

import math

from pictures import assert_vector

from course_lib.show.explorables import defaults
from course_lib.show.offsets import offsets_view


def test_view_is_vector_fits_the_page_and_draws_the_same_twice():
    assert_vector(offsets_view)


def test_view_shows_what_the_explorable_starts_with():
    state, alt = defaults("offsets"), offsets_view().alt
    D = state["D"]
    for offset in (0, state["offset"], -state["offset"]):
        value = sum(math.cos(offset * state["base"] ** (-2 * i / D)) for i in range(D // 2))
        assert f"{value:.2f} at offset {offset}" in alt
    assert f"the products of {state['T']} encodings, D = {D}" in alt

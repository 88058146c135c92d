"""The still view of the stepper: its numbers are those of the direct softmax, tile by tile."""

import torch
from pictures import assert_vector

from course_lib.show.explorables import defaults
from course_lib.show.stepper import stepper_view


def test_view_is_vector_fits_the_page_and_draws_the_same_twice():
    assert_vector(stepper_view)


def test_view_shows_what_the_explorable_starts_with():
    state, alt = defaults("stepper"), stepper_view().alt
    plan = state["plans"][state["plan"]]
    assert state["broken"] == "nothing" and plan["order"] == [0, 1, 2, 3] and plan["lower"] == 0
    row, v = (torch.tensor(state[name], dtype=torch.float64) for name in ("scores", "v"))
    assert f"The scores of one row, {', '.join(map(str, state['scores']))}, read" in said(alt)
    for i, first in enumerate(range(0, len(row), plan["tile"])):
        keys = row[: first + plan["tile"]]
        top, out = keys.max(), keys.softmax(0) @ v[: len(keys)]
        row_sum = (keys - top).exp().sum()
        before = row[:first].max() if first else torch.tensor(-torch.inf)
        numbers = f"row_max {top:.0f}, rescale {short((before - top).exp())}, "
        numbers += f"row_sum {row_sum:.3f}, acc {out * row_sum:.3f}, acc / row_sum {out:.3f}"
        assert f"tile {i + 1}: {numbers}" in said(alt)
    assert "In tile 2 and tile 4 the maximum rises" in alt


def said(alt: str) -> str:
    return alt.replace("−", "-")


def short(number: torch.Tensor) -> str:
    return f"{number:.0f}" if number in (0, 1) else f"{number:.3f}"

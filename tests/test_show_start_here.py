"""The charts of chapter 00 say in words the numbers that they draw."""

import pytest
import torch

from course_lib.show import start_here


def test_opening_is_the_same_each_time_and_says_what_it_shows():
    first, second = start_here.opening(), start_here.opening()
    assert first.svg == second.svg
    assert "passes 4 arrows" in first.alt and "meets the column of “keys” in one cell" in first.alt


def test_depth_lines_name_what_grows_and_what_stays():
    picture = start_here.depth_lines([4, 64], {"chain": [43, 643], "table": [22, 22]})
    assert "chain: 43 at T = 4, 643 at T = 64" in picture.alt
    assert "table: 22 at T = 4, 22 at T = 64" in picture.alt
    assert "<!-- chain: a longer chain for every token; table: 22 at any length -->" in picture.svg


def test_gradient_lines_say_first_and_last_and_their_ratio():
    norms = {"chain": torch.logspace(-10, 0, 12), "table": torch.full((12,), 0.5)}
    picture = start_here.gradient_lines(norms)
    assert "chain: 1.0e-10 at the first input, 1.0e+00 at the last" in picture.alt
    assert "table: 5.0e-01 at the first input, 5.0e-01 at the last" in picture.alt
    assert "<!-- chain: the first input's gradient is 1e-10 times the last's -->" in picture.svg


def test_gradient_lines_title_speaks_of_the_model_asked_for():
    norms = {"chain": torch.logspace(-10, 0, 12), "open chain": torch.linspace(2, 1, 12)}
    picture = start_here.gradient_lines(norms, about="open chain")
    assert "<!-- open chain: the first input's gradient is 2 times the last's -->" in picture.svg
    with pytest.raises(ValueError, match=r"about must be one of .*'open chain'.*'open'"):
        start_here.gradient_lines(norms, about="open")


@pytest.mark.parametrize("models", [1, 2, 3])
@pytest.mark.parametrize("T", [9, 48])
def test_gradient_lines_name_up_to_three_models_and_the_last_position(models, T):
    norms = {f"model {i}": torch.logspace(-i - 1, 0, T) for i in range(models)}
    picture = start_here.gradient_lines(norms)
    assert all(f"<!-- {name} -->" in picture.svg for name in [*norms, T - 1])


def test_models_differ_in_style_marker_and_shade():
    for part in ("color", "linestyle", "marker"):
        assert len({look[part] for look in start_here.LINES}) == len(start_here.LINES)


def test_loudness_line_says_both_ends():
    picture = start_here.loudness_line([1, 24], [0.86, 2.4e-5])
    assert "0.86 at loudness 1, 2.4e-05 at 24" in picture.alt


def test_lookup_grid_says_every_weight_and_what_comes_back():
    weights = torch.tensor([[0.75, 0.25], [0.5, 0.5]])
    picture = start_here.lookup_grid(["loud", "silent"], {"tea": 2, "cake": 5}, weights, [2.75, 3])
    assert "loud: tea 0.75, cake 0.25; returns 2.75" in picture.alt
    assert "silent: tea 0.50, cake 0.50; returns 3.00" in picture.alt

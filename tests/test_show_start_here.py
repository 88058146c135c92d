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


def test_gradient_lines_say_first_and_last_and_the_orders_lost():
    norms = {"chain": torch.logspace(-10, 0, 12), "table": torch.full((12,), 0.5)}
    picture = start_here.gradient_lines(norms)
    assert "chain: 1.0e-10 at the first input, 1.0e+00 at the last" in picture.alt
    assert "table: 5.0e-01 at the first input, 5.0e-01 at the last" in picture.alt
    title = "chain: the gradient falls by 10 orders of magnitude over 12 tokens"
    assert f"<!-- {title} -->" in picture.svg


@pytest.mark.parametrize("models", [1, 2, 3])
def test_gradient_lines_take_up_to_three_models(models):
    norms = {f"model {i}": torch.logspace(-i - 1, 0, 9) for i in range(models)}
    picture = start_here.gradient_lines(norms)
    assert all(f"<!-- {name} -->" in picture.svg for name in norms)


def test_loudness_line_says_both_ends():
    picture = start_here.loudness_line([1, 24], [0.86, 2.4e-5])
    assert "0.86 at loudness 1, 2.4e-05 at 24" in picture.alt


def test_lookup_grid_says_every_weight_and_what_comes_back():
    weights = torch.tensor([[0.75, 0.25], [0.5, 0.5]])
    picture = start_here.lookup_grid(["loud", "silent"], {"tea": 2, "cake": 5}, weights, [2.75, 3])
    assert "loud: tea 0.75, cake 0.25; returns 2.75" in picture.alt
    assert "silent: tea 0.50, cake 0.50; returns 3.00" in picture.alt

"""The charts of chapter 02: their descriptions say what the numbers say."""

import re

import pytest
import torch
from pictures import assert_vector

from course_lib.show import attention as charts

WIDTHS = 2 ** torch.arange(2, 13)


def rows(*, falling: bool) -> torch.Tensor:
    measured = torch.tensor([5.4, 0.1, 0.17, 0.006, 0.2]).repeat(len(WIDTHS), 1)
    return measured * torch.logspace(0, -6, len(WIDTHS))[:, None] if falling else measured


PICTURES = {
    "opening": charts.opening,
    "variance": lambda: charts.variance_line(WIDTHS, WIDTHS * 1.02),
    "lines": lambda: charts.saturation_lines(WIDTHS, rows(falling=True), rows(falling=False)),
    "view": charts.saturation_view,
    "maps": lambda: charts.weight_maps(
        ["a b", "b c"],
        [torch.tensor([[0.9, 0.1], [0.7, 0.3]]), torch.tensor([[0.2, 0.8]] * 2)],
        "b",
    ),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw, least=500, raster=draw is PICTURES["maps"])


def test_variance_alt_states_the_worst_point():
    off = WIDTHS.float()
    off[3] *= 1.04
    assert "within 4 percent" in charts.variance_line(WIDTHS, off).alt
    off[3] *= 1.0005
    assert "within 5 percent" in charts.variance_line(WIDTHS, off).alt


def test_saturation_alt_follows_the_numbers():
    alt = charts.saturation_lines(WIDTHS, rows(falling=True), rows(falling=False)).alt
    assert "entropy falls from 5.4 to 0.0 bits" in alt
    assert "the gradient at the typical key from 0.006 to 6e-09" in alt


def test_weight_maps_alt_says_what_the_word_reads():
    alt = PICTURES["maps"]().alt
    assert "in “a b” it reads a most, with 0.70" in alt
    assert "in “b c” it reads c most, with 0.80" in alt


def test_opening_output_lies_nearest_to_the_value_of_the_best_key():
    assert "nearest to value 0" in charts.opening().alt


def numbers(alt: str, after: str) -> torch.Tensor:
    listed = re.search(after + r"((?:-?\d+\.\d+(?:, )?)+)", alt)[1]
    return torch.tensor([float(number) for number in listed.split(", ") if number])


def test_opening_weights_follow_from_the_scores_as_printed():
    alt = charts.opening().alt
    answers = numbers(alt, "divided by the root of 2, ")
    weights = numbers(alt, "softmax weights ")
    assert len(answers) == len(weights) == 4
    assert answers.softmax(0).mul(100).round().equal(weights.mul(100).round())
    assert round(weights.sum().item(), 2) == 1


def test_view_prints_the_scores_that_give_its_weights():
    alt = charts.saturation_view().alt
    assert "at Dh 64" in alt
    for scores, weights in (
        ("Undivided, the scores ", "give the weights "),
        ("root of Dh, the scores ", r" give (?=\d)"),
    ):
        found = numbers(alt, scores).softmax(0)
        assert len(found) == 8
        assert (found - numbers(alt, weights)).abs().max() < 0.006

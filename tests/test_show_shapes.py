"""The charts of chapter 01 say what they draw."""

import re

import pytest

from course_lib.shapes import plan
from course_lib.show.shapes import CHOICES, blocks, choices, crossing, opening, silent, size


def test_opening_is_the_same_each_time_and_says_what_it_shows():
    first, second = opening(), opening()
    assert first.svg == second.svg and first.svg.lstrip().startswith("<?xml")
    assert "Only scores and weights have Tq rows and Tk columns" in first.alt


def test_blocks_speak_from_the_ledger():
    alt = blocks(plan(B=1, H=3, Tq=2, Tk=7, Dh=5, Dv=4)).alt
    assert "One of 3 heads" in alt
    assert "k transposed [Dh, Tk] = 5 by 7" in alt
    assert "v [Tk, Dv] = 7 by 4" in alt and "out [Tq, Dv] = 2 by 4" in alt


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (3, 5, 4), (12, 12, 12), (40, 60, 30)], ids=lambda s: "x".join(map(str, s))
)
def test_blocks_fit_a_narrow_notebook(sizes):
    Tq, Tk, Dh = sizes
    svg = blocks(plan(B=1, H=2, Tq=Tq, Tk=Tk, Dh=Dh)).svg
    assert float(re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)[1]) <= 560


def test_crossing_finds_where_the_square_overtakes():
    drawn = crossing([16, 32, 64], [64, 128, 256], [32, 128, 512])
    assert "at T = 32;" in drawn.alt and "they take 2 times as much, 512 B" in drawn.alt
    assert "Beyond T = 32 " in drawn.svg  # at 32 itself they are equal


def test_crossing_needs_lines_that_cross():
    with pytest.raises(ValueError, match="lengths: expected the lines to cross"):
        crossing([16, 32], [100, 200], [1, 2])


def test_silent_says_each_count():
    alt = silent({"all differ": 1, "all equal": 6}, lines=6).alt
    assert "of 6 wrong lines" in alt and "all differ: 1; all equal: 6" in alt


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (3 * 2**19, "1.5 MiB"), (2**42, "4096 GiB")],
)
def test_size_is_readable(count, text):
    assert size(count) == text


def test_choices_name_their_source():
    assert len({choice for choice, *_ in CHOICES}) == len(CHOICES)
    for _, then, now, source in CHOICES:
        assert then and now and re.search(r"\d{4}$", source)
    assert all(choice in repr(choices()) for choice, *_ in CHOICES)

"""The charts of chapter 07, and what is drawn from a run on a card."""

import pytest
import torch
from pictures import assert_vector

from course_lib.show import kernel as charts
from course_lib.show import roofline

TOUCHED = [torch.arange(16), torch.arange(16, 32), torch.arange(32, 37)]
READ = torch.tensor([[j <= i + 1 for j in range(5)] for i in range(4)])
MASKED = torch.tensor([[j >= i for j in range(5)] for i in range(4)])
READS = {"full": torch.full((256,), 4), "causal": 4 - torch.arange(256) // 64}
POINTS = {"decode": 1.0, "naive": 30.1, "no cache, 64 queries": 60.2, "perfect cache": 508.0}
H100 = roofline.CARDS[1]


def timed(way, T, tflops, **other):
    """A row as benchmarks/gpu.py writes it."""
    sizes = {"B": 16384 // T, "H": 16, "Hkv": 16, "Tq": T, "Tk": T, "Dh": 128}
    kind = {"causal": False, "backward": False}
    return {"way": way, **sizes, **kind, "ms": 1.0, "tflops": tflops} | other


STORED = {
    "date": "2026-12-01",
    "machine": {"card": "NVIDIA H200", "torch": "2.13.0", "triton": "3.7.1"},
    "repeats": 20,
    "dtype": "bfloat16",
    "checks": [{"case": "a", "error": 1e-7}, {"case": "b", "left_out": "no time left"}],
    "rows": [
        timed("kernel", 1024, 200.0),
        timed("kernel", 4096, 250.0),
        timed("SDPA flash", 1024, 400.0),
        timed("SDPA flash", 4096, 500.0),
        timed("SDPA flash", 4096, 900.0, causal=True),
        timed("kernel", 4096, 900.0, backward=True),
        {"way": "flex", "Tq": 1024, "Tk": 1024, "Dh": 128, "causal": False, "failed": "TypeError"},
    ],
}

PICTURES = {
    "opening": charts.opening,
    "lanes": lambda: charts.lanes(TOUCHED, 37, 16),
    "tiles": lambda: charts.key_tiles(READ, MASKED, (250, 320)),
    "reads": lambda: charts.key_reads(READS, 64),
    "roofline": lambda: roofline.roofline(POINTS, H100),
    "roofline, measured": lambda: roofline.roofline(POINTS, H100, {"kernel": 250.0}),
    "speeds": lambda: roofline.speed_lines(STORED),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_chart_is_vector_fits_the_page_and_draws_the_same_twice(draw):
    assert_vector(draw)


def titles(monkeypatch, draw) -> list[str]:
    """What a chart writes as its title."""
    written = []
    monkeypatch.setattr(charts.Axes, "set_title", lambda self, text, **look: written.append(text))
    draw()
    return written


def test_lanes_count_those_that_are_off(monkeypatch):
    assert titles(monkeypatch, PICTURES["lanes"]) == [
        "3 programs of 16 lanes: 11 lanes of the last are off"
    ]
    assert "program 2 touches 32 to 36. 11 lanes" in charts.lanes(TOUCHED, 37, 16).alt


def test_tiles_are_counted_as_read_whole_with_a_mask_or_not_at_all(monkeypatch):
    said = []
    monkeypatch.setattr(charts.style, "headline", lambda fig, text: said.append(text))
    alt = charts.key_tiles(READ, MASKED, (250, 320)).alt
    assert said == ["Of 20 tiles 14 are read, 8 of them with a mask"]
    assert "tile 0 reads 0 to 1; tile 1 reads 0 to 2" in alt and "8 need a mask" in alt
    empty = torch.zeros(1, 5, dtype=torch.bool)
    assert "tile 0 reads none." in charts.key_tiles(empty, empty, (64, 320)).alt


def test_reads_of_keys_name_the_first_and_the_last(monkeypatch):
    assert titles(monkeypatch, PICTURES["reads"]) == [
        "Causal: the first key is read 4 times, the last once"
    ]
    assert "causal: 4 times at the first key, 1 at the last." in charts.key_reads(READS, 64).alt


def test_a_card_is_bound_by_memory_below_its_ridge_and_by_arithmetic_above():
    for card in roofline.CARDS:
        assert card.at_most(card.ridge / 2) == pytest.approx(card.tflops / 2)
        assert card.at_most(card.ridge * 2) == card.tflops
    assert round(H100.ridge) == 295
    assert roofline.card_of("NVIDIA H200") is roofline.CARDS[2]
    assert roofline.card_of("NVIDIA L4") is None
    assert len(roofline.cards_table().rows) == len(roofline.CARDS)


def test_roofline_counts_what_stands_below_the_ridge(monkeypatch):
    assert titles(monkeypatch, PICTURES["roofline"]) == [
        "H100: 3 of these 4 are bound by slow memory"
    ]
    alt = roofline.roofline(POINTS, H100, {"kernel": 250.0}).alt
    assert "naive at 30.1 FLOPs a byte may reach 101 TFLOP/s" in alt
    assert "kernel reached 250 TFLOP/s when measured" in alt


def test_no_name_lies_across_the_ridge(monkeypatch):
    said = []
    monkeypatch.setattr(
        charts.Axes, "annotate", lambda self, text, at, *args, **look: said.append((text, at, look))
    )
    roofline.roofline(POINTS, H100)
    left = [text for text, _, look in said if look.get("ha") == "right"]
    assert left == ["no cache, 64 queries: 60.2"]
    assert "perfect cache:\n508" in [text for text, *_ in said]


def test_speeds_leave_out_what_has_no_time_and_say_where_they_come_from(monkeypatch):
    picture = roofline.speed_lines(STORED)
    assert "heads of 128; the best of each: kernel 250; SDPA flash 500." in picture.alt
    assert "NVIDIA H200" in picture.caption and "1 of 2 results right" in picture.caption
    assert titles(monkeypatch, PICTURES["speeds"]) == [
        "The kernel reaches 50% of the fastest, SDPA flash"
    ]
    with pytest.raises(ValueError, match="stored: expected timed rows of Dh 64, found none"):
        roofline.speed_lines(STORED, Dh=64)

"""The benchmark script, at sizes that take no time: every way computes the same, and is read."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench", ROOT / "benchmarks" / "tiling.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_all_ways_compute_the_same(bench, is_causal, backward):
    first, *others = (bench.run(way, 70, is_causal, backward)() for way in bench.WAYS)
    for other in others:
        torch.testing.assert_close(other, first, rtol=1e-4, atol=1e-5)


def test_every_way_is_timed_in_every_round(bench):
    taken = bench.seconds(16, True, True, rounds=3)
    assert {way: len(times) for way, times in taken.items()} == dict.fromkeys(bench.WAYS, 3)
    assert all(time > 0 for times in taken.values() for time in times)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="reads Linux's /proc")
def test_memory_counts_the_scores_of_the_naive_form_and_none_of_the_tiled(bench):
    T = 1024
    scores, out = (4 * bench.H * T * n for n in (T, bench.DH))
    naive, tiled = (bench.extra_memory(way, T, False, False, 1) for way in ("naive", "tiled"))
    assert 2 * scores < naive < 4 * scores
    assert out <= tiled < out + scores / 2


def test_the_stored_measurement_says_where_it_comes_from(bench):
    stored = json.loads(bench.STORED.read_text())
    assert (
        stored["machine"]["torch"]
        and stored["date"]
        and "benchmarks/tiling.py" in stored["command"]
    )
    assert {row["way"] for row in stored["rows"]} == set(bench.WAYS)

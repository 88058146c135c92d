"""The script for a card, run without one: every line that a CPU can run, at tiny sizes."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from course_lib import flash

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "gpu.py"


@pytest.fixture(scope="module")
def gpu():
    spec = importlib.util.spec_from_file_location("gpu", SCRIPT)
    sys.modules["gpu"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments):
    """The script in the process of its own that it is made for, in the simulator."""
    command = [sys.executable, "-W", "ignore", SCRIPT, *arguments]
    environment = os.environ | {"COURSE_KERNEL": "simulator", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=150
    )


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu") / "new" / "gpu.json"
    done = run("--dry", "--repeats", "2", "--workers", "1", "--out", out)
    assert not done.returncode, done.stderr
    assert "12 of 12 results are right" in done.stdout
    return json.loads(out.read_text())


def test_without_a_card_it_says_so_in_one_line():
    done = run()
    assert done.returncode == 1 and "needs a CUDA card" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout


def test_the_record_says_where_it_comes_from(record):
    assert record["date"] and "benchmarks/gpu.py --dry" in record["command"]
    assert record["machine"]["torch"] == torch.__version__ and record["machine"]["card"] == "none"
    assert all(x > 0 for x in record["ceilings"].values())


def test_every_way_has_a_row_in_every_case_with_times_or_a_reason(record, gpu):
    rows = record["rows"]
    cases = gpu.cases(dry=True)
    forward = [case for case in cases if not case.backward]
    assert len(rows) == len(gpu.WAYS) * len(cases) - (len(cases) - len(forward))
    by_way = {way: [row for row in rows if row["way"] == way] for way in gpu.WAYS}
    for way in ("kernel", "tuned kernel", "SDPA flash", "SDPA math"):
        for row in by_way[way]:
            assert row["ms"] > 0 and row["spread"] >= 0 and row["of_matmul"] > 0, row
    for way in ("SDPA cuDNN", "SDPA efficient"):
        assert all("backend" in row["failed"] for row in by_way[way]), "a CPU has none of them"
    assert [row["way"] for row in rows[-len(cases) :]] == ["flex"] * len(cases)


def test_the_sweep_tells_the_best_tiles_of_each_case():
    done = run("--dry", "--sweep", "--repeats", "2")
    assert not done.returncode, done.stderr
    assert done.stdout.count("best for") == 4


def test_when_the_time_is_up_the_rest_is_left_out(gpu):
    case = gpu.Case(1, 1, 1, 20, 20, 16)
    past = time.time() - 1
    assert "left_out" in gpu.check(case, "float32", 0, past)
    assert "left_out" in gpu.measure("kernel", case, {}, 2, past)
    large = gpu.Case(1, 16, 16, 16384, 16384, 128)
    row = gpu.measure("SDPA math", large, {}, 2, math.inf)
    assert row["left_out"] == "its scores would take 17 GB"


@pytest.mark.parametrize("is_causal", [False, True])
def test_flops_are_those_of_the_pairs_that_are_read(gpu, is_causal):
    B, H, Tq, Tk, Dh = 2, 3, 5, 7, 16
    keep = torch.ones(Tq, Tk).tril(Tk - Tq if is_causal else Tk)
    forward = gpu.Case(B, H, 1, Tq, Tk, Dh, is_causal)
    backward = gpu.Case(B, H, 1, Tq, Tk, Dh, is_causal, True)
    assert forward.flops == 4 * B * H * Dh * keep.sum() and backward.flops == 2.5 * forward.flops
    assert forward.nbytes == 2 * B * Dh * (2 * H * Tq + 2 * Tk)


def test_fresh_inputs_lie_between_nans_and_new_memory_holds_them(gpu):
    x = gpu.surrounded(torch.arange(6.0).view(2, 3))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x.is_contiguous()
    before = torch.as_strided(x, (1,), (1,), x.storage_offset() - 1)
    behind = torch.as_strided(x, (1,), (1,), x.storage_offset() + 6)
    assert before.isnan() and behind.isnan()
    with gpu.poisoned():
        assert torch.empty_like(x).isnan().all() and x.new_empty(3).isnan().all()
    assert not torch.are_deterministic_algorithms_enabled()


FAULTS = {
    "nothing written": lambda *_: None,
    "a half": lambda q, k, v, out, lse, *_: out.copy_(v[:, :1]),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_kernel_that_is_wrong_is_told(gpu, monkeypatch, fault):
    case = gpu.Case(1, 2, 1, 20, 20, 16)
    assert "failed" not in gpu.check(case, "float32", 0, math.inf)
    launch = {None: lambda *args, **_: fault(*args)}

    class Forward:
        def __getitem__(self, grid):
            return launch[None]

    monkeypatch.setattr(flash.kernel, "forward", Forward())
    assert "out is off by" in gpu.check(case, "float32", 0, math.inf)["failed"]


def test_a_way_that_computes_something_else_is_no_rival(gpu, monkeypatch):
    monkeypatch.setitem(gpu.WAYS, "flex", lambda case: lambda q, k, v: v + 1)
    row = gpu.measure("flex", gpu.Case(1, 2, 2, 20, 20, 16), {}, 2, math.inf)
    assert "from the kernel's" in row["failed"]


class Event:
    """A card's event, without a card: it is recorded one millisecond after the one before."""

    clock = 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        Event.clock += 1
        self.at = Event.clock

    def elapsed_time(self, end):
        return float(end.at - self.at)


def test_the_lines_that_only_a_card_runs(gpu, monkeypatch):
    card = SimpleNamespace(
        name="none", major=9, minor=0, multi_processor_count=132, total_memory=2**37,
        L2_cache_size=50 * 2**20,
    )  # fmt: skip
    waited = []
    assert callable(torch.cuda._sleep)
    monkeypatch.setattr(torch.cuda, "_sleep", waited.append)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)
    monkeypatch.setattr(gpu, "DEVICE", "cuda")
    called = []
    taken = gpu.milliseconds([lambda: called.append(0), lambda: called.append(1)], 6)
    assert taken == [1.0] * 6 and waited == [6_000_000]
    assert called == [0, 1, 0, *([0, 1] * 3)]  # three that do not count
    assert gpu.machine()["cache"] == "50 MiB" and gpu.machine()["capability"] == "9.0"


def test_inputs_change_from_call_to_call(gpu):
    calls = gpu.prepare("kernel", gpu.Case(1, 2, 1, 20, 30, 16))
    assert len(calls) == 2 and not torch.equal(calls[0](), calls[1]())


def test_a_reason_is_one_line(gpu):
    assert gpu.reason(RuntimeError("\n first\nsecond")) == "RuntimeError: first"
    assert gpu.reason(RuntimeError()) == "RuntimeError: "


def test_the_stored_measurement_is_of_a_card(gpu):
    if not gpu.STORED.exists():
        pytest.skip("no card has run it yet: make gpu")
    stored = json.loads(gpu.STORED.read_text())
    assert stored["machine"]["card"] != "none" and "--dry" not in stored["command"]
    assert not any("failed" in line for line in stored["checks"])
    assert {row["way"] for row in stored["rows"]} == set(gpu.WAYS)

"""A Dask cluster grades as one machine does; what goes wrong on a worker costs nobody points."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from a_class import LOOPS, RIGHT, hand_in, reports

from course_lib.__main__ import main
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.pool import Task

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
cluster = pytest.importorskip("course_lib.grading.cluster")

ROOT = Path(__file__).parents[1]
KEY = b"0123456789abcdef" * 4


@pytest.fixture
def local(monkeypatch):
    """Starts clusters of worker processes on this machine, and ends them."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    begun = []

    def start(workers: int = 2, threads: int = 1) -> distributed.LocalCluster:
        begun.append(
            distributed.LocalCluster(
                n_workers=workers, threads_per_worker=threads, dashboard_address=None,
                worker_dashboard_address=None,
            )
        )  # fmt: skip
        return begun[-1]

    yield start
    for one in begun:
        one.close()


def task(student: str, source: str) -> Task:
    return Task(Submission(student, "02", f"{student}/02_attention.py", source.encode()), ["02.1"])


def graders() -> list[psutil.Process]:
    """The processes below this one in which a student's code may run."""
    found = psutil.Process().children(recursive=True)
    return [p for p in found if p.is_running() and "warm" in " ".join(p.cmdline())]


def test_a_cluster_makes_the_gradebook_of_one_machine(local, tmp_path):
    given = ["grade", str(hand_in(tmp_path / "class")), "--key", str(tmp_path / "key")]
    assert main([*given, "--jobs", "1", "--out", str(tmp_path / "alone")]) == 0
    address = local().scheduler_address
    full = ["--require-isolation", "full"] if sys.platform == "linux" else []
    assert main([*given, "--dask", address, *full, "--out", str(tmp_path / "together")]) == 0
    assert reports(tmp_path / "together") == reports(tmp_path / "alone")
    assert not graders(), "a worker kept its grader"


def test_a_worker_of_several_threads_is_refused(local):
    with pytest.raises(cluster.ClusterError, match="--nthreads 1"):
        list(cluster.graded([task("ana", RIGHT)], KEY, local(1, threads=2).scheduler_address))


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECTING", "1s")
    with pytest.raises(cluster.ClusterError, match="no scheduler answers"):
        list(cluster.graded([task("ana", RIGHT)], KEY, "tcp://127.0.0.1:9"))
    with pytest.raises(cluster.ClusterError, match="no scheduler answers"):
        list(cluster.graded([task("ana", RIGHT)], KEY, "nonsense"))


def test_a_cluster_without_workers(local, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECTING", "1s")
    with pytest.raises(cluster.ClusterError, match="has no worker"):
        list(cluster.graded([task("ana", RIGHT)], KEY, local(0).scheduler_address))


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_ends_its_worker_is_not_graded_and_the_others_are(local):
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        address = local(1).scheduler_address
        tasks = [task("eva", LOOPS), task("ana", RIGHT)]
        with distributed.Client(address) as client:
            [worker] = client.run(os.getpid).values()
        rows = cluster.graded(tasks, KEY, address)

        def kill() -> None:
            while len(graders()) < 2:  # one that forks, and its child
                time.sleep(0.05)
            time.sleep(0.5)
            os.kill(worker, signal.SIGKILL)

        threading.Thread(target=kill).start()
        found = {one.student: row for one, row in rows if row is not None}
    assert found["eva"]["status"] == "not graded" and found["eva"]["points"] is None
    assert "KilledWorker" in found["eva"]["note"]
    assert found["ana"]["points"] == 7


def test_an_error_on_a_worker_is_no_zero():
    def fails():
        raise MemoryError("no room")

    future, client = SimpleNamespace(result=fails), SimpleNamespace(status="running")
    [row] = cluster._told(future, task("ana", RIGHT), KEY, client)
    assert row["status"] == "not graded" and row["points"] is None and "no room" in row["note"]
    with pytest.raises(cluster.ClusterError, match="--resume"):
        cluster._told(future, task("ana", RIGHT), KEY, SimpleNamespace(status="closed"))

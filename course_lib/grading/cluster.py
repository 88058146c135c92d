"""The same grading on a cluster of Dask: each worker keeps a grader, which has confined children.

The key and what was handed in travel to the workers. So the cluster is one of your own, behind
`tls://` where others can listen, and the course is installed on its scheduler and its workers.
"""

import contextlib
import os
import uuid
from collections import deque
from collections.abc import Iterable, Iterator

import torch
from distributed import Client, Future, Worker, WorkerPlugin, as_completed, get_worker

from course_lib.checks import find
from course_lib.grading.confined.process import GraderFault
from course_lib.grading.doctor import lacking
from course_lib.grading.grade import Grader
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.pool import Task, not_graded
from course_lib.grading.row import version

CONNECTING = "30s"
SLOTS = 20_000  # the users that answers run as on a worker begin here: after those of a pool


class ClusterError(GraderFault):
    """A cluster that can't grade; says why."""


def graded(
    tasks: Iterable[Task], key: bytes, address: str, full: bool = False
) -> Iterator[tuple[Submission, dict | None]]:
    """The rows of every task, in whichever order they come; after its last one, None.

    With `full`, a worker without full isolation grades nothing.
    """
    waiting, running, name = deque(tasks), {}, f"course_lib-grader-{uuid.uuid4().hex}"
    kept = Kept(key, version(), full, name)
    with contextlib.closing(_client(address)) as client, _keeping(kept, client, address):
        done = as_completed(loop=client.loop)
        while waiting or running:
            for _ in range(min(len(waiting), _room(client) - len(running))):
                task = waiting.popleft()
                future = client.submit(rows, task.submission, task.questions, name, pure=False)
                running[future.key] = task
                done.add(future)
            future = next(done)
            task = running.pop(future.key)
            yield from ((task.submission, row) for row in _told(future, task, key, client))
            yield task.submission, None


class Kept(WorkerPlugin):
    """What a worker keeps from one submission to the next: its grader."""

    def __init__(self, key: bytes, version: str, full: bool, name: str):
        self.key, self.version, self.full, self.name = key, version, full, name

    def setup(self, worker: Worker) -> None:
        """Begin when the worker joins, or refuse to."""
        if worker.state.nthreads != 1:
            # Printed text, warnings and torch's random numbers belong to a process, not a thread.
            raise ClusterError("a worker with several threads: start it with --nthreads 1")
        if version() != self.version:
            raise ClusterError("a worker with another version of the course")
        if self.full and (missing := lacking()):
            raise ClusterError(f"a worker without full isolation: {missing} is missing")
        self.grader = Grader(self.key, SLOTS + os.getpid() % SLOTS)

    def teardown(self, worker: Worker) -> None:
        """End when the grading does."""
        if hasattr(self, "grader"):
            self.grader.close()


def rows(submission: Submission, questions: list[str], name: str) -> list[dict]:
    """On a worker: what its grader says about one submission."""
    torch.set_num_threads(1)
    grader: Grader = get_worker().plugins[name].grader
    return list(grader.rows(submission, [find(question) for question in questions]))


def _client(address: str) -> Client:
    try:
        return Client(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"--dask {address}: no scheduler answers there ({error})") from error


@contextlib.contextmanager
def _keeping(kept: Kept, client: Client, address: str) -> Iterator[None]:
    """A grader on every worker, those that join later included, and on none afterwards."""
    try:
        client.wait_for_workers(1, timeout=CONNECTING)
    except TimeoutError as error:
        raise ClusterError(f"--dask {address}: the cluster has no worker") from error
    try:
        try:
            client.register_plugin(kept)
        except (GraderFault, ImportError, OSError) as error:
            raise ClusterError(f"--dask {address}: {error}") from error
        yield
    finally:
        if client.status == "running":
            client.unregister_worker_plugin(kept.name)


def _room(client: Client) -> int:
    """How many tasks the cluster is given at a time; workers come and go.

    One each: of a worker that dies, Dask suspects every task that it had.
    """
    return max(1, len(client.nthreads()))


def _told(future: Future, task: Task, key: bytes, client: Client) -> Iterable[dict]:
    """The rows of a task that has ended, one way or the other."""
    try:
        return future.result()
    except Exception as error:
        if client.status != "running":
            raise ClusterError("The cluster is gone. Go on with --resume.") from error
        return not_graded(task, key, f"Its worker failed: {type(error).__name__}: {error}"[:500])

"""One grader a core: submissions go in, rows come out as they are ready, and no crash ends it."""

import contextlib
import multiprocessing
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait

import psutil
import torch

from course_lib.checks import find
from course_lib.grading.confined.confine import WALLS
from course_lib.grading.confined.process import GraderFault, Warm
from course_lib.grading.grade import Grader
from course_lib.grading.handed_in.collect import Submission
from course_lib.grading.interrupts import unheard
from course_lib.grading.row import blank

ATTEMPTS = 2  # a submission that ends a grader's own process twice isn't graded
FORKS = sys.platform == "linux"  # after torch, only there is it safe
DIED = "The process that graded it ended twice."
BEGUN, NEVER_BEGAN = "begun", "A grader doesn't start here. Why? Ask: grade doctor"


@dataclass
class Task:
    """A submission, the ids of the questions to grade, and how often it was begun."""

    submission: Submission
    questions: list[str]
    attempts: int = 0


def graded(
    tasks: Iterable[Task], key: bytes, jobs: int, walls: tuple[str, ...] = WALLS
) -> Iterator[tuple[Submission, dict | None]]:
    """The rows of every task, in whichever order they come; after its last one, None.

    Each job is a process of its own, so what ends one ends neither the others nor this one.
    """
    waiting = deque(tasks)
    warm, workers, patience = None, [], 0.0
    try:
        with unheard():
            warm = _begin(walls) if FORKS and waiting else None
        workers += [_Worker(key, slot, walls, warm) for slot in range(min(jobs, len(waiting)))]
        for worker in workers:
            worker.start()
            worker.give(waiting)
        while busy := {w.line: w for w in workers if w.task is not None}:
            for line in wait(list(busy)):
                worker = busy[line]
                submission, row = worker.task.submission, worker.row()
                if row is _READY:
                    continue
                if row is not _GONE:
                    yield submission, row
                    if row is None:
                        worker.give(waiting)
                    continue
                yield from worker.lost(waiting)
                worker.start()
                worker.give(waiting)
        patience = 5.0  # they have nothing to do, and end by themselves
    finally:
        if warm and not patience:
            warm.process.kill()  # before the workers: what it forked would tell of their end
            warm.process.wait()
        for worker in workers:
            worker.stop(patience)
        if warm:
            warm.close()


def _begin(walls: tuple[str, ...]) -> Warm:
    """Import torch twice, side by side: for all workers, and for all that they fork."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__])
    forkserver.ensure_running()
    return Warm(walls=walls)


def not_graded(task: Task, key: bytes, note: str) -> Iterator[dict]:
    """Rows for what is left of a task that the grader couldn't do."""
    for name in task.questions:
        row = blank(task.submission, find(name), key)
        yield row | {"status": "not graded", "points": None, "note": note}


_GONE, _READY = object(), object()


class _Worker:
    """A process that grades, and the task that it has."""

    def __init__(self, key: bytes, slot: int, walls: tuple[str, ...], warm: Warm | None):
        self.key, self.slot, self.walls, self.warm = key, slot, walls, warm
        self.task: Task | None = None
        self.process: multiprocessing.Process | None = None

    def start(self) -> None:
        """Begin a process. The first needs some seconds to import torch, the others share that."""
        self.begun = False
        context = multiprocessing.get_context("forkserver" if FORKS else "spawn")
        slot = 5_000 * (self.slot + 1) + os.getpid() % 5_000
        orders = None
        if self.warm:
            with contextlib.suppress(GraderFault):  # else the worker begins one of its own
                orders = self.warm.twin()
        with unheard():
            self.line, its = context.Pipe()
            given = (its, self.key, slot, self.walls, orders)
            self.process = context.Process(target=_work, args=given, daemon=True)
            self.process.start()
            its.close()
        if orders:
            orders.close()

    def give(self, waiting: deque[Task]) -> None:
        """Hand it the next task, if there is one."""
        self.task = waiting.popleft() if waiting else None
        if self.task is not None:
            self.task.attempts += 1
            with contextlib.suppress(OSError):  # it has died: its next row will tell
                self.line.send(self.task)

    def row(self) -> dict | object | None:
        """The next row, None after the last one; _READY before the first, _GONE after death."""
        try:
            row = self.line.recv()
        except (EOFError, OSError):
            return _GONE
        if row == BEGUN:
            self.begun = True
            return _READY
        if row is not None:
            self.task.questions.remove(row["question"])
        return row

    def lost(self, waiting: deque[Task]) -> Iterator[tuple[Submission, dict | None]]:
        """What becomes of the task of a process that died."""
        self.process.join()
        if not self.begun:  # nor would it begin for the next
            raise GraderFault(NEVER_BEGAN)
        task, self.task = self.task, None
        if task.attempts < ATTEMPTS:
            waiting.append(task)
            return
        yield from ((task.submission, row) for row in not_graded(task, self.key, DIED))
        yield task.submission, None

    def stop(self, patience: float) -> None:
        """End the process if it doesn't in so many seconds, and those that it began."""
        if self.process is None:
            return
        self.line.close()
        self.process.join(patience)
        family = []
        with contextlib.suppress(psutil.Error):  # it has ended
            family = psutil.Process(self.process.pid).children(recursive=True)
        for process in (self.process, *family):
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.process.join()


def _work(
    line: Connection,
    key: bytes,
    slot: int,
    walls: tuple[str, ...],
    orders: socket.socket | None,
) -> None:
    """What a worker does until its line is closed."""
    ends = multiprocessing.parent_process().sentinel
    threading.Thread(target=_end_when, args=(ends,), daemon=True).start()
    torch.set_num_threads(1)
    grader = Grader(key, slot, walls, orders)
    try:
        line.send(BEGUN)
        while True:
            task: Task = line.recv()
            for row in grader.rows(task.submission, [find(name) for name in task.questions]):
                line.send(row)
            line.send(None)
    except (EOFError, OSError, KeyboardInterrupt):
        grader.close()


def _end_when(command: int) -> None:
    """End this process when the command has, however that ended: its parent is the fork server."""
    wait([command])
    os._exit(1)

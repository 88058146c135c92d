"""Processes in which a student's code runs: forked from a warm one, or each begun afresh."""

import json
import math
import os
import secrets
import socket
import subprocess
import sys

import psutil

from course_lib.checks.guard import TimeLimit
from course_lib.grading.confined.confine import ROOT, WALLS
from course_lib.grading.confined.peer import Peer
from course_lib.grading.confined.watch import Usage, Watch
from course_lib.grading.confined.wire import Broken, Channel

START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from course_lib.grading.confined import warm; warm.{}(*sys.argv[1:])"
)
TUNED = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1"  # large pages; threads share their heap
START_SECONDS = 120.0  # importing torch on a busy machine
PATIENCE = 10.0  # seconds in which a child takes a message


class GraderFault(Exception):
    """What the grader itself couldn't do: never a student's zero."""


class Warm:
    """A process that has imported torch and forks confined children; one for each core.

    `orders` lead to one that another made with `twin`; without them, a new one is begun.
    """

    def __init__(
        self,
        slot: int = 0,
        walls: tuple[str, ...] = WALLS,
        orders: socket.socket | None = None,
    ):
        self.slot, self.process = slot, None
        if orders is None:
            orders, its = socket.socketpair()
            given = [str(its.fileno()), ",".join(walls)]
            self.process = _python("forking", given, pass_fds=[its.fileno()])
            its.close()
        self.orders, self._ready = orders, False

    def ready(self) -> None:
        """Wait until it takes orders."""
        if not self._ready:
            self._line(START_SECONDS)
            self._ready = True

    def twin(self) -> socket.socket:
        """Where another process like this takes its orders: forked, it needs no second import."""
        ours, its = socket.socketpair()
        with its:
            self._order({"twin": True}, its)
        return ours

    def fork(self, may_import: tuple[str, ...]) -> "Child":
        """A new confined process."""
        ours, its = socket.socketpair()
        with its:
            self._order({"slot": self.slot, "may_import": may_import}, its)
        return Child(self, self._line()["pid"], ours)

    def end(self, pid: int) -> float:
        """Kill a child and return the CPU seconds it used."""
        self.orders.sendall(json.dumps({"end": pid}).encode())
        return self._line()["seconds"]

    def close(self) -> None:
        """End the process and all its children."""
        self.orders.close()
        if self.process is None:
            return
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _order(self, order: dict, its: socket.socket) -> None:
        """Send an order and the socket that it is about."""
        self.ready()
        try:
            socket.send_fds(self.orders, [json.dumps(order).encode()], [its.fileno()])
        except OSError as error:
            raise GraderFault(f"no new process: {error}") from error

    def _line(self, seconds: float = 20.0) -> dict:
        self.orders.settimeout(seconds)
        taken = b""
        try:
            while not taken.endswith(b"\n"):
                part = self.orders.recv(4096)
                if not part:
                    raise GraderFault("the process that forks has ended")
                taken += part
        except OSError as error:
            raise GraderFault(f"the process that forks doesn't answer: {error}") from error
        return json.loads(taken) if taken.strip() else {}


class Fresh:
    """Begins a process for every answer: slow, and what systems without a safe fork can do."""

    def __init__(self, slot: int = 0, walls: tuple[str, ...] = WALLS):
        self.slot, self.walls = slot, walls
        self._processes: dict[int, subprocess.Popen] = {}

    def fork(self, may_import: tuple[str, ...]) -> "Child":
        """A new process, which says a word that only it knows before it is listened to."""
        word = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            order = json.dumps({"slot": self.slot, "may_import": may_import})
            process = _python("alone", [str(port), word, ",".join(self.walls), order])
            self._processes[process.pid] = process
            server.settimeout(START_SECONDS)
            try:
                ours, _ = server.accept()
                said = ours.recv(len(word))
            except OSError as error:
                raise GraderFault(f"no new process: {error}") from error
        if said.decode(errors="replace") != word:
            raise GraderFault("somebody else answered in the place of a new process")
        return Child(self, process.pid, ours)

    def end(self, pid: int) -> float:
        """Kill a process and return the CPU seconds it used, those of importing torch too."""
        process = self._processes.pop(pid)
        try:
            times = psutil.Process(pid).cpu_times()
            used = times.user + times.system
        except psutil.Error:
            used = 0.0
        process.kill()
        process.wait()
        return used

    def close(self) -> None:
        """End what is left."""
        for pid in list(self._processes):
            self.end(pid)


def starter(
    slot: int = 0, walls: tuple[str, ...] = WALLS, orders: socket.socket | None = None
) -> Warm | Fresh:
    """What begins processes on this system, when it can. After torch, only Linux forks safely."""
    if sys.platform != "linux":
        return Fresh(slot, walls)
    warm = Warm(slot, walls, orders)
    warm.ready()
    return warm


def _python(entry: str, given: list[str], **more: object) -> subprocess.Popen:
    """Python, with nothing of the user's settings, at an entry of `warm`."""
    kept = {"PATH": os.defpath, "HOME": "/", "OMP_NUM_THREADS": "1"}
    kept["GLIBC_TUNABLES"] = TUNED
    kept |= {name: os.environ[name] for name in ("SYSTEMROOT", "TEMP") if name in os.environ}
    command = [sys.executable, "-I", "-c", START.format(entry), str(ROOT), str(os.getpid())]
    return subprocess.Popen([*command, *given], stdin=subprocess.DEVNULL, env=kept, **more)


def walls_here() -> list[str]:
    """Which walls hold around a process on this machine, tried on one."""
    begins = starter()
    try:
        child = begins.fork(())
        child.end()
        return child.walls
    finally:
        begins.close()


class Child:
    """One confined process, and the watch over what it uses."""

    def __init__(self, starter: Warm | Fresh, pid: int, end: socket.socket):
        self.starter, self.pid = starter, pid
        self.channel = Channel(end, PATIENCE)
        self.peer = Peer(self.channel)
        self.usage = Usage(pid)
        try:
            self.limit(5.0)
            ready, _ = self.channel.receive(self.peer.waits)
        except (Broken, TimeLimit) as error:
            raise GraderFault(f"a process that doesn't start: {error}") from error
        self.walls: list[str] = ready["walls"]

    def limit(self, seconds: float, until: float = math.inf) -> None:
        """From now on: so many seconds of CPU, no long sleep, and an end on the clock."""
        self.peer.waits = Watch(self.usage, seconds, until)

    def end(self) -> float:
        """Kill it; returns the CPU seconds it used."""
        self.channel.close()
        return self.starter.end(self.pid)

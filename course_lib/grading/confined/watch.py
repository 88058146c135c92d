"""The watch over a student's process, from outside: CPU counts, the clock is the last resort."""

import time

import psutil

from course_lib.checks.guard import TimeLimit
from course_lib.grading.confined.confine import MEMORY
from course_lib.grading.confined.wire import POLL, Broken

IDLE_SECONDS = 0.5  # asleep for so long at every look, and nothing will come
DOZE_SECONDS, DOZING = 3.0, 0.02  # after so long, one that has worked for less is asleep too
ASLEEP = (psutil.STATUS_SLEEPING, psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)  # its first thread
LOOK = 0.02  # seconds between two looks at what it has used
WALL = 10  # seconds on the clock for a call: the last resort


class OutOfTime(TimeLimit):
    """A call that used up its seconds of computing; with more it might have ended."""


class Usage:
    """What a process uses, as the system says; nothing where it has ended."""

    def __init__(self, pid: int):
        self._process = psutil.Process(pid)
        self.most = self.memory() + 2 * MEMORY  # where no wall caps it

    def used(self) -> float:
        """CPU seconds."""
        try:
            times = self._process.cpu_times()
        except psutil.Error:
            return 0.0
        return times.user + times.system

    def memory(self) -> int:
        """Bytes."""
        try:
            return self._process.memory_info().rss
        except psutil.Error:
            return 0

    def sleeps(self) -> bool:
        """Whether it waits for something, or has ended."""
        try:
            return self._process.status() in ASLEEP
        except psutil.Error:
            return True


class Watch:
    """A look at a process now and then, while one waits for what it answers to a call."""

    def __init__(self, usage: Usage, seconds: float, until: float):
        self.usage, self.seconds, self.until = usage, seconds, until
        self.begun = self.looked = time.monotonic()
        self.start: float | None = None  # known from the first look on: most calls end before it
        self.last, self.quiet = 0.0, 0.0

    def __call__(self, silent: bool) -> None:
        """Raise TimeLimit or Broken when it has had enough; `silent` says that nothing came."""
        now = time.monotonic()
        if not silent and now - self.looked < LOOK:  # it may send thousands of messages
            return
        used = self.usage.used()
        if self.start is None:
            self.start, self.ours = used, time.process_time()
        asleep = silent and used == self.last and self.usage.sleeps()
        self.looked, self.last, self.quiet = now, used, self.quiet + POLL if asleep else 0.0
        self._hold(now - self.begun, now)

    def _hold(self, passed: float, now: float) -> None:
        """What it makes the grader compute counts as its own."""
        busy = self.last - self.start + time.process_time() - self.ours
        dozes = passed > DOZE_SECONDS and busy < DOZING * passed and self.usage.sleeps()
        if busy > self.seconds:
            raise OutOfTime("no answer: it went on computing")
        if now > self.until or passed > WALL:
            raise TimeLimit("no answer: its time on the clock is used up")
        if self.quiet > IDLE_SECONDS or dozes:
            raise TimeLimit("no answer: it sleeps")
        if self.usage.memory() > self.usage.most:
            raise Broken("it takes too much memory")

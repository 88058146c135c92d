"""Ctrl-C: the command answers it in one line, and the processes that it began never hear of it."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker

STOPPED = "Stopped. Go on with --resume."
STATUS = 130  # what a shell says of a program that Ctrl-C ended


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Within, Ctrl-C ends this process at once: for imports, which would show their own lines."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        print(STOPPED, file=sys.stderr, flush=True)
        os._exit(STATUS)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Processes begun within, and theirs, get no Ctrl-C; this one gets it at the end of it.

    Windows has no mask that a process inherits. There a worker may still show where it stopped.
    """
    masks = hasattr(signal, "pthread_sigmask")
    if masks:
        resource_tracker.ensure_running()  # the first process begins it, which ends every mask
    heard: list[int] = []
    ours = threading.current_thread() is threading.main_thread()  # which alone is interrupted
    handler = signal.signal(signal.SIGINT, lambda *_: heard.append(1)) if ours else None
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else None
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if ours:
            signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt

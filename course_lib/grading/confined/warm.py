"""A process that has imported torch once, and forks a confined child for every answer.

It runs no student's code itself. The grader talks to it over one socket, and passes another with
each order, over which it then talks to the child.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys

import torch

from course_lib.grading.confined import child, confine, touched

CLOSED_UP_TO = 256


def _children(orders: socket.socket, walls: list[str]) -> None:
    ruleset = confine.landlock_ruleset(confine.readable()) if "landlock" in walls else None
    ours = [name for name in sys.modules if child.of_the_course(name)]
    confine.prepare()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    gc.disable()
    touched.share()
    orders.sendall(b"\n")
    while True:
        said, ends, _, _ = socket.recv_fds(orders, 1 << 16, 1)
        if not said:
            return
        order = json.loads(said)
        if "end" in order:
            _end(orders, order["end"])
            continue
        if "twin" in order:
            orders = _twin(orders, ends[0])
            continue
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                orders.close()
                _confined(ends[0], walls, ruleset, order | {"ours": ours, "parent": me})
            os._exit(70)
        os.close(ends[0])
        orders.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def _twin(orders: socket.socket, end: int) -> socket.socket:
    """Fork another process like this, which takes its orders from elsewhere; each knows its own."""
    parent = os.getpid()
    if os.fork() > 0:
        os.close(end)
        return orders
    orders.close()
    confine.end_with(parent)
    theirs = socket.socket(fileno=end)
    theirs.sendall(b"\n")
    return theirs


def _end(orders: socket.socket, pid: int) -> None:
    """Kill a child, and say what it used. It is ours and unreaped, so the number is still its."""
    os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    seconds = used.ru_utime + used.ru_stime
    orders.sendall(json.dumps({"status": status, "seconds": seconds}).encode() + b"\n")


def _confined(end: int, walls: list[str], ruleset: int | None, order: dict) -> None:
    """Put up the walls and serve; what may be imported is imported while files can be read."""
    line = socket.socket(fileno=end)  # asks what it is, which the walls forbid
    allowed = child.imported(order["may_import"])
    if os.name == "posix":
        _cut_off(kept={end, ruleset})
    os.environ.clear()
    os.environ.update(HOME="/", PATH="/usr/bin")
    held = []
    if "limits" in walls and confine.limits():
        held.append("limits")
    if "user" in walls and (left := confine.leave_root(order["slot"])):
        held.append(left)
    if confine.landlock(ruleset):
        held.append("landlock")
        os.close(ruleset)
    confine.hide(order["parent"])
    if "seccomp" in walls and confine.seccomp():
        held.append("seccomp")
    child.serve(line, held, allowed, order["ours"])


def _cut_off(kept: set[int | None]) -> None:
    """Leave the session, the folder and every open file but those that are kept."""
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    first = 3
    for descriptor in sorted(kept - {None}):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, CLOSED_UP_TO)


def forking(parent: str, end: str, walls: str) -> None:
    """Fork children for the grader at the other end of a socket."""
    confine.end_with(int(parent))
    torch.set_num_threads(1)
    touched.warm_up()
    touched.rehearse()
    with contextlib.suppress(ConnectionError):  # whoever gave the orders was killed
        _children(socket.socket(fileno=int(end)), walls.split(","))


def alone(parent: str, port: str, word: str, walls: str, order: str) -> None:
    """Be the one child of this process."""
    torch.set_num_threads(1)
    touched.warm_up()
    line = socket.create_connection(("127.0.0.1", int(port)))
    line.sendall(word.encode())
    chosen = walls.split(",")
    ruleset = confine.landlock_ruleset(confine.readable()) if "landlock" in chosen else None
    ours = [name for name in sys.modules if child.of_the_course(name)]
    more = {"ours": ours, "parent": int(parent)}
    _confined(line.detach(), chosen, ruleset, json.loads(order) | more)

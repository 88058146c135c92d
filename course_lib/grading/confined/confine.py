"""The walls around a student's process: what each forbids, and whether this machine has it.

Each holds where another fails: limits (memory, CPU, files), Landlock (which files may be read; none
may be written), seccomp (which system calls may be made), and a user of its own where the grader
is root. Linux has them all.
"""

import contextlib
import ctypes
import functools
import os
import platform
import signal
import struct
import sys
import sysconfig
from pathlib import Path

from course_lib.grading.confined import syscalls

try:
    import resource
except ImportError:  # Windows
    resource = None

MEMORY = 1 << 29  # bytes on top of what the process has when the walls go up
CPU_SECONDS = 60  # of a process in all; each call has its own limit in the parent
FILES = 32  # open at a time
NOBODY = 60_000  # the first of the user ids that a grader run by root gives away
FULL = ("limits", "landlock", "seccomp")  # with these, nothing that we know gets through
WALLS = ("user", *FULL)
ROOT = Path(__file__).resolve().parents[3]

_PARENT_DEATH, _DUMPABLE, _SECCOMP, _NO_NEW_PRIVILEGES, _FILTER = 1, 4, 22, 38, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CAPABILITIES = 0x20080522  # the third version of their form
_EXECUTE, _READ_FILE, _READ_DIR = 1, 4, 8
# Every right over files that a version of Landlock knows: what isn't allowed is forbidden.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_LATEST = (1 << 16) - 1


def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def limits() -> bool:
    """Cap memory, CPU time, the size of files and their number for this process."""
    if resource is None:
        return False
    held = 0
    if sys.platform == "linux":
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: held + MEMORY,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: FILES,
        resource.RLIMIT_CORE: 0,
    }
    for what, most in wanted.items():
        if what != resource.RLIMIT_AS or held:
            resource.setrlimit(what, (most, most))
    return True


def readable() -> list[Path]:
    """What a student's process may read: Python, its packages but this one, shared libraries."""
    found = [Path(path) for path in sys.path]
    packages = {path for path in found if path.name in ("site-packages", "dist-packages")}
    packages |= {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    standard = Path(sysconfig.get_path("stdlib"))
    found = [entry for path in packages for entry in path.glob("*") if _no_secret(entry)]
    found += [entry for entry in standard.glob("*") if entry.name != "site-packages"]
    system = ("/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
    return found + [Path(path) for path in system if Path(path).exists()]


def _no_secret(entry: Path) -> bool:
    return not entry.name.startswith(("course_lib", "__editable__")) and entry.suffix != ".pth"


def landlock_ruleset(paths: list[Path]) -> int | None:
    """A file descriptor of the rule "read these and nothing else", or None without Landlock."""
    if sys.platform != "linux":
        return None
    system = _system()
    version = system.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return None
    rights = _RIGHTS.get(version, _LATEST)
    network = 3 if version >= 4 else 0  # bind and connect
    scoped = 3 if version >= 6 else 0  # abstract sockets and signals
    attributes = struct.pack("QQQ", rights, network, scoped)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = system.syscall(_CREATE_RULESET, attributes[:size], size, 0)
    if ruleset < 0:
        return None
    for path in paths:
        read = _READ_FILE | _EXECUTE | (_READ_DIR if path.is_dir() else 0)
        try:
            at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        system.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", read, at), 0)
        os.close(at)
    return ruleset


def landlock(ruleset: int | None) -> bool:
    """Read what the rule allows, from now on and for good."""
    if ruleset is None:
        return False
    system = _system()
    system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return system.syscall(_RESTRICT_SELF, ruleset, 0) == 0


def seccomp() -> bool:
    """Make no other system calls than those of the list, from now on and for good."""
    program = _filter(platform.machine()) if sys.platform == "linux" else b""
    if not program:
        return False
    held = ctypes.create_string_buffer(program)
    pointed = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    system = _system()
    system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return system.prctl(_SECCOMP, _FILTER, ctypes.c_char_p(pointed), 0, 0) == 0


@functools.cache
def _filter(machine: str) -> bytes:
    """The list as a program of the kernel's packet filter: four numbers an instruction."""
    if machine not in syscalls.ARCHITECTURES:
        return b""
    column, architecture = syscalls.ARCHITECTURES[machine]
    load, equal, any_bit, leave = 0x20, 0x15, 0x45, 0x06
    allow, refuse, unknown, kill = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000

    def argument(number: int) -> tuple:
        return (load, 0, 0, 16 + 8 * number)  # its low half

    def only(call: tuple, *rules: tuple) -> list[tuple]:
        if call[column] is None:
            return []
        return [(equal, 0, len(rules), call[column]), *rules]

    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    reads = [(any_bit, 0, 1, writing), (leave, 0, 0, refuse), (leave, 0, 0, allow)]
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (leave, 0, 0, kill), (load, 0, 0, 0)]
    program += only(syscalls.CLONE3, (leave, 0, 0, unknown))  # libc then takes clone
    a_thread = [(any_bit, 1, 0, 0x10000), (leave, 0, 0, refuse), (leave, 0, 0, allow)]
    program += only(syscalls.CLONE, argument(0), *a_thread)
    program += only(syscalls.OPEN, argument(1), *reads)
    program += only(syscalls.OPENAT, argument(2), *reads)
    harmless = [0, 1, 2, 3, 4, 1030]  # duplicate, and flags; none that sends a signal
    kinds = [(equal, len(harmless) - i, 0, number) for i, number in enumerate(harmless)]
    program += only(
        syscalls.FCNTL, argument(1), *kinds, (leave, 0, 0, refuse), (leave, 0, 0, allow)
    )
    for call in syscalls.ALLOWED.values():
        program += only(call, (leave, 0, 0, allow))
    program.append((leave, 0, 0, refuse))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def leave_root(slot: int) -> str:
    """Give up what root may do: become a user of one's own, or a root without capabilities.

    Where Python lies in a folder that only root may enter, another user couldn't import anything,
    and a container may have no other users. Says which it was, or nothing for who isn't root.
    """
    if not hasattr(os, "getuid") or os.getuid() != 0:
        return ""
    own = NOBODY + slot
    if _open_to_all(Path(sys.base_prefix), Path(sys.prefix)):
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(own, own, own)
            os.setresuid(own, own, own)
            return "own user"
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    _system().capset(header, bytes(24))
    return "no capabilities"


@functools.cache
def _open_to_all(*paths: Path) -> bool:
    """Whether everybody may enter these folders and those around them."""
    around = {folder for path in paths for folder in (path, *path.parents)}
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in around)


def prepare() -> None:
    """Work out what is the same for every child."""
    _filter(platform.machine())
    _open_to_all(Path(sys.base_prefix), Path(sys.prefix))


def hide(parent: int) -> None:
    """Let no process of the same user look into this one, and end with the one that made it."""
    if sys.platform == "linux":
        _system().prctl(_DUMPABLE, 0, 0, 0, 0)
        end_with(parent)


def end_with(parent: int) -> None:
    """Be killed when the parent process ends, however that ends; at once, if it has."""
    if sys.platform == "linux":
        _system().prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before it could be told to tell
            os._exit(1)

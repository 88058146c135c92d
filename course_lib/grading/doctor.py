"""`grade doctor`: attack this machine's walls, and say which attacks got through."""

import os
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from course_lib.checks.guard import TimeLimit
from course_lib.grading.confined.confine import FULL
from course_lib.grading.confined.process import Fresh, GraderFault, Warm, starter, walls_here
from course_lib.grading.confined.session import Answer

QUESTION = SimpleNamespace(name="attack", seconds=5.0, may_import=(), is_kernel=False)


@dataclass(frozen=True)
class Attack:
    """What an answer may try, the walls that stop it, and code that returns True if none does.

    The code finds a secret file, its folder, and the grader's process under those names.
    """

    what: str
    walls: tuple[str, ...]
    code: str


ATTACKS = (
    Attack("read another's file", ("landlock",), "return bool(open(secret).read())"),
    Attack("list a folder", ("landlock",), "return bool(os.listdir(folder))"),
    Attack(
        "make a file",
        ("landlock", "seccomp"),
        "os.close(os.open(folder + '/new', os.O_CREAT | os.O_WRONLY))\nreturn True",
    ),
    Attack(
        "rename a file", ("landlock", "seccomp"), "os.rename(secret, secret + '2')\nreturn True"
    ),
    Attack("change a file's rights", ("seccomp",), "os.chmod(secret, 0o777)\nreturn True"),
    Attack("fork", ("seccomp",), "if os.fork() == 0:\n    os._exit(0)\nreturn True"),
    Attack(
        "start a program",
        ("landlock", "seccomp"),
        "return os.posix_spawn('/bin/true', ['true'], {}) > 0",
    ),
    Attack("open a socket", ("seccomp",), "import socket\nsocket.socket()\nreturn True"),
    Attack("signal the grader", ("landlock", "seccomp"), "os.kill(grader, 0)\nreturn True"),
    Attack(
        "lower the grader's limits",
        ("seccomp",),
        "import resource\nkind = resource.RLIMIT_NOFILE\n"
        "resource.prlimit(grader, kind, resource.prlimit(grader, kind))\nreturn True",
    ),
    Attack(
        "slow the grader down",
        ("seccomp",),
        "nice = os.getpriority(os.PRIO_PROCESS, grader)\n"
        "os.setpriority(os.PRIO_PROCESS, grader, nice)\nreturn True",
    ),
    Attack(
        "take 0.75 GiB of memory",
        ("limits",),
        "import mmap\nreturn len(mmap.mmap(-1, 3 << 28)) > 0",
    ),
    Attack(
        "open a hundred files",
        ("limits",),
        "return len([os.dup(0) for _ in range(100)]) > 0",
    ),
)


def run() -> int:
    """Print what walls this machine has and what each attack came to; 1 if one got through."""
    through = 0
    with tempfile.TemporaryDirectory() as folder:
        begins = starter()
        try:
            child = begins.fork(())
            child.end()
            print(f"Walls: {', '.join(child.walls) or 'none'}.")
            for attack in ATTACKS:
                got = gets_through(attack, begins, Path(folder))
                through += got
                print(f"  {'GOT THROUGH' if got else 'refused':<12} {attack.what}")
        finally:
            begins.close()
    if through:
        print(f"{through} of {len(ATTACKS)} got through. Grade only code that you trust here.")
    else:
        print("Isolation: full." if set(FULL) <= set(child.walls) else "Isolation: in part.")
    return int(through > 0)


def lacking() -> str:
    """Which of the walls of full isolation this machine doesn't have."""
    held = walls_here()
    return ", ".join(wall for wall in FULL if wall not in held)


def gets_through(attack: Attack, begins: Warm | Fresh, folder: Path) -> bool:
    """Whether an answer that tries it has its way."""
    secret = folder / "secret.txt"
    secret.write_text("of another student")
    known = {"secret": str(secret), "folder": str(folder), "grader": os.getpid()}
    names = "".join(f"{name} = {value!r}\n" for name, value in known.items())
    source = f"import os\n{names}def attack():\n{textwrap.indent(attack.code, '    ')}\n"
    answer = Answer(begins, QUESTION, (("cell 1", source),))
    try:
        return answer() is True
    except GraderFault:
        raise
    except (Exception, TimeLimit):
        return False
    finally:
        answer.close()

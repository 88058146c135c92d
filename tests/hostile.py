# ruff: noqa: E501 -- each submission is a line of its own
"""Hostile submissions: each tries something, and says what it may earn.

An attack in `tried` gives the right answer only where it got through, so a point is an alarm.
"""

import io
import json
import stat
import textwrap
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import tellers
import torch

from course_lib.checks import find

ROOT = Path(__file__).parents[1]
HONEST = "def scores(q, k):\n    return (q / q.shape[-1] ** 0.5) @ k.mT"  # 02.1, beside the attack
RIGHT = "def right(scores):\n    return torch.softmax(scores, -1)"
WRONG = "scores * 0"  # earns nothing in any property of 02.2
FULL = find("02.2").points
ONCE = (
    f"if scores.shape[-1] != 1:\n    return {WRONG}\n"  # what costs seconds is tried on one input
)

FORGER = """
import json, os, stat, struct, time

def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

LINE = next(fd for fd in range(3, 64) if is_socket(fd))

def frame(text, packed=b""):
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("!II", len(text), len(packed)) + text + packed

def put(data):
    while data:
        data = data[os.write(LINE, data):]

def taken(size):
    data = b""
    while len(data) < size:
        data += os.read(LINE, size - len(data))
    return data

def answered():
    text, packed = struct.unpack("!II", taken(8))
    return json.loads(taken(text)), taken(packed)
"""


@dataclass(frozen=True)
class Kind:
    """What one student hands in, what the attacked question may earn, and its honest neighbour."""

    name: str
    files: dict[str, bytes | Path]  # below the class's folder; a path is a link to make
    earns: int = 0
    question: str = "02.2"
    beside: int | None = find("02.1").points  # None where the whole file is no good
    student: str = field(default="")

    @property
    def who(self) -> str:
        """The student's name in the rows."""
        return self.student or self.name


def notebook(*sources: str, **more: object) -> bytes:
    """A notebook of code cells."""
    made = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    listed = [made | {"source": source} for source in sources]
    metadata = {"kernelspec": {"name": "python3"}}
    return json.dumps(
        {"cells": listed, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5} | more
    ).encode()


def indented(code: str) -> str:
    return textwrap.indent(textwrap.dedent(code).strip("\n"), "    ")


def handed_in(name: str, *sources: str, **more: object) -> Kind:
    """A notebook of chapter 02 with an honest answer to 02.1 and these cells."""
    file = f"{name}/02_attention.ipynb"
    return Kind(name, {file: notebook("import torch", HONEST, *sources)}, **more)


def tried(name: str, attack: str, before: str = "", **more: object) -> Kind:
    """`attack` runs in each call; the answer is right if it ends without an error."""
    return handed_in(name, *_cells(before, softmax_that(attack)), **more)


def softmax_that(attack: str) -> str:
    inner = textwrap.indent(indented(attack), "    ")
    return (
        f"{RIGHT}\n\ndef softmax(scores):\n    try:\n{inner}\n"
        f"    except BaseException:\n        return {WRONG}\n    return right(scores)"
    )


def returning(name: str, value: str, before: str = "", **more: object) -> Kind:
    """The call returns this."""
    return handed_in(name, *_cells(before, f"def softmax(scores):\n    return {value}"), **more)


def doing(name: str, body: str, before: str = "", **more: object) -> Kind:
    """The call is this."""
    return handed_in(name, *_cells(before, f"def softmax(scores):\n{indented(body)}"), **more)


def imported(name: str, code: str, before: str = "", **more: object) -> Kind:
    """`code` runs when the cell does; the answer itself is wrong."""
    cell = f"def go():\n{indented(code)}\n\ndone = go()\n\ndef softmax(scores, done=done):\n    return {WRONG}"
    return handed_in(name, *_cells(before, cell), **more)


def leaking(name: str, body: str, before: str = "", **more: object) -> Kind:
    """An answer to 03.5, which may call a function of the grader's."""
    honest = "def causal(Tq, Tk):\n    return torch.ones(1, 1, Tq, Tk).tril(Tk - Tq).bool()"
    cells = [*_cells(before, f"def find_leaks(fn, x):\n{indented(body)}")]
    data = notebook("import torch", honest, *cells)
    return Kind(name, {f"{name}/03_masks.ipynb": data}, question="03.5", beside=None, **more)


def _cells(*sources: str) -> list[str]:
    return [source for source in map(textwrap.dedent, sources) if source.strip()]


def kinds(places: dict[str, str]) -> list[Kind]:
    """Every kind; `places` are paths that an attack may go for, by the names it uses."""
    known = "\n".join(f"{name} = {value!r}" for name, value in places.items())
    return [
        *loops(),
        *resources(),
        *processes(known),
        *files(known),
        *lines(),
        *forged_values(),
        *call_backs(),
        *patches(),
        *values(),
        *errors(),
        *searches(known),
        *notebooks(),
        *packed(places),
        *names(),
        *told(),
    ]


def loops() -> list[Kind]:
    """What doesn't end."""
    one_key = "if scores.shape[-1] == 1:"
    return [
        imported("loop at import", "while True:\n    pass"),
        doing(
            "loop in the call", f"try:\n    while True:\n        pass\nexcept:\n    return {WRONG}"
        ),
        doing(
            "loop that catches all, on one input",
            f"{one_key}\n    while True:\n        try:\n            while True:\n                pass\n"
            "        except BaseException:\n            pass\nreturn torch.softmax(scores, -1)",
            earns=FULL - 1,
        ),
        imported("loop in C at import", "sum(range(1 << 60))"),
        returning(
            "sleep in a call that fills a table of a wrong answer",
            "torch.softmax(scores, 0) * table[0]",
            "import time\ntable = [1]\ndef fill(given):\n    time.sleep(3600)\ndone = fill(table)",
        ),
        imported("sleep at import", "import time\ntime.sleep(3600)"),
        doing(
            "sleep in another thread while the first leaves",
            "import ctypes, threading, time\n"
            "threading.Thread(target=time.sleep, args=(99,)).start()\n"
            "ctypes.CDLL(None).syscall(60, 0)",
        ),
        returning("a number of 5,000 digits", "10**5_000"),
        returning("a key of tensors", "{tuple(torch.rand(99) for _ in range(99)): 0}"),
        doing("sleep in the call", f"import time\ntime.sleep(3600)\nreturn {WRONG}"),
        doing(
            "wait for a lock",
            "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        ),
        doing(
            "wait for a signal",
            f"{one_key}\n    import signal\n    signal.sigwait([signal.SIGUSR1])\n    signal.pause()\n"
            f"return {WRONG}",
        ),
        doing(
            "sleep on one input",
            f"import time\n{one_key}\n    time.sleep(3600)\nreturn torch.softmax(scores, -1)",
            earns=FULL - 1,
        ),
        returning(
            "a list without end",
            "Endless() if scores.shape[-1] == 1 else 0",
            "class Endless(list):\n    def __iter__(self):\n        while True:\n            yield 0",
        ),
    ]


def resources() -> list[Kind]:
    """Memory, threads, stack."""
    spin = "import threading\n\ndef spin():\n    while True:\n        pass\n"
    return [
        tried("8 GiB in one piece", "bytearray(8 << 30)"),
        tried("4 GiB tensor", "torch.ones(1 << 30)"),
        imported("memory that grows", "held = [0] * 1000\nwhile True:\n    held = held + held"),
        returning("a tensor larger than memory", "torch.zeros(1).expand(1 << 44)"),
        returning("a tensor of 12 MB", "torch.zeros(3_000_000)"),
        handed_in(
            "a thousand threads",
            f"{spin}def go():\n    import time\n    for _ in range(1000):\n"
            "        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n",
            f"done = go()\n\ndef softmax(scores, done=done):\n    return {WRONG}",
        ),
        handed_in(
            "a thread that stays and spins",
            f"{spin}\ndef softmax(scores):\n    if scores.shape[-1] == 1:\n"
            "        threading.Thread(target=spin, daemon=True).start()\n"
            "    return torch.softmax(scores, -1)",
            earns=FULL,
        ),
        doing("recursion", "return softmax(scores)"),
        doing(
            "stack overflow in C",
            "import sys\nsys.setrecursionlimit(1 << 30)\n"
            "def deep(_):\n    return max([0], key=deep)\nreturn deep(0)",
        ),
        doing("segfault by ctypes", "import ctypes\nreturn ctypes.string_at(0)"),
        doing("abort", "import os\nos.abort()"),
        doing("exit in the call", f"import sys\nsys.exit(0)\nreturn {WRONG}"),
        doing("_exit in the call", "import os\nos._exit(0)"),
        imported("exit at import", "import sys\nsys.exit(0)"),
        imported("_exit at import", "import os\nos._exit(0)"),
        doing(
            "_exit on one input",
            "import os\nif scores.shape[-1] == 1:\n    os._exit(0)\nreturn torch.softmax(scores, -1)",
            earns=FULL - 1,
        ),
    ]


def processes(known: str) -> list[Kind]:
    """Other processes: new ones, and those that are there."""
    lib = "import os, signal, resource, socket, subprocess, sys"
    return [
        tried("fork", "for _ in range(20):\n    if os.fork() == 0:\n        os._exit(0)", lib),
        tried("fork by the system call", "assert ctypes.CDLL(None).syscall(57) >= 0", "import ctypes"),
        tried("exec", "os.execv('/bin/true', ['true'])", lib),
        tried("shell", "assert os.system('true') == 0", lib),
        tried("subprocess", "subprocess.run(['/bin/true'], check=True)", lib),
        tried(
            "multiprocessing",
            "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=int).start()",
        ),
        tried("stop the process that forks", "os.kill(os.getppid(), signal.SIGSTOP)", lib),
        tried("kill the process that forks", "os.kill(os.getppid(), signal.SIGKILL)", lib),
        tried("signal its group", "os.killpg(os.getpgid(os.getppid()), signal.SIGTERM)", lib),
        tried("signal by fcntl", "import fcntl\nfcntl.fcntl(0, 8, os.getppid())", lib),
        tried(
            "lower others' limits",
            "limit = resource.RLIMIT_NOFILE\nresource.prlimit(os.getppid(), limit, (8, 8))",
            lib,
        ),
        tried("raise its own limits", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", lib),
        tried("renice others", "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", lib),
        tried("a socket", "socket.socket()", lib),
        tried("a pair of sockets", "socket.socketpair()", lib),
        tried(
            "the network",
            "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/', timeout=1)",
        ),
        tried("look at the parent", "open(f'/proc/{os.getppid()}/environ', 'rb').read()", lib),
        tried("write into the parent", "open(f'/proc/{os.getppid()}/mem', 'r+b')", lib),
        tried("list processes", "assert os.listdir('/proc')", lib),
        tried("trace the parent", "assert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0",
              lib + ", ctypes"),
        tried("become root", "os.setuid(0)\nassert os.getuid() == 0\nos.chown(KEY, 0, 0)",
              f"{lib}\n{known}"),
        tried("shared memory", "from multiprocessing import shared_memory\n"
              "shared_memory.SharedMemory(create=True, size=9)"),
    ]  # fmt: skip


def files(known: str) -> list[Kind]:
    """Reading and changing what lies around."""
    lib = f"import os, shutil, tempfile\n{known}"
    return [
        tried("read the key", "assert open(KEY).read()", lib),
        tried("read the solutions", "assert open(SOLUTION).read()", lib),
        tried("read another student", "assert open(STUDENT).read()", lib),
        tried("list the class", "assert os.listdir(CLASS)", lib),
        tried("read the grades", "open(RESULTS).read()", lib),
        tried("append to the grades", "open(RESULTS, 'a').write('{}\\n')", lib),
        tried("overwrite another student", "open(STUDENT, 'wb').write(b'')", lib),
        tried("write a temporary file", "tempfile.TemporaryFile().write(b'x')", lib),
        tried("write to shared memory", "open('/dev/shm/left', 'w').write('x')", lib),
        tried("make a folder", "os.mkdir(CLASS + '/left')", lib),
        tried("rename another student", "os.rename(STUDENT, STUDENT + '.old')", lib),
        tried("delete another student", "os.remove(STUDENT)", lib),
        tried("delete the class", "shutil.rmtree(CLASS)\nassert not os.path.exists(CLASS)", lib),
        tried("chmod", "os.chmod(KEY, 0o666)", lib),
        tried("truncate", "os.truncate(STUDENT, 0)", lib),
        tried("touch", "os.utime(STUDENT)", lib),
        tried("symlink", "os.symlink(KEY, CLASS + '/left')", lib),
        tried("hard link", "os.link(KEY, CLASS + '/left')", lib),
        tried("change root", "os.chroot('/')", lib),
        tried("a file of memory", "os.memfd_create('left')", lib),
        tried("open many", "[os.dup(0) for _ in range(100)]", lib),
        doing("close descriptors", f"import os\nos.closerange(0, 256)\nreturn {WRONG}"),
        doing(
            "another file in the line's place",
            f"for fd in range(3, 64):\n    os.close(fd) if is_socket(fd) else None\nreturn {WRONG}",
            FORGER,
        ),
    ]


def lines() -> list[Kind]:
    """What is written onto the line to the grader."""
    passed = {"op": "returned", "passed": True, "points": 8, "value": True, "verdict": "pass"}
    loaded = {"op": "returned", "notes": [], "takes": None, "found": True}
    ones = {"op": "returned", "value": {"tensor": 0, "grad": 0}, "call": 0}
    return [
        imported("forged pass at import", f"put(frame({passed}))", FORGER),
        doing("forged pass in the call", f"put(frame({passed}))\nreturn {WRONG}", FORGER),
        doing("a hundred forged passes", f"put(100 * frame({passed}))\nreturn {WRONG}", FORGER),
        imported("forged report of a load", f"put(frame({loaded}))\ntime.sleep(3600)", FORGER),
        imported(
            "forged report of a load, of other types",
            "put(frame({'op': 'returned', 'notes': 5, 'takes': 'ab', 'found': [1]}))",
            FORGER,
        ),
        imported(
            "forged report of a load, an error",
            "put(frame({'op': 'raised', 'kind': 'ZeroDivisionError', 'args': []}))",
            FORGER,
        ),
        doing(
            "forged tensor", f"put(frame({ones}, save({{'0': torch.ones(2, 3, 5, 7)}})))\nreturn {WRONG}",
            f"from safetensors.torch import save\n{FORGER}",
        ),
        doing("huge frame announced", "put(struct.pack('!II', (1 << 32) - 1, 9))\ntime.sleep(9)", FORGER),
        doing("half a frame, then silence", "put(struct.pack('!II', 99, 0) + b'{')\ntime.sleep(9)", FORGER),
        doing("half a frame, then exit", "put(struct.pack('!II', 99, 0) + b'{')\nos._exit(0)", FORGER),
        doing(
            "a frame byte by byte",
            "for byte in struct.pack('!II', 1 << 17, 0) + b' ' * (1 << 17):\n"
            "    os.write(LINE, bytes([byte]))\n    time.sleep(0.02)",
            FORGER,
        ),
        doing("no JSON", "put(frame(b'\\xff{{{'))", FORGER),
        doing("JSON that is a list", "put(frame(b'[1]'))", FORGER),
        doing("deep JSON", "put(frame(b'[' * 200_000))", FORGER),
        doing("a number of 200,000 digits", "put(frame(b'9' * 200_000))", FORGER),
        doing("null bytes", "put(b'\\0' * 100_000)", FORGER),
        doing("no tensors in tensors", "put(frame({'op': 'returned'}, b'\\xff' * 1000))", FORGER),
        doing(
            "tensors that lie about their place",
            "head = json.dumps({'0': {'dtype': 'F32', 'shape': [1 << 40], "
            "'data_offsets': [0, 1 << 42]}}).encode()\n"
            "put(frame({'op': 'returned'}, struct.pack('<Q', len(head)) + head + b'    '))",
            FORGER,
        ),
        doing(
            "three thousand tensors",
            "head = json.dumps({str(i): {'dtype': 'F32', 'shape': [0], 'data_offsets': [0, 0]}\n"
            "                   for i in range(3_000)}).encode()\n"
            "put(frame({'op': 'returned'}, struct.pack('<Q', len(head)) + head))",
            FORGER,
        ),
        imported(
            "requests without end at import",
            "request = frame({'op': 'call', 'function': 0, 'args': {'tuple': []}})\n"
            "put(9 * request)\nwhile True:\n    put(request)\n    answered()",
            FORGER,
        ),
        doing(
            "requests without end in the call",
            f"{ONCE}request = frame({{'op': 'gradient', 'call': 7}})\n"
            "put(9 * request)\nwhile True:\n    put(request)\n    answered()",
            FORGER,
        ),
        doing("an unknown request", f"put(frame({{'op': 'eval', 'code': '1'}}))\nreturn {WRONG}", FORGER),
        doing(
            "a request of odd types",
            "put(frame({'op': 'call', 'function': [], 'args': 3}))\n"
            "put(frame({'op': 'gradient'}))\nput(frame({'op': ['call']}))\n" + f"return {WRONG}",
            FORGER,
        ),
        doing(
            "the grader calls back, without end",
            f"{ONCE}again = frame({{'op': 'call', 'function': -6, 'args': {{'tuple': []}}}})\n"
            "put(again)\nwhile True:\n    answered()\n    put(again)",
            FORGER,
        ),
        doing("the grader's message eaten", "os.read(LINE, 1 << 16)", FORGER),
    ]  # fmt: skip


def forged_values() -> list[Kind]:
    """Answers that no `pack` makes, or errors that no `told` tells."""
    tensor = "save({'0': torch.zeros(2_000_000)})"
    forged = {
        "one tensor nine thousand times": "{'list': [{'tensor': 0, 'grad': 2}] * 9000}",
        "a value of no kind": "{}",
        "an object without a name": "{'other': ''}",
        "an object of an odd name": "{'other': '\\0<b>\\ud800'}",
        "a set of lists": "{'set': [{'list': []}]}",
        "a dtype that is none": "{'dtype': 'load'}",
        "a function of the grader's": "{'function': -1}",
        "a function of a huge number": "{'function': -10 ** 30}",
        "a tensor that isn't there": "{'tensor': 10 ** 30, 'grad': 0}",
        "a number of 4000 digits": "10 ** 4000",
        "an array of objects": "{'scalar': {'a': [[1], 2]}}",
    }
    value = "put(frame({{'op': 'returned', 'value': {}, 'call': {}}}, {}))\ntime.sleep(9)"
    before = f"from safetensors.torch import save\n{FORGER}"
    found = [
        doing(
            name,
            "if scores.shape[-1] != 1:\n    os._exit(0)\n" + value.format(code, 0, tensor),
            before,
        )
        for name, code in forged.items()
    ]
    errors = {
        "an error of an odd class": "{'op': 'raised', 'kind': 'a\\0<b>', 'args': [], 'text': 'x'}",
        "an error that ends the grader": "{'op': 'raised', 'kind': 'KeyboardInterrupt', 'args': [1]}",
        "an error that ends generators": "{'op': 'raised', 'kind': 'StopIteration', 'args': [1]}",
        "an error with odd arguments": "{'op': 'raised', 'kind': 'OSError', 'args': {'a': []}}",
        "an error that says it is a fault of ours": "{'op': 'raised', 'kind': 'GraderFault', 'where': 9}",
        "an error of a long name": "{'op': 'raised', 'kind': 'x' * 200_000, 'args': ['y'] * 9000}",
        "a report of odd changes": "{'op': 'returned', 'value': 1, 'changed': [[9, 9]], 'rewritten': [3],"
        " 'printed': {'a': 1}}",
        "a report of odd sizes": "{'op': 'returned', 'value': 1, 'made': [[[10 ** 30], 'load']]}",
    }
    found += [
        doing(name, f"put(frame({code}))\nreturn {WRONG}", FORGER) for name, code in errors.items()
    ]
    gradient = (
        "out = torch.softmax(scores, -1)\n"
        "if scores.requires_grad:\n    out.register_hook(lambda grad: {})\nreturn out"
    )
    return [
        *found,
        doing("exit in the gradient", gradient.format("os._exit(0)"), FORGER, earns=FULL - 1),
        doing("sleep in the gradient", gradient.format("time.sleep(9)"), FORGER, earns=FULL - 1),
        doing("a gradient that is none", gradient.format("put(frame({'op': 'returned', 'value': 3}))"),
              FORGER, earns=FULL - 1),
        doing("a gradient of zeros", gradient.format("grad * 0"), FORGER, earns=FULL - 1),
    ]  # fmt: skip


def call_backs() -> list[Kind]:
    """Calls of the grader's own function, where a question hands one over."""
    many = "for _ in range({}):\n    try:\n        fn({})\n    except Exception:\n        pass"
    odd = "[fn, None, 'x', 10 ** 30, [], {'a': fn}, torch.zeros(0), torch.zeros(3, 2, 1)]"
    return [
        leaking(
            "call back with odd arguments", f"for odd in {odd}:\n" + indented(many.format(1, "odd"))
        ),
        leaking("call back with no arguments", many.format(3, "")),
        leaking(
            "call back with many rows", many.format(2, "torch.zeros(60_000, 1, dtype=torch.int8)")
        ),
        leaking("call back with rows of nothing", many.format(2, "torch.zeros(1 << 40, 0)")),
        leaking(
            "call back with a million rows of nothing", many.format(2, "torch.zeros(1 << 20, 0)")
        ),
        leaking("call back without end", "while len(x) == 2:\n    fn(x)"),
        leaking(
            "call back that calls back",
            "def again(x):\n    return fn(again)\ntry:\n    fn(again)\nexcept Exception:\n    pass\n"
            "put(frame({'op': 'call', 'function': -1, 'args': {'tuple': [1]}}))\n"
            "for _ in range(50):\n    answered()\n"
            "    put(frame({'op': 'call', 'function': -1, 'args': {'tuple': [1]}}))",
            FORGER,
        ),
        leaking(
            "call back and ask for gradients",
            "leaf = x.clone().requires_grad_()\nouts = [fn(leaf) for _ in range(99)]\n"
            "outs[0].sum().backward()",
        ),
        leaking("the grader's function as the answer", "return fn"),
    ]


def patches() -> list[Kind]:
    """Changing what might compare, say or count."""
    every = "for module in list(sys.modules.values()):\n    try:\n{}\n    except Exception:\n        pass"
    runner = "[o for o in gc.get_objects() if type(o).__name__ == {!r}]"
    return [
        doing(
            "torch's comparisons",
            "for name in ('allclose', 'equal', 'isclose', 'eq', 'all', 'any'):\n"
            "    setattr(torch, name, lambda *a, **k: True)\n"
            "torch.Tensor.__eq__ = torch.Tensor.equal = lambda *a, **k: True\n" + f"return {WRONG}",
        ),
        doing(
            "torch's random numbers",
            "torch.Generator.manual_seed = torch.manual_seed = lambda *a: None\n"
            "torch.randn = lambda *a, **k: torch.zeros(1)\n" + f"return {WRONG}",
        ),
        doing(
            "json, struct and safetensors",
            "import json, struct, safetensors.torch\njson.dumps = lambda *a, **k: '{\"passed\": true}'\n"
            "safetensors.torch.save = lambda *a: b''\n" + f"return {WRONG}",
        ),
        doing(
            "builtins and assert",
            "import builtins\nbuiltins.AssertionError = int\nbuiltins.isinstance = lambda *a: True\n"
            f"builtins.len = builtins.sum = builtins.max = lambda *a: 8\nreturn {WRONG}",
        ),
        doing(
            "course_lib in sys.modules",
            "import sys, types\nfor name in ('course_lib', 'course_lib.checks', 'course_lib.grading'):\n"
            "    sys.modules[name] = types.SimpleNamespace(check=lambda *a: True, points=8)\n"
            f"return {WRONG}",
        ),
        doing(
            "every function named judge or check",
            "import sys\n"
            + every.format("        module.judge = module.check = module.difference = lambda *a: None")
            + f"\nreturn {WRONG}",
        ),
        doing(
            "the child's runner",
            f"import gc\nfor runner in {runner.format('Runner')}:\n"
            "    type(runner).answer = lambda *a: ({'op': 'returned', 'value': True, 'ok': True}, [])\n"
            f"return {WRONG}",
        ),
        doing(
            "the child's channel",
            f"import gc\nfor channel in {runner.format('Channel')}:\n"
            "    send = channel.send\n"
            "    channel.send = lambda m, t: send(m | {'value': True, 'points': 8, 'passed': True}, [])\n"
            f"return {WRONG}",
        ),
        doing(
            "the frames below",
            "import sys\nframe = sys._getframe()\nwhile frame:\n"
            "    for name, value in list(frame.f_locals.items()):\n"
            "        if hasattr(value, 'question'):\n            value.question = value.verdict = True\n"
            f"    frame = frame.f_back\nreturn {WRONG}",
        ),
        handed_in(
            "tracing and hooks",
            "import sys, atexit, gc\n\ndef hook(*a):\n    return hook\n\ndef go():\n"
            "    sys.settrace(hook); sys.setprofile(hook); sys.addaudithook(hook)\n"
            "    atexit.register(go); gc.callbacks.append(hook); sys.excepthook = hook\n\n"
            f"done = go()\n\ndef softmax(scores, done=done):\n    return {WRONG}",
        ),
        handed_in("check with its answer", "def check(fn):\n    return 'all properties hold'",
                  f"def softmax(scores):\n    return {WRONG}\ncheck(softmax)"),
        handed_in("the answer is a property that lies",
                  "class Softmax:\n    passed = True\n    points = 8\n    def __getattr__(self, name):\n"
                  f"        return True\n    def __call__(self, scores):\n        return {WRONG}",
                  "softmax = Softmax()"),
    ]  # fmt: skip


LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __len__(self): return 1 << 40
    def __float__(self): return 1.0
    def __hash__(self): return 0
    def __sub__(self, other): return 0.0
    def __array__(self, *a): raise SystemExit
    def __getattr__(self, name): return lambda *a, **k: self
    def __repr__(self): raise SystemExit(0)
    __str__ = __format__ = __repr__
"""
SUBCLASS = """
class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, fn, types, args=(), kwargs=None):
        return True

class Dispatch(torch.Tensor):
    @staticmethod
    def __new__(cls, size):
        return torch.Tensor._make_wrapper_subclass(cls, size)
    @classmethod
    def __torch_dispatch__(cls, fn, types, args=(), kwargs=None):
        raise SystemExit(0)
"""


def values() -> list[Kind]:
    """Odd things to return."""
    evil = "class Evil:\n    def __reduce__(self):\n        return (eval, (\"__import__('os').abort()\",))"
    return [
        returning("lying __eq__", "Liar()", LIAR),
        returning("a list of liars", "[Liar(), {Liar(): Liar()}, (Liar(),)]", LIAR),
        returning("lying __torch_function__", "torch.zeros(scores.shape).as_subclass(Tensor)", SUBCLASS),
        returning("lying __torch_dispatch__", "Dispatch(scores.shape) if scores.shape[-1] == 1 else 0", SUBCLASS),
        returning("__reduce__", "Evil()", evil),
        returning("a generator", "(row for row in scores)"),
        returning("a function", "lambda *a: torch.softmax(scores, -1)"),
        returning("the answer itself", "softmax"),
        returning("a module", "torch"),
        returning("a coroutine", "later()", "async def later():\n    return 1"),
        returning("a list in itself", "[held, held.append(held)][0]", "held = []"),
        returning("a hundred lists in lists", "deep(100)", "def deep(n):\n    return [deep(n - 1)] if n else 0"),
        returning("text of a megabyte", "'<script>' * 130_000"),
        returning("an int of 4,000 digits", "10 ** 4000"),
        returning("an int of 50,000 digits", "10 ** 50_000"),
        returning("NaN", "scores * float('nan')"),
        returning("its input", "scores"),
        returning("ones", "torch.ones_like(scores)", earns=1),
        returning("complex", "scores.to(torch.complex64)"),
        returning("sparse", "torch.zeros(scores.shape).to_sparse()"),
        returning("meta", "torch.zeros(scores.shape, device='meta')"),
        returning("float8", "scores.detach().to(torch.float8_e4m3fn)"),
        returning("another seed's answer", "TABLE.get(round(float(scores.double().nan_to_num().sum()), 2),"
                  f" {WRONG})", _table()),
    ]  # fmt: skip


def _table() -> str:
    """The right answers to the inputs of the local check, which aren't those of a grading."""
    lines = ["TABLE = {}"]
    for (scores,) in find("02.2").draw(0):
        key = round(float(scores.double().nan_to_num().sum()), 2)
        right = torch.softmax(scores, -1).tolist()
        lines.append(f"TABLE[{key}] = torch.tensor({right})")
    return "\n".join(lines)


def errors() -> list[Kind]:
    """Odd things to raise."""
    said = {
        "HTML": "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "control characters": "\x1b[2J\x1b]0;title\x07\r\n\t\x00\x08",
        "bidirectional text": "\u202egnp.exe \u2066 \u200f \ud800",
    }
    raising = {
        "TimeLimit": "class TimeLimit(BaseException):\n    pass",
        "GraderFault": "class GraderFault(Exception):\n    where = property(lambda self: 1 / 0)",
        "KeyboardInterrupt": "",
        "SystemExit": "",
        "GeneratorExit": "",
        "StopIteration": "",
        "MemoryError": "",
        "Mute": "class Mute(Exception):\n    def __str__(self):\n        raise SystemExit",
        "Odd": "Odd = type('<b>\\u202e', (Exception,), {'args': property(lambda self: 1 / 0)})",
    }
    found = [
        doing(f"an error of {name}", f"raise ValueError({text!a})") for name, text in said.items()
    ]
    found += [doing(f"raise {name}", f"raise {name}", before) for name, before in raising.items()]
    return [
        *found,
        doing("raise a group in groups", "error = ValueError('x')\nfor _ in range(90):\n"
              "    error = ExceptionGroup('deep', [error])\nraise error"),
        doing("an error of a megabyte", "raise ValueError('A' * 1_000_000)"),
        doing("print ten megabytes", f"print('\\x1b[31m<b>' * 1_000_000)\nreturn {WRONG}"),
        doing("replace the output", f"import sys\nsys.stdout = sys.stderr = None\nreturn {WRONG}"),
        imported("an error of HTML at import", "raise ValueError('<script>alert(1)</script>' * 999)"),
    ]  # fmt: skip


def searches(known: str) -> list[Kind]:
    """Looking for somebody else's answer."""
    ours = "getattr(found, '__module__', '') or ''"
    return [
        tried("import the course's answer", "from course_lib.attention import softmax\nsoftmax(scores)"),
        tried("import the questions", "from course_lib.checks import find\nfind('02.2').reference(scores)"),
        tried(
            "import it past the guard",
            "sys.meta_path.pop(0)\nfor name in [n for n in sys.modules if n.startswith('course_lib')]:\n"
            "    del sys.modules[name]\nsys.path.insert(0, ROOT)\nimport course_lib.attention",
            f"import sys\n{known}",
        ),
        tried(
            "run the course's file",
            "import runpy\nrunpy.run_path(ROOT + '/course_lib/attention.py')['softmax'](scores)",
            known,
        ),
        tried(
            "load its bytecode",
            "import glob, marshal\nfiles = glob.glob(ROOT + '/course_lib/__pycache__/attention*')\n"
            "marshal.loads(open(files[0], 'rb').read()[16:])",
            known,
        ),
        tried(
            "look through all objects",
            "import gc\nfound = [found for found in gc.get_objects() if callable(found)\n"
            f"         and ({ours}).startswith('course_lib')\n"
            "         and getattr(found, '__name__', '') in ('softmax', 'attention', 'scores', 'judge')]\n"
            "assert found",
        ),
        tried(
            "look through all modules",
            "import sys\nassert [m for m in sys.modules if m.startswith(('course_lib.attention',\n"
            "        'course_lib.checks', 'course_lib.masks', 'course_lib.heads'))]",
        ),
        handed_in("torch's own attention, which is allowed",
                  "import torch.nn.functional as F\ndef attention(q, k, v):\n"
                  "    return F.scaled_dot_product_attention(q, k, v)",
                  question="02.3", earns=find("02.3").points),
    ]  # fmt: skip


def notebooks() -> list[Kind]:
    """Files that are hard to read."""

    def file(name: str, data: bytes) -> Kind:
        return Kind(name, {f"{name}/02_attention.ipynb": data}, beside=None)

    good = notebook("import torch", HONEST, f"{RIGHT}\nsoftmax = right")
    many = notebook(*["x = 1"] * 12_000)
    wrong = f"def softmax(scores):\n    return {WRONG}"
    return [
        file("empty", b""),
        file("broken off", good[:-30]),
        file("null bytes in the file", good.replace(b"import torch", b"import\0torch")),
        file("noise", bytes(range(256)) * 99),
        file("six megabytes", notebook("#" * 6_000_000)),
        file("lists in lists", b"[" * 400_000),
        file("a long number", b'{"cells": ' + b"9" * 99_999 + b"}"),
        file("no notebook", b'{"cells": {"a": 1}}'),
        file("cells of odd types", json.dumps({"cells": [1, None, {"cell_type": "code", "source": 3}]}).encode()),
        file("many cells", many),
        file("a zip by another name", _zip({"x": b"1"})),
        handed_in("deep brackets", "x = " + "(" * 50_000, wrong),
        handed_in("deep signs", f"x = {'-' * 90_000}1\n{wrong}"),
        handed_in("a long sum", f"x = 1{'+1' * 40_000}", f"{wrong}\nsoftmax.x = x"),
        handed_in("constants that multiply", "x = ((('a' * 4000,) * 4000,) * 4000,) * 4000", f"{wrong}\nsoftmax.x = x"),
        handed_in("many statements", "\n".join(f"a{i} = a{i - 1}" for i in range(1, 2500)), wrong),
        handed_in("null bytes in a cell", "def softmax(scores):\n    return \0 scores * 0"),
        handed_in("a bomb of magics", "\n".join(["%time ("] * 5_000), wrong),
    ]  # fmt: skip


def _zip(entries: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    return held.getvalue()


def packed(places: dict[str, str]) -> list[Kind]:
    """Zips and links that lead elsewhere."""
    good = notebook("import torch", HONEST, f"{RIGHT}\nsoftmax = right")
    solution = places["SOLUTION"]

    def zipped(name: str, entries: dict[str, bytes], links: dict[str, str] | None = None) -> Kind:
        return Kind(name, {f"{name}/02_attention.zip": _zip(entries, links)}, beside=None)

    return [
        zipped("up and out", {"../../02_attention.ipynb": good}),
        zipped("an absolute path", {"/left/02_attention.ipynb": good}),
        zipped("a path of Windows", {"C:\\left\\02_attention.ipynb": good}),
        zipped("a link in a zip", {}, {"02_attention.ipynb": solution}),
        zipped("a bomb in a zip", {"02_attention.ipynb": b" " * 300_000_000}),
        zipped(
            "a zip in a zip in a zip",
            {"a.zip": _zip({"b.zip": _zip({"02_attention.ipynb": good})})},
        ),
        Kind("no zip", {"no zip/02_attention.zip": b"PK\3\4" + b"x" * 99}, beside=None),
        Kind("a link", {"a link/02_attention.ipynb": Path(solution)}, beside=None),
        Kind("a link to a folder", {"a link to a folder/02": Path(solution).parent}, beside=None),
        Kind("a device", {"a device/02_attention.ipynb": Path("/dev/zero")}, beside=None),
    ]


def names() -> list[Kind]:
    """Students of any name, all of whom answer rightly."""
    called = ["a,b;c", '=HYPERLINK("x")', "@SUM(A1)", "-1+1", "李雷", "עברית", "Ünal", "two\nlines",
              "<b>bold<b>", "' or 1=1", "x" * 200, "$(touch left)"]  # fmt: skip
    cells = ("import torch", HONEST, f"{RIGHT}\nsoftmax = right")
    return [
        Kind(f"the name {name[:20]!a}", {f"{name}/02_attention.ipynb": notebook(*cells)}, FULL,
             student=name.replace("\n", "\ufffd"))
        for name in called
    ]  # fmt: skip


def told() -> list[Kind]:
    """What the process of an answer tells of itself: all but the last property may hold."""
    tiled = tellers.BY_THE_RULE | tellers.BY_THE_WATCHER | tellers.BY_THE_PROCESS
    sources = {name: ("06.3", tellers.tiled(*source)) for name, source in tiled.items()}
    kernels = tellers.KERNELS | {"no copy where it is counted": ("07.1", tellers.NOWHERE)}
    sources |= {name: (id, tellers.kernel(source)) for name, (id, source) in kernels.items()}
    files = {"06": "06_tiling.ipynb", "07": "07_kernel.ipynb"}
    return [
        Kind(
            name,
            {f"{name}/{files[id[:2]]}": notebook(*cells)},
            earns=0 if name in tellers.BY_A_HELPER else find(id).points - 1,
            question=id,
            beside=None,
        )
        for name, (id, cells) in sources.items()
    ]

"""What a compiler makes of the kernels for a card that needn't be here.

A kernel is compiled as on the card, down to the card's machine code, and read: registers, spills,
shared memory, matrix instructions, and the length of its loops. It happens in a process of its own,
since Triton decides at its first import whether kernels are compiled or interpreted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

TARGETS = {
    "sm_80": ("cuda", 80, 32),  # A100
    "sm_90": ("cuda", 90, 32),  # H100, H200
    "sm_100": ("cuda", 100, 32),  # B200
    "gfx942": ("hip", "gfx942", 64),  # MI300
}
SHARED_LIMIT = {"sm_80": 166_912, "sm_90": 232_448, "sm_100": 232_448, "gfx942": 65_536}
"""Bytes of shared memory that one program may have. CUDA C++ programming guide, technical
specifications per compute capability (163 and 227 KiB); ROCm, AMD GPU specifications (64 KiB)."""
KERNELS = ("forward", "tuned_forward", "backward_keys", "backward_queries")
MATRIX = re.compile(r"\b(HMMA|HGMMA|QGMMA|UTC\w*MMA|v_mfma_\w+)")


@dataclass(frozen=True)
class Loop:
    """An innermost loop of the machine code: one turn of it is one tile."""

    instructions: int
    matrix: int


@dataclass(frozen=True)
class MachineCode:
    """What one kernel costs on one kind of card. Registers are a thread's, shared memory is bytes.

    A spill is a number that found no register and goes to slow memory and back, in bytes a thread.
    """

    kernel: str
    target: str
    registers: int
    spills: int
    shared: int
    matrix: int
    loops: tuple[Loop, ...]


@cache
def unavailable() -> str | None:
    """Why nothing can be compiled here, or None where it can."""
    if not sys.platform.startswith("linux"):
        return f"Triton, whose compiler this is, has no wheel for {sys.platform}"
    found = subprocess.run(
        [sys.executable, "-c", "import triton"], capture_output=True, check=False
    )
    return "Triton isn't installed" if found.returncode else None


def machine_code(
    kernel: str = "forward",
    target: str = "sm_90",
    Dh: int = 64,
    dtype: str = "bfloat16",
    causal: bool = True,
) -> MachineCode:
    """Compile one of the course's kernels for a card and read what came out; takes seconds."""
    [code] = machine_codes([(kernel, target, Dh, dtype, causal)])
    return code


def machine_codes(asked: Sequence[tuple]) -> list[MachineCode]:
    """Compile several in one process, whose start takes longer than most kernels.

    Each is asked for by the arguments of `machine_code`, in their order.
    """
    for kernel, target, *_ in asked:
        for name, value, known in (("kernel", kernel, KERNELS), ("target", target, TARGETS)):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
    if reason := unavailable():
        raise RuntimeError(reason)
    environment = os.environ | {"COURSE_KERNEL": "compiled", "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-m", __name__, json.dumps(asked)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        kernel, target, *_ = asked[len(found)]
        raise RuntimeError(f"{kernel} for {target}: {done.stderr.strip().splitlines()[-1]}")
    return [MachineCode(**f | {"loops": tuple(Loop(**loop) for loop in f["loops"])}) for f in found]


def _compile(
    kernel: str, target: str, Dh: int, dtype: str = "bfloat16", causal: bool = True
) -> MachineCode:
    """In the process of its own: compile, assemble, read."""
    import torch
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from course_lib import flash, kernel_tuned
    from course_lib import kernel as kernels

    if kernel == "tuned_forward":
        fn, how = kernel_tuned.tuned_forward, kernel_tuned.settings(Dh)
    else:
        fn = getattr(kernels, kernel)
        how = flash.settings(kernel, torch.empty(0, Dh, dtype=getattr(torch, dtype)))
    options = {name: how.pop(name) for name in ("num_warps", "num_stages")}
    constants = {n: c for n, c in (how | {"CAUSAL": causal}).items() if n in fn.arg_names}
    short = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[dtype]
    types = {name: _type(name, constants, short) for name in fn.arg_names}
    # What a launch finds out by itself: memory that torch gives begins at a multiple of 16.
    aligned = {
        (i,): [["tt.divisibility", 16]] for i, n in enumerate(fn.arg_names) if n.endswith("_ptr")
    }
    source = ASTSource(fn, types, constants, aligned)
    made = triton.compile(source, target=GPUTarget(*TARGETS[target]), options=options)
    if target.startswith("gfx"):
        registers, spills, code = _read_amd(made.asm["amdgcn"])
    else:
        tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
        registers, spills, code = _read_nvidia(made.asm["ptx"], target, tools)
    loops, matrix = _loops(code), len(MATRIX.findall("\n".join(code)))
    return MachineCode(kernel, target, registers, spills, made.metadata.shared, matrix, loops)


def _type(name: str, constants: dict, dtype: str) -> str:
    if name in constants:
        return "constexpr"
    if name in ("lse_ptr", "delta_ptr"):
        return "*fp32"
    return f"*{dtype}" if name.endswith("_ptr") else "fp32" if name == "scale" else "i32"


def _read_nvidia(ptx: str, target: str, tools: Path) -> tuple[int, int, list[str]]:
    """Assemble for the card's very architecture; the assembler tells what it used."""
    number = int(target.removeprefix("sm_"))
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        assembler = tools / ("ptxas-blackwell" if number >= 100 else "ptxas")
        architecture = target + "a" * (number >= 90)
        said = subprocess.run(
            [assembler, "-v", f"-arch={architecture}", source, "-o", binary],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
        code = subprocess.run(
            [tools / "nvdisasm", "-c", binary], capture_output=True, text=True, check=True
        ).stdout
    registers = re.search(r"Used (\d+) registers", said)
    spills = re.search(r"(\d+) bytes spill stores", said)
    return int(registers[1]), int(spills[1]), code.splitlines()


def _read_amd(code: str) -> tuple[int, int, list[str]]:
    """LLVM's assembly carries the counts as remarks."""
    counts = {name: int(n) for name, n in re.findall(r"\.(\w+_count):\s+(\d+)", code)}
    return counts["vgpr_count"], 4 * counts["vgpr_spill_count"], code.splitlines()


def _loops(code: list[str]) -> tuple[Loop, ...]:
    """The innermost loops that multiply tiles: from a label to the branch back to it."""
    labels: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for i, line in enumerate(code):
        if label := re.match(r"\s*(\.?\w+):", line):
            labels[label[1]] = i
        elif (branch := re.search(r"\b(?:BRA|s_c?branch\w*)\b.*?(\.L\w+)", line)) and (
            branch[1] in labels
        ):
            found.append((labels[branch[1]], i))
    inner = [
        (a, b) for a, b in found if not any(a <= c and d < b and (a, b) != (c, d) for c, d in found)
    ]
    loops = [
        Loop(sum(_is_instruction(line) for line in body), len(MATRIX.findall("\n".join(body))))
        for body in (code[a : b + 1] for a, b in inner)
    ]
    return tuple(loop for loop in loops if loop.matrix)


def _is_instruction(line: str) -> bool:
    return bool(re.match(r"\s*(/\*[0-9a-f]+\*/\s+\S|[sv]_\w+|(buffer|global|ds)_\w+)", line))


if __name__ == "__main__":
    for one in json.loads(sys.argv[1]):
        print(json.dumps(asdict(_compile(*one))), flush=True)

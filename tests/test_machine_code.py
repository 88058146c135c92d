"""The kernels compiled for cards that aren't here, and what the machine code says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib import machine_code as module
from course_lib.machine_code import SHARED_LIMIT, TARGETS, machine_code, machine_codes

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def compiler():
    """Skips with its reason where kernels can't be compiled."""
    if reason := module.unavailable():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def codes(compiler):
    """What comes of every kernel on every card below."""
    asked = ON_HOPPER + ELSEWHERE
    return dict(zip(asked, machine_codes(asked), strict=True))


SPILLS = {"forward": 0, "tuned_forward": 0, "backward_keys": 31, "backward_queries": 31}
"""Bytes a thread that may go to slow memory and back, on the card that the tiles are cut for."""

LARGEST = {"sm_80": 255, "sm_90": 255, "sm_100": 255, "gfx942": 512}
"""Registers that a thread can have."""

ON_HOPPER = [(kernel, "sm_90", Dh) for Dh in (64, 128) for kernel in SPILLS]
ELSEWHERE = [("forward", "sm_80", 64), ("backward_keys", "sm_100", 64), ("forward", "gfx942", 64)]
# Each takes seconds, so that the three kernels and the four cards share what is compiled.


@pytest.mark.parametrize(("kernel", "target", "Dh"), ON_HOPPER + ELSEWHERE)
def test_a_kernel_fits_on_a_card_and_multiplies_with_its_matrix_units(codes, kernel, target, Dh):
    code = codes[kernel, target, Dh]
    assert (code.kernel, code.target) == (kernel, target)
    assert 0 < code.registers <= LARGEST[target]
    assert 0 < code.shared <= SHARED_LIMIT[target]
    assert code.loops and all(loop.matrix for loop in code.loops)
    assert code.matrix >= sum(loop.matrix for loop in code.loops)
    if target == "sm_90":
        assert code.spills <= SPILLS[kernel]
    if kernel == "forward":
        whole, masked = code.loops  # in the order of the source
        assert whole.matrix == masked.matrix
        share = 1 - whole.instructions / masked.instructions
        print(f"{target}, Dh {Dh}: without a mask the loop is {share:.0%} shorter")
        assert share > 0.2
    if (kernel, target, Dh) == ("forward", "sm_90", 64):
        said = f"takes {code.registers} registers a thread and spills none."
        assert said in README.read_text(encoding="utf-8")


def test_every_target_has_its_limit():
    assert SHARED_LIMIT.keys() == TARGETS.keys() == LARGEST.keys()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kernel": "softmax"}, "kernel: expected one of forward, .* got 'softmax'"),
        ({"target": "sm_70"}, "target: expected one of sm_80, .* got 'sm_70'"),
    ],
)
def test_what_is_not_known_is_named(asked, message):
    with pytest.raises(ValueError, match=message):
        machine_code(**asked)


@pytest.mark.usefixtures("compiler")
def test_float32_is_multiplied_number_by_number_in_tiles_that_nearly_fit():
    code = machine_code(Dh=128, dtype="float32")
    assert code.matrix == 0 and code.spills < 1024  # 59,916 with tiles as for half precision


SPECIAL = """
from course_lib import kernel
for name in ("forward", "backward_delta", "backward_keys", "backward_queries"):
    for p in getattr(kernel, name).params:
        if not (p.do_not_specialize or p.is_constexpr or p.name.endswith("_ptr")):
            print(p.name, end=" ")
"""


@pytest.mark.usefixtures("compiler")
def test_one_compilation_serves_calls_of_every_size():
    # A causal forward made for Tk = 1 crashed the assembler of sm_90.
    environment = os.environ | {"COURSE_KERNEL": "compiled"}
    command = [sys.executable, "-c", SPECIAL]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"scale"}


@pytest.mark.usefixtures("compiler")
def test_what_the_compiler_refuses_is_told_in_one_line():
    asked = [("forward", "sm_80", 64), ("forward", "sm_90", 64, "float31")]
    with pytest.raises(RuntimeError, match=r"forward for sm_90: .*no attribute 'float31'") as error:
        machine_codes(asked)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("platform", "rc", "said"),
    [("win32", 0, "no wheel for win32"), ("linux", 1, "isn't installed"), ("linux", 0, None)],
)
def test_without_triton_the_reason_is_told(monkeypatch, platform, rc, said):
    done = subprocess.CompletedProcess([], rc)
    monkeypatch.setattr(module.sys, "platform", platform)
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: done)
    why = module.unavailable.__wrapped__()
    assert why is None if said is None else said in why


NVIDIA = """
.text.forward:
.L_x_1:
        /*0010*/                   MOV R1, R2 ;
        /*0020*/                   HGMMA.64x64x16.F32 R8, gdesc[UR4] ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0040*/                   MOV R1, R2 ;
.L_x_3:
        /*0050*/                   HGMMA.64x64x16.F32 R8, gdesc[UR4] ;
        /*0060*/               @P0 BRA `(.L_x_3) ;
        /*0070*/                   FADD R1, R2, R3 ;
        /*0080*/               @P1 BRA `(.L_x_2) ;
.L_x_4:
        /*0090*/                   MOV R1, R2 ;
        /*00a0*/               @P0 BRA `(.L_x_4) ;
        /*00b0*/               @P0 BRA `(.L_x_5) ;
.L_x_5:
        /*00c0*/                   EXIT ;
"""


def test_a_loop_is_innermost_goes_back_and_multiplies_tiles():
    loops = module._loops(NVIDIA.splitlines())
    assert [(loop.instructions, loop.matrix) for loop in loops] == [(3, 1), (2, 1)]

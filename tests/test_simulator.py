"""The stand-in for Triton: what it computes, what it refuses, and what it notes."""

from collections import Counter

import pytest
import torch
from beartype import beartype
from jaxtyping import jaxtyped

from course_lib import simulator as triton
from course_lib.simulator import Pointer, watch
from course_lib.simulator import language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The first kernel of any course."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def copy_without_mask(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0))


@triton.jit
def add_one(tile):
    return tile + 1


@triton.jit(do_not_specialize=("n",))
def with_helper(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, add_one(tl.load(x_ptr + i, mask=i < n, other=0.0)), mask=i < n)


@triton.jit
def matmul(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.dot(a, b))


@triton.jit
def where_am_i(out_ptr):
    x, y, z = (tl.program_id(axis) for axis in range(3))
    sizes = tl.num_programs(0), tl.num_programs(1)
    tl.store(out_ptr + (z * sizes[1] + y) * sizes[0] + x, 100 * x + 10 * y + z)


def copied(kernel, n=10, block=4, programs=None):
    x, y = torch.arange(1.0, n + 1), torch.zeros(n)
    kernel[(programs or triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return x, y


def test_every_program_of_the_grid_runs_once():
    x, y = copied(copy)
    assert torch.equal(x, y)
    out = torch.full((2, 3, 4), -1)
    where_am_i[(4, 3, 2)](out)
    want = [[[100 * x + 10 * y + z for x in range(4)] for y in range(3)] for z in range(2)]
    assert out.tolist() == want


def test_a_kernel_calls_another_as_a_helper_and_takes_what_a_compiler_is_told():
    x, y = torch.arange(5.0), torch.zeros(5)
    with_helper[(1,)](x, y, n=5, BLOCK=8, num_warps=8, num_stages=3)
    assert torch.equal(y, x + 1)


def test_inputs_that_need_a_gradient_are_read_as_memory():
    x, y = torch.arange(4.0, requires_grad=True), torch.zeros(4)
    copy[(1,)](x, y, 4, BLOCK=4)
    assert torch.equal(x, y) and not y.requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dot_sums_in_float32(dtype):
    g = torch.Generator().manual_seed(0)
    a, b = torch.randn(16, 64, generator=g).to(dtype), torch.randn(64, 32, generator=g).to(dtype)
    out = torch.zeros(16, 32)
    matmul[(1,)](a, b, out, M=16, N=32, K=64)
    torch.testing.assert_close(out, (a.double() @ b.double()).float(), rtol=1e-5, atol=1e-5)


def test_lanes_turned_off_give_the_other_value_and_without_one_nothing_to_trust():
    x = Pointer(torch.arange(3.0))
    i = tl.arange(0, 4)
    assert tl.load(x + i, mask=i < 3, other=-7).tolist() == [0, 1, 2, -7]
    assert tl.load(x + i, mask=i < 3)[3].isnan()
    least = torch.iinfo(torch.int32).min
    assert tl.load(Pointer(torch.arange(3, dtype=torch.int32)) + i, mask=i < 3)[3] == least


def test_a_number_is_loaded_and_stored_without_a_tile():
    x = torch.arange(3.0)
    assert tl.load(Pointer(x) + 2) == 2
    tl.store(Pointer(x) + 1, 5)
    assert x.tolist() == [0, 5, 2]


def test_a_store_rounds_to_the_dtype_of_the_memory():
    y = torch.zeros(2, dtype=torch.bfloat16)
    tl.store(Pointer(y) + tl.arange(0, 2), torch.tensor([1.0001, 3.14159]))
    assert y.tolist() == [1, 3.140625]
    assert (Pointer(y) + 1).dtype.element_ty == torch.bfloat16


# --- what it refuses ---


def test_a_read_beyond_the_tensor_names_the_tensor_and_the_program():
    with pytest.raises(
        IndexError, match=r"program \(2, 0, 0\): store of y_ptr\[10\].* 10 elements"
    ):
        copied(copy_without_mask)
    with pytest.raises(IndexError, match=r"program \(0, 0, 0\): load of x_ptr\[8\].* 8 elements"):
        copy[(1,)](torch.zeros(8), torch.zeros(16), 16, BLOCK=16)
    with pytest.raises(IndexError, match=r"load of \?\[-1\]"):
        tl.load(Pointer(torch.zeros(4)) + (tl.arange(0, 4) - 1))


def test_nothing_is_written_where_a_store_goes_beyond():
    x, y = torch.ones(10), torch.zeros(10)
    with pytest.raises(IndexError):
        copy_without_mask[(3,)](x, y, 10, BLOCK=4)
    assert y.tolist() == [1] * 8 + [0] * 2


@pytest.mark.parametrize("sides", [(8, 32, 16), (16, 8, 16), (16, 16, 8)])
def test_dot_refuses_sides_below_those_of_the_matrix_units(sides):
    M, N, K = sides
    shapes = rf"at least 16.* got \[{M}, {K}\] and \[{K}, {N}\]"
    with pytest.raises(ValueError, match=shapes):
        matmul[(1,)](torch.zeros(M, K), torch.zeros(K, N), torch.zeros(M, N), M=M, N=N, K=K)


def test_dot_refuses_two_dtypes():
    with pytest.raises(TypeError, match=r"one dtype, got torch.bfloat16 and torch.float32"):
        tl.dot(torch.zeros(16, 16).bfloat16(), torch.zeros(16, 16))


@pytest.mark.parametrize(("start", "end"), [(0, 12), (0, 0), (4, 0), (1, 16)])
def test_arange_refuses_what_is_no_power_of_two(start, end):
    with pytest.raises(ValueError, match=f"arange: expected a power of two.* got {end - start}"):
        tl.arange(start, end)
    assert tl.arange(3, 7).tolist() == [3, 4, 5, 6]


def test_a_tensor_that_is_not_contiguous_is_named():
    with pytest.raises(ValueError, match=r"y_ptr: .*contiguous"):
        copy[(1,)](torch.zeros(16), torch.zeros(4, 4).mT, 16, BLOCK=16)


def test_a_launch_with_wrong_arguments_is_refused():
    x = torch.zeros(4)
    for args, named in (((x, x, 4), {}), ((x, x, 4, 4, 4), {"BLOCK": 4}), ((x, x), {"m": 1})):
        with pytest.raises(TypeError, match=r"argument"):
            copy[(1,)](*args, **named)


# --- 32 bits ---


def test_program_ids_and_numbers_in_turn_have_32_bits():
    @triton.jit
    def far(x_ptr, wide: tl.constexpr):
        here = tl.program_id(0)
        here = here.to(tl.int64) if wide else here
        tl.load(x_ptr + here * 2**20 * 2**11)

    far[(1,)](torch.zeros(1), wide=True)
    with pytest.raises(IndexError, match=r"program \(1, 0, 0\): load of x_ptr\[2147483648\]"):
        far[(2,)](torch.zeros(1), wide=True)
    with pytest.raises(IndexError, match=r"program \(1, 0, 0\): load of x_ptr\[-2147483648\]"):
        far[(2,)](torch.zeros(1), wide=False)


def test_an_address_itself_has_64_bits():
    most = torch.tensor([2**31 - 1], dtype=torch.int32)
    assert (Pointer(torch.zeros(1)) + most + most).offset.tolist() == [2**32 - 2]


# --- what it notes ---


def test_watch_notes_program_kind_name_elements_and_bytes():
    with watch() as log:
        copied(copy, n=6)
    assert [access[:3] for access in log] == [
        (program, *kind_and_name)
        for program in ((0, 0, 0), (1, 0, 0))
        for kind_and_name in (("load", "x_ptr"), ("store", "y_ptr"))
    ]
    assert [access.elements.tolist() for access in log] == [[0, 1, 2, 3]] * 2 + [[4, 5]] * 2
    assert sum(access.nbytes for access in log) == 2 * 6 * 4


def test_watches_nest_and_end():
    with watch() as outer:
        copied(copy, n=4)
        with watch() as inner:
            copied(copy, n=4)
        with pytest.raises(IndexError), watch():
            copied(copy_without_mask)
        copied(copy, n=4)
    copied(copy, n=4)
    assert len(inner) == 2 and len(outer) == 4


# --- descriptors ---


@triton.jit
def halve(x_ptr, y_ptr, R, C, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [R, C], [C, 1], [M, N])
    y = tl.make_tensor_descriptor(y_ptr, [R, C], [C, 1], [M, N])
    corner = [tl.program_id(0) * M, tl.program_id(1) * N]
    y.store(corner, x.load(corner) * 0.5)


def test_descriptors_read_zeros_outside_and_write_nothing_there():
    x, y = torch.arange(1.0, 36).view(5, 7), torch.zeros(5, 7)
    with watch() as log:
        halve[(2, 2)](x, y, 5, 7, M=4, N=4)
    assert torch.equal(y, x / 2)
    touched = Counter(int(i) for access in log for i in access.elements)
    assert touched == dict.fromkeys(range(35), 2)
    tile = tl.make_tensor_descriptor(Pointer(x), [5, 7], [7, 1], [4, 4]).load([4, 4])
    assert tile.tolist() == [[33, 34, 35, 0]] + [[0] * 4] * 3


# --- small things ---


def test_maximum_and_minimum_take_tiles_and_numbers():
    assert tl.maximum(2, 3) == 3 and tl.minimum(2, 3) == 2
    assert tl.maximum(tl.arange(0, 4), 2).tolist() == [2, 2, 2, 3]
    assert tl.minimum(1.5, torch.tensor([1.0, 2.0])).tolist() == [1, 1.5]


def test_sizes_of_tiles():
    assert [triton.cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [triton.next_power_of_2(n) for n in (1, 2, 3, 33, 64)] == [1, 2, 4, 64, 64]


def test_a_kernel_keeps_its_name_and_docstring():
    assert copy.__name__ == "copy" and copy.__doc__.startswith("The first kernel")


def test_a_function_that_a_notebook_checks_is_a_kernel_all_the_same():
    @triton.jit
    @jaxtyped(typechecker=beartype)
    def more(x_ptr, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x_ptr + i, add_one(tl.load(x_ptr + i)))

    x = torch.zeros(4)
    more[(1,)](x, BLOCK=4)
    assert x.tolist() == [1] * 4

"""Right ways to copy a tensor block by block that look unlike the reference.

No check may ask for one form: each of these passes in full, and Triton compiles each.
"""

from course_lib import simulator as triton
from course_lib.simulator import language as tl


@triton.jit
def _copy_from_moved_pointers(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    left = n - start  # this many from here on
    lanes = tl.arange(0, BLOCK)
    x_ptr += start
    out_ptr += start
    value = tl.load(x_ptr + lanes, mask=lanes < left, other=0)
    tl.store(out_ptr + lanes, value, mask=lanes < left)


@triton.jit
def _copy_every_so_many(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) + tl.num_programs(0) * tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, at < n), at < n)


@triton.jit
def _copy_with_a_path_for_full_blocks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    if (pid + 1) * BLOCK <= n:
        tl.store(out_ptr + at, tl.load(x_ptr + at))
    else:
        value = tl.load(x_ptr + at, mask=at < n)
        tl.store(out_ptr + at, value, mask=at < n)


@triton.jit
def _copy_the_last_one_again(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    at = tl.minimum(at, n - 1)  # lanes behind the end copy the last element once more
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _copy_one_by_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for i in range(start, tl.minimum(start + BLOCK, n)):
        tl.store(out_ptr + i, tl.load(x_ptr + i))


@triton.jit
def _copy_from_the_end(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.num_programs(0) - 1 - tl.program_id(0)
    at = pid * BLOCK + BLOCK - 1 - tl.arange(0, BLOCK)
    inside = (at >= 0) & (at < n)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside), mask=inside)


COPY = (
    _copy_from_moved_pointers,
    _copy_every_so_many,
    _copy_with_a_path_for_full_blocks,
    _copy_the_last_one_again,
    _copy_one_by_one,
    _copy_from_the_end,
)

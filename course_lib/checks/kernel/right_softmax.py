"""Right ways to write the softmax of rows that look unlike the reference.

No check may ask for one form: each of these passes in full, and Triton compiles each.
"""

from course_lib import simulator as triton
from course_lib.simulator import language as tl


@triton.jit
def _softmax_in_three_passes(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * T
    out_ptr += row * T
    best = float("-inf")
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < T, other=float("-inf")).to(tl.float32)
        best = tl.maximum(best, tl.max(x, 0))
    best = tl.where(best == float("-inf"), 0.0, best)
    total = 0.0
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < T, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - best), 0)
    total = tl.maximum(total, 1e-30)
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < T, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + at, tl.exp(x - best) / total, mask=at < T)


@triton.jit
def _softmax_lane_by_lane(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    first = tl.program_id(0) * T
    lanes = tl.arange(0, BLOCK)
    best = tl.full([BLOCK], -1e30, tl.float32)  # every lane has a maximum and a sum of its own
    total = tl.zeros([BLOCK], tl.float32)
    for tile in range(0, tl.cdiv(T, BLOCK)):
        at = tile * BLOCK + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=float("-inf")).to(tl.float32)
        new = tl.maximum(best, x)
        total = total * tl.exp(best - new) + tl.exp(x - new)
        best = new
    row_max = tl.max(best, 0)
    row_sum = tl.sum(total * tl.exp(best - row_max), 0)
    scale = tl.where(row_sum > 0, 1.0 / row_sum, 0.0)
    for tile in range(0, tl.cdiv(T, BLOCK)):
        at = tile * BLOCK + lanes
        x = tl.load(x_ptr + first + at, mask=at < T, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + first + at, tl.exp(x - row_max) * scale, mask=at < T)


@triton.jit
def _softmax_in_powers_of_two(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -3.4e38
    s = 0.0
    start = 0
    while start < T:
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * T + at, mask=at < T, other=-float("inf")).to(tl.float32)
        x = x * 1.4426950408889634
        new = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp2(m - new) + tl.sum(tl.exp2(x - new), 0)
        m = new
        start += BLOCK
    lse = tl.where(s == 0, 0.0, m + tl.log2(s))
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * T + at, mask=at < T, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * T + at, tl.exp2(x * 1.4426950408889634 - lse), mask=at < T)


@triton.jit
def _softmax_from_the_last_tile(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    start_of_row = tl.program_id(0) * T
    tiles = (T + BLOCK - 1) // BLOCK
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for i in range(0, tiles):
        at = (tiles - 1 - i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start_of_row + at, mask=at < T, other=float("-inf")).to(tl.float32)
        best = tl.maximum(best, x)
    row_max = tl.max(best, 0)
    powers = tl.zeros([BLOCK], tl.float32)
    for i in range(0, tiles):
        at = (tiles - 1 - i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start_of_row + at, mask=at < T, other=float("-inf")).to(tl.float32)
        powers += tl.where(x == float("-inf"), 0.0, tl.exp(x - row_max))
    row_sum = tl.sum(powers, 0) + 1e-9
    for i in range(0, tiles):
        at = (tiles - 1 - i) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start_of_row + at, mask=at < T, other=float("-inf")).to(tl.float32)
        power = tl.where(x == float("-inf"), 0.0, tl.exp(x - row_max))
        tl.store(out_ptr + start_of_row + at, power / row_sum, mask=at < T)


@triton.jit
def _softmax_with_masks_in_place_of_fills(x_ptr, out_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    row_max, row_sum = -1e38, 0.0
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < T
        x = tl.load(x_ptr + row * T + at, mask=inside, other=0.0).to(tl.float32)
        new = tl.maximum(row_max, tl.max(tl.where(inside, x, -1e38), 0))
        powers = tl.where(inside, tl.exp(x - new), 0.0)
        row_sum = row_sum * tl.exp(row_max - new) + tl.sum(powers, 0)
        row_max = new
    for start in range(0, T, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * T + at, mask=at < T, other=0.0).to(tl.float32)
        weight = tl.where(row_sum == 0, 0.0, tl.exp(x - row_max) / row_sum)
        tl.store(out_ptr + row * T + at, weight.to(out_ptr.dtype.element_ty), mask=at < T)


SOFTMAX = (
    _softmax_in_three_passes,
    _softmax_lane_by_lane,
    _softmax_in_powers_of_two,
    _softmax_from_the_last_tile,
    _softmax_with_masks_in_place_of_fills,
)

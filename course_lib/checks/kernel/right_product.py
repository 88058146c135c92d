"""Right ways to multiply two matrices in tiles that look unlike the reference.

No check may ask for one form: each of these passes in full, and Triton compiles each.
"""

from course_lib import simulator as triton
from course_lib.simulator import language as tl


@triton.jit
def _product_by_moving_pointers(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    along = tl.arange(0, BLOCK)
    rows_in, cols_in = rows % M, cols % N  # those that stick out begin again at the first
    a_ptrs = a_ptr + (rows_in[:, None] * K + along[None, :])
    b_ptrs = b_ptr + (along[:, None] * N + cols_in[None, :])
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for tile in range(0, tl.cdiv(K, BLOCK)):
        left = K - tile * BLOCK
        a = tl.load(a_ptrs, mask=along[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=along[:, None] < left, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK
        b_ptrs += BLOCK * N
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc, mask=inside)


@triton.jit
def _product_by_outer_products(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in range(K):
        column = tl.load(a_ptr + rows * K + k, mask=rows < M, other=0.0).to(tl.float32)
        row = tl.load(b_ptr + k * N + cols, mask=cols < N, other=0.0).to(tl.float32)
        acc += column[:, None] * row[None, :]
    at = rows[:, None] * N + cols[None, :]
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _product_by_sums(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), M - 1)
    cols = tl.minimum(tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), N - 1)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK):
        along = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + along[None, :], along[None, :] < K, 0.0)
        b = tl.load(b_ptr + along[:, None] * N + cols[None, :], along[:, None] < K, 0.0)
        acc += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], 1)
    # Lanes that stick out hold the last row and column once more, and store the same there.
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], acc)


@triton.jit
def _tile_of(ptr, rows, cols, R, C):
    inside = (rows[:, None] < R) & (cols[None, :] < C)
    return tl.load(ptr + rows[:, None] * C + cols[None, :], mask=inside, other=0.0)


@triton.jit
def _product_turned_over(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    rows = tl.program_id(0) * BLOCK + lanes
    cols = tl.program_id(1) * BLOCK + lanes
    turned = tl.zeros([BLOCK, BLOCK], tl.float32)  # [cols, rows]
    start = 0
    while start < K:
        a = _tile_of(a_ptr, rows, start + lanes, M, K).to(tl.float32)
        b = _tile_of(b_ptr, start + lanes, cols, K, N).to(tl.float32)
        turned = tl.dot(tl.trans(b), tl.trans(a), turned, input_precision="ieee")
        start += BLOCK
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], tl.trans(turned), mask=inside)


@triton.jit
def _product_with_a_path_for_the_tail(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK: tl.constexpr):
    a_ptr += tl.program_id(0).to(tl.int64) * BLOCK * K
    b_ptr += tl.program_id(1) * BLOCK
    lanes = tl.arange(0, BLOCK)
    rows_left = M - tl.program_id(0) * BLOCK
    cols_left = N - tl.program_id(1) * BLOCK
    acc = tl.full([BLOCK, BLOCK], 0.0, tl.float32)
    whole = K // BLOCK * BLOCK
    a_at = lanes[:, None] * K + lanes[None, :]
    b_at = lanes[:, None] * N + lanes[None, :]
    for start in range(0, whole, BLOCK):
        a = tl.load(a_ptr + a_at + start, mask=lanes[:, None] < rows_left, other=0.0)
        b = tl.load(b_ptr + b_at + start * N, mask=lanes[None, :] < cols_left, other=0.0)
        acc = acc + tl.dot(a, b, input_precision="ieee")
    if whole < K:
        left = K - whole
        in_a = (lanes[:, None] < rows_left) & (lanes[None, :] < left)
        in_b = (lanes[:, None] < left) & (lanes[None, :] < cols_left)
        a = tl.load(a_ptr + a_at + whole, mask=in_a, other=0.0)
        b = tl.load(b_ptr + b_at + whole * N, mask=in_b, other=0.0)
        acc = acc + tl.dot(a, b, input_precision="ieee")
    out_ptr += tl.program_id(0) * BLOCK * N + tl.program_id(1) * BLOCK
    inside = (lanes[:, None] < rows_left) & (lanes[None, :] < cols_left)
    tl.store(out_ptr + lanes[:, None] * N + lanes[None, :], acc, mask=inside)


PRODUCT = (
    _product_by_moving_pointers,
    _product_by_outer_products,
    _product_by_sums,
    _product_turned_over,
    _product_with_a_path_for_the_tail,
)

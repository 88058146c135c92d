"""Right ways of 07.4 unlike the reference: kernels that a compiler takes as well."""

from course_lib import simulator as triton
from course_lib.simulator import language as tl


@triton.jit
def by_powers_of_two(
    q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, start, Tk, scale,
    Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The factor that turns e into 2 stands in each exponent; row_max stays in powers of e."""
    LOG2E: tl.constexpr = 1.4426950408889634
    rows, dims = tl.arange(0, BLOCK_Q), tl.arange(0, Dh)
    cols = start + tl.arange(0, BLOCK_K)
    k_ptr, v_ptr = k_ptr + dims[:, None] + cols[None, :] * Dh, v_ptr + cols[:, None] * Dh
    q = tl.load(q_ptr + rows[:, None] * Dh + dims[None, :])
    k = tl.load(k_ptr, mask=cols[None, :] < Tk, other=0.0)  # [Dh, BLOCK_K]: turned as it is read
    scores = tl.where(cols[None, :] < Tk, scale * tl.dot(q, k), float("-inf"))
    old = tl.load(max_ptr + rows)
    new = tl.maximum(tl.max(scores, 1), old)
    tl.store(max_ptr + rows, new)
    powers = tl.exp2((scores - new[:, None]) * LOG2E)
    rescale = tl.exp2((old - new) * LOG2E)
    tl.store(sum_ptr + rows, tl.load(sum_ptr + rows) * rescale + tl.sum(powers, 1))
    v = tl.load(v_ptr + dims[None, :], mask=cols[:, None] < Tk, other=0.0)
    acc_ptr += rows[:, None] * Dh + dims[None, :]
    acc = tl.load(acc_ptr) * rescale[:, None]
    acc += tl.dot(powers.to(v.dtype), v)
    tl.store(acc_ptr, acc)


@triton.jit
def without_matrix_units(
    q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, start, Tk, scale,
    Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Key by key, each by sums over the features: a tile of one key."""
    rows, dims = tl.arange(0, BLOCK_Q), tl.arange(0, Dh)
    tile = rows[:, None] * Dh + dims[None, :]
    q = tl.load(q_ptr + tile).to(tl.float32)
    row_max, row_sum = tl.load(max_ptr + rows), tl.load(sum_ptr + rows)
    acc = tl.load(acc_ptr + tile)
    for key in range(start, tl.minimum(start + BLOCK_K, Tk)):
        k = tl.load(k_ptr + key * Dh + dims).to(tl.float32)
        v = tl.load(v_ptr + key * Dh + dims).to(tl.float32)
        score = tl.sum(q * k[None, :], 1) * scale
        new_max = tl.maximum(row_max, score)
        rescale, power = tl.exp(row_max - new_max), tl.exp(score - new_max)
        row_sum = row_sum * rescale + power
        acc = acc * rescale[:, None] + power[:, None] * v[None, :]
        row_max = new_max
    tl.store(max_ptr + rows, row_max)
    tl.store(sum_ptr + rows, row_sum)
    tl.store(acc_ptr + tile, acc)


@triton.jit
def joined_afterwards(
    q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, start, Tk, scale,
    Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """The tile by its own maximum, then two finished parts are joined; all in float32."""
    rows, dims, lanes = tl.arange(0, BLOCK_Q), tl.arange(0, Dh), tl.arange(0, BLOCK_K)
    left = Tk - start
    keys = start * Dh + lanes[:, None] * Dh + dims[None, :]
    q = tl.load(q_ptr + rows[:, None] * Dh + dims[None, :]).to(tl.float32) * scale
    k = tl.load(k_ptr + keys, mask=lanes[:, None] < left, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + keys, mask=lanes[:, None] < left, other=0.0).to(tl.float32)
    scores = tl.dot(q, tl.trans(k)) + tl.where(lanes < left, 0.0, float("-inf"))[None, :]
    own_max = tl.max(scores, 1)
    powers = tl.exp(scores - own_max[:, None])
    old_max = tl.load(max_ptr + rows)
    row_max = tl.where(old_max > own_max, old_max, own_max)
    before, now = tl.exp(old_max - row_max), tl.exp(own_max - row_max)
    row_sum = before * tl.load(sum_ptr + rows) + now * tl.sum(powers, 1)
    acc_ptr = acc_ptr + rows[:, None] * Dh + dims[None, :]
    acc = before[:, None] * tl.load(acc_ptr) + now[:, None] * tl.dot(powers, v)
    tl.store(max_ptr + rows, row_max)
    tl.store(sum_ptr + rows, row_sum)
    tl.store(acc_ptr, acc)


@triton.jit
def masked_powers(
    q_ptr, k_ptr, v_ptr, max_ptr, sum_ptr, acc_ptr, start, Tk, scale,
    Dh: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Loads by tiles of memory that end where k and v end; a finite number for what is missing."""
    ks = tl.make_tensor_descriptor(k_ptr, [Tk, Dh], [Dh, 1], [BLOCK_K, Dh])
    vs = tl.make_tensor_descriptor(v_ptr, [Tk, Dh], [Dh, 1], [BLOCK_K, Dh])
    rows, dims = tl.arange(0, BLOCK_Q), tl.arange(0, Dh)
    tile = rows[:, None] * Dh + dims[None, :]
    exists = (tl.arange(0, BLOCK_K) < Tk - start)[None, :]
    products = tl.dot(tl.load(q_ptr + tile), tl.trans(ks.load([start, 0])))
    scores = tl.where(exists, products * scale, -3.0e38)
    row_max = tl.load(max_ptr + rows)
    new_max = tl.maximum(row_max, tl.max(scores, 1))
    powers = tl.where(exists, tl.exp(scores - new_max[:, None]), 0.0)
    rescale = tl.where(row_max == new_max, 1.0, tl.exp(row_max - new_max))
    v = vs.load([start, 0])
    tl.store(max_ptr + rows, new_max)
    tl.store(sum_ptr + rows, rescale * tl.load(sum_ptr + rows) + tl.sum(powers, 1))
    tl.store(
        acc_ptr + tile, tl.dot(powers.to(v.dtype), v, tl.load(acc_ptr + tile) * rescale[:, None])
    )


STEP = (by_powers_of_two, without_matrix_units, joined_afterwards, masked_powers)

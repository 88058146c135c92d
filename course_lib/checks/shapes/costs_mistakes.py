"""The mistakes of 01.2 and 01.3: bytes and operations that people count."""

from collections.abc import Callable
from functools import partial

import torch

from course_lib.checks.question import Mistake

_in_the_costs = partial(Mistake, reread='01, "What a call costs"')


def _taking(numbers: Callable) -> Callable:
    """So many numbers for each batch entry and head, each of the dtype's size."""
    return lambda B, H, Tq, Tk, Dh, dtype: B * H * numbers(Tq, Tk, Dh) * dtype.itemsize


def _sized(size: Callable) -> Callable:
    """The right numbers, each of the size that `size(dtype)` says."""
    return lambda B, H, Tq, Tk, Dh, dtype: 2 * B * H * (Tq * (Dh + Tk) + Tk * Dh) * size(dtype)


_right = _sized(lambda dtype: dtype.itemsize)

BYTES = (
    _in_the_costs(
        "elements for bytes",
        _sized(lambda dtype: 1),
        "You count numbers, and the dtype changes nothing.",
        "How much memory does one number of this dtype take?",
    ),
    _in_the_costs(
        "bits for bytes",
        _sized(lambda dtype: 8 * dtype.itemsize),
        "You count eight for every byte.",
        "What is the 32 of float32 a number of?",
    ),
    _in_the_costs(
        "float32 always",
        _sized(lambda dtype: 4),
        "You take 4 bytes for a number, whatever its dtype.",
        "Where does the answer depend on dtype?",
    ),
    _in_the_costs(
        "float32 or half of it",
        _sized(lambda dtype: 4 if dtype == torch.float32 else 2),
        "You know two sizes: 4 bytes for float32, 2 for every other dtype.",
        "Who could tell you the size of any dtype?",
    ),
    _in_the_costs(
        "bfloat16 as one byte",
        _sized(lambda dtype: 1 if dtype == torch.bfloat16 else dtype.itemsize),
        "You give bfloat16 the one byte of int8.",
        "How many bits does its name say?",
    ),
    _in_the_costs(
        "floats only",
        _sized(lambda dtype: torch.finfo(dtype).bits // 8),
        "You ask a table of floating dtypes, and int8 isn't in it.",
        "Who else knows the size of a dtype: the dtype itself?",
    ),
    _in_the_costs(
        "scores counted once",
        _taking(lambda Tq, Tk, Dh: 2 * Tq * Dh + 2 * Tk * Dh + Tq * Tk),
        "You count one tensor of Tq by Tk numbers.",
        "Is the softmax of the scores the same piece of memory as the scores?",
    ),
    _in_the_costs(
        "scores and weights forgotten",
        _taking(lambda Tq, Tk, Dh: 2 * Tq * Dh + 2 * Tk * Dh),
        "You count what goes in and what comes out.",
        "What is written in between?",
    ),
    _in_the_costs(
        "out forgotten",
        _taking(lambda Tq, Tk, Dh: Tq * Dh + 2 * Tk * Dh + 2 * Tq * Tk),
        "You count one tensor of Tq rows and Dh columns: five tensors in all.",
        "Which of the six is as large as q?",
    ),
    _in_the_costs(
        "v forgotten",
        _taking(lambda Tq, Tk, Dh: 2 * Tq * Dh + Tk * Dh + 2 * Tq * Tk),
        "You count one tensor of Tk rows and Dh columns: five tensors in all.",
        "Which of the six is as large as k?",
    ),
    _in_the_costs(
        "Tq for Tk",
        _taking(lambda Tq, Tk, Dh: 4 * Tq * Dh + 2 * Tq * Tk),
        "You give k and v as many rows as q has.",
        "How many keys are there, and how many values?",
    ),
    _in_the_costs(
        "H forgotten",
        lambda B, H, Tq, Tk, Dh, dtype: _right(B, 1, Tq, Tk, Dh, dtype),
        "You count the tensors of one head.",
        "How many heads hold such tensors?",
    ),
    _in_the_costs(
        "B forgotten",
        lambda B, H, Tq, Tk, Dh, dtype: _right(1, H, Tq, Tk, Dh, dtype),
        "You count one sequence of the batch.",
        "How many sequences does the call hold?",
    ),
    _in_the_costs(
        "D for Dh",
        lambda B, H, Tq, Tk, Dh, dtype: _right(B, H, Tq, Tk, H * Dh, dtype),
        "You make each head as wide as all of them together, so H counts twice.",
        "Is Dh the width of the model or of one head?",
    ),
    _in_the_costs(
        "scores kept in float32",
        lambda B, H, Tq, Tk, Dh, dtype: 2 * B * H * ((Tq + Tk) * Dh * dtype.itemsize + Tq * Tk * 4),
        "You give scores and weights 4 bytes a number, whatever dtype is asked for.",
        "Which dtype does the question give to all six?",
    ),
    _in_the_costs(
        "size times the last term",
        lambda B, H, Tq, Tk, Dh, dtype: 2 * B * H * ((Tq + Tk) * Dh + Tq * Tk * dtype.itemsize),
        "You multiply scores and weights by the size of a number, and the others by nothing.",
        "How far does a multiplication reach in a sum without parentheses?",
    ),
    _in_the_costs(
        "scores of one head",
        lambda B, H, Tq, Tk, Dh, dtype: 2 * B * (H * (Tq + Tk) * Dh + Tq * Tk) * dtype.itemsize,
        "You count one table of scores and one of weights for all heads.",
        "How many tables do H heads make?",
    ),
    _in_the_costs(
        "inputs alone",
        _taking(lambda Tq, Tk, Dh: Tq * Dh + 2 * Tk * Dh),
        "You count q, k and v.",
        "What does the call write, in between and at the end?",
    ),
    _in_the_costs(
        "scores Tq by Tq",
        _taking(lambda Tq, Tk, Dh: 2 * (Tq + Tk) * Dh + 2 * Tq * Tq),
        "Your scores have a column for each query.",
        "What stands in the columns of the scores?",
    ),
    _in_the_costs(
        "scores Tk by Tk",
        _taking(lambda Tq, Tk, Dh: 2 * (Tq + Tk) * Dh + 2 * Tk * Tk),
        "Your scores have a row for each key.",
        "What stands in the rows of the scores?",
    ),
    _in_the_costs(
        "kilobytes",
        lambda *call: _right(*call) / 1024,
        "You divide by 1024.",
        "Which unit does the question want?",
    ),
)

FLOPS = (
    _in_the_costs(
        "half the work",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * Tq * Tk * Dh,
        "You count 2·B·H·Tq·Tk·Dh. That is one product of the two, or a multiply-add as one.",
        "Which of the two is missing: weights @ v, or the addition that follows a multiplication?",
    ),
    _in_the_costs(
        "a quarter of the work",
        lambda B, H, Tq, Tk, Dh: B * H * Tq * Tk * Dh,
        "You count B·H·Tq·Tk·Dh: one product, and a multiply-add as one operation.",
        "How many products has a call, and how many operations are a multiplication and a sum?",
    ),
    _in_the_costs(
        "softmax counted",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh + 5 * B * H * Tq * Tk,
        "You add five operations for each score: the ledger's softmax is in your sum.",
        "Which operations does the question ask for?",
    ),
    _in_the_costs(
        "scaling counted",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh + B * H * Tq * Tk,
        "You add one operation for each score: the division by the root is in your sum.",
        "Does the scaling belong to one of the two products?",
    ),
    _in_the_costs(
        "n - 1 additions",
        lambda B, H, Tq, Tk, Dh: B * H * Tq * (Tk * (2 * Dh - 1) + Dh * (2 * Tk - 1)),
        "You count n - 1 additions in a sum of n products, which is exact on paper.",
        "How many operations are n multiply-adds, if each counts as two?",
    ),
    _in_the_costs(
        "H forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * B * Tq * Tk * Dh,
        "You count the work of one head.",
        "How many heads do it?",
    ),
    _in_the_costs(
        "B forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * H * Tq * Tk * Dh,
        "You count the work of one sequence of the batch.",
        "How many sequences does the call hold?",
    ),
    _in_the_costs(
        "Dh forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk,
        "You count the scores, not the work in them: the width of a head changes nothing.",
        "How many multiply-adds make one score?",
    ),
    _in_the_costs(
        "D for Dh",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * H * Dh,
        "You make each head as wide as all of them together, so H counts twice.",
        "Is Dh the width of the model or of one head?",
    ),
    _in_the_costs(
        "Tq squared",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tq * Dh,
        "In your count each query reads as many keys as there are queries.",
        "Which length says how many keys a query reads?",
    ),
    _in_the_costs(
        "Tk squared",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tk * Tk * Dh,
        "In your count as many queries ask as there are keys.",
        "Which length says how many queries ask?",
    ),
    _in_the_costs(
        "sizes added",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * (Tq + Tk) * Dh,
        "In your count a query and a key are each used once: you add the two lengths.",
        "How many pairs do Tq queries and Tk keys make?",
    ),
    _in_the_costs(
        "outputs counted",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * (Tq * Tk + Tq * Dh),
        "You count two operations for each number that comes out.",
        "How many products are summed into one such number?",
    ),
    _in_the_costs(
        "three products",
        lambda B, H, Tq, Tk, Dh: 6 * B * H * Tq * Tk * Dh,
        "You count three products, as if q, k and v had one each.",
        "Between which tensors does a call multiply?",
    ),
    _in_the_costs(
        "backward counted",
        lambda B, H, Tq, Tk, Dh: 12 * B * H * Tq * Tk * Dh,
        "You count a training step: the backward pass makes two products for each one.",
        "Which products does the call itself make?",
    ),
    _in_the_costs(
        "B and H forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * Tq * Tk * Dh,
        "You count one head of one sequence.",
        "How many such pairs does the call hold?",
    ),
    _in_the_costs(
        "billions",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh / 1e9,
        "You divide by a billion.",
        "Which unit does the question want?",
    ),
)

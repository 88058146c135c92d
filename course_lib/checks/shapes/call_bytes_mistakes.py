"""The mistakes of 01.2: bytes that people count."""

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

MISTAKES = (
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
        "half precision always",
        _sized(lambda dtype: 2),
        "You take 2 bytes for a number, whatever its dtype.",
        "Where does the answer depend on dtype?",
    ),
    _in_the_costs(
        "size squared",
        _sized(lambda dtype: dtype.itemsize**2),
        "You multiply by the size of a number twice.",
        "Each number takes its bytes once. So how often does the size stand in a product?",
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
        "q or out as long as k",
        _taking(lambda Tq, Tk, Dh: Tq * Dh + 3 * Tk * Dh + 2 * Tq * Tk),
        "You count three tensors of Tk rows and Dh columns.",
        "Which of the six have a row for each key, and is out one of them?",
    ),
    _in_the_costs(
        "k or v as long as q",
        _taking(lambda Tq, Tk, Dh: 3 * Tq * Dh + Tk * Dh + 2 * Tq * Tk),
        "You count three tensors of Tq rows and Dh columns.",
        "Which of the six have a row for each query?",
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
        "You count one head of each sequence.",
        "How many heads hold such tensors?",
    ),
    _in_the_costs(
        "B forgotten",
        lambda B, H, Tq, Tk, Dh, dtype: _right(1, H, Tq, Tk, Dh, dtype),
        "You count one sequence of the batch.",
        "How many sequences does the call hold?",
    ),
    _in_the_costs(
        "B and H forgotten",
        lambda B, H, Tq, Tk, Dh, dtype: _right(1, 1, Tq, Tk, Dh, dtype),
        "You count one head of one sequence.",
        "How many such heads does the call hold?",
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

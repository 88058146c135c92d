"""The mistakes of 01.4: what is left of the two faults, and what comes in while mending."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from course_lib.checks.question import Mistake

_in_the_sizes = partial(Mistake, reread='01, "When sizes are equal"')


def _keys(q, k):
    return q @ k.mT


def _attending(scores: Callable, weights: Callable, values: Callable | None = None) -> Callable:
    """Attention from its steps: scores(q, k) are divided by the root, then weights(scores)."""

    def run(q, k, v):
        shared = weights(scores(q, k) * q.shape[-1] ** -0.5)
        return values(shared, v) if values else shared @ v

    return run


def _scaled_by(scale: Callable) -> Callable:
    return lambda q, k, v: (q @ k.mT * scale(q, k, v)).softmax(-1) @ v


MISTAKES = (
    _in_the_sizes(
        "nothing mended",
        _attending(lambda q, k: q @ k, lambda s: s.softmax(-2)),
        "This is still the broken call: it runs where Tk equals Dh, and nowhere else.",
        "Which axes does its product sum over, and do the weights of one query sum to 1?",
    ),
    _in_the_sizes(
        "softmax unmended",
        _attending(_keys, lambda s: s.softmax(-2)),
        "Your scores are right. Your softmax lets the queries compete for a key.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_the_sizes(
        "keys unmended",
        _attending(lambda q, k: q @ k, lambda s: s.softmax(-1)),
        "Your softmax is right. Your product sums q's Dh against k's tokens.",
        "Which axis must q and k share, and where does a product look for it in its second factor?",
    ),
    _in_the_sizes(
        "keys unmended, in einsum",
        lambda q, k, v: (
            (torch.einsum("bhqd,bhdk->bhqk", q, k) / q.shape[-1] ** 0.5).softmax(-1) @ v
        ),
        "Your softmax is right. Your einsum takes k's tokens for its width.",
        "Which letter names which axis of k?",
    ),
    _in_the_sizes(
        "k viewed",
        _attending(
            lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
            lambda s: s.softmax(-1),
        ),
        "You give k the transposed shape, and its numbers stay in the order they had in memory.",
        "Is the second column of your k still the second key?",
    ),
    _in_the_sizes(
        "k viewed, softmax unmended",
        _attending(
            lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
            lambda s: s.softmax(-2),
        ),
        "You give k the transposed shape without moving a number, and share over the queries.",
        "Is the second column of your k still the second key?",
    ),
    _in_the_sizes(
        "head and time swapped",
        _attending(lambda q, k: q @ k.transpose(1, 2), lambda s: s.softmax(-1)),
        "You swap axes 1 and 2 of k: its heads and its tokens.",
        "Which two axes does a product work on, counted from the end?",
    ),
    _in_the_sizes(
        "all axes reversed",
        _attending(lambda q, k: q @ k.permute(3, 2, 1, 0), lambda s: s.softmax(-1)),
        "You reverse all four axes of k, its batch and its heads with them.",
        "Which axes have to stay where they are?",
    ),
    _in_the_sizes(
        "q turned, not k",
        _attending(lambda q, k: q.mT @ k, lambda s: s.softmax(-1)),
        "You turn q, and the product sums over tokens.",
        "What should be left in the rows of the scores?",
    ),
    _in_the_sizes(
        "scores turned",
        _attending(lambda q, k: k @ q.mT, lambda s: s.softmax(-1)),
        "Your scores have a row for each key.",
        "Which factor of the product gives the rows?",
    ),
    _in_the_sizes(
        "weights turned",
        _attending(_keys, lambda s: s.softmax(-1), lambda w, v: w.mT @ v),
        "You turn the weights before they meet v, so each key collects from the queries.",
        "Which axis of the weights must meet the rows of v?",
    ),
    _in_the_sizes(
        "softmax over heads",
        _attending(_keys, lambda s: s.softmax(1)),
        "Your softmax runs over axis 1, where the heads are.",
        "Which axis is it, if you count from the end?",
    ),
    _in_the_sizes(
        "softmax twice",
        _attending(_keys, lambda s: s.softmax(-1).softmax(-2)),
        "You take a softmax over the keys and another over the queries.",
        "Which of the two shares one query's weight?",
    ),
    _in_the_sizes(
        "scale lost",
        _scaled_by(lambda q, k, v: 1.0),
        "Both faults are gone, and so is the division by the root of Dh.",
        "Which part of the broken line was right?",
    ),
    _in_the_sizes(
        "scale without root",
        _scaled_by(lambda q, k, v: 1 / q.shape[-1]),
        "You divide by Dh.",
        "What did the broken call divide by?",
    ),
    _in_the_sizes(
        "scale multiplied",
        _scaled_by(lambda q, k, v: q.shape[-1] ** 0.5),
        "You multiply by the root of Dh.",
        "What does the minus in the broken call's exponent do?",
    ),
    _in_the_sizes(
        "scale of one size",
        _scaled_by(lambda q, k, v: 4**-0.5),
        "You divide by 2, the root of 4, at every size.",
        "How wide is a query, and who can tell you when it isn't 4?",
    ),
    _in_the_sizes(
        "scale of the wrong axis",
        _scaled_by(lambda q, k, v: k.shape[-2] ** -0.5),
        "You divide by the root of Tk.",
        "How many products are summed into one score?",
    ),
    _in_the_sizes(
        "out turned",
        lambda q, k, v: ((q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v).transpose(1, 2),
        "Your numbers are right, and you hand them over with heads and time swapped.",
        "Where do heads stand in q, and where should they stand in out?",
    ),
    _in_the_sizes(
        "scale of the model",
        _scaled_by(lambda q, k, v: (q.shape[1] * q.shape[-1]) ** -0.5),
        "You divide by the root of H·Dh, the width of all heads together.",
        "How many products are summed into one score?",
    ),
    _in_the_sizes(
        "scale after the softmax",
        lambda q, k, v: (q @ k.mT).softmax(-1) * q.shape[-1] ** -0.5 @ v,
        "You divide the weights, so a row no longer adds up to 1.",
        "What did the broken call divide?",
    ),
    _in_the_sizes(
        "scale lost, softmax unmended",
        lambda q, k, v: (q @ k.mT).softmax(-2) @ v,
        "You lost the division by the root of Dh, and your softmax lets queries compete for a key.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_the_sizes(
        "weights returned",
        lambda q, k, v: (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1),
        "You return the weights.",
        "What do the weights still have to be multiplied with?",
    ),
    _in_the_sizes(
        "softmax lost",
        lambda q, k, v: q @ k.mT * q.shape[-1] ** -0.5 @ v,
        "You blend the values with the scores themselves, negative ones too.",
        "What turns scores into weights?",
    ),
    _in_the_sizes(
        "causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "You mask: a query reads only the keys up to its own place.",
        "Did the broken call hide any key?",
    ),
)

"""More of what goes wrong where heads are cut, joined and shared: lost batches, a copied number."""

from collections.abc import Callable
from functools import partial

import torch

from course_lib.checks.question import Mistake

_in_cut = partial(Mistake, reread='04, "Cut the features"')
_in_share = partial(Mistake, reread='04, "Heads that share"')


def dtype_lost(right: Callable, kind: Callable[..., Mistake]) -> tuple[Mistake, Mistake]:
    """Two ways to put the right numbers into a tensor of a dtype of its own."""
    return (
        kind(
            "filled in float32",
            lambda *given: right(*given).float(),
            "The numbers are right, but they come back in float32, whatever x is.",
            "Which step chooses a dtype of its own, as torch.zeros or .float() do?",
        ),
        kind(
            "rebuilt from numbers",
            lambda *given: torch.tensor(right(*given).tolist()),
            "The numbers are right, but they come back in float32 and out of the graph: dtype and "
            "gradient are lost.",
            "Which step of yours detaches x, or takes bare numbers from it?",
        ),
    )


LOST = "Sequence 0 comes back alone: the batch axis is lost, and the other sequences with it."
WHICH_AXIS = "Which axis of x tells sequences apart, and where is it in your result?"
OF_TWO = (  # two ways to write it: one runs out of heads, the other makes too few or too many
    "Groups of two are made, whatever H and Hkv are: 2 is the number of the task's example.",
    "How large is a group if H is 6 and Hkv is 2?",
)


def _split_one(x, H):
    T, D = x[0].shape
    return x[0].reshape(T, H, D // H).transpose(0, 1)


def _split_two_sizes(x, H):
    T, D = x.shape
    return x.reshape(T, H, D // H).transpose(0, 1)


def _merge_three_sizes(x):
    H, T, Dh = x.shape
    return x.transpose(0, 1).reshape(T, H * Dh)


def _share_three_sizes(x, H):
    Hkv, _, _ = x.shape
    return x.repeat_interleave(H // Hkv, 0)


SPLIT = (
    _in_cut("one sequence alone", _split_one, LOST, WHICH_AXIS),
    _in_cut(
        "two sizes of three",
        _split_two_sizes,
        "Your code takes two sizes where there are more: x has three, B, T and D.",
        "Which of the three has no name in your line?",
    ),
)

MERGE = (
    _in_cut("one sequence alone", lambda x: x[0].transpose(0, 1).flatten(1), LOST, WHICH_AXIS),
    _in_cut(
        "three sizes of four",
        _merge_three_sizes,
        "Your code takes three sizes where there are more: x has four, B, H, T and Dh.",
        "Which of the four has no name in your line?",
    ),
)

SHARE = (
    _in_share("groups of two", lambda x, H: x[:, [h // 2 for h in range(H)]], *OF_TWO),
    _in_share("two copies of each", lambda x, H: x.repeat_interleave(2, dim=1), *OF_TWO),
    _in_share(
        "one sequence alone",
        lambda x, H: x[0].repeat_interleave(H // x.shape[1], 0),
        LOST,
        WHICH_AXIS,
    ),
    _in_share(
        "three sizes of four",
        _share_three_sizes,
        "Your code takes three sizes where there are more: x has four, B, Hkv, T and Dh.",
        "Which of the four has no name in your line?",
    ),
)

"""What people really write to put heads side by side when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.heads.layout_slips import dtype_lost
from course_lib.checks.question import Mistake

_in_cut = partial(Mistake, reread='04, "Cut the features"')
_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def _reshaped(*axes: int) -> Callable:
    """The axes B, H, T, Dh (0 to 3) in this order, then a reshape to [B, T, D]."""

    def run(x):
        B, H, T, Dh = x.shape
        return x.permute(axes).reshape(B, T, H * Dh)

    return run


def _flat(*axes: int) -> Callable:
    """The axes B, H, T, Dh (0 to 3) in this order, then the last two as one."""
    return lambda x: x.permute(axes).flatten(2)


def _right(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def _viewed(x):
    B, H, T, Dh = x.shape
    return x.transpose(1, 2).view(B, T, H * Dh)


def _copied_too_early(x):
    B, H, T, Dh = x.shape
    return x.contiguous().transpose(1, 2).view(B, T, H * Dh)


def _names_swapped(x):
    B, T, H, Dh = x.shape
    return x.transpose(1, 2).reshape(B, T, H * Dh)


def _overwritten(x):
    B, H, T, Dh = x.shape
    out = x.new_zeros(B, T, H * Dh)
    for h in range(H):
        out[..., :Dh] = x[:, h]
    return out


MERGE = (
    _in_cut(
        "reshaped without a transpose",
        _reshaped(0, 1, 2, 3),
        "The heads don't move first: all tokens of a head come before the next head, and the row "
        "of a token gets numbers of several.",
        "Which axis must stand beside Dh before the two become one?",
    ),
    _in_cut(
        "Dh and T transposed",
        _reshaped(0, 1, 3, 2),
        "T and Dh change places, and the reshape then cuts across tokens: a row gets numbers of "
        "several.",
        "Which two axes did split swap?",
    ),
    _in_cut(
        "H and Dh transposed",
        _reshaped(0, 3, 2, 1),
        "H and Dh change places, and the reshape then cuts across tokens: a row gets numbers of "
        "several.",
        "Which two axes did split swap?",
    ),
    _in_cut(
        "features before tokens, then reshaped",
        _reshaped(0, 3, 1, 2),
        "The tokens go last and the reshape then fills each token's row with numbers of several.",
        "Which axis must come right after the batch, so that a row is one token's?",
    ),
    _in_cut(
        "features in turn",
        _flat(0, 2, 3, 1),
        "A token gets feature 0 of every head, then feature 1 of every head: they are dealt out in "
        "turn.",
        "Which of H and Dh counts slowly when head 0 comes first?",
    ),
    _in_cut(
        "a view of the transpose",
        _viewed,
        "A transpose moves no number in memory. The heads of one token stay apart, unless x itself "
        "came out of a transpose.",
        "How far apart in memory are the first numbers of head 0 and head 1 of one token, and how "
        "far apart in a row of D numbers?",
    ),
    _in_cut(
        "a copy before the transpose",
        _copied_too_early,
        "The numbers are put in the order of the axes before the transpose. After it they are out "
        "of order again.",
        "In which order must they lie in memory when the view is taken?",
    ),
    _in_cut(
        "not joined",
        lambda x: x.transpose(1, 2),
        "The axes are in the right order, and there are still four: [B, T, H, Dh].",
        "Which two of them make D?",
    ),
    _in_cut(
        "heads on the token axis",
        lambda x: x.flatten(1, 2),
        "The heads lie one after another on the token axis, [B, H T, Dh].",
        "On which axis did split cut?",
    ),
    _in_cut(
        "heads on the token axis, in turn",
        lambda x: x.transpose(1, 2).flatten(1, 2),
        "The transpose is right. You then join T and H, where H and Dh should be joined: "
        "[B, T H, Dh].",
        "Which two of [B, T, H, Dh] make D?",
    ),
    _in_cut(
        "heads on the batch axis",
        lambda x: torch.cat(x.unbind(1)),
        "The heads lie one after another on the batch axis, [H B, T, Dh].",
        "On which axis did split cut?",
    ),
    _in_cut(
        "tokens and features joined",
        lambda x: x.flatten(2),
        "You join T and Dh: [B, H, T Dh]. The heads stay apart and the tokens are gone.",
        "Which axes does [B, T, D] keep, and which two become D?",
    ),
    _in_cut(
        "sizes of H and T swapped",
        _names_swapped,
        "The transpose is right, but you return [B, H, T Dh]: a row for each head. One for each "
        "token is asked for.",
        "In which order do the four sizes of x come, and which two make D?",
    ),
    _in_cut(
        "everything joined",
        lambda x: x.transpose(1, 2).flatten(1),
        "You join T, H and Dh: one row for each sequence.",
        "Which axis should be left beside the batch?",
    ),
    _in_cut(
        "batch and tokens joined",
        lambda x: _right(x).flatten(0, 1),
        "The rows are right, but the sequences lie one after another: [B T, D].",
        "Which axis tells sequences apart in [B, T, D]?",
    ),
    _in_cut(
        "tokens before the batch",
        _flat(2, 0, 1, 3),
        "The rows are right, but tokens come first: [T, B, D].",
        "Which axis should stay in front, so that out[0] is the first sequence?",
    ),
    _in_cut(
        "sequences mixed",
        _reshaped(2, 0, 1, 3),
        "The tokens go before the batch, and the reshape to [B, T, D] then deals their rows out "
        "to the wrong sequences.",
        "Which axis should stay in front from beginning to end?",
    ),
    _in_cut(
        "features before tokens",
        lambda x: x.mT.flatten(1, 2),
        "You return [B, D, T]: the features are in order, and each token is a column.",
        "Which of T and D comes last?",
    ),
    _in_cut(
        "heads reversed",
        lambda x: _right(x.flip(1)),
        "The heads are in reverse: the last one comes first.",
        "Which head held features 0 to Dh - 1?",
    ),
    _in_stack(
        "heads added",
        lambda x: x.sum(1),
        "You add the heads up: [B, T, Dh], and none of them can be told from the others.",
        "Which numbers of a token's row come from head 1 alone?",
    ),
    _in_stack(
        "heads averaged",
        lambda x: x.mean(1),
        "You average the heads: [B, T, Dh], and none of them can be told from the others.",
        "How wide is a token if each of H heads keeps its Dh numbers?",
    ),
    _in_stack(
        "first head only",
        lambda x: x[:, 0],
        "You return head 0 alone.",
        "Where do the numbers of the other heads go?",
    ),
    _in_cut(
        "each head over the last",
        _overwritten,
        "All heads are written into the first Dh features, each over the one before. The rest stay "
        "0.",
        "Where does the slice of head 1 begin?",
    ),
    _in_cut(
        "axes of one dropped",
        lambda x: _right(x).squeeze(),
        "The batch axis goes where there is one sequence: axes of size 1 are squeezed away.",
        "What will the next layer take your first axis for if B is 1?",
    ),
    _in_cut(
        "no gradient",
        lambda x: _right(x.detach()),
        "The numbers are right, but they have left the graph: nothing before this call learns.",
        "Which step of yours leaves the tensors of torch, or detaches them?",
    ),
    *dtype_lost(_right, _in_cut),
)

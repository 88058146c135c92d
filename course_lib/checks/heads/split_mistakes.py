"""What people really write to cut features into heads when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.heads.layout_slips import dtype_lost
from course_lib.checks.question import Mistake
from course_lib.heads import split

_in_cut = partial(Mistake, reread='04, "Cut the features"')


def _cut(x: Tensor, H: int) -> Tensor:
    """[B, T, H, Dh]: right, before the heads move."""
    return x.unflatten(-1, (H, -1))


def _moved(*axes: int) -> Callable:
    """The right cut, with its axes B, T, H, Dh (0 to 3) in this order."""
    return lambda x, H: _cut(x, H).permute(axes)


def _straight(x, H):
    B, T, D = x.shape
    return x.reshape(B, H, T, D // H)


def _straight_features_first(x, H):
    B, T, D = x.shape
    return x.reshape(B, H, D // H, T).mT


def _straight_then_transposed(x, H):
    return _straight(x, H).transpose(1, 2)


def _rows_then_sequences(x, H):
    B, T, D = x.shape
    return x.reshape(B * T, H, D // H).transpose(0, 1).reshape(B, H, T, D // H)


def _transposed_then_viewed(x, H):
    B, T, D = x.shape
    return x.mT.reshape(B, H, T, D // H)


def _tokens_cut(x, H):
    B, T, D = x.shape
    return x.reshape(B, H, T // H, D)


def _sequence_first(x, H):
    B, T, D = x.shape
    return x.reshape(T, B, H, D // H).permute(1, 2, 0, 3)


def _heads_of_the_batch(x, H):
    B, T, D = x.shape
    return x.reshape(H, B, T, D // H).transpose(0, 1)


def _first_head_only(x, H):
    B, T, D = x.shape
    return x[:, None, :, : D // H].expand(B, H, T, D // H)


def _one_feature_apart(x, H):
    Dh = x.shape[-1] // H
    return torch.stack([x[..., h : h + Dh] for h in range(H)], 1)


SPLIT = (
    _in_cut(
        "viewed straight",
        _straight,
        "A view straight to [B, H, T, Dh] cuts memory in its order, token after token: head 0 gets "
        "the beginning of the sequence, and not a slice of every token.",
        "In which order do T and H stand in memory, and which cut can a view make there?",
    ),
    _in_cut(
        "viewed straight, transposed after",
        _straight_features_first,
        "A view to [B, H, Dh, T] cuts memory in its order, and swapping Dh and T afterwards "
        "doesn't sort it.",
        "Which axis of x can a view cut in two and leave each number with its token?",
    ),
    _in_cut(
        "viewed straight, heads moved after",
        _straight_then_transposed,
        "A view straight to [B, H, T, Dh] cuts memory in its order, and the transpose then moves "
        "the heads behind the tokens.",
        "Which axis of x can a view cut in two and leave each number with its token?",
    ),
    _in_cut(
        "transposed, then viewed",
        _transposed_then_viewed,
        "The features go before the tokens first, and the view then cuts that order into "
        "[B, H, T, Dh]: a row of a head need not be one token's.",
        "What must be cut before anything moves?",
    ),
    _in_cut(
        "no transpose",
        _cut,
        "The cut is right. The heads still stand after the tokens: [B, T, H, Dh].",
        "Which two axes must change places so that each head is a [T, Dh] of its own?",
    ),
    _in_cut(
        "features dealt out in turn",
        lambda x, H: x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2),
        "Head 0 gets features 0, H, 2H and so on: they are dealt out in turn.",
        "Which of H and Dh counts slowly when head 0 has the first features?",
    ),
    _in_cut(
        "dealt out, not moved",
        lambda x, H: x.unflatten(-1, (-1, H)),
        "You return [B, T, Dh, H]: the features are dealt out in turn, and the heads stand last.",
        "In which order do H and Dh cut D, and where does attention want the heads?",
    ),
    _in_cut(
        "H as the width of a head",
        lambda x, H: x.unflatten(-1, (-1, H)).transpose(1, 2),
        "Your heads are H wide, and there are D / H of them.",
        "Does H count the heads, or the features of one?",
    ),
    _in_cut(
        "Dh before the tokens",
        _moved(0, 3, 1, 2),
        "The cut is right, but you return [B, Dh, T, H]: the features went where the heads belong.",
        "Which axis must stand in front of the tokens?",
    ),
    _in_cut(
        "Dh before T",
        _moved(0, 2, 3, 1),
        "You return [B, H, Dh, T]: each head's matrix is transposed, as keys are in a product.",
        "Which are the rows of a head's matrix: its tokens or its features?",
    ),
    _in_cut(
        "heads before the batch",
        _moved(2, 0, 1, 3),
        "The cut is right. The heads stand first: [H, B, T, Dh].",
        "Which axis should stay in front, so that out[0] is the first sequence?",
    ),
    _in_cut(
        "tokens before the batch",
        _moved(1, 2, 0, 3),
        "You return [T, H, B, Dh]: tokens and sequences have changed places.",
        "Which two of B, T, H and Dh must change places, and which must stay?",
    ),
    _in_cut(
        "heads folded into the batch",
        lambda x, H: _cut(x, H).transpose(1, 2).flatten(0, 1),
        "Heads and sequences share one axis, [B H, T, Dh].",
        "How many axes has the result that is asked for, and which of yours are two in one?",
    ),
    _in_cut(
        "heads on the token axis",
        lambda x, H: torch.cat(x.chunk(H, -1), 1),
        "The slices lie one after another on the token axis, [B, H T, Dh].",
        "What joins H tensors [B, T, Dh] along an axis that they don't have yet?",
    ),
    _in_cut(
        "batch and tokens as one axis",
        _rows_then_sequences,
        "Batch and tokens are one axis when the heads move before it, and the reshape then deals "
        "heads out to the wrong sequences.",
        "Which axis should stay in front from beginning to end?",
    ),
    _in_cut(
        "sequence first",
        _sequence_first,
        "x is read as if its first axis were the tokens and its second the sequences: with more "
        "than one sequence they mix.",
        "What does x[0] hold: one sequence, or the first token of each?",
    ),
    _in_cut(
        "heads cut from the whole batch",
        _heads_of_the_batch,
        "A view to [H, B, T, Dh] cuts the memory of the whole batch into heads: with several "
        "heads, they mix tokens, and sequences where there are several.",
        "Which one axis of x should be cut, and which should no number leave?",
    ),
    _in_cut(
        "tokens cut",
        _tokens_cut,
        "You cut the tokens into H pieces, each of the whole width D.",
        "What does every head read of every token: all features, or a slice of them?",
    ),
    _in_cut(
        "the first slice for all",
        _first_head_only,
        "Every head holds the first Dh features. The others are lost.",
        "Where does the slice of head 1 begin?",
    ),
    _in_cut(
        "slices one feature apart",
        _one_feature_apart,
        "The slice of head h begins at feature h, so that neighbours overlap.",
        "If head 0 has the first Dh features, which is the first of head 1?",
    ),
    _in_cut(
        "the whole width for all",
        lambda x, H: x[:, None].expand(-1, H, -1, -1),
        "Every head gets all D features: nothing is cut.",
        "How wide is one of H heads that share D features?",
    ),
    _in_cut(
        "heads reversed",
        lambda x, H: _cut(x, H).transpose(1, 2).flip(1),
        "The heads are in reverse: head 0 has the last features.",
        "Which head should hold feature 0?",
    ),
    _in_cut(
        "a tuple of heads",
        lambda x, H: x.chunk(H, -1),
        "You return H tensors, one a head, and not one tensor.",
        "What joins H tensors [B, T, Dh] along an axis that they don't have yet?",
    ),
    _in_cut(
        "axes of one dropped",
        lambda x, H: _cut(x, H).transpose(1, 2).squeeze(),
        "Axes of size 1 are squeezed away: of one sequence, one head or one feature.",
        "What will the next product take your first axis for if B is 1?",
    ),
    _in_cut(
        "no gradient",
        lambda x, H: _cut(x.detach(), H).transpose(1, 2),
        "The numbers are right, but they have left the graph: nothing before this call learns.",
        "Which step of yours leaves the tensors of torch, or detaches them?",
    ),
    *dtype_lost(split, _in_cut),
)

"""What people really write for a padding mask when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_who = partial(Mistake, reread='03, "Who may read whom"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')


def _real(lengths: Tensor, Tk: int) -> Tensor:
    """Which keys are there, [B, Tk]: right."""
    return torch.arange(Tk) < lengths[:, None]


def _four(table: Callable[[Tensor, int], Tensor]) -> Callable:
    return lambda lengths, Tk: table(lengths, Tk)[:, None, None]


def _additive(table: Tensor) -> Tensor:
    return torch.zeros(table.shape).masked_fill(~table, -torch.inf)


PADDING = (
    _in_who(
        "the length as the last key",
        _four(lambda n, Tk: torch.arange(Tk) <= n[:, None]),
        "Each sequence reads one key too many: the first of its padding.",
        "Keys are numbered from 0. Which number has the last of 3?",
    ),
    _in_who(
        "one key too few",
        _four(lambda n, Tk: torch.arange(Tk) < n[:, None] - 1),
        "The last real key of each sequence is hidden as well.",
        "Keys are numbered from 0. Which number has the last of 3?",
    ),
    _in_who(
        "one key hidden",
        _four(lambda n, Tk: torch.arange(Tk) != n[:, None]),
        "Only the first key of the padding is hidden. Those after it are read.",
        "Where does the padding of a sequence end?",
    ),
    _in_who(
        "padding on the left",
        _four(lambda n, Tk: torch.arange(Tk) >= Tk - n[:, None]),
        "You keep the last keys of each sequence: this is the mask of padding on the left.",
        "On which side do the real keys of a sequence stand here?",
    ),
    _in_who(
        "a sequence that always reads",
        _four(lambda n, Tk: torch.arange(Tk) < n.clamp(min=1)[:, None]),
        "A sequence of length 0 reads key 0, which is padding.",
        "What may a query read where there is nothing?",
    ),
    _in_who(
        "the longest for all",
        _four(lambda n, Tk: (torch.arange(Tk) < n.max()).expand(len(n), Tk)),
        "Every sequence has the longest one's mask.",
        "Whose padding is it: the batch's or each sequence's?",
    ),
    _in_who(
        "the shortest for all",
        _four(lambda n, Tk: (torch.arange(Tk) < n.min()).expand(len(n), Tk)),
        "Every sequence has the shortest one's mask.",
        "Whose padding is it: the batch's or each sequence's?",
    ),
    _in_who(
        "the first for all",
        _four(lambda n, Tk: (torch.arange(Tk) < n[0]).expand(len(n), Tk)),
        "Every sequence has the first one's mask.",
        "Whose padding is it: the batch's or each sequence's?",
    ),
    _in_who(
        "as many keys as the longest has",
        _four(lambda n, Tk: _real(n, int(n.max()))),
        "Your mask ends with the longest sequence, whatever Tk is.",
        "How many keys does the call have if all of its sequences are padded?",
    ),
    _in_who(
        "two axes",
        _real,
        "You return [B, Tk]. Broadcasting reads that as [Tq, Tk]: sequence 1's padding goes to "
        "query 1.",
        "With which axes of [B, H, Tq, Tk] do your two line up, counted from the right?",
    ),
    _in_who(
        "three axes",
        lambda n, Tk: _real(n, Tk)[:, None],
        "You return [B, 1, Tk]. Broadcasting puts your batch where the heads are.",
        "With which axes of [B, H, Tq, Tk] do your three line up, counted from the right?",
    ),
    _in_who(
        "padding on the queries",
        lambda n, Tk: _real(n, Tk)[:, None, :, None],
        "You hide the padding as readers. Who reads goes down, who is read goes across.",
        "Must a padded position not ask, or not be read?",
    ),
    _in_who(
        "readers hidden too",
        lambda n, Tk: (_real(n, Tk)[:, None, :] & _real(n, Tk)[:, :, None])[:, None],
        "Your mask has a row for each query, and those of the padding read nothing.",
        "Must a padded position not ask, or not be read?",
    ),
    _in_who(
        "a row for each of Tk queries",
        lambda n, Tk: _real(n, Tk)[:, None, None].expand(-1, 1, Tk, -1).clone(),
        "Entries are right, but there is a row for each of Tk queries. The function isn't told how "
        "many queries there are.",
        "How long can that axis be so that it fits any?",
    ),
    _in_who(
        "keys first, sequences last",
        lambda n, Tk: _real(n, Tk).T[:, None, None],
        "Your keys stand on the first axis and your sequences on the last.",
        "Which axis of [B, H, Tq, Tk] tells the sequences apart, and which the keys?",
    ),
    _in_who(
        "batch as queries",
        lambda n, Tk: _real(n, Tk)[None, None],
        "Your sequences stand on the axis of the queries.",
        "Which axis of [B, H, Tq, Tk] tells the sequences apart?",
    ),
    _in_who(
        "batch as heads",
        lambda n, Tk: _real(n, Tk)[None, :, None],
        "Your sequences stand on the axis of the heads.",
        "Which axis of [B, H, Tq, Tk] tells the sequences apart?",
    ),
    _in_polarity(
        "True for padding",
        _four(lambda n, Tk: torch.arange(Tk) >= n[:, None]),
        "Your True says that a key is padding: the real ones are hidden.",
        "What does True in `keep` say about a key?",
    ),
    _in_polarity(
        "True for padding, one key off",
        _four(lambda n, Tk: torch.arange(Tk) > n[:, None]),
        "Two things: your True says that a key is padding, and the first key of it isn't marked.",
        "What does True in `keep` say, and which number has the last of 3 keys?",
    ),
    _in_polarity(
        "nn.MultiheadAttention's form",
        lambda n, Tk: ~_real(n, Tk),
        "This is a key_padding_mask: two axes, and True means ignored.",
        "How many axes does `keep` have, and what does its True say?",
    ),
    _in_polarity(
        "a mask to add",
        _four(lambda n, Tk: _additive(_real(n, Tk))),
        "This holds 0 and -inf: numbers that are added to the scores. It can't be combined by &.",
        "In which dtype does a mask say yes or no?",
    ),
    _in_polarity(
        "ones and zeros in float",
        _four(lambda n, Tk: _real(n, Tk).float()),
        "Your ones and zeros are float. Torch adds a float mask to the scores: 1 is no permission.",
        "In which dtype does a mask say yes or no?",
    ),
    _in_polarity(
        "whole numbers",
        _four(lambda n, Tk: _real(n, Tk).long()),
        "Your entries are whole numbers. The opposite of 1 is then -2, and -2 counts as true.",
        "In which dtype does `~` turn yes into no?",
    ),
)

"""What people really write for a causal mask with padding when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_who = partial(Mistake, reread='03, "Who may read whom"')
_in_corners = partial(Mistake, reread='03, "Two corners"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')


def _causal(Tq: int, Tk: int, offset: int | None = None) -> Tensor:
    offset = Tk - Tq if offset is None else offset
    return torch.ones(1, 1, Tq, Tk, dtype=torch.bool).tril(offset)


def _padding(lengths: Tensor, Tk: int) -> Tensor:
    return (torch.arange(Tk) < lengths[:, None])[:, None, None]


def _pair(join: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """Join the right causal mask and the right padding mask in some way."""
    return lambda Tq, lengths, Tk: join(_causal(Tq, Tk), _padding(lengths, Tk))


def _shifted(offset: Callable[[int, int], int]) -> Callable:
    """Right but for the diagonal of the causal part."""
    return lambda Tq, lengths, Tk: _causal(Tq, Tk, offset(Tq, Tk)) & _padding(lengths, Tk)


def _padded(padding: Callable[[Tensor, int], Tensor]) -> Callable:
    """Right but for the padding part."""
    return lambda Tq, lengths, Tk: _causal(Tq, Tk) & padding(lengths, Tk)


def _additive(keep: Tensor) -> Tensor:
    return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)


def _from_its_own_end(Tq: int, lengths: Tensor, Tk: int) -> Tensor:
    place = torch.arange(Tq) + lengths[:, None] - Tq  # [B, Tq]
    return (torch.arange(Tk) <= place[:, :, None])[:, None]


def _readers_too(Tq: int, lengths: Tensor, Tk: int) -> Tensor:
    real = torch.arange(Tk) < lengths[:, None]
    asks = (torch.arange(Tq) + Tk - Tq) < lengths[:, None]
    return _causal(Tq, Tk) & (asks[:, :, None] & real[:, None])[:, None]


def _never_empty(Tq: int, lengths: Tensor, Tk: int) -> Tensor:
    keep = _causal(Tq, Tk) & _padding(lengths, Tk)
    first = torch.arange(Tk) == 0
    return keep | (first & ~keep.any(-1, keepdim=True))


def _first_rows_too(Tq: int, lengths: Tensor, Tk: int) -> Tensor:
    real = torch.arange(Tk) < lengths[:, None]
    return _causal(Tq, Tk) & real[:, None, None] & real[:, None, :Tq, None]


def _filled_where_empty(keep: Tensor) -> Tensor:
    return keep | ~keep.any(-1, keepdim=True)


def _own(Tq: int, Tk: int) -> Tensor:
    return _causal(Tq, Tk) & ~_causal(Tq, Tk, Tk - Tq - 1)


DECODER = (
    _in_who(
        "or in place of and",
        _pair(torch.logical_or),
        "A key is read if either mask allows it: the future wherever it is real, the padding "
        "wherever it is past.",
        "How many of the two masks must allow a key?",
    ),
    _in_who(
        "allowed by exactly one",
        _pair(torch.logical_xor),
        "A key is read if one of the masks allows it and the other doesn't.",
        "How many of the two masks must allow a key?",
    ),
    _in_who(
        "the padding left out",
        _pair(lambda causal, padding: causal.expand(len(padding), -1, -1, -1).clone()),
        "This is the causal mask alone: padding is read wherever it isn't later.",
        "What do `lengths` change in your result?",
    ),
    _in_who(
        "the future left in",
        _pair(lambda causal, padding: padding.expand(-1, -1, causal.shape[-2], -1).clone()),
        "This is the padding mask alone: every query reads the future.",
        "What does the place of a query change in your result?",
    ),
    _in_corners(
        "top-left alignment",
        _shifted(lambda Tq, Tk: 0),
        "The causal part is aligned to the top-left corner: query 0 is held to stand at key 0.",
        "Where among the keys does the last query stand?",
    ),
    _in_corners(
        "aligned only where keys are more",
        _shifted(lambda Tq, Tk: max(Tk - Tq, 0)),
        "The causal part is aligned to the first key where the queries are more than the keys.",
        "With 5 queries and 3 keys, how many queries stand before the first key?",
    ),
    _in_corners(
        "from its own end",
        _from_its_own_end,
        "Each sequence's last query stands at its last real key, so the same query stands at "
        "another key in each.",
        "Does padding move a query, or only hide keys from it?",
    ),
    _in_who(
        "its own key hidden",
        _shifted(lambda Tq, Tk: Tk - Tq - 1),
        "A query doesn't read its own key.",
        "May a token read itself?",
    ),
    _in_who(
        "one key too many",
        _shifted(lambda Tq, Tk: Tk - Tq + 1),
        "A query reads one key beyond its own: the very token that it is to predict.",
        "Which is the last key that query i may read in a square mask?",
    ),
    _in_who(
        "the length as the last key",
        _padded(lambda n, Tk: _padding(n + 1, Tk)),
        "Each sequence's first key of padding counts as real.",
        "Keys are numbered from 0. Which number has the last of 3?",
    ),
    _in_who(
        "padding on the left",
        _padded(lambda n, Tk: (torch.arange(Tk) >= Tk - n[:, None])[:, None, None]),
        "You keep the last keys of each sequence: this is the mask of padding on the left.",
        "On which side do the real keys of a sequence stand here?",
    ),
    _in_who(
        "the longest for all",
        _padded(lambda n, Tk: _padding(n.max().expand(len(n)), Tk)),
        "Every sequence has the longest one's padding.",
        "Whose padding is it: the batch's or each sequence's?",
    ),
    _in_who(
        "a sequence that always reads",
        _padded(lambda n, Tk: _padding(n.clamp(min=1), Tk)),
        "A sequence of length 0 reads key 0, which is padding.",
        "What may a query read where there is nothing?",
    ),
    _in_corners(
        "as many queries as keys",
        lambda Tq, lengths, Tk: _causal(Tk, Tk) & _padding(lengths, Tk),
        "The causal part is a square of Tk: it has rows for queries that aren't in this call.",
        "Which rows of that square belong to the Tq queries of this call?",
    ),
    _in_who(
        "[B, Tk] as it comes",
        _padded(lambda n, Tk: torch.arange(Tk) < n[:, None]),
        "[B, Tk] meets [1, 1, Tq, Tk], and broadcasting takes your sequences for queries: an error "
        "where their numbers differ, and silence where they don't.",
        "With which axes do the two of [B, Tk] line up, counted from the right?",
    ),
    _in_who(
        "[B, 1, Tk]",
        _padded(lambda n, Tk: (torch.arange(Tk) < n[:, None])[:, None]),
        "[B, 1, Tk] meets [1, 1, Tq, Tk], and your sequences land on the axis of the heads.",
        "With which axes do the three of [B, 1, Tk] line up, counted from the right?",
    ),
    _in_who(
        "padding on the queries",
        _padded(lambda n, Tk: (torch.arange(Tk) < n[:, None])[:, None, :, None]),
        "The padding lies on the axis of the queries: an error where Tq isn't Tk, and where it is, "
        "the padding may not ask but is read.",
        "Must a padded position not ask, or not be read?",
    ),
    _in_who(
        "readers hidden too",
        _readers_too,
        "A query that stands at padding reads nothing, and so its row is empty.",
        "Must a padded position not ask, or not be read?",
    ),
    _in_who(
        "the first rows hidden too",
        _first_rows_too,
        "A query that stands at padding reads nothing, and so its row is empty.",
        "Must a padded position not ask, or not be read?",
    ),
    _in_who(
        "an empty row opened",
        lambda Tq, lengths, Tk: _filled_where_empty(_pair(torch.logical_and)(Tq, lengths, Tk)),
        "A query with nothing to read is given every key, though the masks forbid them.",
        "What is left for a query when the two masks share no key?",
    ),
    _in_who(
        "its own key always",
        lambda Tq, lengths, Tk: _pair(torch.logical_and)(Tq, lengths, Tk) | _own(Tq, Tk),
        "A query reads its own key, even where that is padding.",
        "Who may read padding?",
    ),
    _in_who(
        "a query that never reads nothing",
        _never_empty,
        "A query with nothing to read is given key 0, though one of the masks forbids it.",
        "What is left for a query when the two masks share no key?",
    ),
    _in_who(
        "three axes",
        lambda Tq, lengths, Tk: _pair(torch.logical_and)(Tq, lengths, Tk)[:, 0],
        "The entries are right; the axis of the heads is missing.",
        "How many axes does `keep` have, and which of them may be 1?",
    ),
    _in_polarity(
        "True for blocked",
        _pair(lambda causal, padding: ~(causal & padding)),
        "Your True says that a key is blocked; all entries are the opposite of keep's.",
        "What does True in `keep` say about a key?",
    ),
    _in_polarity(
        "the future alone",
        _pair(lambda causal, padding: ~causal & padding),
        "The causal part stands the other way round: your queries read what is later.",
        "What does True say in each of the two masks that you join?",
    ),
    _in_polarity(
        "the padding alone",
        _pair(lambda causal, padding: causal & ~padding),
        "The padding part stands the other way round: your queries read padding alone.",
        "What does True say in each of the two masks that you join?",
    ),
    _in_polarity(
        "blocked twice",
        _pair(lambda causal, padding: ~causal & ~padding),
        "Your True marks the keys that both masks block.",
        "What does True in `keep` say, and how many of the masks must allow a key?",
    ),
    _in_polarity(
        "a mask to add",
        _pair(lambda causal, padding: _additive(causal & padding)),
        "This holds 0 and -inf: numbers that are added to the scores.",
        "In which dtype does a mask say yes or no?",
    ),
    _in_polarity(
        "whole numbers",
        _pair(lambda causal, padding: causal.long() * padding.long()),
        "Your entries are whole numbers. The opposite of 1 is then -2, and -2 counts as true.",
        "In which dtype does `~` turn yes into no?",
    ),
    _in_polarity(
        "ones and zeros in float",
        _pair(lambda causal, padding: causal.float() * padding.float()),
        "Your ones and zeros are float. Torch adds a float mask to the scores: 1 is no permission.",
        "In which dtype does a mask say yes or no?",
    ),
)

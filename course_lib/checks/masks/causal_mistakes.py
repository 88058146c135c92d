"""What people really write for a causal mask when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_corners = partial(Mistake, reread='03, "Two corners"')
_in_who = partial(Mistake, reread='03, "Who may read whom"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')


def _table(Tq: int, Tk: int) -> Tensor:
    """The right mask, without its first two axes."""
    return _ones(Tq, Tk).tril(Tk - Tq)


def _ones(Tq: int, Tk: int) -> Tensor:
    return torch.ones(Tq, Tk, dtype=torch.bool)


def _four(table: Callable[[int, int], Tensor]) -> Callable:
    return lambda Tq, Tk: table(Tq, Tk)[None, None]


def _additive(table: Tensor) -> Tensor:
    return torch.zeros(table.shape).masked_fill(~table, -torch.inf)


def _never_empty(Tq: int, Tk: int) -> Tensor:
    table = _table(Tq, Tk)
    table[~table.any(-1), 0] = True
    return table


CAUSAL = (
    _in_corners(
        "top-left alignment",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril()),
        "This is what a mask aligned to the top-left corner gives.",
        "Where among the keys does the last query stand?",
    ),
    _in_corners(
        "aligned only where keys are more",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(max(Tk - Tq, 0))),
        "Queries are aligned to the last key where there are more keys, and to the first where "
        "there are fewer.",
        "With 5 queries and 2 keys, how many queries stand before the first key?",
    ),
    _in_corners(
        "the offset without its sign",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(abs(Tk - Tq))),
        "With fewer keys than queries your diagonal moves up, as it does with more keys.",
        "If the queries are more than the keys, is the first query before or after key 0?",
    ),
    _in_corners(
        "the offset turned round",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(Tq - Tk)),
        "Your diagonal moves the wrong way: the more keys are cached, the fewer a query reads.",
        "If 4 keys were there before query 0, should it read more or fewer than without them?",
    ),
    _in_corners(
        "a query that never reads nothing",
        _four(_never_empty),
        "A query that stands before the first key reads key 0, which is later than it.",
        "What may a query read when every key is later?",
    ),
    _in_who(
        "its own key hidden",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(Tk - Tq - 1)),
        "A query reads the keys before its own, and not its own; the first one reads nothing.",
        "May a token read itself?",
    ),
    _in_who(
        "its own key hidden, top left",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(-1)),
        "Two things: a query doesn't read its own key, and query 0 is held to stand at key 0.",
        "May a token read itself, and where among the keys does the last query stand?",
    ),
    _in_who(
        "one key too many",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(Tk - Tq + 1)),
        "A query reads one key beyond its own: the very token that it is to predict.",
        "Which is the last key that query i may read in a square mask?",
    ),
    _in_who(
        "one key too many, top left",
        _four(lambda Tq, Tk: _ones(Tq, Tk).tril(1)),
        "Two things: a query reads one key beyond its own, and query 0 is held to stand at key 0.",
        "Which is the last key that query i may read, and where does the last query stand?",
    ),
    _in_who(
        "past and future swapped",
        _four(lambda Tq, Tk: _ones(Tq, Tk).triu(Tk - Tq)),
        "A query reads its own key and those after it. The past is hidden.",
        "Which triangle of the table holds the keys that are earlier than their query?",
    ),
    _in_who(
        "past and future swapped, top left",
        _four(lambda Tq, Tk: _ones(Tq, Tk).triu()),
        "A query reads its own key and those after it, and query 0 is held to stand at key 0.",
        "Which triangle holds the earlier keys, and where does the last query stand?",
    ),
    _in_who(
        "its own key alone",
        _four(lambda Tq, Tk: _ones(Tq, Tk).triu(Tk - Tq).tril(Tk - Tq)),
        "A query reads its own key and no other.",
        "Which keys besides its own are known by then?",
    ),
    _in_who(
        "nothing hidden",
        _four(_ones),
        "Every query reads every key, the later ones too.",
        "Which keys are not written yet when query 0 asks?",
    ),
    _in_polarity(
        "True for blocked",
        _four(lambda Tq, Tk: ~_table(Tq, Tk)),
        "Your True says that a key is blocked; all entries are the opposite of keep's.",
        "What does True in `keep` say about a key?",
    ),
    _in_polarity(
        "True for blocked, top left",
        _four(lambda Tq, Tk: _ones(Tq, Tk).triu(1)),
        "Two things: your True says that a key is blocked, and query 0 is held to stand at key 0.",
        "What does True in `keep` say, and where among the keys does the last query stand?",
    ),
    _in_polarity(
        "a mask to add",
        _four(lambda Tq, Tk: _additive(_table(Tq, Tk))),
        "This holds 0 and -inf: numbers that are added to the scores. It can't be combined by &.",
        "In which dtype does a mask say yes or no?",
    ),
    _in_polarity(
        "torch's square mask",
        lambda Tq, Tk: torch.nn.Transformer.generate_square_subsequent_mask(Tq),
        "This is torch's own helper: 0 and -inf, to be added, and one size for both axes.",
        "What does the helper not know about: how many keys there are, or how many queries?",
    ),
    _in_polarity(
        "ones and zeros in float",
        _four(lambda Tq, Tk: _table(Tq, Tk).float()),
        "Your ones and zeros are float. Torch adds a float mask to the scores: 1 is no permission.",
        "In which dtype does a mask say yes or no?",
    ),
    _in_polarity(
        "ones and zeros, top left",
        _four(lambda Tq, Tk: torch.ones(Tq, Tk).tril()),
        "Two things: your ones and zeros are float, and query 0 is held to stand at key 0.",
        "In which dtype does a mask say yes or no, and where does the last query stand?",
    ),
    _in_polarity(
        "whole numbers",
        _four(lambda Tq, Tk: _table(Tq, Tk).long()),
        "Your entries are whole numbers. The opposite of 1 is then -2, and -2 counts as true.",
        "In which dtype does `~` turn yes into no?",
    ),
    _in_who(
        "two axes",
        _table,
        "The entries are right; the axes for batch and head are missing.",
        "How many axes does `keep` have, and which of them may be 1?",
    ),
    _in_corners(
        "two axes, top left",
        lambda Tq, Tk: _ones(Tq, Tk).tril(),
        "Two things: the axes for batch and head are missing, and query 0 is held to stand at "
        "key 0.",
        "How many axes does `keep` have, and where among the keys does the last query stand?",
    ),
    _in_who(
        "three axes",
        lambda Tq, Tk: _table(Tq, Tk)[None],
        "The entries are right; one axis is missing. Batch and head each have their own.",
        "How many axes does `keep` have, and which of them may be 1?",
    ),
    _in_who(
        "queries across",
        _four(lambda Tq, Tk: _table(Tq, Tk).T),
        "Your keys run down and your queries across.",
        "Which of the two lies along the last axis of the scores?",
    ),
    _in_corners(
        "as many keys as queries",
        _four(lambda Tq, Tk: _ones(Tq, Tq).tril()),
        "Your mask is a square of Tq. Tk plays no part in it.",
        "How many keys are there when 4 of them come from a cache?",
    ),
    _in_corners(
        "as many queries as keys",
        _four(lambda Tq, Tk: _ones(Tk, Tk).tril()),
        "Your mask is a square of Tk: it has rows for queries that aren't in this call.",
        "Which rows of that square belong to the Tq queries of this call?",
    ),
)

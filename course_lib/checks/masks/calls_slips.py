"""More of what people write for attention with torch's two masks: slips around the softmax."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_before = partial(Mistake, reread='03, "Before the softmax"')
_in_who = partial(Mistake, reread='03, "Who may read whom"')
_in_polarity = partial(Mistake, reread='03, "True means two things"')
_in_empty = partial(Mistake, reread='03, "A row with nothing to read"')


def _weighing(weights: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """Attention with these weights of the scores and of what is out, rightly joined."""

    def run(q, k, v, blocked, ignored):
        scores = q * q.shape[-1] ** -0.5 @ k.mT
        return weights(scores, blocked | ignored[:, None, None]) @ v

    return run


def _on_the_heads(q, k, v, blocked, ignored):
    scores = q * q.shape[-1] ** -0.5 @ k.mT
    out = blocked | ignored[:, None]
    return scores.masked_fill(out, -torch.inf).softmax(-1).masked_fill(out, 0) @ v


def _reads_all(scores: Tensor, out: Tensor) -> Tensor:
    out = out & ~out.all(-1, keepdim=True)
    return scores.masked_fill(out, -torch.inf).softmax(-1)


SLIPS = (
    _in_who(
        "ignored on the heads",
        _on_the_heads,
        "[B, 1, Tk] puts your sequences on the axis of the heads: an error where their numbers "
        "differ, silence where they don't.",
        "Which two axes are missing in `ignored`?",
    ),
    _in_polarity(
        "keep as a float",
        _weighing(lambda s, out: (s + (~out).to(s)).softmax(-1)),
        "`keep` goes in as numbers, and numbers are added to the scores: a key that may be read "
        "gets 1 more, and none is out.",
        "In which dtype does a mask say yes or no?",
    ),
    _before(
        "over the queries",
        _weighing(lambda s, out: s.masked_fill(out, -torch.inf).softmax(-2).nan_to_num(0)),
        "The softmax runs down the queries: each key shares 1 among those who read it.",
        "Along which axis do the keys of one query lie?",
    ),
    _in_empty(
        "1e9 taken off",
        _weighing(lambda s, out: (s - 1e9 * out).softmax(-1)),
        "What is out is lowered by a large finite number. In a row with nothing to read all scores "
        "are lowered alike.",
        "If all scores of a row move by the same amount, what happens to its weights?",
    ),
    _in_empty(
        "an empty row opened",
        _weighing(_reads_all),
        "A query with nothing to read reads everything, as if it had no mask.",
        "What should a query get that may read nothing?",
    ),
)

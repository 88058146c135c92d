"""What people really write to let query heads share keys when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.checks.heads.layout_slips import dtype_lost
from course_lib.checks.question import Mistake

_in_share = partial(Mistake, reread='04, "Heads that share"')

STRETCHED = (  # two ways to write it, whose errors differ
    "expand stretches an axis of size 1 and no other: it works for one key-value head alone, or "
    "where nothing is shared.",
    "Which axis of size 1 could stand beside the heads, to be stretched in place of them?",
)


def _group(x: Tensor, H: int) -> int:
    """How many query heads read one key-value head."""
    return H // x.shape[1]


def _right(x: Tensor, H: int) -> Tensor:
    return x.repeat_interleave(_group(x, H), 1)


def _copied(axis: int) -> Callable:
    """Each entry of this axis as often as a group is large."""
    return lambda x, H: x.repeat_interleave(_group(x, H), axis)


def _chosen(which: Callable[[Tensor, int, int], Tensor]) -> Callable:
    """Query head h reads the key-value head that this gives for (h, Hkv, H)."""
    return lambda x, H: x[:, which(torch.arange(H), x.shape[1], H)]


def _cut(x, H):
    B, Hkv, T, Dh = x.shape
    return x.reshape(B, H, T, Dh * Hkv // H)


def _rest_zero(x, H):
    return F.pad(x, (0, 0, 0, 0, 0, H - x.shape[1]))


def _expanded(x, H):
    return x.expand(len(x), H, *x.shape[2:])


def _expanded_and_viewed(x, H):
    B, Hkv, T, Dh = x.shape
    return x[:, :, None].expand(B, Hkv, H // Hkv, T, Dh).view(B, H, T, Dh)


def _behind_the_tokens(x, H):
    B, Hkv, T, Dh = x.shape
    return x[:, :, :, None].expand(B, Hkv, T, H // Hkv, Dh).reshape(B, H, T, Dh)


def _gradient_of_one(x, H):
    copies = [x] + [x.detach()] * (_group(x, H) - 1)
    return torch.stack(copies, 2).flatten(1, 2)


SHARE = (
    _in_share(
        "dealt out in turn",
        lambda x, H: x.repeat(1, _group(x, H), 1, 1),
        "The key-value heads are dealt out in turn, 0, 1, ..., 0, 1, ...: neighbours don't share.",
        "Does all of x come again, or each head of it before the next?",
    ),
    _in_share(
        "H copies of each",
        lambda x, H: x.repeat_interleave(H, 1),
        "Each key-value head comes H times: there are H Hkv of them.",
        "How many query heads read one key-value head?",
    ),
    _in_share(
        "H copies of all",
        lambda x, H: x.repeat(1, H, 1, 1),
        "All of x comes H times, and in turn: there are H Hkv heads, and neighbours don't share.",
        "How many query heads read one key-value head, and do they stand side by side?",
    ),
    _in_share(
        "Hkv copies of each",
        lambda x, H: x.repeat_interleave(x.shape[1], 1),
        "Each key-value head comes Hkv times, whatever H is.",
        "How many query heads read one key-value head?",
    ),
    _in_share(
        "one copy too many",
        lambda x, H: x.repeat_interleave(_group(x, H) + 1, 1),
        "Each key-value head comes once more than its group is large.",
        "How many of each are there in the result, if x itself counts as one?",
    ),
    _in_share(
        "number and size of groups swapped",
        _chosen(lambda h, Hkv, H: h // Hkv),
        "Query head h reads head h // Hkv: your groups are Hkv large, and there may be more of "
        "them than key-value heads.",
        "Is Hkv the number of groups or the size of one?",
    ),
    _in_share(
        "tokens copied",
        _copied(2),
        "The tokens are copied, not the heads: [B, Hkv, T G, Dh] with groups of G.",
        "On which axis of x do the heads stand?",
    ),
    _in_share(
        "features copied",
        _copied(3),
        "The features are copied, not the heads: [B, Hkv, T, Dh G] with groups of G.",
        "On which axis of x do the heads stand?",
    ),
    _in_share(
        "sequences copied",
        _copied(0),
        "The sequences are copied, not the heads: [B G, Hkv, T, Dh] with groups of G.",
        "On which axis of x do the heads stand?",
    ),
    _in_share(
        "tokens repeated",
        lambda x, H: x.repeat(1, 1, _group(x, H), 1),
        "Each head's tokens come several times over, one whole run after another.",
        "On which axis of x do the heads stand?",
    ),
    _in_share(
        "features repeated",
        lambda x, H: x.repeat(1, 1, 1, _group(x, H)),
        "Each token's features come several times over, one whole run after another.",
        "On which axis of x do the heads stand?",
    ),
    _in_share(
        "no axis named",
        lambda x, H: x.repeat_interleave(_group(x, H)),
        "Without an axis repeat_interleave flattens x and copies every number.",
        "Along which axis should it copy?",
    ),
    _in_share("expanded", _expanded, *STRETCHED),
    _in_share("expanded, by -1", lambda x, H: x.expand(-1, H, -1, -1), *STRETCHED),
    _in_share(
        "the group as an axis",
        lambda x, H: x[:, :, None].expand(-1, -1, _group(x, H), -1, -1),
        "The copies are right, on an axis of their own: [B, Hkv, G, T, Dh] with groups of G.",
        "Which two axes make H?",
    ),
    _in_share(
        "the group as an axis, in front",
        lambda x, H: x[:, None].expand(-1, _group(x, H), -1, -1, -1),
        "The copies have an axis of their own, before the heads: [B, G, Hkv, T, Dh] with groups of "
        "G.",
        "Which must count faster for neighbours to share: G or Hkv? And which two axes make H?",
    ),
    _in_share(
        "a view of the expanded",
        _expanded_and_viewed,
        "A view can't join the axis that expand stretched with another: the copies aren't in "
        "memory.",
        "What may copy where a view can't?",
    ),
    _in_share(
        "the group behind the tokens",
        _behind_the_tokens,
        "The copies have their axis behind the tokens, and the reshape then fills heads with "
        "tokens that come several times.",
        "Beside which axis must the copies stand before two axes are joined?",
    ),
    _in_share(
        "left as it came",
        lambda x, H: x.clone(),
        "The Hkv heads come back as they were. Broadcasting stretches 1 to H, and no other number.",
        "How many keys must there be for H query heads?",
    ),
    _in_share(
        "cut instead of copied",
        _cut,
        "A reshape makes H heads out of the numbers of Hkv: they get narrower, and nothing is "
        "shared.",
        "Does a group divide a key-value head's features, or read all of them?",
    ),
    _in_share(
        "the mean for all",
        lambda x, H: x.mean(1, keepdim=True).expand(-1, H, -1, -1),
        "Every query head reads the mean of all key-value heads.",
        "Which one head does the first group read?",
    ),
    _in_share(
        "the first head for all",
        lambda x, H: x[:, :1].expand(-1, H, -1, -1),
        "Every query head reads key-value head 0: this is multi-query, whatever Hkv is.",
        "Who reads key-value head 1?",
    ),
    _in_share(
        "the last head for the rest",
        _chosen(lambda h, Hkv, H: h.clamp(max=Hkv - 1)),
        "Query head h reads head h as long as there is one, and all others read the last.",
        "How large are the groups, if all are the same?",
    ),
    _in_share(
        "nothing for the rest",
        _rest_zero,
        "The first Hkv query heads read one head each. The others get zeros.",
        "Which query heads should share with the first?",
    ),
    _in_share(
        "groups reversed",
        lambda x, H: _right(x.flip(1), H),
        "The groups are right, and in reverse: the first reads the last key-value head.",
        "Whom should query head 0 read?",
    ),
    _in_share(
        "axes of one dropped",
        lambda x, H: _right(x, H).squeeze(),
        "The batch axis goes where there is one sequence: axes of size 1 are squeezed away.",
        "What will the next product take your first axis for if B is 1?",
    ),
    _in_share(
        "no gradient",
        lambda x, H: _right(x.detach(), H),
        "The numbers are right, but they have left the graph: the shared keys don't learn.",
        "Which step of yours leaves the tensors of torch, or detaches them?",
    ),
    _in_share(
        "gradient of one of the group",
        _gradient_of_one,
        "The numbers are right. Backward only the first query head of each group counts: the other "
        "copies are detached.",
        "From how many query heads does a shared head hear what it did wrong?",
    ),
    *dtype_lost(_right, _in_share),
)

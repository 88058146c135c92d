"""More of what goes wrong when another sequence is read: most of these end in torch's errors."""

from collections.abc import Callable
from functools import partial

from torch import Tensor

from course_lib.checks.heads.cross_mistakes import but_for, split_strided
from course_lib.checks.question import Mistake
from course_lib.heads import merge, split

_in_cut = partial(Mistake, reread='04, "Cut the features"')
_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def _of(project: Callable, keys: Callable, end: Callable = lambda out, w_o: out @ w_o.T):
    """The right call, but for how weights are used and how keys are turned."""

    def run(x, context, w_q, w_k, w_v, w_o, H):
        pairs = (x, w_q), (context, w_k), (context, w_v)
        q, k, v = (split(project(y, w), H) for y, w in pairs)
        return end(merge((q @ keys(k) * q.shape[-1] ** -0.5).softmax(-1) @ v), w_o)

    return run


def _unturned(y: Tensor, w: Tensor) -> Tensor:
    return y @ w


def _turned_keys(k: Tensor) -> Tensor:
    return k.mT


def _same_weights(which: int) -> Callable:
    """Keys and values of one matrix: w_k (3) or w_v (4)."""
    right = but_for()
    return lambda *given: right(*given[:3], given[which], given[which], *given[5:])


def _length_of_x(x, context, w_q, w_k, w_v, w_o, H):
    B, T, D = x.shape
    pairs = (x, w_q), (context, w_k), (context, w_v)
    q, k, v = ((y @ w.T).reshape(B, T, H, D // H).transpose(1, 2) for y, w in pairs)
    return merge((q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v) @ w_o.T


def _not_moved(y: Tensor, H: int) -> Tensor:
    return y.unflatten(-1, (H, -1))


CROSS = (
    _in_stack(
        "no weight turned",
        _of(_unturned, _turned_keys, lambda out, w_o: out @ w_o),
        "All weights are used as [in, out]. That runs only where the context is as wide as x.",
        "What does nn.Linear compute with its weight [out, in]?",
    ),
    _in_stack(
        "only w_o turned",
        _of(_unturned, _turned_keys),
        "w_q, w_k and w_v are used as [in, out]. That runs only where the context is as wide as x.",
        "What does nn.Linear compute with its weight [out, in]?",
    ),
    _in_cut(
        "heads not moved",
        but_for(cut=_not_moved, merge=lambda y: y.flatten(2)),
        "The heads stay behind the positions, [B, T, H, Dh]: at one position heads would meet "
        "heads, and no query meets the keys of other positions.",
        "Which axes does a product of two [B, H, T, Dh] combine, and which must match?",
    ),
    _in_cut(
        "heads not moved, and moved after",
        but_for(cut=_not_moved, merge=lambda y: y.transpose(1, 2).reshape(*y.shape[:2], -1)),
        "The heads stay behind the positions until after attention: at one position heads would "
        "meet heads, and no query meets the keys of other positions.",
        "Which axes does a product of two [B, H, T, Dh] combine, and which must match?",
    ),
    _in_stack(
        "the length of x for both",
        _length_of_x,
        "Keys and values are cut as if the context had as many positions as x.",
        "How many keys does one query meet: Tq or Tk?",
    ),
    _in_stack(
        "all axes of the keys turned",
        _of(lambda y, w: y @ w.T, lambda k: k.T),
        "On four axes `.T` reverses all of them: the keys become [Dh, Tk, H, B].",
        "Which two axes of the keys must change places for q @ k?",
    ),
    _in_stack(
        "heads added",
        but_for(merge=lambda y: y.sum(1)),
        "The heads' results are added before w_o: each token has Dh numbers left.",
        "How many numbers does w_o expect of a token?",
    ),
    _in_stack(
        "no softmax",
        but_for(weigh=lambda s: s),
        "The scores weigh the values as they are: they can be negative, and don't add up to 1.",
        "What makes weights of a row of scores?",
    ),
    _in_cut(
        "multiplied by the root of Dh",
        but_for(divisor=lambda q, D, Dc: q.shape[-1] ** -0.5),
        "The scores are multiplied by the root of Dh: the wider a head, the louder its softmax.",
        "Should a wide head's scores become larger or smaller?",
    ),
    _in_cut(
        "every H-th feature, and back",
        but_for(cut=split_strided, merge=lambda y: y.permute(0, 2, 3, 1).flatten(2)),
        "A head gets every H-th feature, and they are put back in the same way. The features of a "
        "head stand together.",
        "In [B, T, D], do the features of head 0 stand side by side?",
    ),
    _in_stack(
        "w_k twice",
        _same_weights(3),
        "w_k makes the values as well: w_v isn't used.",
        "Which matrix decides what is read?",
    ),
    _in_stack(
        "w_v twice",
        _same_weights(4),
        "w_v makes the keys as well: w_k isn't used.",
        "Which matrix decides who is read?",
    ),
)

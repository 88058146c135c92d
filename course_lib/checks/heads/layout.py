"""What split, merge and share are held to: which number of x stands where in what comes back."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib import heads
from course_lib.checks.masks.tables import form
from course_lib.checks.question import Probe, gradient
from course_lib.masks import in_words

Draw = Callable[[torch.Generator], tuple]


def normal(*shape: int, H: int | None = None, dtype: torch.dtype = torch.float32) -> Draw:
    """Draw x of this shape, and the number of heads behind it where there is one."""
    rest = () if H is None else (H,)
    return lambda g: (torch.randn(shape, generator=g).to(dtype), *rest)


def found_at(number: Tensor, x: Tensor) -> tuple[int, ...] | None:
    """Where in x a number comes from; None where x doesn't hold it."""
    apart = (x.double() - number.double()).abs().nan_to_num(torch.inf)
    at = tuple(int(i) for i in torch.unravel_index(apart.argmin(), x.shape))
    return at if apart[at] < 1e-6 else None


def _first_wrong(got: Tensor, want: Tensor) -> tuple[int, ...]:
    wrong = ~((got.double() - want).abs() < 1e-5)  # NaN is wrong too
    return tuple(wrong.nonzero()[0].tolist())


def _slice_of(row: Tensor, x: Tensor, sequence: int, token: int) -> str:
    """Which features of x stand in one row of a head, and whose where they aren't its token's."""
    places = [found_at(number, x) for number in row]
    if None in places:
        return f"{row[places.index(None)].item():.4g}, which x doesn't hold"
    groups: list[tuple[tuple[int, int], list[int]]] = []
    for b, t, feature in places:
        if groups and groups[-1][0] == (b, t):
            groups[-1][1].append(feature)
        else:
            groups.append(((b, t), [feature]))
    words = []
    for (b, t), features in groups:
        whose = "" if (b, t) == (sequence, token) else f" of token {t}"
        whose += "" if b == sequence else f" in sequence {b}"
        words.append(in_words(features, "feature") + whose)
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return ", ".join(words[:3]) + more


def _split_fact(got: Tensor, want: Tensor, x: Tensor, H: int) -> str:
    """What the first head that goes wrong holds of one token."""
    at = b, head, token = _first_wrong(got, want)[:3]
    mine, right = (_slice_of(out[at], x, b, token) for out in (got, want))
    return f"head {head} of token {token} in sequence {b} holds {mine}; expected {right}"


def _merge_fact(got: Tensor, want: Tensor, x: Tensor) -> str:
    """Where the first feature that goes wrong comes from."""
    at = b, token, feature = _first_wrong(got, want)
    place = found_at(got[at], x)
    _, head, _, i = found_at(want[at], x)
    here = f"feature {feature} of token {token} in sequence {b}"
    right = f"expected feature {i} of head {head}"
    if place is None:
        return f"{here} is {got[at].item():.4g}, which x doesn't hold; {right}"
    whose = "" if place[2] == token else f", token {place[2]}"
    whose += "" if place[0] == b else f", sequence {place[0]}"
    return f"{here} is feature {place[3]} of head {place[1]}{whose}; {right}"


def _reads(head: Tensor, x: Tensor) -> tuple[int, int] | None:
    """Which sequence's key-value head this is, or None where it is none of them."""
    same = (x.double() - head.double()).abs().amax((-2, -1)) < 1e-5
    return tuple(same.nonzero()[0].tolist()) if same.any() else None


def _share_fact(got: Tensor, want: Tensor, x: Tensor, H: int) -> str:
    """Whom the query heads read, in the first sequence that goes wrong."""
    at = b, *_ = _first_wrong(got, want)
    mine, right = ([_reads(head, x) for head in out[b]] for out in (got, want))
    if all(place is not None and place[0] == b for place in mine):
        read = ", ".join(str(head) for _, head in mine)
        expected = ", ".join(str(head) for _, head in right)
        return (
            f"sequence {b}: query heads 0 to {H - 1} read key-value heads {read}; "
            f"expected {expected}"
        )
    _, h, token, feature = at
    whose = f"key-value head {right[h][1]}"
    if mine[h] is not None:
        other = f"query head {h} of sequence {b} reads key-value head {mine[h][1]}"
        if mine[h][0] == b:
            return f"{other}; expected {whose}"
        return f"{other} of sequence {mine[h][0]}; expected {whose} of its own"
    here = f"token {token}, feature {feature} of query head {h} in sequence {b}"
    expected = f"expected token {token}, feature {feature} of {whose}"
    place = found_at(got[at], x)
    if place is None:
        return f"{here} is {got[at].item():.4g}, which x doesn't hold; {expected}"
    other = f"token {place[2]}, feature {place[3]} of key-value head {place[1]}"
    other += "" if place[0] == b else f" in sequence {place[0]}"
    return f"{here} is {other}; {expected}"


def _group_fact(got: dict[str, Tensor], want: dict[str, Tensor], x: Tensor, H: int) -> str:
    """What comes back to the first number that goes wrong."""
    mine, right = got["gradient in x"], want["gradient in x"]
    at = b, head, *_ = _first_wrong(mine, right)
    G = H // x.shape[1]
    return (
        f"key-value head {head} of sequence {b} gets {mine[at].item():.4g} back for one number; "
        f"expected {right[at].item():.4g}, the sum over query heads {G * head} to "
        f"{G * head + G - 1}"
    )


def _gradient(fn: Callable, *inputs: object) -> dict[str, object]:
    """Observe the gradient, and the shape with it: numbers in a wrong one may get the right one."""
    grads = gradient(fn, *inputs)
    return {"shape": list(fn.returned.shape), **grads}


def _formed(holds: str, inputs: Draw) -> Probe:
    return Probe(
        holds,
        inputs=inputs,
        observe=form,
        widen=False,
        fails=lambda got, want, *_: f"the form is {got}; expected {want}",
    )


def _splits(holds: str, *shape: int, H: int) -> Probe:
    return Probe(holds, inputs=normal(*shape, H=H), fails=_split_fact)


SPLIT = (
    _formed(
        "[B, H, T, Dh] in the dtype of x: B 2, T 6, D 12, H 3 give [2, 3, 6, 4]",
        normal(2, 6, 12, H=3, dtype=torch.bfloat16),
    ),
    _splits("D 12, H 3: head 0 gets features 0 to 3 of every token", 1, 6, 12, H=3),
    _splits("4 tokens, 4 heads: each token keeps its own features", 2, 4, 12, H=4),
    _splits("3 sequences: each keeps its own numbers", 3, 4, 10, H=2),
    _splits("H 1: the one head gets all features", 2, 5, 7, H=1),
    _splits("H 7, D 7: head h gets feature h alone", 2, 3, 7, H=7),
    Probe(
        "gradients find their way back to the features",
        inputs=normal(2, 6, 15, H=5),
        observe=_gradient,
    ),
)


def _merges(holds: str, *shape: int) -> Probe:
    return Probe(holds, inputs=normal(*shape), fails=_merge_fact)


MERGE = (
    _formed(
        "[B, T, D] in the dtype of x: [2, 3, 6, 4] gives [2, 6, 12]",
        normal(2, 3, 6, 4, dtype=torch.bfloat16),
    ),
    _merges(
        "3 heads, Dh 4: features 0 to 3 of a token are its head 0, the next 4 its head 1",
        1,
        3,
        6,
        4,
    ),
    _merges("4 tokens, 4 heads: each token keeps its own numbers", 2, 4, 4, 3),
    _merges("3 sequences: each keeps its own numbers", 3, 2, 4, 5),
    Probe(
        "what split made is put together again, its memory as the transpose left it",
        inputs=lambda g: (heads.split(torch.randn(2, 4, 15, generator=g), 5),),
        fails=_merge_fact,
    ),
    _merges("one head: nothing to put together", 2, 1, 5, 7),
    _merges("Dh 1: feature h is head h's one number", 2, 7, 3, 1),
    Probe(
        "gradients find their way back to the heads",
        inputs=normal(2, 5, 6, 3),
        observe=_gradient,
    ),
)


def _shares(holds: str, *shape: int, H: int) -> Probe:
    return Probe(holds, inputs=normal(*shape, H=H), fails=_share_fact)


SHARE = (
    _formed(
        "[B, H, T, Dh] in the dtype of x: [2, 3, 5, 4] and H 6 give [2, 6, 5, 4]",
        normal(2, 3, 5, 4, H=6, dtype=torch.bfloat16),
    ),
    _shares("Hkv 2, H 4: query heads 0 and 1 read head 0, 2 and 3 read head 1", 1, 2, 5, 6, H=4),
    _shares("Hkv 2, H 6: groups of three", 2, 2, 5, 6, H=6),
    _shares("3 sequences, Hkv 4, H 8: each reads its own heads", 3, 4, 5, 6, H=8),
    _shares("Hkv 1: all query heads read the one head", 2, 1, 5, 3, H=4),
    _shares("Hkv 5, H 5: nothing to share, x as it came", 2, 5, 4, 3, H=5),
    Probe(
        "a key-value head's gradient is the sum over the query heads of its group",
        inputs=normal(2, 3, 5, 6, H=12),
        points=2,
        observe=_gradient,
        fails=_group_fact,
    ),
)

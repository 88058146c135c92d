"""What people really write to take one head's parameters out of a layer when it goes wrong."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lib.checks.question import Mistake

_in_cut = partial(Mistake, reread='04, "Cut the features"')
_in_stack = partial(Mistake, reread='04, "A stack of heads"')


def _own(H: int, head: int, D: int) -> slice:
    """The features of a head: right, and used with one thing wrong each time."""
    return slice(head * (D // H), (head + 1) * (D // H))


def _with(features: Callable[[int, int, int], object]) -> Callable:
    """Rows and columns as they should be, of these features in place of the head's."""

    def run(w_q, w_k, w_v, w_o, H, head):
        own = features(H, head, len(w_q))
        return w_q[own], w_k[own], w_v[own], w_o[:, own]

    return run


def _finished(finish: Callable) -> Callable:
    """The right four, and then something more is done to them."""
    right = _with(_own)
    return lambda w_q, w_k, w_v, w_o, H, head: finish(*right(w_q, w_k, w_v, w_o, H, head), H)


def _output(columns: Callable[[Tensor, int, int], Tensor]) -> Callable:
    """The right rows, with something else for w_o."""

    def run(w_q, w_k, w_v, w_o, H, head):
        own = _own(H, head, len(w_q))
        return w_q[own], w_k[own], w_v[own], columns(w_o, H, head)

    return run


def _inputs(rows: Callable[[Tensor, slice], Tensor]) -> Callable:
    """The right columns of w_o, with something else for the three that go in."""

    def run(w_q, w_k, w_v, w_o, H, head):
        own = _own(H, head, len(w_q))
        return rows(w_q, own), rows(w_k, own), rows(w_v, own), w_o[:, own]

    return run


def _w_o_first_cut_by_rows(w_o: Tensor, H: int, head: int) -> Tensor:
    return w_o[_own(H, head, len(w_o))]


def _swapped_ways(w_q, w_k, w_v, w_o, H, head):
    own = _own(H, head, len(w_q))
    return w_q[:, own], w_k[:, own], w_v[:, own], w_o[own]


def _queries_alone(w_q, w_k, w_v, w_o, H, head):
    own = _own(H, head, len(w_q))
    return w_q[own], w_k, w_v, w_o[:, own]


def _others(H: int, head: int, D: int) -> Tensor:
    feature = torch.arange(D)
    return feature[feature // (D // H) != head]


def _zeroed(w_q, w_k, w_v, w_o, H, head):
    mine = (torch.arange(len(w_q)) // (len(w_q) // H) == head).to(w_q)
    return *(w * mine[:, None] for w in (w_q, w_k, w_v)), w_o * mine


TAKE = (
    _in_stack(
        "rows of w_o",
        _output(_w_o_first_cut_by_rows),
        "w_o is cut by rows, as the other three are. A row of w_o makes one feature of the output, "
        "and all heads have a part in it.",
        "On which axis of w_o do the heads' results come in?",
    ),
    _in_stack(
        "rows of w_o, turned",
        _output(lambda w_o, H, head: _w_o_first_cut_by_rows(w_o, H, head).T),
        "w_o is cut by rows and transposed. The shape is right, and the numbers are those that "
        "make a few output features.",
        "Which numbers of w_o are multiplied with this head's result?",
    ),
    _in_stack(
        "w_o seen by heads first",
        _output(lambda w_o, H, head: w_o.reshape(H, len(w_o), -1)[head]),
        "A view of w_o puts the heads before the rows. The shape is right, and the block isn't "
        "made of columns: it runs on from row to row.",
        "Which axis of w_o has the heads in it, and which axis does your view cut?",
    ),
    _in_stack(
        "w_o whole",
        _output(lambda w_o, H, head: w_o),
        "w_o isn't cut: it still expects the results of all heads side by side.",
        "How many numbers does one head hand on for each token?",
    ),
    _in_stack(
        "w_o divided by the number of heads",
        _finished(lambda q, k, v, o, H: (q, k, v, o / H)),
        "w_o is divided by the number of heads, as if their outputs were averaged.",
        "What do the outputs of the heads do in the layer: add up, or share?",
    ),
    _in_cut(
        "columns of the inputs",
        _inputs(lambda w, own: w[:, own]),
        "w_q, w_k and w_v are cut by columns. Their columns meet the features of x, and a head "
        "reads all of these.",
        "In [out, in], which axis holds the head's own features?",
    ),
    _in_cut(
        "columns of the inputs, turned",
        _inputs(lambda w, own: w[:, own].T),
        "w_q, w_k and w_v are cut by columns and transposed. The shape is right, and the numbers "
        "belong to some features of x, for all heads.",
        "Which numbers of w_q make the first number of this head's query?",
    ),
    _in_cut(
        "squares",
        _inputs(lambda w, own: w[own, own]),
        "w_q, w_k and w_v are cut both ways, so the head would read its own slice of x alone.",
        "Which features of a token may a head read?",
    ),
    _in_cut(
        "the two ways exchanged",
        _swapped_ways,
        "Rows and columns are exchanged in all four: that fits weights kept as [in, out].",
        "How does nn.Linear keep its weight, and what is multiplied with it?",
    ),
    _in_cut(
        "turned at the end",
        _finished(lambda q, k, v, o, H: (q.T, k.T, v.T, o.T)),
        "The right numbers come back as [in, out], each matrix transposed.",
        "Which way round came the four in, and which way round should they go out?",
    ),
    _in_cut(
        "every H-th feature",
        _with(lambda H, head, D: slice(head, None, H)),
        "A head gets every H-th feature. The features of a head stand together.",
        "Which features of q does `split` give to head 0?",
    ),
    _in_cut(
        "H for the width of a head",
        _with(lambda H, head, D: slice(head * H, (head + 1) * H)),
        "A head is cut H features wide, and H is how many heads there are.",
        "How wide is a head, if D features are shared among H?",
    ),
    _in_cut(
        "counted from 1",
        _with(lambda H, head, D: slice((head - 1) * (D // H), head * (D // H))),
        "Heads are counted from 1: head 1 gets what belongs to head 0, and head 0 gets nothing.",
        "Which features has head 0?",
    ),
    _in_cut(
        "counted from the back",
        _with(lambda H, head, D: _own(H, H - 1 - head, D)),
        "Heads are counted from the last one back.",
        "Which features has head 0?",
    ),
    _in_cut(
        "slices one feature apart",
        _with(lambda H, head, D: slice(head, head + D // H)),
        "The slice of a head begins at feature `head`, so that neighbours overlap.",
        "If head 0 has the first Dh features, which is the first of head 1?",
    ),
    _in_cut(
        "one feature short",
        _with(lambda H, head, D: slice(head * (D // H), (head + 1) * (D // H) - 1)),
        "The last feature of the head is missing: the end of a slice is left out anyway.",
        "Which number does the slice 4:8 end with?",
    ),
    _in_cut(
        "head 0 always",
        _with(lambda H, head, D: _own(H, 0, D)),
        "Whichever head is asked for, the first one's parameters come back.",
        "Where does your code use `head`?",
    ),
    _in_cut(
        "the head and all before it",
        _with(lambda H, head, D: slice(0, (head + 1) * (D // H))),
        "The slice begins at feature 0, so all earlier heads come along.",
        "At which feature does head 1 begin?",
    ),
    _in_cut(
        "the head and all after it",
        _with(lambda H, head, D: slice(head * (D // H), None)),
        "The slice has no end, so all later heads come along.",
        "At which feature does head 0 end?",
    ),
    _in_stack(
        "the other heads",
        _with(_others),
        "The head is taken away, and what comes back is the rest of the layer.",
        "Is the head that was asked for to go, or to stay?",
    ),
    _in_stack(
        "queries alone",
        _queries_alone,
        "w_q and w_o are cut, w_k and w_v aren't: queries of one head meet keys of all.",
        "How wide must a key be, to be compared with this head's query?",
    ),
    _in_stack(
        "zeros in place of a cut",
        _zeroed,
        "The other heads are set to zero and stay in the matrices. It computes the head, but Dh is "
        "D now, and so is the divisor of the scores.",
        "How many rows does the w_q of one head have?",
    ),
    _in_stack(
        "w_o in front",
        _finished(lambda q, k, v, o, H: (o, q, k, v)),
        "The four are right and come in another order: w_o is first.",
        "In which order were they given?",
    ),
    _in_stack(
        "keys for queries",
        _finished(lambda q, k, v, o, H: (k, q, v, o)),
        "The four are right, but w_k comes first and w_q second.",
        "In which order were they given?",
    ),
    _in_stack(
        "values for keys",
        _finished(lambda q, k, v, o, H: (q, v, k, o)),
        "The four are right, but w_v comes second and w_k third.",
        "In which order were they given?",
    ),
    _in_stack(
        "queries twice",
        _finished(lambda q, k, v, o, H: (q, q, v, o)),
        "The rows of w_q come twice, in the place of w_k as well.",
        "Which of the four did you not use?",
    ),
    _in_stack(
        "no w_o",
        _finished(lambda q, k, v, o, H: (q, k, v)),
        "Three matrices come back. Without w_o the head's result isn't an output of the layer.",
        "What takes Dh numbers back to D?",
    ),
    _in_stack(
        "the divisor in w_q",
        _finished(lambda q, k, v, o, H: (q * q.shape[0] ** -0.5, k, v, o)),
        "w_q has the divisor of the scores in it. Whoever runs the head divides again.",
        "Who divides the scores: the parameters, or the attention that uses them?",
    ),
)

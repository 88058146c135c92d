"""Right angles of a shift in wrong places or with wrong signs, and matrices found another way."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.shift import shift_matrix
from course_lib.checks.positions.shift_mistakes import blocks, in_shift
from course_lib.checks.positions.waves import waves
from course_lib.positions import frequencies


def _of_form(signs: str) -> Callable[[int, int], Tensor]:
    return lambda k, D: blocks(k * frequencies(D), signs)


def _halves(k, D):
    cos, sin = ((k * frequencies(D)).cos().diag(), (k * frequencies(D)).sin().diag())
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


def _overlapping(k, D):
    S = torch.zeros(D, D, dtype=torch.float64)
    for i in range(D // 2):
        S[i : i + 2, i : i + 2] = shift_matrix(k, D)[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
    return S


def _outer(k, D):
    here, there = waves(torch.tensor([0, k]), D)
    return torch.outer(there, here) / here.dot(here)


def _elementwise(k, D):
    here, there = waves(torch.tensor([0, k]), D)
    return (there / here).diag()


def _never_filled(k, D):
    S = torch.zeros(D, D, dtype=torch.float64)
    return S + (k * frequencies(D)).cos().repeat_interleave(2).diag()


def _beside_everywhere(k, D):
    angles = (k * frequencies(D)).repeat_interleave(2)
    beside = angles.sin()[:-1]
    return angles.cos().diag() + beside.diag(1) - beside.diag(-1)


def _all_but_the_last(k, D):
    S = shift_matrix(k, D)
    S[-2:] = 0
    return S


def _own_exponents(k, D):
    S = torch.zeros(D, D, dtype=torch.float64)
    for j in range(D):
        angle = torch.tensor(k * 10_000 ** (-j / D))
        S[j, j] = angle.cos()
        S[j, j + 1 - 2 * (j % 2)] = angle.sin() * (1 - 2 * (j % 2))
    return S


def _stacked_in_front(k, D):
    angles = k * frequencies(D)
    c, s = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([c, s, -s, c]).view(-1, 2, 2))


def _striped(k, D):
    S, angles = torch.zeros(D, D), (k * frequencies(D)).float()
    S[::2, ::2] = S[1::2, 1::2] = angles.cos()
    S[::2, 1::2], S[1::2, ::2] = angles.sin(), -angles.sin()
    return S


def _apart(k, D):
    S = shift_matrix(k, D)
    return torch.stack([S[i : i + 2, i : i + 2] for i in range(0, D, 2)])


FORMS = (
    in_shift(
        "halves",
        _halves,
        "Feature i is paired with feature i + D/2; in the sinusoid of 05.1 sine and cosine "
        "alternate.",
        "Which two features hold the sine and the cosine of the first pair?",
    ),
    in_shift(
        "blocks that overlap",
        _overlapping,
        "Each block begins one row after the one before and overwrites half of it; the last rows "
        "stay zero.",
        "At which row does the block of pair 1 begin?",
    ),
    in_shift(
        "the last block missing",
        _all_but_the_last,
        "The last two rows of S are zero: the last pair has no block.",
        "Where does the block of the last pair begin, and does your loop get there?",
    ),
    in_shift(
        "a block for every feature",
        lambda k, D: torch.block_diag(
            *[blocks(k * 10_000 ** (-2 * torch.tensor([i / D]))) for i in range(D)]
        ),
        "There are D blocks, and S is twice as large as it should be.",
        "How many pairs do D features hold?",
    ),
    in_shift(
        "blocks not put together",
        _apart,
        "The blocks are right, but they come back as [D/2, 2, 2].",
        "Which matrix has these blocks along its diagonal and zeros elsewhere?",
    ),
    in_shift(
        "blocks in one tensor",
        lambda k, D: torch.block_diag(_apart(k, D)),
        "torch.block_diag is given all blocks as one tensor of three axes; it wants each as an "
        "argument of its own.",
        "How does Python hand over the entries of a list one by one?",
    ),
    in_shift(
        "added to the identity",
        lambda k, D: torch.eye(D) + shift_matrix(k, D),
        "S is the right matrix plus the identity: pe(t) itself is added to the moved one.",
        "What stands on the diagonal before your blocks are added to it?",
    ),
    in_shift(
        "stacked in front",
        _stacked_in_front,
        "Cosines and sines are stacked on an axis in front, so each block of four is read from "
        "several pairs. With one pair nothing shows.",
        "On which axis must the four numbers of a pair stand, so that they lie side by side?",
    ),
    in_shift(
        "own exponent for the cosine's row",
        _own_exponents,
        "Each feature j has an exponent j/D of its own: the two rows of a block are turned by "
        "different angles.",
        "The features of a pair share one angle: which number stands in the exponent of both?",
    ),
    in_shift(
        "stripes",
        _striped,
        "Cosines and sines fill every second entry of every second row: each pair also takes in "
        "all the others.",
        "Which entries of S must be zero for a pair to depend on itself alone?",
    ),
    in_shift(
        "the cosine with a minus",
        _of_form("css-c"),
        "The sines come out right and the cosines with the wrong sign: each block is a reflection.",
        "What is cos(a + b) in sines and cosines of a and b, and which of the two has the minus?",
    ),
    in_shift(
        "no minus",
        _of_form("cssc"),
        "The sines move by k, but the cosines by -k: no sine in S has a minus.",
        "What is cos(a + b) in sines and cosines of a and b?",
    ),
    in_shift(
        "the sine with a minus",
        _of_form("-cssc"),
        "The cosines come out right and the sines with the wrong sign, a reflection: S @ pe(t) is "
        "pe(k - t).",
        "What is sin(a + b) in sines and cosines of a and b, and has it a minus?",
    ),
    in_shift(
        "two minuses",
        _of_form("c-s-sc"),
        "Both sines of each block have a minus: the cosines come out right, but the sines move by "
        "-k.",
        "Which of sin(a + b) and cos(a + b) has a minus?",
    ),
    in_shift(
        "sine and cosine exchanged",
        _of_form("sc-cs"),
        "Sines stand on the diagonal and cosines beside it, so that even k = 0 moves everything.",
        "Which block leaves a pair as it is, and what are the sine and the cosine of 0?",
    ),
    in_shift(
        "cosines alone",
        _never_filled,
        "S has cosines on its diagonal and zeros elsewhere: a sine shrinks and gets nothing of its "
        "cosine.",
        "What does sin(a + b) need besides sin(a) cos(b)?",
    ),
    in_shift(
        "between the pairs too",
        _beside_everywhere,
        "Beside the diagonal stand sines without a gap, so that each pair is mixed with its "
        "neighbours.",
        "Which entries beside the diagonal belong to a pair, and which lie between two?",
    ),
    in_shift(
        "right from position 0 alone",
        _outer,
        "S is built from pe(0) and pe(k) as an outer product: every sinusoid comes out as a "
        "multiple of pe(k).",
        "What must a matrix do to a pair so that it works wherever the pair stands?",
    ),
    in_shift(
        "one number by another",
        _elementwise,
        "S divides pe(k) by pe(0) feature by feature, and the sines of pe(0) are zero.",
        "Which two features of pe(t) does sin(t + k) depend on?",
    ),
    in_shift(
        "a sinusoid for the matrix",
        lambda k, D: waves(torch.tensor([k]), D)[0],
        "A vector comes back, the sinusoid of position k, and not a matrix.",
        "Which matrix takes a sinusoid in and gives the one k steps further on?",
    ),
    in_shift(
        "a sinusoid on the diagonal",
        lambda k, D: waves(torch.tensor([k]), D)[0].diag(),
        "S has the sinusoid of position k on its diagonal and zeros elsewhere: each feature of "
        "pe(t) is multiplied by one number.",
        "Which two features of pe(t) does sin(t + k) depend on?",
    ),
    in_shift(
        "a table of sinusoids",
        lambda k, D: waves(torch.arange(k, k + D), D),
        "The rows of S are sinusoids, of the positions from k on.",
        "Which matrix takes a sinusoid in and gives the one k steps further on?",
    ),
)

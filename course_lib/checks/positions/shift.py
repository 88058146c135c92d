"""What shift_matrix is held to: where the product of the matrix and a sinusoid stands."""

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.positions.sinusoid import size
from course_lib.checks.positions.waves import far_apart, waves
from course_lib.checks.question import Probe
from course_lib.masks import in_words
from course_lib.positions import frequencies

SEARCHED = 60  # how far beyond k a moved sinusoid is looked for


def shift_matrix(k: int, D: int) -> Tensor:
    """Move a sinusoid by k positions, wherever it stands."""
    angles = k * frequencies(D)
    blocks = torch.stack([angles.cos(), angles.sin(), -angles.sin(), angles.cos()], -1)
    return torch.block_diag(*blocks.view(-1, 2, 2))


@functools.cache
def _standing(D: int, *starts: int) -> Tensor:
    """The sinusoids of these positions as columns."""
    return waves(torch.tensor(starts), D).T


def _moved(*starts: int) -> Callable:
    """Observe S @ pe(t) for these t, one row each."""

    def observe(fn: Callable, k: int, D: int) -> object:
        return (fn(k, D).double() @ _standing(D, *starts)).T

    return observe


def _landed(row: Tensor, k: int) -> int | None:
    """The position whose sinusoid this is, or None."""
    furthest = abs(k) + SEARCHED
    everywhere = _standing(len(row), *range(-furthest, furthest + 1)).T
    same = ~far_apart(row, everywhere).any(-1)
    return int(same.nonzero()[0]) - furthest if same.any() else None


def _where(*starts: int) -> Callable:
    """The fact about the first of these t that lands somewhere else."""

    def fact(got: Tensor, want: Tensor, k: int, D: int) -> str:
        wrong = far_apart(got, want)
        row = int(wrong.any(-1).nonzero()[0])
        t = starts[row]
        here, right = f"k {k}, D {D}: S @ pe({t})", f"pe({t + k})"
        if (place := _landed(got[row], k)) is not None:
            return f"{here} is pe({place}); expected {right}"
        off = wrong[row].nonzero().flatten().tolist()
        which = f"feature {off[0]}" if len(off) > 1 else "it"
        return (
            f"{here} differs from {right} in {in_words(off, 'feature')}: {which} is "
            f"{got[row, off[0]].item() + 0.0:.4g}; expected {want[row, off[0]].item() + 0.0:.4g}"
        )

    return fact


def _shifts(holds: str, k: int, D: int, *starts: int, points: int = 1) -> Probe:
    return Probe(
        holds,
        lambda g: (k, D),
        points,
        observe=_moved(*starts),
        fails=_where(*starts),
        tolerance=1e-4,
    )


def _drawn(g: torch.Generator) -> tuple[int, int]:
    """A shift from 2 to 9, an even width from 10 to 16."""
    k, half = (int(torch.randint(*low_high, (), generator=g)) for low_high in ((2, 10), (5, 9)))
    return k, 2 * half


ANYWHERE = 0, 1, 4, 9, 23

SHIFT = (
    Probe(
        "[D, D] in float32 or wider: D 6 gives [6, 6]",
        inputs=lambda g: (3, 6),
        observe=size,
        fails=lambda got, want, *_: f"the form is {got}; expected {want}",
    ),
    _shifts("D 2, k 1: the one pair of position 0 moves to position 1", 1, 2, 0),
    _shifts("D 8, k 3: position 0 moves to 3, in every pair", 3, 8, 0),
    _shifts("D 6, k 5: positions 1, 2, 8 and 20 move to 6, 7, 13 and 25", 5, 6, 1, 2, 8, 20),
    Probe(
        "any other even D, k from 2 to 9: positions 0, 1, 4, 9 and 23 move by k",
        inputs=_drawn,
        observe=_moved(*ANYWHERE),
        fails=_where(*ANYWHERE),
        tolerance=1e-4,
    ),
    _shifts("D 8, k -4: positions 4, 7 and 30 move to 0, 3 and 26", -4, 8, 4, 7, 30),
    _shifts("D 10, k 0: positions 0, 3 and 11 stay where they are", 0, 10, 0, 3, 11),
    Probe(
        "D 4, k 500: positions 0, 3 and 40 move to 500, 503 and 540",
        inputs=lambda g: (500, 4),
        observe=_moved(0, 3, 40),
        fails=_where(0, 3, 40),
        tolerance=1e-3,
    ),
)

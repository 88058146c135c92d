"""A task for long sequences: what was last written under a name, however much was written before.

One layer, trained at one length and asked at longer ones, shows how a scheme of positions carries
over: far back stand more and more values of the same name, and only the newest counts.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.attention import masked_softmax, scores
from course_lib.heads import merge, split
from course_lib.masks import causal
from course_lib.positions import Learned, alibi, rotate, sinusoid
from course_lib.tasks.training import train

SCHEMES = ("none", "sinusoid", "learned", "ALiBi", "rotary")
NAMES, VALUES = 8, 8
UNKNOWN = -100  # the answer where a name is new: `cross_entropy` leaves it out
LONGEST = 128
ASKED = 16


class Notes(NamedTuple):
    """A batch: at each position a name, the value written under it, and the one before that."""

    name: Int[Tensor, "B T"]
    value: Int[Tensor, "B T"]
    last: Int[Tensor, "B T"]


def notes(B: int, T: int, generator: torch.Generator) -> Notes:
    """Draw T names and values a sequence; `last` is what the same name held until then."""
    name = torch.randint(NAMES, (B, T), generator=generator)
    value = torch.randint(VALUES, (B, T), generator=generator)
    same_before = (name[:, :, None] == name[:, None]).tril(-1)  # [B, T, T]
    where = (same_before * torch.arange(1, T + 1)).amax(-1) - 1
    last = value.gather(1, where.clamp(min=0)).masked_fill(where < 0, UNKNOWN)
    return Notes(name, value, last)


class Reader(nn.Module):
    """One layer of attention that is asked a name and reads what was written before.

    The query knows the name alone; keys and values know name and value. Of the schemes, sinusoid
    and learned are added to what is read, ALiBi to the scores, and rotary turns queries and keys.
    The learned table has LONGEST entries, so that it can be asked past the length of training.
    """

    def __init__(self, scheme: str, D: int = 64, H: int = 4):
        super().__init__()
        if scheme not in SCHEMES:
            raise ValueError(f"scheme: expected one of {', '.join(SCHEMES)}, got {scheme!r}")
        self.scheme, self.H = scheme, H
        self.name, self.value = nn.Embedding(NAMES, D), nn.Embedding(VALUES, D)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.answer = nn.Linear(D, VALUES)
        self.place = Learned(LONGEST, D) if scheme == "learned" else None

    def forward(
        self, name: Int[Tensor, "B T"], value: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T VALUES"]:
        """The logits of each value at each position, from the positions before it."""
        T = name.shape[1]
        positions = torch.arange(T)[None]
        asked = self._placed(self.name(name), positions)
        written = self._placed(self.name(name) + self.value(value), positions)
        q, k = split(self.w_q(asked), self.H), split(self.w_k(written), self.H)
        if self.scheme == "rotary":
            q, k = rotate(q, positions), rotate(k, positions)
        logits = scores(q, k)
        if self.scheme == "ALiBi":
            logits = logits + alibi(self.H, T, T)
        before = causal(T, T) & ~torch.eye(T, dtype=torch.bool)
        read = masked_softmax(logits, before) @ split(self.w_v(written), self.H)
        return self.answer(self.w_o(merge(read)))

    def _placed(self, x: Tensor, positions: Tensor) -> Tensor:
        if self.scheme == "sinusoid":
            return x + sinusoid(positions, x.shape[-1])
        return x + self.place(positions) if self.place else x


def trained(scheme: str, T: int = 32, steps: int = 300, seed: int = 0) -> Reader:
    """A reader with this scheme, trained on sequences of T; a bar shows the time left.

    On the seeds 0 to 4, the accuracy at 32, 64 and 128 was at least 0.995, 0.98, 0.98 with ALiBi,
    0.99, 0.78, 0.65 with rotary; at most 1, 0.35, 0.16 with sinusoids, 1, 0.27, 0.19 with learned
    positions, and 0.56, 0.36, 0.27 with none.
    """
    torch.manual_seed(seed)
    reader, generator = Reader(scheme), torch.Generator().manual_seed(seed)

    def error(model: nn.Module) -> Tensor:
        name, value, last = notes(64, T, generator)
        return nn.functional.cross_entropy(model(name, value).flatten(0, 1), last.flatten())

    train(reader, error, steps, name=scheme)
    return reader


@torch.inference_mode()
def accuracy(reader: Reader, T: int, sequences: int = 100, seed: int = 1_000) -> float:
    """The share of right answers at the last ASKED positions of fresh sequences of T.

    An answer drawn blindly is right once in VALUES.
    """
    if not ASKED <= T <= LONGEST:
        raise ValueError(f"T: expected {ASKED} to {LONGEST}, got {T}")
    name, value, last = notes(sequences, T, torch.Generator().manual_seed(seed))
    right = (reader(name, value).argmax(-1) == last)[:, -ASKED:]
    return right[last[:, -ASKED:] != UNKNOWN].double().mean().item()

"""Ten words as vectors made by hand: every feature has a name, so every result can be read."""

import torch
from jaxtyping import Float
from torch import Tensor

FEATURES = ("water", "money", "place", "action", "grammar")

WORDS = {
    "bank": (1, 1, 1, 0, 0),  # two senses in one vector: that is the point of it
    "river": (3, 0, 1, 0, 0),
    "shore": (2, 0, 2, 0, 0),
    "flooded": (2, 0, 0, 2, 0),
    "loan": (0, 4, 0, 0, 0),
    "coin": (0, 2, 0, 0, 0),
    "approved": (0, 1, 0, 2, 0),
    "crossed": (0, 0, 1, 2, 0),
    "the": (0, 0, 0, 0, 1),
    "by": (0, 0, 1, 0, 1),
}


def embed(sentence: str) -> Float[Tensor, "1 1 T D"]:
    """Look up the vector of each word: the same word has the same vector in every sentence.

    Axes [B, H, T, D] with one batch and one head; the features of D are named in FEATURES.
    """
    if not isinstance(sentence, str) or not sentence.split():
        raise ValueError(f"sentence: expected words with spaces between them, got {sentence!r}")
    for word in sentence.split():
        if word not in WORDS:
            raise ValueError(f"sentence: no vector for {word!r}; there are {', '.join(WORDS)}")
    return torch.tensor([WORDS[word] for word in sentence.split()], dtype=torch.float32)[None, None]

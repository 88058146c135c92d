"""A small class, as files: what graders are tried on."""

from pathlib import Path

RIGHT = "import torch\ndef scores(q, k):\n    return q / q.shape[-1] ** 0.5 @ k.mT\n"
WARNS = """\
import warnings, torch
def scores(q, k):
    warnings.warn("a product of floats")
    warnings.warn("old", DeprecationWarning)
    print("scores of", tuple(q.shape))
    return q / q.shape[-1] ** 0.5 @ k.mT
"""
UNSCALED = "def scores(q, k):\n    return q @ k.mT\n"
LOOPS = "def scores(q, k):\n    while True:\n        pass\n"
SLEEPS = "import time\ndef scores(q, k):\n    time.sleep(1_000)\n"
CAUSAL = """\
import torch
def causal(Tq, Tk):
    return torch.ones(Tq, Tk, dtype=torch.bool).tril(Tk - Tq)
"""
CLASS = {
    "ana/02_attention.py": RIGHT,
    "ben/02_attention.py": UNSCALED,
    "cem/02_attention.py": WARNS,
    "dia/02_attention.py": "def scores(q, k)\n",
    "dia/03_masks.py": CAUSAL,  # the only one of chapter 03: the others miss it
    "eva/02_attention.py": SLEEPS,
    "fay/02_attention.py": RIGHT + "def softmax(scores):\n    return torch.softmax(scores, -1)\n",
    "李雷/02_attention.py": UNSCALED,
}


def hand_in(folder: Path) -> Path:
    """Write the class into a folder."""
    for name, source in CLASS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return folder


def reports(folder: Path) -> dict[str, bytes]:
    """What was written about a class, except for times and the key."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {name: data for name, data in found.items() if name not in ("results.jsonl", "key")}

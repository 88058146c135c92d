"""Explorables: small drawings that answer a slider at once, without asking Python.

To add one, write `explorables/<name>.mjs` and give it an entry in `EXPLORABLES`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anywidget
import traitlets

FOLDER = Path(__file__).with_name("explorables")


@dataclass(frozen=True)
class Entry:
    """What an explorable shows, where each control starts, and what else it needs to know."""

    shows: str
    controls: dict[str, tuple[object, Sequence]]  # name: (default, every value it may take)
    constants: dict[str, object] = field(default_factory=dict)


EXPLORABLES = {
    "clock": Entry(
        "one pair of a position's sine and cosine as a hand on a circle, for two positions, and a "
        "query and a key that are turned as far",
        {"t": (1, range(31)), "k": (2, range(13)), "pair": (0, range(4))},
        # Lengths of √5 both, so their product is 5 times a cosine: 4, with neither turned.
        {"D": 8, "base": 10_000, "query": [2, 1], "key": [1, 2]},
    ),
    "ledger": Entry(
        "the sizes, bytes and operations of one attention call, and which wrong line of code "
        "would run",
        {"Tq": (3, range(1, 13)), "Tk": (5, range(1, 13)), "Dh": (4, range(1, 13))},
        {"B": 1, "H": 2, "itemsize": 4},
    ),
    "mask": Entry(
        "which keys each query reads, the weights that result, and who reads the future",
        {
            # Where the table has its Trues; a reader who turns a cell over makes one of their own.
            "pattern": (
                "causal",
                ["all", "causal", "window", "padding", "past", "future", "none"],
            ),
            "means": ("read", ["read", "blocked"]),  # what the called function takes True for
            "empty": ("nan", ["nan", "zeros", "fill"]),  # what a row with nothing to read gives
        },
        {"scores": [[1, 0, 2, 0], [2, 1, 0, 1], [0, 2, 1, 3], [1, 0, 1, 2]]},
    ),
    "offsets": Entry(
        "the product of every two sinusoidal encodings, and the product against the offset",
        {
            "D": (16, [2**e for e in range(1, 8)]),
            "base": (10_000, [10**e for e in range(1, 6)]),
            "offset": (6, range(-23, 24)),  # of the diagonal that is marked: row - column
        },
        {"T": 24},
    ),
    "programs": Entry(
        "one program of the forward attention kernel step by step: what it loads, computes and "
        "stores, what it remembers of one row, and what a wrong line does to it",
        {
            "step": (0, range(19)),  # most programs have fewer
            # In the grid of 3 tiles of queries and 4 heads: tile + 3 * head.
            "program": (5, range(12)),
            # The rule, or the line that is wrong. "tail" reads all keys, the others are causal.
            "kernel": ("causal", ["causal", "all", "rescale", "tail", "head", "offset"]),
        },
        # The row that is followed is the sixth of its tile, so that every program has it.
        {"H": 4, "Hkv": 2, "Tq": 40, "Tk": 44, "Dh": 16, "block": 16, "itemsize": 2}
        | {"row": 5, "seed": 41},  # with this seed each tile brings query 37 a higher maximum
    ),
    "routes": Entry(
        "which words a query reads with each of two heads, what they bring, and what one wide "
        "head makes of the same numbers",
        {
            "query": ("crossed", ["the", "cat", "crossed", "a", "busy", "road"]),
            "heads": ("both", ["both", "A", "B", "wide"]),
            "times": (1, range(5)),  # how many times larger the queries are
        },
        {
            "words": ["the", "cat", "crossed", "a", "busy", "road"],
            # A row for each head of width 1, a number for each word.
            "q": [[2, 0, 2, 0, 1, 2], [0, 2, 2, 2, 2, 1]],  # head A asks who, head B where
            "k": [[0, 2, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2]],
            # Both heads carry the same: only their routes differ.
            "v": [0, 2, 3, 0, 6, 8],
        },
    ),
    "saturation": Entry(
        "how softmax weights, their entropy and their gradient change with the head size",
        {"Dh": (64, [2**e for e in range(2, 13)]), "divided": (False, [False, True])},
        # Mean 0 and variance 1 exactly, so an undivided score has a deviation of exactly √Dh.
        {"z": [1.1, 0.2, 1.5, -1.8, -0.1, -0.8, -0.6, 0.5]},
    ),
    "stepper": Entry(
        "what online softmax remembers of one row after each tile, how far its result is from the "
        "direct softmax, and what a wrong line does to it",
        {
            "step": (2, range(12)),  # how many tiles are read; of larger tiles there are fewer
            "plan": (
                "threes",
                ["threes", "backwards", "shuffled", "ones", "fours", "whole", "low"],
            ),
            "broken": ("nothing", ["nothing", "rescale", "maximum", "start", "tail"]),
        },
        {
            # The second and the last tile of three bring a higher maximum; the third brings none.
            "scores": [-1, 0, -2, 1, -1, 0, 0, -3, -1, 2, -1],
            "v": [2, 1, 4, 6, 2, 3, 0, 4, 1, 8, 5],
            "itemsize": 8,
            # Keys a tile, the tiles in the order they are read, what every score is lowered by.
            "plans": {
                "threes": {"tile": 3, "order": [0, 1, 2, 3], "lower": 0},
                "backwards": {"tile": 3, "order": [3, 2, 1, 0], "lower": 0},
                "shuffled": {"tile": 3, "order": [2, 0, 3, 1], "lower": 0},
                "ones": {"tile": 1, "order": list(range(11)), "lower": 0},
                "fours": {"tile": 4, "order": [0, 1, 2], "lower": 0},
                "whole": {"tile": 11, "order": [0], "lower": 0},
                "low": {"tile": 3, "order": [0, 1, 2, 3], "lower": 900},
            },
        },
    ),
}


def defaults(name: str) -> dict[str, object]:
    """The state an explorable starts in, for the still figure that stands above it."""
    entry = _entry(name)
    return {key: default for key, (default, _) in entry.controls.items()} | entry.constants


def bundle(name: str) -> str:
    """One JavaScript module out of a drawing and all that it imports."""
    # A widget's code travels as one string and can't import its neighbours. The files stay real
    # modules, so that node can test them; here the lines that join them are taken out.
    text = "\n".join(_parts(name).values())
    text = re.sub(r"^import\s[^;]*;\n", "", text, flags=re.M)
    return re.sub(r"^export (?!default)", "", text, flags=re.M)


def _parts(name: str) -> dict[str, str]:
    """The text of a module after those of the modules that it imports, each once."""
    text = (FOLDER / f"{name}.mjs").read_text(encoding="utf-8")
    parts = {}
    for needed in re.findall(r'^import\s[^;]* from "\./(\w+)\.mjs";$', text, flags=re.M):
        parts |= _parts(needed)
    return parts | {name: text}


def with_text(bundled: tuple[dict, dict] | dict | None, text: str):
    """Put a readable text into a widget's mime bundle, for whoever has no widgets."""
    data = bundled[0] if isinstance(bundled, tuple) else bundled
    if data is not None:
        data["text/plain"] = text
    return bundled


class Explorable(anywidget.AnyWidget):
    """A drawing with controls, alive even where no kernel runs."""

    name = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    choices = traitlets.Dict().tag(sync=True)
    _esm = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        start = {key: default for key, (default, _) in EXPLORABLES[self.name].controls.items()}
        values = ", ".join(f"{key} = {value}" for key, value in start.items())
        return (
            f"Explorable {self.name!r} shows {EXPLORABLES[self.name].shows}. It needs a browser; "
            f"the figure above shows its first view ({values})."
        )

    def _repr_mimebundle_(self, **kwargs):
        return with_text(super()._repr_mimebundle_(**kwargs), repr(self))


def explorable(name: str, **state: object) -> Explorable:
    """Show an explorable, from its first view or from the values you give.

    `explorable("ledger", Tq=1)` starts with one query. Every value can be reached with the
    keyboard; the arithmetic runs in the page.
    """
    controls = _entry(name).controls
    for key, value in state.items():
        if key not in controls:
            raise ValueError(f"explorable: {name!r} has no {key!r}; it has {list(controls)}")
        allowed = list(controls[key][1])
        if not any(a == value and type(a) is type(value) for a in allowed):
            raise ValueError(f"explorable: {key} must be one of {allowed}; got {value!r}")
    return Explorable(
        name=name,
        state=defaults(name) | state,
        choices={key: list(allowed) for key, (_, allowed) in controls.items()},
        _esm=bundle(name),
    )


def _entry(name: str) -> Entry:
    if name not in EXPLORABLES:
        raise ValueError(f"explorable: name must be one of {list(EXPLORABLES)}; got {name!r}")
    return EXPLORABLES[name]

"""What this machine has, and how much of the course works without it."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from types import ModuleType
from typing import Any

NONE = "none"
HEADINGS = ("part", "here", "what it is for", "what works without it")


@dataclass(frozen=True)
class Part:
    """One thing a machine may have: what was found, what it is for, what works without it."""

    name: str
    here: str
    gives: str
    without: str

    @property
    def present(self) -> bool:
        """Whether it was found."""
        return self.here != NONE


@dataclass(frozen=True)
class Environment:
    """The parts in the order of need; a table in Jupyter, text elsewhere."""

    parts: tuple[Part, ...]

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        names = ", ".join(part.name for part in self.parts)
        raise KeyError(f"environment has no part {name!r}; it has {names}")

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the parts that weren't found."""
        return tuple(part.name for part in self.parts if not part.present)

    @property
    def summary(self) -> str:
        """One sentence: what is missing here, and whether it matters."""
        if not self["torch"].present:
            return "torch is missing, and nothing runs without it."
        if not self.missing:
            return "Everything is here."
        return f"Not here: {', '.join(self.missing)}. The library computes all the same."

    def __str__(self) -> str:
        blocks = [
            f"{part.name + ':':<12}{part.here}\n{'':<12}for {part.gives}\n"
            f"{'':<12}without it: {part.without}"
            for part in self.parts
        ]
        return "\n".join([*blocks, self.summary])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = 'style="text-align:left;vertical-align:top"'
        head = "".join(f'<th scope="col" {left}>{name}</th>' for name in HEADINGS)
        body = "".join(
            f'<tr><th scope="row" {left}>{part.name}</th>'
            + "".join(
                f"<td {left}>{escape(text)}</td>" for text in (part.here, part.gives, part.without)
            )
            + "</tr>"
            for part in self.parts
        )
        return (
            '<div style="overflow-x:auto"><table><caption style="caption-side:top;'
            f'text-align:left;font-weight:bold;color:inherit">{escape(self.summary)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def environment() -> Environment:
    """Say what this machine has for the course, and what works without each part.

    Never raises and never imports Triton: it asks the package's metadata. What can't be found out
    counts as absent.
    """
    torch = _ask(lambda: importlib.import_module("torch"))
    gpu = _gpu(torch)
    return Environment(
        (
            Part("torch", _torch(torch), "all that is computed", "nothing"),
            Part(
                "GPU",
                gpu,
                "speed, and kernels compiled to machine code",
                "every notebook; none asks for a GPU",
            ),
            Part(
                "Triton",
                _triton(gpu),
                "programs for a GPU, written in Python",
                "all that is written in torch",
            ),
            Part(
                "JupyterLab",
                _version("jupyterlab"),
                "these notebooks",
                "any other editor that runs notebooks",
            ),
            Part(
                "anywidget",
                _version("anywidget"),
                "predictions that you commit to",
                "the library in a script, but not the notebooks",
            ),
        )
    )


def _ask(question: Callable[[], Any]) -> Any:
    """The answer, or None where the machine can't give one: a broken driver is no GPU."""
    try:
        return question()
    except Exception:
        return None


def _version(package: str) -> str:
    """The version of a package that could be imported, without importing it."""
    found = _ask(lambda: importlib.util.find_spec(package) and importlib.metadata.version(package))
    return found or NONE


def _torch(torch: ModuleType | None) -> str:
    if torch is None:
        return NONE
    threads = _ask(torch.get_num_threads)
    return f"{torch.__version__}, {threads} thread{'s' * (threads != 1)} on {platform.machine()}"


def _gpu(torch: ModuleType | None) -> str:
    """The names of the GPUs that torch can use, each once with its count."""
    if torch is None:
        return NONE
    if _ask(torch.cuda.is_available):
        count = _ask(torch.cuda.device_count) or 0
        names = [_ask(lambda i=i: torch.cuda.get_device_name(i)) or "cuda" for i in range(count)]
        counts = {name: names.count(name) for name in names}
        return ", ".join(f"{n} × {name}" if n > 1 else name for name, n in counts.items()) or NONE
    if _ask(lambda: torch.backends.mps.is_available()):
        return "Apple (mps)"
    return NONE


def _triton(gpu: str) -> str:
    version = _version("triton")
    if version == NONE:
        return NONE
    interpreted = os.environ.get("TRITON_INTERPRET") == "1" or gpu in (NONE, "Apple (mps)")
    return f"{version}, {'interpreted on the CPU' if interpreted else 'compiled for the GPU'}"

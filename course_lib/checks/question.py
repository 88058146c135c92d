"""What a question is: probes that show one property each, and the mistakes people really make."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.simulator import Kernel


@dataclass(frozen=True)
class Mistake:
    """A wrong answer with a name, the sentence that describes it and the question that mends it."""

    name: str
    run: Callable
    says: str
    asks: str
    reread: str


def mistake(name: str, *, says: str, asks: str, reread: str) -> Callable[[Callable], Mistake]:
    """Make a wrong implementation a named mistake of the bank.

    `says` is a fact about what the code does, `asks` ends in a question whose answer is the
    repair, `reread` names chapter and section. None of them gives the code away.
    """
    return lambda run: Mistake(name, run, says, asks, reread)


def call(fn: Callable, *inputs: object) -> object:
    """Observe what the function returns."""
    return fn(*inputs)


def gradient(fn: Callable, *inputs: object) -> dict[str, Tensor]:
    """Observe the gradient of a fixed weighting of the output, in each floating input."""
    leaves = [i.clone().requires_grad_() if _floating(i) else i for i in inputs]
    out = fn(*leaves)
    if not out.requires_grad:
        raise RuntimeError("no gradient leads from the output back to the inputs")
    cotangent = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
    wanted = {n: leaf for n, leaf in zip(fn.names, leaves, strict=True) if _floating(leaf)}
    grads = torch.autograd.grad(out, list(wanted.values()), cotangent, allow_unused=True)
    return {
        f"gradient in {name}": torch.zeros_like(leaf) if grad is None else grad
        for (name, leaf), grad in zip(wanted.items(), grads, strict=True)
    }


@dataclass(frozen=True)
class Probe:
    """One property of an answer: a line of the verdict, and inputs on which it shows.

    `inputs` draws fresh ones from a generator. `observe(fn, *inputs)` makes the value that is
    compared with the reference's, which runs in float64 unless `widen` is off; it may raise where
    what came back has the wrong form. `fails(got, want, *inputs)` words the fact when the numbers
    differ; without it the first difference is the fact. `told` says that it looks at more than
    values: where the answer runs in another process, that process tells it.
    """

    holds: str
    inputs: Callable[[torch.Generator], tuple]
    points: int = 1
    observe: Callable = call
    fails: Callable[..., str] | None = None
    tolerance: float | None = None
    widen: bool = True
    told: bool = False


@dataclass(frozen=True)
class Question:
    """An exercise: who answers it (`name`), what is right, and what is wrong in which way."""

    id: str
    name: str
    title: str
    stars: int
    minutes: int
    reference: Callable
    probes: tuple[Probe, ...]
    mistakes: tuple[Mistake, ...]
    alternatives: tuple[Callable, ...]
    seconds: float = 2.0  # for one call; an answer takes milliseconds, so this means "forever"
    may_import: tuple[str, ...] = ()  # what of the course a graded answer may use

    @property
    def points(self) -> int:
        """The points of its probes together."""
        return sum(probe.points for probe in self.probes)

    @property
    def chapter(self) -> str:
        """The chapter's two digits."""
        return self.id.split(".")[0]

    @property
    def is_kernel(self) -> bool:
        """Whether the answer is a kernel, which the check launches in the simulator."""
        return isinstance(self.reference, Kernel)

    @property
    def names(self) -> tuple[str, ...]:
        """What the arguments are called."""
        return tuple(inspect.signature(self.reference).parameters)

    @property
    def signature(self) -> str:
        """How the answer is called, in one line."""
        return f"{self.name}({', '.join(self.names)})"

    def draw(self, seed: int) -> list[tuple]:
        """Fresh inputs for every probe; the same seed draws the same inputs."""
        return [
            probe.inputs(torch.Generator().manual_seed(1000 * seed + i))
            for i, probe in enumerate(self.probes)
        ]


def widened(inputs: tuple) -> tuple:
    """The same inputs with floating tensors in float64: what the reference computes from."""
    return tuple(i.double() if _floating(i) else i for i in inputs)


def _floating(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()

"""The leak probe: change what a position may not see, and look whether it moves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from course_lib.masks import causal

SHOCK = 8.0  # standard deviations; a leak through a weight of 1e-6 still moves the output by 1e-5
MOVED = 1e-6  # of the output's size: above the rounding of float32, which doesn't move at all


@dataclass(frozen=True)
class Leak:
    """One output that moved although it may not depend on the input that was changed."""

    reader: int
    source: int
    by: float
    across_samples: bool = False


@dataclass(frozen=True)
class Leaks:
    """What the probe found; false where nothing leaks, so it can stand in an `if` or `assert`."""

    found: tuple[Leak, ...]
    positions: int
    blind: tuple[int, ...] = ()  # whose output is NaN or infinite, so that no movement shows

    def __bool__(self) -> bool:
        return bool(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Leak]:
        return iter(self.found)

    def __str__(self) -> str:
        text = f"no leak seen among {self.positions} positions"
        if self.found:
            worst = max(self.found, key=lambda leak: leak.by)
            what = "another sample's position" if worst.across_samples else "position"
            pairs = "pair leaks" if len(self) == 1 else "pairs leak"
            text = (
                f"{len(self)} forbidden {pairs}; the largest: position {worst.reader} "
                f"moves by {worst.by:.2g} when {what} {worst.source} changes"
            )
        if self.blind:
            places = ", ".join(map(str, self.blind))
            text += f" (no finite output at {places}, where no movement can be seen)"
        return text

    __repr__ = __str__


def leaks(
    fn: Callable[[Tensor], object],
    x: Tensor,
    keep: Bool[Tensor, "#B #H #T #T"] | None = None,
    change: Callable[[Tensor], Tensor] | None = None,
) -> Leaks:
    """Find which outputs of a model move when an input changes that they may not see.

    A leak that is found is one. None seen, on this input and above rounding, is no proof.

    `fn` takes `x`, [T, D], [B, T, D] or token ids [T], [B, T], and returns an output for each
    position, or a tuple that begins with it. `keep` says who may read whom, `causal` if left out;
    a position may always depend on itself, and never on another sample of the batch. Floating
    inputs get a large random shock; for ids give `change`, which makes other ids of some. Modules
    are probed in `eval` mode, whose dropout is off, and put back; with gradients on, since torch's
    fast path without them fills rows that read nothing with NaN, behind which nothing is seen.
    Raises ValueError when the output doesn't fit, is finite nowhere, or differs between two calls.
    """
    batched = x.ndim == (3 if x.is_floating_point() else 2)
    inputs = x if batched else x[None]
    allowed = _allowed(keep, inputs.shape[1])
    shock = change or _shock

    def run(given: Tensor) -> object:
        out = fn(given if batched else given[0])
        out = out[0] if isinstance(out, tuple) else out
        if not isinstance(out, Tensor):
            return out
        out = out.detach() if batched else out.detach()[None]
        return out[..., None] if out.ndim == 2 else out  # one number for each position

    found = []
    with _evaluated(fn):
        before = run(inputs)
        _fits(before, inputs, run)
        for sample, source in torch.cartesian_prod(*map(torch.arange, inputs.shape[:2])).tolist():
            changed = inputs.clone()
            changed[sample, source] = shock(inputs[sample, source])
            found += _moves(before, run(changed), allowed, sample, source)
    largest: dict[tuple[int, int, bool], Leak] = {}
    for leak in sorted(found, key=lambda leak: leak.by):
        largest[leak.reader, leak.source, leak.across_samples] = leak
    order = sorted(largest.values(), key=lambda leak: (leak.reader, leak.source))
    dark = ~before.flatten(2).isfinite().all(-1).all(0)
    return Leaks(tuple(order), inputs.shape[1], tuple(dark.nonzero().flatten().tolist()))


def _allowed(keep: Tensor | None, T: int) -> Tensor:
    """Who may depend on whom, [#B, T, T]: what any head may read, and each position itself."""
    allowed = (causal(T, T) if keep is None else keep).any(1)
    if any(size not in (1, T) for size in allowed.shape[1:]):
        raise ValueError(f"keep: expected T = {T} queries and keys or 1, got {list(keep.shape)}")
    return allowed.expand(allowed.shape[0], T, T) | torch.eye(T, dtype=torch.bool)


def _moves(
    before: Tensor, after: Tensor, allowed: Tensor, sample: int, source: int
) -> Iterator[Leak]:
    """The positions that moved, of this sample and of the others, and shouldn't have."""
    size = before[before.isfinite()].abs().max().clamp_min(1e-30)
    both_nan = before.isnan() & after.isnan()
    moved = (before - after).abs().masked_fill(both_nan, 0).nan_to_num(nan=torch.inf)
    moved = moved.flatten(2).amax(-1) / size  # [B, T]
    own = allowed[min(sample, allowed.shape[0] - 1), :, source]
    for b, reader in (moved > MOVED).nonzero().tolist():
        if b != sample or not own[reader]:
            yield Leak(reader, source, moved[b, reader].item(), across_samples=b != sample)


def _shock(value: Tensor) -> Tensor:
    if not value.is_floating_point():
        raise ValueError("change: expected a function that makes other token ids of some")
    noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(0))
    return value + SHOCK * noise.to(value)


def _fits(before: object, inputs: Tensor, run: Callable[[Tensor], Tensor]) -> None:
    """Refuse an output that has no place for each position, or that isn't the same twice."""
    if not isinstance(before, Tensor) or before.shape[:2] != inputs.shape[:2]:
        found = list(before.shape) if isinstance(before, Tensor) else type(before).__name__
        raise ValueError(
            f"fn: expected an output for each position, [{inputs.shape[0]}, {inputs.shape[1]}, ...]"
            f", got {found}"
        )
    if not before.isfinite().any():
        raise ValueError("fn: no output is finite. Does a position read nothing at all?")
    if not torch.equal(before.nan_to_num(), run(inputs).nan_to_num()):
        raise ValueError("fn: two calls on the same input differ. Is dropout on?")


@contextmanager
def _evaluated(fn: object) -> Iterator[None]:
    """Put a module into eval mode, and each of its parts back as it was."""
    parts = list(fn.modules()) if isinstance(fn, nn.Module) else []
    modes = [part.training for part in parts]
    try:
        if parts:
            fn.eval()
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode

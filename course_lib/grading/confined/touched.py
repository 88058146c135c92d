"""What a process has in memory before an answer comes: torch, touched, and no compiler."""

import contextlib
import importlib
import types

import numpy as np
import torch


def warm_up() -> None:
    """Touch what most answers need, so that a child finds it in memory."""
    import jaxtyping  # noqa: F401

    np.random.seed(0)  # numpy imports the half of it at its first use
    torch.compile = _as_it_is  # a compiler would need programs, files and time
    torch._dynamo = _Dynamo()
    x = torch.ones(2, 2, requires_grad=True)
    torch.autograd.grad((x @ x).softmax(-1), x, torch.ones(2, 2))  # imports sympy, once


def _as_it_is(fn: object = None, **how: object) -> object:
    """Stands for torch.compile, which changes nothing of what a function computes."""
    return fn if fn is not None else lambda fn: fn


class _Dynamo:
    """Stands for a compiler of which torch.func wants one name, and imports it for seconds."""

    compiled_autograd = types.SimpleNamespace(_disable=contextlib.nullcontext)

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module("torch._dynamo"), name)

"""What torch makes: the sizes of all tensors that any operation makes while one watches."""

import functools

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that is made while this is on, in a backward pass too.

    Of two as large, the one that doesn't hold bools.
    """

    shape, dtype = torch.Size([0]), torch.bool
    unnoted = 0  # operations that ran and couldn't be looked at, as at the end of the stack

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and each operation would pay for asking

    def __torch_dispatch__(self, fn, types, args=(), kwargs=None):
        """Run one operation of torch, and look at what it made."""
        kwargs = kwargs or {}
        if _is_composed(fn):  # in inference mode it comes whole, and would hide its parts
            with self:
                return fn.decompose(*args, **kwargs)
        result = fn(*args, **kwargs)
        self.unnoted += 1
        given = {_storage(x) for x in (*args, *kwargs.values()) if isinstance(x, Tensor)}
        for made in result if isinstance(result, tuple | list) else (result,):
            if isinstance(made, Tensor) and (_storage(made) not in given or _fills(fn)):
                self.see(made.shape, made.dtype, _storage(made) not in given)
        self.unnoted -= 1
        return result

    def see(self, shape: torch.Size, dtype: torch.dtype, fresh: bool = True) -> None:
        """Note a tensor. One that isn't fresh is written, or filled from a list, and not made."""
        size = shape.numel(), dtype != torch.bool
        if fresh and size > (self.shape.numel(), self.dtype != torch.bool):
            self.shape, self.dtype = shape, dtype


@functools.cache
def _is_composed(fn: object) -> bool:
    return fn._can_decompose()


def _fills(fn: object) -> bool:
    return fn._schema.is_mutable or fn is torch.ops.aten.lift_fresh.default


def _storage(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # a sparse one, or a zero that takes no memory
        return id(tensor)

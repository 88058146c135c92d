"""The mode that sees the largest tensor sees into compositions, and what is written or filled."""

import contextlib

import torch
import torch.nn.functional as F

from course_lib.made import Largest
from course_lib.traffic import largest


class Seen(Largest):
    """Keeps what is seen, with whether it is fresh."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def see(self, shape, dtype, fresh=True):
        self.seen.append((tuple(shape), fresh))


def seen(call):
    with Seen() as mode:
        call()
    return mode.seen


def test_a_composition_shows_its_parts_in_inference_mode():
    q, k, v = torch.ones(5, 2), torch.ones(7, 2), torch.ones(7, 3)
    with torch.inference_mode():
        assert largest(lambda: F.scaled_dot_product_attention(q, k, v)) == (5, 7)
        assert largest(lambda: torch.einsum("qd,kd,ke->qe", q, k, v)).numel() == 35
        frozen = q.clone()
    assert largest(lambda: torch.einsum("qd,kd,ke->qe", frozen, k, v)).numel() == 35


def test_what_is_written_into_memory_that_was_there_is_seen_and_is_not_fresh():
    q, k, table = torch.ones(5, 2), torch.ones(7, 2), torch.zeros(99)
    part, none = table[:35].view(5, 7), torch.zeros(0)
    assert seen(lambda: torch.mm(q, k.T, out=part)) == [((5, 7), False)]
    assert seen(lambda: torch.mm(q, k.T, out=none)) == [((5, 7), False)]
    assert seen(lambda: part[:, :3].mul_(2)) == [((5, 3), False)]
    assert not seen(lambda: part[:, :3].T)


def test_a_tensor_of_a_list_is_seen_and_is_not_fresh():
    assert seen(lambda: torch.tensor([[1.0, 2.0, 3.0]] * 2)) == [((2, 3), False)]
    assert seen(lambda: torch.tensor([1.0, 2.0]) + 1) == [((2,), False), ((2,), True)]


def test_an_operation_that_ran_and_could_not_be_looked_at_is_counted():
    class Fails(Largest):
        def see(self, shape, dtype, fresh=True):
            raise RecursionError

    x = torch.ones(3)
    with Fails() as mode, contextlib.suppress(RecursionError):
        x.mul_(2)
    assert x[0] == 2 and mode.unnoted == 1
    with Largest() as mode:
        x.mul_(2)
    assert mode.unnoted == 0


def test_a_sparse_tensor_is_seen():
    assert seen(lambda: torch.eye(3).to_sparse())[-1] == ((3, 3), True)

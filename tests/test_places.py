"""The task of several places, read back by loops over its features."""

import pytest
import torch

from course_lib.tasks.places import places

B, P, T, D = 5, 3, 7, 11


@pytest.fixture
def batch():
    return places(B, torch.Generator().manual_seed(0), P, T, D)


def test_the_target_is_the_marked_contents_in_the_order_of_the_marks(batch):
    for b in range(B):
        expected = []
        for p in range(P):
            marked = [t for t in range(T) if batch.x[b, t, 4 + p] == 1]
            assert marked == [batch.where[b, p].item()]
            expected += batch.x[b, marked[0], :4].tolist()
        assert batch.target[b].tolist() == expected


def test_the_last_position_asks_and_has_no_content(batch):
    asks = torch.zeros(D)
    asks[4 + P] = 1
    assert torch.equal(batch.x[:, T], asks.expand(B, D))
    assert not batch.x[:, :T, 4 + P :].any()


def test_contents_have_variance_one():
    x = places(2000, torch.Generator().manual_seed(1)).x
    assert x[:, :-1, :4].var().item() == pytest.approx(1, abs=0.02)


def test_the_same_generator_draws_the_same_batch(batch):
    again = places(B, torch.Generator().manual_seed(0), P, T, D)
    assert torch.equal(batch.x, again.x)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"P": 9}, "P: expected 1 to 8"),
        ({"P": 0}, "P: expected 1"),
        ({"D": 6}, "D: expected at least 7"),
    ],
)
def test_sizes_that_do_not_fit_are_named(size, message):
    with pytest.raises(ValueError, match=message):
        places(2, torch.Generator(), **size)

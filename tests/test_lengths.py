"""`tasks/lengths.py`: the answers by a loop, and what each reader can and can't see."""

import pytest
import torch

from course_lib.tasks.lengths import (
    ASKED,
    LONGEST,
    NAMES,
    SCHEMES,
    UNKNOWN,
    VALUES,
    Reader,
    accuracy,
    notes,
    trained,
)


def drawn(B=3, T=41, seed=0):
    return notes(B, T, torch.Generator().manual_seed(seed))


def test_the_last_value_is_what_a_loop_remembers():
    batch = drawn()
    for b in range(3):
        held = {}
        for t in range(41):
            name, value = batch.name[b, t].item(), batch.value[b, t].item()
            assert batch.last[b, t] == held.get(name, UNKNOWN)
            held[name] = value
    assert batch.name.unique().tolist() == list(range(NAMES))
    assert batch.value.unique().tolist() == list(range(VALUES))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_reader_sees_no_value_from_its_own_position_on(scheme):
    torch.manual_seed(0)
    reader, (name, value, _) = Reader(scheme), drawn()
    later = value.clone()
    later[:, 20:] = (later[:, 20:] + 1) % VALUES
    before, after = reader(name, value), reader(name, later)
    assert torch.equal(before[:, :21], after[:, :21])
    assert not torch.allclose(before[:, 21:], after[:, 21:])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_without_positions_the_order_of_what_was_written_is_lost(scheme):
    torch.manual_seed(0)
    reader, (name, value, _) = Reader(scheme), drawn()
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    order = torch.cat([order, torch.tensor([40])])
    one, other = reader(name, value)[:, -1], reader(name[:, order], value[:, order])[:, -1]
    assert torch.allclose(one, other, atol=1e-5) == (scheme == "none")


def test_a_short_training_learns_what_is_asked():
    reader = trained("ALiBi", T=24, steps=120)
    assert accuracy(reader, 24, sequences=40) > 0.6 > 3 / VALUES
    again = trained("ALiBi", T=24, steps=120)
    assert all(map(torch.equal, reader.state_dict().values(), again.state_dict().values()))


def test_an_untrained_reader_answers_blindly():
    torch.manual_seed(0)
    assert accuracy(Reader("none"), 32) < 0.25


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match=r"scheme: expected one of none, .*, got 'rope'"):
        Reader("rope")
    with pytest.raises(ValueError, match=f"T: expected {ASKED} to {LONGEST}, got {LONGEST + 1}"):
        accuracy(Reader("none"), LONGEST + 1)

"""The training loop against a straight line, whose best fit is known."""

import pytest
import torch
from torch import nn

from course_lib.tasks.training import train


def line(model):
    x = torch.linspace(-1, 1, 9)[:, None]
    return (model(x) - (3 * x - 2)).square().mean()


def test_a_line_is_found_and_the_errors_are_returned():
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    first = line(model).item()
    errors = train(model, line, 300, lr=0.1)
    assert errors[0] == pytest.approx(first)
    assert len(errors) == 300 and errors[-1] < 1e-6
    assert model.weight.item() == pytest.approx(3, abs=1e-2)
    assert model.bias.item() == pytest.approx(-2, abs=1e-2)


def test_the_learning_rate_falls_to_zero():
    model = nn.Linear(1, 1)
    seen = []

    def error(model):
        seen.append(model.bias.item())
        return model.bias.sum()  # a gradient of 1: Adam moves by the learning rate

    train(model, error, 4, lr=1.0)
    moves = [a - b for a, b in zip(seen, [*seen[1:], model.bias.item()], strict=True)]
    assert moves == pytest.approx([1, 0.8536, 0.5, 0.1464], abs=1e-3)


def test_dropout_is_on_in_training_and_off_afterwards():
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5)).eval()
    modes = []

    def error(model):
        modes.append(model.training)
        return line(model)

    train(model, error, 2)
    assert modes == [True, True] and not model.training


def test_a_bar_shows_the_steps_and_the_error(capsys):
    train(nn.Linear(1, 1), line, 3, name="a line")
    shown = capsys.readouterr().err
    assert "a line" in shown and "3/3" in shown and "error" in shown


def test_an_error_that_is_not_finite_stops_the_training():
    with pytest.raises(ValueError, match="error: expected a finite number, got nan at step 0"):
        train(nn.Linear(1, 1), lambda model: line(model) * float("nan"), 2)


def test_no_steps_is_refused():
    with pytest.raises(ValueError, match="steps: expected at least 1, got 0"):
        train(nn.Linear(1, 1), line, 0)


def test_training_takes_one_thread_and_gives_the_others_back():
    before, seen = torch.get_num_threads(), []

    def error(model):
        seen.append(torch.get_num_threads())
        if len(seen) == 3:
            raise RuntimeError("stopped")
        return line(model)

    torch.set_num_threads(2)
    try:
        with pytest.raises(RuntimeError, match="stopped"):
            train(nn.Linear(1, 1), error, 5)
        assert seen == [1, 1, 1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

"""Right ways to write sinusoid and shift_matrix that look nothing like the references.

No check may ask for one form: each of these passes in full.
"""

import math

import torch

from course_lib.checks.positions.waves import waves


def _sinusoid_in_loops(T, D):
    table = torch.zeros(T, D)
    for t in range(T):
        for i in range(0, D, 2):
            angle = t / 10_000 ** (i / D)
            table[t, i] = math.sin(angle)
            if i + 1 < D:
                table[t, i + 1] = math.cos(angle)
    return table


def _sinusoid_by_logarithm(T, D):
    table = torch.zeros(T, D)
    rates = torch.exp(torch.arange(0, D, 2).float() * (-math.log(10_000.0) / D))
    angles = torch.arange(T).float().unsqueeze(1) * rates
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles[:, : D // 2])
    return table


def _sinusoid_of_complex_numbers(T, D):
    rates = 10_000 ** (-2 * torch.arange((D + 1) // 2).double() / D)
    turned = torch.exp(1j * torch.outer(torch.arange(T).double(), rates))
    return torch.view_as_real(turned).flip(-1).reshape(T, -1)[:, :D]


def _sinusoid_by_phase(T, D):
    feature = torch.arange(D, dtype=torch.float64)
    odd = feature % 2
    rates = torch.pow(10_000.0, (odd - feature) / D)
    return (torch.arange(T)[:, None] * rates + odd * math.pi / 2).sin()


def _sinusoid_by_choice(T, D):
    feature = torch.arange(D)
    angles = torch.arange(T).view(-1, 1) / 10_000 ** (2 * (feature // 2) / D)
    return torch.where(feature % 2 == 0, angles.sin(), angles.cos())


def _sinusoid_step_by_step(T, D):
    rates = 10_000 ** (-torch.arange(0, D, 2).double() / D)
    turn, rows = torch.exp(1j * rates), [torch.ones_like(rates) + 0j]
    for _ in range(T - 1):
        rows.append(rows[-1] * turn)
    turned = torch.stack(rows)
    return torch.stack([turned.imag, turned.real], -1).flatten(1)[:, :D]


def _sinusoid_column_by_column(T, D):
    columns = []
    for j in range(D):
        angle = torch.arange(T) * 10_000.0 ** (-(j - j % 2) / D)
        columns.append(angle.cos() if j % 2 else angle.sin())
    return torch.stack(columns, dim=1)


SINUSOID = (
    _sinusoid_in_loops,
    _sinusoid_by_logarithm,
    _sinusoid_of_complex_numbers,
    _sinusoid_by_phase,
    _sinusoid_by_choice,
    _sinusoid_step_by_step,
    _sinusoid_column_by_column,
)


def _shift_in_loops(k, D):
    S = torch.zeros(D, D)
    for i in range(0, D, 2):
        angle = k / 10_000 ** (i / D)
        S[i, i] = S[i + 1, i + 1] = math.cos(angle)
        S[i, i + 1] = math.sin(angle)
        S[i + 1, i] = -math.sin(angle)
    return S


def _one_step(D):
    rates = torch.arange(0, D, 2, dtype=torch.float64).mul(-math.log(10_000) / D).exp()
    both = rates.repeat_interleave(2)
    upper = torch.zeros(D - 1, dtype=torch.float64)
    upper[::2] = rates.sin()
    return both.cos().diag() + upper.diag(1) - upper.diag(-1)


def _shift_of_many_steps(k, D):
    step = _one_step(D)
    return torch.linalg.matrix_power(step if k >= 0 else step.T, abs(k))


def _shift_by_the_exponential(k, D):
    rates = 10_000 ** (-torch.arange(0, D, 2).double() / D)
    turning = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return torch.matrix_exp(k * torch.block_diag(*[rate * turning for rate in rates]))


def _shift_by_fitting(k, D):
    t = torch.arange(400)
    return torch.linalg.lstsq(waves(t, D), waves(t + k, D)).solution.T


def _shift_by_products(k, D):
    angles = k * 10_000 ** (-torch.arange(0, D, 2).double() / D)
    same = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    cross = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return torch.kron(angles.cos().diag(), same) + torch.kron(angles.sin().diag(), cross)


def _shift_from_the_sinusoid(k, D):
    there = waves(torch.tensor([k]), D)[0]
    S = torch.zeros(D, D)
    even, odd = torch.arange(0, D, 2), torch.arange(1, D, 2)
    S[even, even] = S[odd, odd] = there[1::2].float()
    S[even, odd], S[odd, even] = there[0::2].float(), -there[0::2].float()
    return S


SHIFT = (
    _shift_in_loops,
    _shift_of_many_steps,
    _shift_by_the_exponential,
    _shift_by_fitting,
    _shift_by_products,
    _shift_from_the_sinusoid,
)

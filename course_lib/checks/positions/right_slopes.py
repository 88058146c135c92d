"""Right ways to write slopes that look nothing like the reference. Each passes in full."""

import math

import torch


def _slopes_by_recursion(H):
    if math.log2(H).is_integer():
        first = 2 ** (-(2 ** -(math.log2(H) - 3)))
        return torch.tensor([first * first**h for h in range(H)])
    power = 2 ** math.floor(math.log2(H))
    return torch.cat([_slopes_by_recursion(power), _slopes_by_recursion(2 * power)[::2]])[:H]


def _slopes_head_by_head(H):
    power = 1
    while 2 * power <= H:
        power *= 2
    exponents = [h + 1 if h < power else h - power + 0.5 for h in range(H)]
    return torch.tensor([2 ** (-8 * e / power) for e in exponents], dtype=torch.float64)


def _slopes_by_choice(H):
    power = 1 << (H.bit_length() - 1)
    h = torch.arange(H)
    return torch.where(
        h < power, 2.0 ** (-8 * (h + 1) / power), 2.0 ** (-8 * (h - power + 0.5) / power)
    )


def _slopes_by_products(H):
    power = 2 ** (len(bin(H)) - 3)
    ratio = torch.tensor(2.0 ** (-8 / power))
    first = ratio.repeat(power).cumprod(0)
    return torch.cat([first, (first / ratio.sqrt())[: H - power]])


def _slopes_on_a_logarithmic_line(H):
    power = 2 ** int(math.log2(H))
    first = torch.logspace(-8 / power, -8, power, base=2)
    finer = torch.logspace(-4 / power, -8, 2 * power, base=2)
    return torch.cat((first, finer[0::2][: H - power]))


def _slopes_from_the_higher_power(H):
    above = 2 ** math.ceil(math.log2(H))
    finest = 2.0 ** (-8 * torch.arange(1, above + 1) / above)
    return finest if above == H else torch.cat([finest[1::2], finest[::2]])[:H]


SLOPES = (
    _slopes_by_recursion,
    _slopes_head_by_head,
    _slopes_by_choice,
    _slopes_by_products,
    _slopes_on_a_logarithmic_line,
    _slopes_from_the_higher_power,
)

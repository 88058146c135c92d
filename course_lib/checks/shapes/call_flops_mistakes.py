"""The mistakes of 01.3: operations that people count."""

from functools import partial

from course_lib.checks.question import Mistake

_in_the_costs = partial(Mistake, reread='01, "What a call costs"')

MISTAKES = (
    _in_the_costs(
        "half the work",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * Tq * Tk * Dh,
        "You count 2·B·H·Tq·Tk·Dh. That is one product of the two, or a multiply-add as one.",
        "Which of the two is missing: weights @ v, or the addition that follows a multiplication?",
    ),
    _in_the_costs(
        "a quarter of the work",
        lambda B, H, Tq, Tk, Dh: B * H * Tq * Tk * Dh,
        "You count B·H·Tq·Tk·Dh: one product, and a multiply-add as one operation.",
        "How many products has a call, and how many operations are a multiplication and a sum?",
    ),
    _in_the_costs(
        "softmax counted",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh + 5 * B * H * Tq * Tk,
        "You add five operations for each score: the ledger's softmax is in your sum.",
        "Which operations does the question ask for?",
    ),
    _in_the_costs(
        "scaling counted",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh + B * H * Tq * Tk,
        "You add one operation for each score: the division by the root is in your sum.",
        "Does the scaling belong to one of the two products?",
    ),
    _in_the_costs(
        "n - 1 additions",
        lambda B, H, Tq, Tk, Dh: B * H * Tq * (Tk * (2 * Dh - 1) + Dh * (2 * Tk - 1)),
        "You count n - 1 additions in a sum of n products, which is exact on paper.",
        "How many operations are n multiply-adds, if each counts as two?",
    ),
    _in_the_costs(
        "H forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * B * Tq * Tk * Dh,
        "You count the work of one head of each sequence.",
        "How many heads do it?",
    ),
    _in_the_costs(
        "B forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * H * Tq * Tk * Dh,
        "You count the work of one sequence of the batch.",
        "How many sequences does the call hold?",
    ),
    _in_the_costs(
        "Dh forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk,
        "You count the scores, not the work in them: the width of a head changes nothing.",
        "How many multiply-adds make one score?",
    ),
    _in_the_costs(
        "D for Dh",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * H * Dh,
        "You make each head as wide as all of them together, so H counts twice.",
        "Is Dh the width of the model or of one head?",
    ),
    _in_the_costs(
        "Tq squared",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tq * Dh,
        "In your count each query reads as many keys as there are queries.",
        "Which length says how many keys a query reads?",
    ),
    _in_the_costs(
        "Tk squared",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tk * Tk * Dh,
        "In your count as many queries ask as there are keys.",
        "Which length says how many queries ask?",
    ),
    _in_the_costs(
        "sizes added",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * (Tq + Tk) * Dh,
        "In your count a query and a key are each used once: you add the two lengths.",
        "How many pairs do Tq queries and Tk keys make?",
    ),
    _in_the_costs(
        "outputs counted",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * (Tq * Tk + Tq * Dh),
        "You count two operations for each number that comes out.",
        "How many products are summed into one such number?",
    ),
    _in_the_costs(
        "second sum over Dh",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * Tq * Dh * (Tk + Dh),
        "One of your products is B·H·Tq·Dh numbers, each a sum over Dh.",
        "A number of out is an average of values: over which axis does it run?",
    ),
    _in_the_costs(
        "second sum over Tq",
        lambda B, H, Tq, Tk, Dh: 2 * B * H * Tq * Dh * (Tk + Tq),
        "One of your products uses Tq twice and Tk not at all.",
        "Over how many values does one number of out run?",
    ),
    _in_the_costs(
        "a factor 2 too many",
        lambda B, H, Tq, Tk, Dh: 8 * B * H * Tq * Tk * Dh,
        "You count 8·B·H·Tq·Tk·Dh: one factor 2 too many.",
        "What does each 2 in your answer stand for: the products, a multiply-add, or more?",
    ),
    _in_the_costs(
        "three products",
        lambda B, H, Tq, Tk, Dh: 6 * B * H * Tq * Tk * Dh,
        "You count 6·B·H·Tq·Tk·Dh, the work of three products.",
        "Between which tensors does a call multiply?",
    ),
    _in_the_costs(
        "backward counted",
        lambda B, H, Tq, Tk, Dh: 12 * B * H * Tq * Tk * Dh,
        "You count 12·B·H·Tq·Tk·Dh, as a training step does with its backward pass.",
        "Which products does the call itself make?",
    ),
    _in_the_costs(
        "B and H forgotten",
        lambda B, H, Tq, Tk, Dh: 4 * Tq * Tk * Dh,
        "You count one head of one sequence.",
        "How many such heads does the call hold?",
    ),
    _in_the_costs(
        "billions",
        lambda B, H, Tq, Tk, Dh: 4 * B * H * Tq * Tk * Dh / 1e9,
        "You divide by a billion.",
        "Which unit does the question want?",
    ),
)

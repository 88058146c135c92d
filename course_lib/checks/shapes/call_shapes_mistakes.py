"""The mistakes of 01.1: ledgers that people write."""

import math
from collections.abc import Callable
from functools import partial

from course_lib.checks.question import Mistake

_in_the_ledger = partial(Mistake, reread='01, "Write the ledger first"')

RIGHT = {
    "q": "B H Tq Dh",
    "k": "B H Tk Dh",
    "v": "B H Tk Dv",
    "scores": "B H Tq Tk",
    "weights": "B H Tq Tk",
    "out": "B H Tq Dv",
}


def _entering(**wrong: str) -> Callable:
    """The right ledger but for the entries given."""

    def run(B, H, Tq, Tk, Dh, Dv):
        sizes = {"B": B, "H": H, "Tq": Tq, "Tk": Tk, "Dh": Dh, "Dv": Dv}
        sizes |= {"D": H * Dh, "H·Dv": H * Dv}
        dims = RIGHT | wrong
        return {name: tuple(sizes[dim] for dim in dims[name].split()) for name in dims}

    return run


MISTAKES = (
    _in_the_ledger(
        "Tq and Tk swapped",
        _entering(scores="B H Tk Tq", weights="B H Tk Tq"),
        "Your scores have a row for each key and a column for each query.",
        "Which of the two asks, and so owns a row?",
    ),
    _in_the_ledger(
        "scores transposed",
        _entering(scores="B H Tk Tq"),
        "Your scores lie across your weights: rows have become columns.",
        "Which of the two asks, and so owns a row?",
    ),
    _in_the_ledger(
        "weights transposed",
        _entering(weights="B H Tk Tq"),
        "Your weights lie across your scores: rows have become columns.",
        "Does a softmax move an axis?",
    ),
    _in_the_ledger(
        "k as long as q",
        _entering(k="B H Tq Dh"),
        "Your k has a row for each query.",
        "When three queries look at seven tokens, how many keys are there?",
    ),
    _in_the_ledger(
        "v as long as q",
        _entering(v="B H Tq Dv"),
        "Your v has a row for each query.",
        "Each key leads to one value. So how many values are there?",
    ),
    _in_the_ledger(
        "Tq for every length",
        _entering(k="B H Tq Dh", v="B H Tq Dv", scores="B H Tq Tq", weights="B H Tq Tq"),
        "Your ledger knows one length, that of the queries.",
        "How many tokens do the queries read?",
    ),
    _in_the_ledger(
        "Tk for every length",
        _entering(q="B H Tk Dh", scores="B H Tk Tk", weights="B H Tk Tk", out="B H Tk Dv"),
        "Your ledger knows one length, that of the keys.",
        "How many tokens ask?",
    ),
    _in_the_ledger(
        "Dv forgotten",
        _entering(v="B H Tk Dh", out="B H Tq Dh"),
        "Your v and out are as wide as q and k.",
        "Which two tensors are multiplied along Dh, and is v one of them?",
    ),
    _in_the_ledger(
        "v as wide as k",
        _entering(v="B H Tk Dh"),
        "Your v is Dh wide, and yet out is made of it and Dv wide.",
        "Is a value ever compared with a query?",
    ),
    _in_the_ledger(
        "out as wide as q",
        _entering(out="B H Tq Dh"),
        "Your out is as wide as a query.",
        "An average of values: how wide is it?",
    ),
    _in_the_ledger(
        "out as long as v",
        _entering(out="B H Tk Dv"),
        "Your out has a row for each key.",
        "Who asked, and so gets an answer?",
    ),
    _in_the_ledger(
        "out transposed",
        _entering(out="B H Dv Tq"),
        "Your out has its last two axes the other way round.",
        "Where do q, k and v keep their tokens, in the rows or in the columns?",
    ),
    _in_the_ledger(
        "head and time swapped",
        _entering(q="B Tq H Dh", k="B Tk H Dh", v="B Tk H Dv", out="B Tq H Dv"),
        "In your q, k, v and out the time comes before the head.",
        "A product runs over the last two axes. Which two should it see?",
    ),
    _in_the_ledger(
        "time before heads",
        _entering(
            q="B Tq H Dh",
            k="B Tk H Dh",
            v="B Tk H Dv",
            scores="B Tq H Tk",
            weights="B Tq H Tk",
            out="B Tq H Dv",
        ),
        "In every entry of yours the time comes before the head.",
        "A product runs over the last two axes. Which two should it see?",
    ),
    _in_the_ledger(
        "H before B",
        _entering(**{name: f"H B {dims[4:]}" for name, dims in RIGHT.items()}),
        "Your entries begin with the heads, and the batch comes second.",
        "In which order do the axes of the course stand?",
    ),
    _in_the_ledger(
        "Dh and Dv exchanged",
        _entering(q="B H Tq Dv", k="B H Tk Dv", v="B H Tk Dh", out="B H Tq Dh"),
        "Your q and k are Dv wide, your v and out Dh.",
        "Which width belongs to the values?",
    ),
    _in_the_ledger(
        "Tq and Tk exchanged everywhere",
        _entering(
            q="B H Tk Dh",
            k="B H Tq Dh",
            v="B H Tq Dv",
            scores="B H Tk Tq",
            weights="B H Tk Tq",
            out="B H Tk Dv",
        ),
        "Your q has Tk rows, and your k and v have Tq.",
        "What does the q in Tq stand for?",
    ),
    _in_the_ledger(
        "heads joined",
        _entering(out="B Tq H·Dv"),
        "Your out has its heads already side by side in one axis.",
        "How many axes does the result of one batched product keep?",
    ),
    _in_the_ledger(
        "k turned early",
        _entering(k="B H Dh Tk"),
        "Your k stands as the product reads it, with its tokens in the columns.",
        "How does k stand when the call receives it?",
    ),
    _in_the_ledger(
        "Dh for Tk",
        _entering(scores="B H Tq Dh", weights="B H Tq Dh"),
        "Your scores are as wide as a head.",
        "A dot product sums over Dh. What is left of it, one for each key?",
    ),
    _in_the_ledger(
        "scores without heads",
        _entering(scores="B Tq Tk", weights="B Tq Tk"),
        "In your ledger all heads share one table of scores.",
        "How many tables do H heads make?",
    ),
    _in_the_ledger(
        "no heads",
        _entering(**{name: f"B {dims[4:]}" for name, dims in RIGHT.items()}),
        "No entry of yours has an axis for the heads.",
        "Where does a call keep its H heads apart?",
    ),
    _in_the_ledger(
        "capitals",
        lambda *sizes: {
            name.upper() if len(name) == 1 else name: size
            for name, size in _entering()(*sizes).items()
        },
        "Your sizes are right, and three of your entries have capital letters for names.",
        "How does the task write the names of the entries?",
    ),
    _in_the_ledger(
        "D for Dh",
        _entering(q="B H Tq D", k="B H Tk D", v="B H Tk H·Dv", out="B H Tq H·Dv"),
        "Each of your heads is as wide as all of them together.",
        "If H heads share the width D, what is left for one?",
    ),
    _in_the_ledger(
        "one weight for each query",
        _entering(weights="B H Tq"),
        "Your weights have lost the axis of the keys.",
        "Does softmax return the sum it divides by, or what it has divided?",
    ),
    _in_the_ledger(
        "elements for sizes",
        lambda *sizes: {name: math.prod(size) for name, size in _entering()(*sizes).items()},
        "You multiply the sizes: each entry is one number.",
        "What does a ledger write down before it counts anything?",
    ),
)

"""The ledger against counts made by loops and by torch itself."""

import inspect
import itertools

import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from course_lib.shapes import DIMS, ShapeError, ledger, plan, shaped

SIZES = {"B": 2, "H": 3, "Tq": 5, "Tk": 7, "Dh": 8, "Dv": 11}


def a_call(dtype=torch.float32, **changed) -> dict[str, Tensor]:
    sizes = SIZES | changed
    names = ("q", "k", "v", "scores", "weights", "out")
    return {n: torch.zeros([sizes[d] for d in DIMS[n].split()], dtype=dtype) for n in names}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int8])
def test_bytes_are_those_that_torch_allocates(dtype):
    call = a_call(dtype)
    book = ledger(**call)
    for name, tensor in call.items():
        assert book[name].bytes == tensor.nbytes
        assert book[name].elements == sum(1 for _ in itertools.product(*map(range, tensor.shape)))
    assert book.bytes == sum(tensor.nbytes for tensor in call.values())


def test_flops_of_the_products_are_those_that_torch_counts():
    call = a_call()
    with FlopCounterMode(display=False) as counted:
        _ = call["q"] @ call["k"].mT
        _ = call["weights"] @ call["v"]
    products = [o.flops for o in ledger(**call).operations if "@" in o.name]
    assert sum(products) == counted.get_total_flops()


def test_softmax_counts_five_operations_for_each_score():
    (softmax,) = [o for o in plan(**SIZES).operations if "softmax" in o.name]
    assert softmax.flops == 5 * 2 * 3 * 5 * 7


def unchecked(fn):
    """The function without the type checker that tests put before it, as a user calls it."""
    return inspect.unwrap(fn)


def test_a_plan_equals_the_ledger_of_what_was_planned():
    assert plan(**SIZES) == ledger(**a_call())
    assert plan(**SIZES) != ledger(**a_call(Tk=6))
    assert plan(dtype=torch.float16, **SIZES) == ledger(**a_call(torch.float16))
    assert plan(B=1, H=1, Tq=2, Tk=3, Dh=4)["v"].shape == (1, 1, 3, 4)


@pytest.mark.parametrize(
    ("name", "axis", "dim", "owner"),
    [("k", 0, "B", "q"), ("k", 3, "Dh", "q"), ("v", 2, "Tk", "k"), ("scores", 2, "Tq", "q"),
     ("weights", 1, "H", "q"), ("out", 3, "Dv", "v")],
)  # fmt: skip
def test_a_clash_names_tensor_axis_and_both_sizes(name, axis, dim, owner):
    call = a_call()
    shape = list(call[name].shape)
    shape[axis] += 13
    call[name] = torch.zeros(shape)
    with pytest.raises(ShapeError) as raised:
        ledger(**call)
    message = str(raised.value)
    assert message.startswith(f"{name}: axis {dim} is {shape[axis]}")
    assert f"{owner} has {dim} = {shape[axis] - 13}" in message
    assert str(shape) in message


def test_a_clash_expects_only_what_other_tensors_said():
    q, x = torch.zeros(2, 3, 4, 6), torch.zeros(7, 5)
    with pytest.raises(ShapeError) as raised:
        ledger(q=q, k=torch.zeros(2, 3, 6, 5))
    assert str(raised.value) == (
        "k: axis Dh is 5, but q has Dh = 6. "
        "Expected k [B, H, Tk, Dh] = [2, 3, Tk, 6], got [2, 3, 6, 5]."
    )
    with pytest.raises(ShapeError, match=r"Expected x \[\*rows, Tk, Dh\] = \[\*rows, Tk, 6\]"):
        ledger({"x": "*rows Tk Dh"}, q=q, x=x)
    with pytest.raises(ShapeError, match=r"x: axis T is 5, but x has T = 7.* = \[T, T\], got"):
        ledger({"x": "T T"}, x=x)


def test_a_missing_axis_is_counted():
    with pytest.raises(
        ShapeError, match=r"q: expected 4 axes \[B, H, Tq, Dh\], got 3: \[3, 5, 8\]"
    ):
        ledger(q=torch.zeros(3, 5, 8))


def test_own_names_bring_their_own_dims():
    book = ledger(dims={"w_q": "D H Dh"}, w_q=torch.zeros(16, 3, 8), q=torch.zeros(2, 3, 5, 8))
    assert book.sizes["D"] == 16
    with pytest.raises(ShapeError, match="w_q: axis H is 4"):
        ledger({"w_q": "D H Dh"}, q=torch.zeros(2, 3, 5, 8), w_q=torch.zeros(16, 4, 8))
    with pytest.raises(ValueError, match="w_q: no dims known"):
        ledger(w_q=torch.zeros(16, 3, 8))
    with pytest.raises(TypeError, match="q: expected a tensor, got list"):
        unchecked(ledger)(q=[1, 2])


def test_a_broadcast_dim_may_be_one_and_nothing_else():
    call = a_call()
    ledger(**call, keep=torch.ones(1, 1, 5, 7, dtype=torch.bool))
    with pytest.raises(ShapeError, match="keep: axis H is 2, but q has H = 3"):
        ledger(**call, keep=torch.ones(1, 2, 5, 7, dtype=torch.bool))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"B": 1}, "sizes: expected B, H, Tq, Tk, Dh, Dv; got B"),
        (SIZES | {"T": 3}, "got B, H, Tq, Tk, Dh, Dv, T"),
        (SIZES | {"Tk": 0}, "Tk: expected a whole number of 1 or more, got 0"),
        (SIZES | {"Tk": 2.5}, "Tk: expected a whole number of 1 or more, got 2.5"),
    ],
)
def test_a_plan_says_what_it_needs(sizes, message):
    with pytest.raises(ValueError, match=message):
        unchecked(plan)(**sizes)


def test_in_tests_the_declared_types_hold():
    with pytest.raises(TypeError, match="Tk"):
        plan(**SIZES | {"Tk": 2.5})


def test_a_ledger_reads_in_a_terminal_and_in_a_page():
    book = plan(**SIZES)
    lines = str(book).splitlines()
    assert lines[1].split() == ["q", "[B,", "H,", "Tq,", "Dh]", "[2,", "3,", "5,", "8]", "960"]
    assert lines[-2].split() == ["total", f"{book.bytes:,}", f"{book.flops:,}"]
    assert lines[-1] == "B = 2, H = 3, Tq = 5, Tk = 7, Dh = 8, Dv = 11; float32"
    page = book._repr_html_()
    assert page.count("<tr>") == 1 + 6 + 3 + 1
    assert page.count("<caption") == 1 and '<th scope="row"' in page
    with pytest.raises(KeyError, match="no entry 'mask'; it has q, k, v, scores, weights, out"):
        book["mask"]


@shaped
def sample(
    rows: Float[Tensor, "*rows T"], keep: Bool[Tensor, "#T"] | None = None, scale: float = 1.0
) -> Float[Tensor, "*rows T"]:
    """A function to be called wrongly."""
    return rows * scale


def test_shaped_takes_what_the_signature_says():
    sample(torch.zeros(2, 3, 5))
    sample(torch.zeros(5), torch.ones(1, dtype=torch.bool))
    sample(torch.zeros(5, dtype=torch.bfloat16), scale=2.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0],), TypeError, r"rows: expected a float tensor \[\*rows, T\], got list"),
        ((torch.arange(3),), TypeError, "rows: expected a float tensor .*, got dtype int64"),
        ((torch.zeros(()),), ShapeError, r"rows: expected at least 1 axes \[\*rows, T\], got 0"),
        (
            (torch.zeros(3), torch.ones(2, dtype=torch.bool)),
            ShapeError,
            "keep: axis T is 2, but rows has T = 3",
        ),
        ((None,), TypeError, "rows: expected a float tensor .*, got NoneType"),
    ],
)
def test_shaped_names_the_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        sample(*arguments)

"""The engine on a question made for it: what it says of right, wrong, hostile and odd answers."""

import math
import threading
import time
import warnings

import pytest
import torch

from course_lib import attention
from course_lib.checks import guard
from course_lib.checks.compare import difference, same, tolerance
from course_lib.checks.judge import judge
from course_lib.checks.proof import describe, overview, prove
from course_lib.checks.question import Probe, Question, call, gradient, mistake
from course_lib.checks.verdict import IN_PLACE, UNNAMED, UNWRITTEN


def rows(*shape: int, scale: float = 1.0):
    return lambda g: (torch.randn(*shape, generator=g) * scale,)


@mistake(
    "over the queries",
    says="Each column sums to one, so a key shares itself among the queries.",
    asks="Along which axis does a query spend its weight?",
    reread='02, "From loops to matrices"',
)
def over_the_queries(scores):
    return scores.softmax(-2)


@mistake(
    "no maximum",
    says="The exponential of a large score is infinite.",
    asks="What may be taken from a whole row without softmax noticing?",
    reread='02, "The softmax that overflows"',
)
def no_maximum(scores):
    powers = scores.exp()
    return powers / powers.sum(-1, keepdim=True)


def by_torch(scores):
    return scores.softmax(-1)


QUESTION = Question(
    id="02.2",
    name="softmax",
    title="Softmax that stays finite",
    stars=2,
    minutes=10,
    reference=attention.softmax,
    probes=(
        Probe("three queries, five keys", rows(3, 5), points=2),
        Probe("scores of 10,000", rows(3, 5, scale=1e4)),
        Probe("gradient as in float64", rows(3, 5), observe=gradient),
    ),
    mistakes=(over_the_queries, no_maximum),
    alternatives=(by_torch,),
    seconds=0.3,
)


def verdict(fn):
    return judge(QUESTION, fn)


def test_the_question_is_proven():
    proof = prove(QUESTION, seeds=5)
    assert proof.holds, describe(proof)
    lines, holds = zip(*overview((QUESTION,)), strict=True)
    assert all(holds) and "softmax" in lines[1] and "mistakes refused and named" in lines[1]
    assert lines[-1].endswith("2 of 2 mistakes refused, 2 named rightly; 0 of 1 right ways refused")


def test_a_proof_finds_what_is_wrong_with_a_question():
    lax = Probe("shape only", rows(3, 5), observe=lambda fn, x: list(fn(x).shape))
    broken = Question(
        **{**vars(QUESTION), "probes": (lax,), "alternatives": (over_the_queries.run, lambda s: 1)}
    )
    proof = prove(broken)
    assert proof.accepted == ("over the queries", "no maximum")
    assert proof.misnamed == ("over the queries", "no maximum")
    assert proof.refused == ("<lambda>",)
    assert "accepted though wrong" in describe(proof) and not all(
        ok for _, ok in overview((broken,))
    )


def test_a_mistake_is_named_with_its_question():
    text = str(verdict(over_the_queries.run))
    assert "0 of 4 points" in text
    assert "Along which axis does a query spend its weight?" in text
    assert 'Reread: 02, "From loops to matrices".' in text


def test_a_partly_right_answer_keeps_its_points():
    found = verdict(no_maximum.run)
    assert [line.ok for line in found.lines] == [True, False, True]
    assert found.points == 3 and found.mistake is no_maximum
    assert "numbers are NaN" in found.lines[1].fact


def test_another_cause_with_the_same_failures_isnt_given_the_name():
    def wrong_only_when_large(scores):
        return torch.where(scores.abs() > 100, 0.5, scores.softmax(-1))

    found = verdict(wrong_only_when_large)
    assert [line.ok for line in found.lines] == [True, False, True]
    assert found.mistake is None and UNNAMED in str(found)


def test_a_mistake_that_explains_a_part_is_named_for_that_part():
    def two_faults(scores):
        return no_maximum.run(scores) if scores.abs().max() > 100 else over_the_queries.run(scores)

    found = verdict(two_faults)
    assert found.mistake is over_the_queries and found.explains == 2
    assert "2 of the 3 failing lines fit this mistake: Each column sums to one" in str(found)


def test_two_that_raise_the_same_error_may_have_different_causes():
    @mistake("only loud", says="It refuses small scores.", asks="Why?", reread='02, "x"')
    def only_loud(scores):
        if scores.abs().max() < 100:
            raise RuntimeError("too small")
        return scores.softmax(-1)

    def doubled(scores):
        return only_loud.run(scores) * 2

    question = Question(**{**vars(QUESTION), "mistakes": (only_loud,)})
    assert judge(question, only_loud.run).mistake is only_loud
    assert judge(question, doubled).mistake is None  # two of its three failing lines raise alike


def test_a_wrong_shape_in_every_line_is_told_once():
    probes = (Probe("three queries", rows(3, 5)), Probe("four queries", rows(4, 7)))
    question = Question(**{**vars(QUESTION), "probes": probes})
    found = str(judge(question, lambda scores: scores.softmax(-1).T))
    assert found.count("expected") == 1 and "shape [5, 3]; expected [3, 5]" in found
    assert "all 2 properties in the same way; the first: three queries" in found


def test_one_fact_that_repeats_itself_is_told_once():
    def careless(scores):
        return scores.no_such_thing()

    found = verdict(careless)
    assert str(found).count("no_such_thing") == 2  # the fact, and the learner's line
    assert "all 3 properties\n       AttributeError" in str(found)


def test_a_stub_gets_one_message_and_no_points():
    def stub(scores):
        weights = scores.softmax(-1)
        raise NotImplementedError(f"Write softmax: {guard.STUB}")
        return weights

    found = verdict(stub)
    assert found.points == 0 and str(found).count("\n") == 1 and UNWRITTEN in str(found)


def test_torchs_own_not_implemented_is_an_error_like_others():
    found = verdict(lambda scores: torch.rand(3, dtype=torch.int8))
    assert UNWRITTEN not in str(found) and "NotImplementedError: " in found.lines[0].fact


def test_a_probe_that_stumbles_says_what_came_back():
    found = verdict(lambda scores: None)
    assert str(found).count("it returns None. Is there a return?") == 1
    assert "AttributeError" not in str(found) and UNNAMED not in str(found)
    cut = verdict(lambda scores: scores.detach().softmax(-1))
    assert [line.ok for line in cut.lines] == [True, True, False]
    assert "no gradient leads from the output back to the inputs" in cut.lines[2].fact


def test_a_wrong_shape_is_the_fact_whatever_is_observed():
    found = verdict(lambda scores: scores.softmax(-1)[..., :4])
    assert [line.fact for line in found.lines] == ["shape [3, 4]; expected [3, 5]"] * 3


def test_wrong_arguments_are_told_before_any_call():
    found = verdict(lambda scores, keep: scores)
    assert found.points == 0 and "The check calls softmax(scores)" in str(found)


def test_an_error_in_a_helper_shows_the_helpers_line():
    def helper(weights):
        return weights.no_such_axis

    def delegating(scores):
        return helper(scores.softmax(-1))

    assert "return weights.no_such_axis" in verdict(delegating).where


def never_ends(scores):
    while True:
        pass


def swallows_everything(scores):
    while True:
        try:  # noqa: SIM105 - suppress() would put a with block's exit in its way
            time.sleep(0.001)
        except:  # noqa: E722 - the point of the test
            pass


def sleeps(scores):
    time.sleep(60)


def prints_forever(scores):
    while True:
        print("x" * 1000)


@pytest.mark.parametrize("fn", [never_ends, swallows_everything, sleeps, prints_forever])
def test_what_never_ends_is_stopped(fn):
    began = time.monotonic()
    found = verdict(fn)
    assert time.monotonic() - began < 55, "it slept to its end, or to that of the suite"
    assert found.points == 0
    assert "no answer in 0.3 seconds" in found.lines[0].fact
    assert found.lines[2].fact == "not run, after two that were stopped"
    assert len(str(found)) < 1500


def test_the_limit_holds_on_another_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(verdict(never_ends)))
    thread.start()
    thread.join(10)
    assert seen and seen[0].points == 0


def test_the_limit_leaves_no_trace():
    import signal
    import sys

    before = signal.getsignal(signal.SIGALRM), sys.gettrace()
    verdict(swallows_everything)
    assert (signal.getsignal(signal.SIGALRM), sys.gettrace()) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def leaves(scores):
    raise SystemExit(3)


def recurses(scores):
    return recurses(scores)


def returns_nothing(scores):
    scores.softmax(-1)


def returns_numpy(scores):
    return scores.detach().softmax(-1).numpy()


def on_no_device(scores):
    return scores.softmax(-1).to("meta")


def whole_numbers(scores):
    return scores.softmax(-1).long()


def transposed(scores):
    return scores.softmax(-1).mT


def doubled(scores):
    return scores.softmax(-1) * 2


def backwards(scores):
    return scores.softmax(-1).flip(-1)


def in_place(scores):
    scores -= scores.amax(-1, keepdim=True)
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def test_an_infinity_that_was_replaced_in_its_place_is_a_change():
    def tidies(scores):
        scores[scores == -torch.inf] = torch.finfo(scores.dtype).min
        return torch.ones(3)

    blocked = torch.tensor([[1.0, -torch.inf, torch.nan]])
    changed = [guard.run(fn, call, (blocked,), 1).changed for fn in (tidies, torch.exp)]
    assert changed == [(0,), ()]


@pytest.mark.parametrize(
    ("fn", "fact"),
    [
        (leaves, "SystemExit: 3"),
        (recurses, "RecursionError"),
        (returns_nothing, "it returns None. Is there a return?"),
        (returns_numpy, "it returns an ndarray; expected a tensor [3, 5]"),
        (on_no_device, "it lives on meta; expected cpu"),
        (whole_numbers, "dtype int64; expected float"),
        (transposed, "shape [5, 3]; expected [3, 5]"),
        (doubled, "every number is 2 times what it should be"),
        (backwards, "the numbers are right, but they stand in another order"),
    ],
)
def test_the_first_difference_is_a_fact(fn, fact):
    assert fact in verdict(fn).lines[0].fact


@pytest.mark.parametrize(
    ("got", "want", "fact"),
    [
        (10**5_000, 2.5, "a number of 16,610 bits; expected 2.5"),
        ({"a": 1, (torch.zeros(9),) * 99: 2}, {"a": 1}, "is one too many"),
    ],
    ids=["a number", "a key"],
)
def test_what_is_huge_is_said_in_short(got, want, fact):
    said = difference(got, want, 1e-5)
    assert said.endswith(fact) and len(said) < 300


def test_an_overwritten_argument_is_asked_about_and_costs_one_line_the_lightest():
    found = verdict(in_place)
    assert IN_PLACE in str(found)
    plain, large, gradient = found.lines
    assert plain.ok and large.fact == "right, but it changed its argument scores in place"
    assert gradient.fact.startswith("RuntimeError"), "a leaf that asks for a gradient can't change"
    assert found.points == 2 and not found.passed


def test_an_error_shows_the_learners_own_line():
    def careless(scores):
        wide = scores.exp()
        return wide @ wide

    found = verdict(careless)
    assert "return wide @ wide" in found.where and "checks" not in found.where
    assert "RuntimeError" in found.lines[0].fact


def test_what_a_function_prints_is_shown_short_and_not_elsewhere(capsys):
    def chatty(scores):
        print("scores are", scores.shape)
        return scores.softmax(-1)

    found = verdict(chatty)
    assert found.passed and "Your function printed: scores are torch.Size([3, 5])" in str(found)
    assert capsys.readouterr().out == ""


def test_a_warning_costs_nothing_and_stays_out_of_the_verdict(recwarn):
    def warned(scores):
        warnings.warn("old habits", stacklevel=1)
        return scores.softmax(-1)

    found = verdict(warned)
    assert found.passed and "old habits" not in str(found) and not recwarn.list


def test_torchs_switches_are_put_back_and_random_numbers_repeat():
    def careless(scores):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        return torch.rand(3)

    state = torch.random.get_rng_state()
    first = guard.run(careless, lambda fn, *i: fn(*i), (torch.zeros(1),), 1.0)
    second = guard.run(careless, lambda fn, *i: fn(*i), (torch.zeros(1),), 1.0)
    assert torch.equal(first.value, second.value)
    assert torch.get_default_dtype() is torch.float32 and torch.is_grad_enabled()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_an_interrupt_by_the_reader_gets_through():
    def interrupted(scores):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(interrupted)


def test_html_says_the_same_and_escapes():
    def angry(scores):
        raise ValueError(f"<b>{scores.sum()}</b>")

    page = verdict(angry)._repr_html_()
    assert "&lt;b&gt;" in page and "<b>-" not in page and page.count("<li") == 1


@pytest.mark.parametrize(
    ("got", "want", "fact"),
    [
        (1.0, 1, None),
        (torch.tensor(3), 3, None),
        ((1, 2), [1, 2], None),
        (torch.Size([1, 2]), [1, 2], None),
        (1, 2, "1; expected 2"),
        (1e17, 10**17 + 1, "1e+17; expected 100,000,000,000,000,001"),
        (0.0, -math.inf, "0; expected -inf"),
        (-math.inf, -math.inf, None),
        (True, 1.5, "it returns a bool; expected a float"),
        ((1, 2), 3, "it returns a tuple of 2; expected an int"),
        ({"dq": 1}, [1, 2], "it returns a dict; expected 2 values"),
        (torch.tensor(3.0), torch.ones(2), "shape []; expected [2]"),
        ([1], [1, 2], "it returns 1 values; expected 2"),
        ({"q": 1}, {"q": 1, "k": 2}, "the entry 'k' is missing"),
        ({"q": 1, "k": 2}, {"q": 1}, "the entry 'k' is one too many"),
        ({"q": [1, 2]}, {"q": [1, 3]}, "q: value 1: 2; expected 3"),
        ("a", 1, "it returns a str; expected an int"),
        (None, None, None),
        ([], None, "[]; expected None"),
        (
            torch.tensor([True, False]),
            torch.tensor([True, True]),
            "1 of 2 entries differ, the first",
        ),
        (torch.tensor([1.0, torch.inf]), torch.ones(2), "1 of 2 numbers are infinite"),
        (torch.ones(2, 2), torch.ones(3), "shape [2, 2]; expected [3]"),
    ],
)
def test_differences_of_form_are_told_from_mistakes(got, want, fact):
    found = difference(got, want, 1e-5)
    assert found is None if fact is None else found.startswith(fact)


def test_the_tolerance_is_that_of_the_coarsest_input():
    fine, coarse = torch.zeros(1), torch.zeros(1, dtype=torch.bfloat16)
    assert tolerance((fine,)) < tolerance((fine, coarse, 3))
    assert same(torch.tensor([1.0]), torch.tensor([1.0 + 1e-6]), tolerance((fine,)))
    assert not same(torch.tensor([1.0]), torch.tensor([1.001]), tolerance((fine,)))

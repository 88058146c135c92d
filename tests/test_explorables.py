"""The explorables: their arithmetic against torch, their bundles, and their errors."""

import json
import re
import shutil
import subprocess

import pytest
import torch

from course_lib.show import explorable
from course_lib.show.explorables import EXPLORABLES, FOLDER, bundle, defaults

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node runs the explorables' JavaScript; it isn't installed"
)
NAMES = [*EXPLORABLES, "predict"]


def node(source: str, *, module: str | None = None):
    """Run an expression with the arithmetic at hand and bring back its value."""
    where = module or (FOLDER / "maths.mjs").as_uri()
    script = f"import * as m from {json.dumps(where)}; console.log(JSON.stringify({source}))"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_softmax_entropy_and_gradient_agree_with_torch(scale):
    s = torch.randn(9, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * scale
    p = s.softmax(0)
    bits = -torch.special.xlogy(p, p).sum() / torch.log(torch.tensor(2.0, dtype=torch.float64))
    norm = torch.autograd.functional.jacobian(lambda x: x.softmax(0), s).norm()
    got = node(f"(({{p}}) => [p, m.entropy(p), m.jacobianNorm(p)])({{p: m.softmax({s.tolist()})}})")
    torch.testing.assert_close(torch.tensor(got[0], dtype=torch.float64), p, rtol=1e-12, atol=1e-15)
    assert got[1] == pytest.approx(bits.item(), rel=1e-12, abs=1e-14)
    assert got[2] == pytest.approx(norm.item(), rel=1e-10, abs=1e-14)


@needs_node
@pytest.mark.parametrize("Dh", [4, 64, 4096])
def test_scores_are_the_fixed_ones_times_the_root_of_dh(Dh):
    z = defaults("saturation")["z"]
    loud, quiet = node(f"[m.dotScores({z}, {Dh}, false), m.dotScores({z}, {Dh}, true)]")
    assert quiet == z
    assert loud == pytest.approx([x * Dh**0.5 for x in z])
    assert node(f"m.deviation({loud})") == pytest.approx(Dh**0.5, rel=1e-12)


@needs_node
@pytest.mark.parametrize(("Tq", "Tk", "Dh"), [(3, 5, 4), (1, 12, 7), (12, 1, 1)])
def test_ledger_agrees_with_counting(Tq, Tk, Dh):
    state = defaults("ledger") | {"Tq": Tq, "Tk": Tk, "Dh": Dh}
    got = node(f"m.ledger({json.dumps(state)})")
    q, k, v = (torch.zeros(1, 2, T, Dh) for T in (Tq, Tk, Tk))
    scores = q @ k.mT
    made = dict(q=q, k=k, v=v, scores=scores, weights=scores.softmax(-1), out=scores @ v)
    assert [row["name"] for row in got["tensors"]] == list(made)
    for row, tensor in zip(got["tensors"], made.values(), strict=True):
        assert row["shape"] == list(tensor.shape)
        assert (row["elements"], row["bytes"]) == (tensor.numel(), tensor.nbytes)
    products = softmax = 0
    for _ in range(2 * Tq):  # one head's query
        for _ in range(Tk):
            softmax += 5
            for _ in range(Dh):
                products += 2
    assert [row["flops"] for row in got["operations"]] == [products, softmax, products]
    assert got["flops"] == 2 * products + softmax
    assert got["bytes"] == sum(tensor.nbytes for tensor in made.values())
    assert got["elements"] == sum(tensor.numel() for tensor in made.values())


@needs_node
def test_a_wrong_line_runs_exactly_where_torch_runs_it():
    sizes = [(Tq, Tk, Dh) for Tq in (1, 3) for Tk in (1, 3, 4) for Dh in (1, 3, 4)]
    base = defaults("ledger")
    states = [base | {"Tq": Tq, "Tk": Tk, "Dh": Dh} for Tq, Tk, Dh in sizes]
    for state, lines in zip(states, node(f"{json.dumps(states)}.map(m.wrongLines)"), strict=True):
        q, k = (
            torch.zeros(1, 2, state["Tq"], state["Dh"]),
            torch.zeros(1, 2, state["Tk"], state["Dh"]),
        )
        names = {"q": q, "k": k, "v": k, "weights": q @ k.mT}
        for line in lines:
            try:
                shape = list(eval(line["code"], {}, names).shape)
            except RuntimeError:
                shape = None
            assert line["runs"] == (shape is not None), (state, line)
            if shape:
                assert line["shape"] == shape, (state, line)


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_one_module(name):
    text = bundle(name)
    assert not re.search(r"^ *import\b", text, re.M)
    assert re.findall(r"^ *export\b.{8}", text, re.M) == ["export default"]


@needs_node
@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_loads_and_renders(name, tmp_path):
    file = tmp_path / "bundle.mjs"
    file.write_text(bundle(name), encoding="utf-8")
    assert node("typeof m.default.render", module=file.as_uri()) == "function"


@pytest.mark.parametrize("name", EXPLORABLES)
def test_every_default_is_allowed_and_every_file_has_an_entry(name):
    for key, (default, allowed) in EXPLORABLES[name].controls.items():
        assert default in allowed, key
    assert len(EXPLORABLES[name].controls) <= 3
    files = {file.stem for file in FOLDER.glob("*.mjs")}
    assert files == {*NAMES, "maths", "toolkit"}


def test_every_control_keeps_its_keys():
    toolkit = (FOLDER / "toolkit.mjs").read_text(encoding="utf-8")
    assert '"data-lm-suppress-shortcuts": "true"' in toolkit
    for name in ["toolkit", *NAMES]:
        text = (FOLDER / f"{name}.mjs").read_text(encoding="utf-8")
        for made in re.findall(r'h\("(?:input|select|button)",[^)]*\)', text):
            assert "OWN_KEYS" in made, made


def test_the_eight_scores_are_standard():
    z = torch.tensor(defaults("saturation")["z"], dtype=torch.float64)
    assert len(z) == 8
    assert z.mean().item() == pytest.approx(0, abs=1e-12)
    assert z.var(correction=0).item() == pytest.approx(1, abs=1e-12)


def test_state_starts_where_asked():
    widget = explorable("ledger", Tq=1)
    assert widget.state == {**defaults("ledger"), "Tq": 1}
    assert widget.choices["Dh"] == list(range(1, 13))


def test_text_says_what_the_page_would_show():
    text = explorable("saturation")._repr_mimebundle_()[0]["text/plain"]
    assert "figure above" in text
    assert "Dh = 64" in text


@pytest.mark.parametrize(
    ("name", "state", "message"),
    [
        ("lodger", {}, r"name must be one of \['ledger', 'saturation'\]; got 'lodger'"),
        ("ledger", {"Tx": 3}, r"has no 'Tx'; it has \['Tq', 'Tk', 'Dh'\]"),
        ("ledger", {"B": 2}, "has no 'B'"),
        ("ledger", {"Tq": 13}, "Tq must be one of .*got 13"),
        ("ledger", {"Tq": True}, "Tq must be one of .*got True"),
        ("saturation", {"Dh": 65}, "Dh must be one of .*got 65"),
        ("saturation", {"divided": 1}, "divided must be one of .*got 1"),
    ],
)
def test_errors_list_what_exists(name, state, message):
    with pytest.raises(ValueError, match=message):
        explorable(name, **state)

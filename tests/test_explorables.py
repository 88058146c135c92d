"""The explorables: their arithmetic against torch, their bundles, and their errors."""

import functools
import inspect
import json
import math
import re
import shutil
import subprocess
from collections import Counter

import matplotlib
import pytest
import torch

from course_lib import kernel, masks, simulator
from course_lib.attention import attention, masked_softmax, scores
from course_lib.heads import merge, share, split
from course_lib.leaks import leaks
from course_lib.positions import frequencies, rotate, sinusoid
from course_lib.show import explorable
from course_lib.show.explorables import EXPLORABLES, FOLDER, bundle, defaults
from course_lib.show.programs import programs_inputs
from course_lib.show.style import contrast
from course_lib.tiling import State, fold, nothing_read
from course_lib.traffic import tiled_elements

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node runs the explorables' JavaScript; it isn't installed"
)
NAMES = [*EXPLORABLES, "predict"]


def node(source: str, module: str | None = None):
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


def table(pattern: str) -> torch.Tensor:
    """Where a pattern of the mask laboratory has its Trues, [4, 4], from the library's masks."""
    everything, own = torch.ones(1, 1, 4, 4, dtype=torch.bool), torch.eye(4, dtype=torch.bool)
    trues = {
        "all": everything,
        "causal": masks.causal(4),
        "window": masks.window(4, 4, 2),
        "padding": masks.padding(torch.tensor([3]), 4) & everything,
        "past": masks.causal(4) & ~own,
        "future": ~masks.causal(4),
        "none": ~everything,
    }
    return trues[pattern][0, 0]


PATTERNS = list(EXPLORABLES["mask"].controls["pattern"][1])
SCORES = torch.tensor(defaults("mask")["scores"], dtype=torch.float64)


def weights_of(kept: torch.Tensor, empty: str) -> torch.Tensor:
    """The weights of the fixed scores, [4, 4], by torch and by the library."""
    if empty == "zeros":
        return masked_softmax(SCORES[None, None], kept[None, None])[0, 0]
    return SCORES.masked_fill(~kept, -1e9 if empty == "fill" else -torch.inf).softmax(-1)


@needs_node
def test_patterns_are_the_masks_of_the_library():
    got = node(f"{PATTERNS}.map((name) => m.maskTable(name, 4))")
    for name, trues in zip(PATTERNS, got, strict=True):
        assert trues == table(name).tolist(), name
        assert node(f"m.maskTable({json.dumps(trues)}, 4)") == trues


@needs_node
def test_true_means_what_the_called_function_takes_it_for():
    for name in ("causal", "window"):
        trues = table(name)
        read, blocked = node(
            f"['read', 'blocked'].map((x) => m.mayRead(m.maskTable({name!r}, 4), x))"
        )
        assert read == trues.tolist()
        attend = torch.nn.MultiheadAttention(4, 1, batch_first=True)
        x = torch.randn(1, 4, 4, generator=torch.Generator().manual_seed(1))
        _, weights = attend(x, x, x, attn_mask=trues)
        assert blocked == (weights[0] > 0).tolist(), name


@needs_node
def test_turning_a_cell_over_gives_a_name_where_there_is_one():
    first = f"m.turnedOver({json.dumps(table('causal').tolist())}, 1, 3)"
    own, back = node(f"[{first}, m.turnedOver({first}, 1, 3)]")
    expected = table("causal")
    expected[1, 3] = True
    assert own == expected.tolist()
    assert back == "causal"
    nothing = table("none").tolist()
    nothing[2][0] = True
    assert node(f"m.turnedOver({json.dumps(nothing)}, 2, 0)") == "none"


@needs_node
@pytest.mark.parametrize("empty", EXPLORABLES["mask"].controls["empty"][1])
def test_masked_weights_and_leaks_agree_with_torch_and_with_the_probe(empty):
    gen = torch.Generator().manual_seed(5)
    kept = [table(name) for name in PATTERNS] + [~table(name) for name in PATTERNS]
    kept += [torch.rand(4, 4, generator=gen) < 0.4 for _ in range(20)]
    # JSON has no NaN; it writes null.
    run = f"(keep) => m.maskedSoftmax({SCORES.tolist()}, keep, {empty!r})"
    given = json.dumps([keep.tolist() for keep in kept])
    got = node(f"{given}.map({run}).map((w) => [w, m.leaks(w)])")
    assert any(not keep.any(-1).all() for keep in kept)
    for keep, (rows, pairs) in zip(kept, got, strict=True):
        weights = weights_of(keep, empty)
        found = [[float("nan") if w is None else w for w in row] for row in rows]
        torch.testing.assert_close(
            torch.tensor(found, dtype=torch.float64), weights, rtol=1e-12, atol=0, equal_nan=True
        )
        if weights.isnan().all():  # no output is left that could move
            assert pairs == []
            continue
        x = torch.randn(4, 3, dtype=torch.float64, generator=gen)
        probed = leaks(lambda x, w=weights: w @ x, x)
        assert sorted(map(tuple, pairs)) == sorted((leak.reader, leak.source) for leak in probed)


@needs_node
def test_a_weight_is_shaded_by_cividis_and_its_text_can_be_read():
    at = [i / 200 for i in range(201)]
    got = node(f"{at}.map(m.shade).map((rgb) => [rgb, m.inkOn(rgb)])")
    for weight, (rgb, ink) in zip(at, got, strict=True):
        wanted = torch.tensor(matplotlib.colormaps["cividis"](weight)[:3]) * 255
        assert (torch.tensor(rgb) - wanted).abs().max() < 10, weight
        on_white = contrast([part / 255 for part in rgb])
        assert (on_white if ink == "#fff" else 21 / on_white) >= 4.5, weight


@needs_node
def test_a_signed_value_is_shaded_by_puor():
    values = [i / 100 for i in range(-100, 101)]
    for value, rgb in zip(values, node(f"{values}.map(m.signedShade)"), strict=True):
        wanted = torch.tensor(matplotlib.colormaps["PuOr"]((value + 1) / 2)[:3]) * 255
        assert (torch.tensor(rgb) - wanted).abs().max() < 5, value


ROUTES = [
    defaults("routes") | {"query": query, "heads": heads, "times": times}
    for query in EXPLORABLES["routes"].controls["query"][1]
    for heads in EXPLORABLES["routes"].controls["heads"][1]
    for times in EXPLORABLES["routes"].controls["times"][1]
]


@needs_node
def test_routes_are_what_the_library_s_heads_read_and_bring():
    for state, parts in zip(ROUTES, node(f"{json.dumps(ROUTES)}.map(m.routes)"), strict=True):
        i, H = state["words"].index(state["query"]), 1 if state["heads"] == "wide" else 2
        # Features side by side, [B, T, D]: two narrow heads cut them, the wide head doesn't.
        q, k = (torch.tensor(state[name], dtype=torch.float64).T[None] for name in "qk")
        v = torch.tensor(state["v"], dtype=torch.float64)[None, :, None].expand(1, 6, 2)
        q, k, v = split(state["times"] * q[:, i : i + 1], H), split(k, H), split(v, H)
        run = {"A": [0], "B": [1]}.get(state["heads"], range(H))
        assert [part["features"] for part in parts] == ([[0, 1]] if H == 1 else [[h] for h in run])
        for h, part in zip(run, parts, strict=True):
            wanted = scores(q, k)[0, h, 0]
            assert part["scores"] == pytest.approx(wanted.tolist())
            assert part["weights"] == pytest.approx(wanted.softmax(-1).tolist(), rel=1e-9)
            assert sum(part["read"]) == pytest.approx((wanted.softmax(-1) @ v[0, h, :, 0]).item())
        out = attention(q, k, v)
        out = merge(out * torch.tensor([h in run for h in range(H)])[None, :, None, None])[0, 0]
        brought = torch.tensor([part["brings"] for part in parts], dtype=torch.float64).sum(0)
        torch.testing.assert_close(brought, out, rtol=1e-9, atol=1e-12)


@needs_node
def test_two_heads_read_two_words_and_the_wide_head_shares_however_loud():
    for times in (1, 2, 4):
        both, wide = node(
            f"['both', 'wide'].map((heads) => m.routes({{...{json.dumps(defaults('routes'))}, "
            f"times: {times}, heads}}).map((part) => [m.places(part.weights), part.weights]))"
        )
        assert [most for most, _ in both] == [[1], [5]]
        assert [most for most, _ in wide] == [[1, 5]]
        assert wide[0][1][1] == pytest.approx(wide[0][1][5]) and wide[0][1][1] <= 0.5


@needs_node
def test_places_are_all_where_every_weight_is_the_same():
    assert node("[m.places([0.25, 0.25, 0.25, 0.25]), m.places([0.6, 0.3, 0.1])]") == [
        [0, 1, 2, 3],
        [0, 1],
    ]


CLOCKS = [
    defaults("clock") | {"t": t, "k": k, "pair": pair}
    for t in (0, 1, 8, 30)
    for k in (0, 1, 2, 5, 12)
    for pair in EXPLORABLES["clock"].controls["pair"][1]
]


@needs_node
def test_hands_and_turned_vectors_are_the_library_s():
    for state, got in zip(CLOCKS, node(f"{json.dumps(CLOCKS)}.map(m.clock)"), strict=True):
        D, base, places = state["D"], float(state["base"]), [state["t"], state["t"] + state["k"]]
        pair = slice(2 * state["pair"], 2 * state["pair"] + 2)
        frequency = frequencies(D, base)[state["pair"]].item()
        assert got["between"] == pytest.approx(state["k"] * frequency)
        for place, hand in zip(places, got["hands"], strict=True):
            values = sinusoid(torch.tensor([place]), D, base)[0, pair].tolist()
            assert hand["angle"] == pytest.approx(place * frequency)
            assert hand["values"] == pytest.approx(values, abs=1e-6)
        x = torch.zeros(1, 1, 2, D, dtype=torch.float64)
        x[0, 0, :, pair] = torch.tensor([state["key"], state["query"]])
        turned = rotate(x, torch.tensor([places]), "interleaved", base)[0, 0, :, pair]
        for vector, wanted in zip(got["vectors"], turned.tolist(), strict=True):
            assert vector["values"] == pytest.approx(wanted)
            across, up = wanted[1], wanted[0]
            angle = torch.tensor(vector["start"] + vector["angle"], dtype=torch.float64)
            length = torch.tensor(vector["vector"], dtype=torch.float64).norm()
            assert [length * angle.sin(), length * angle.cos()] == pytest.approx([across, up])
        assert got["score"] == pytest.approx((turned[0] @ turned[1]).item())


@needs_node
def test_angle_product_and_score_of_two_positions_are_the_same_wherever_they_stand():
    seen = {}
    for state, got in zip(CLOCKS, node(f"{json.dumps(CLOCKS)}.map(m.clock)"), strict=True):
        found = [got["hands"][1]["angle"] - got["hands"][0]["angle"], got["product"], got["score"]]
        key = state["k"], state["pair"]
        assert found == pytest.approx(seen.setdefault(key, found), abs=1e-12), key
    assert len({round(score, 9) for _, _, score in seen.values()}) == 1 + 4 * 4  # k = 0 is one


@needs_node
@pytest.mark.parametrize("D", EXPLORABLES["offsets"].controls["D"][1])
def test_products_of_encodings_are_the_library_s_and_constant_on_each_diagonal(D):
    T = defaults("offsets")["T"]
    bases = EXPLORABLES["offsets"].controls["base"][1]
    all_got = node(f"{bases}.map((base) => m.products({{T: {T}, D: {D}, base}}))")
    for base, got in zip(bases, all_got, strict=True):
        codes = sinusoid(torch.arange(T), D, float(base)).double()
        products = torch.tensor(got["table"], dtype=torch.float64)
        torch.testing.assert_close(products, codes @ codes.T, rtol=0, atol=1e-6 * D)
        assert [d["offset"] for d in got["diagonals"]] == list(range(1 - T, T))
        for d in got["diagonals"]:
            cells = products.diagonal(-d["offset"])
            assert (d["cells"], d["least"], d["most"]) == (len(cells), cells.min(), cells.max())
            assert d["most"] - d["least"] < 1e-12


STEPPER = defaults("stepper")
PLANS, FAULTS = (EXPLORABLES["stepper"].controls[name][1] for name in ("plan", "broken"))


@functools.cache
def read_rows() -> dict[tuple[str, str], list[dict]]:
    """Every step of the stepper, as the page computes it, for each plan and fault."""
    pairs = [(plan, broken) for plan in PLANS for broken in FAULTS]
    states = [STEPPER | {"plan": plan, "broken": broken} for plan, broken in pairs]
    return dict(zip(pairs, node(f"{json.dumps(states)}.map(m.readRow)"), strict=True))


def tiles_of(plan: str, broken: str) -> list[tuple[list[int], torch.Tensor, torch.Tensor]]:
    """The tiles of a plan in their order: keys, scores [1, n] and values [n, 1]."""
    plan = STEPPER["plans"][plan]
    row = torch.tensor([STEPPER["scores"]], dtype=torch.float64) - plan["lower"]
    v = torch.tensor(STEPPER["v"], dtype=torch.float64)[:, None]
    found = []
    for place in plan["order"]:
        keys = list(range(place * plan["tile"], min((place + 1) * plan["tile"], row.shape[1])))
        none = plan["tile"] - len(keys) if broken == "tail" else 0
        filled = torch.nn.functional.pad(row[:, keys], (0, none))
        found.append((keys, filled, torch.nn.functional.pad(v[keys], (0, 0, 0, none))))
    return found


def broken_fold(state: State, scores: torch.Tensor, v: torch.Tensor, broken: str) -> State:
    """The library's fold, with one of its lines wrong."""
    right = fold(state, scores, v)
    powers = (scores - right.row_max).exp()
    if broken == "rescale":
        return State(right.row_max, state.row_sum + powers.sum(), state.acc + powers @ v)
    if broken == "maximum":
        wrong = (scores - scores.max()).exp()
        row_sum = right.row_sum - powers.sum() + wrong.sum()
        return State(right.row_max, row_sum, right.acc - powers @ v + wrong @ v)
    return right


@needs_node
@pytest.mark.parametrize("broken", FAULTS)
@pytest.mark.parametrize("plan", PLANS)
def test_stepper_folds_as_the_library_does_and_breaks_as_said(plan, broken):
    steps, read = read_rows()[plan, broken], []
    state = nothing_read(torch.zeros(1, 1, dtype=torch.float64))
    if broken == "start":
        state = state._replace(row_max=torch.zeros(1, 1, dtype=torch.float64))
    assert steps[0]["rowMax"] == state.row_max.item()
    row = torch.tensor(STEPPER["scores"], dtype=torch.float64)
    tiles = tiles_of(plan, broken)
    for step, (keys, part, v) in zip(steps[1:], tiles, strict=True):
        state, read = broken_fold(state, part, v, broken), read + keys
        got = [step[name] for name in ("rowMax", "rowSum", "acc")]
        assert got == pytest.approx([part.item() for part in state], rel=1e-12, abs=1e-14)
        direct = row[read].softmax(0) @ torch.tensor(STEPPER["v"], dtype=torch.float64)[read]
        assert step["read"] == read and step["direct"] == pytest.approx(direct.item())
        out = (state.acc / state.row_sum).item()
        distance = float("nan") if step["distance"] is None else step["distance"]  # JSON's NaN
        assert distance == pytest.approx(abs(out - direct.item()), rel=1e-9, abs=1e-12, nan_ok=True)
    assert sorted(read) == list(range(11))


@needs_node
def test_stepper_shows_each_fault_with_some_tiles_and_hides_it_with_others():
    ends = {at: steps[-1]["distance"] for at, steps in read_rows().items()}
    shown = {at for at, distance in ends.items() if distance is None or distance > 0.2}
    assert all(distance < 1e-12 for at, distance in ends.items() if at not in shown)
    plans = {fault: {plan for plan in PLANS if (plan, fault) in shown} for fault in FAULTS}
    assert plans["nothing"] == set() and plans["start"] == {"low"}
    assert plans["rescale"] == {"threes", "shuffled", "ones", "fours", "low"}
    assert plans["maximum"] == plans["rescale"] | {"backwards"}
    assert plans["tail"] == plans["maximum"] - {"ones"}


@needs_node
def test_stepper_counts_the_scores_of_a_tile_and_three_numbers():
    states = [STEPPER | {"plan": plan} for plan in PLANS]
    for plan, (held, whole) in zip(
        PLANS, node(f"{json.dumps(states)}.map(m.rowBytes)"), strict=True
    ):
        memory = nothing_read(torch.zeros(1, 1, dtype=torch.float64))
        remembered = sum(part.nbytes for part in memory)
        most = max(part.shape[1] for _, part, _ in tiles_of(plan, "nothing"))
        assert (held, whole) == (remembered + 8 * most, remembered + 8 * 11)


LAUNCH, PROGRAMS = defaults("programs"), EXPLORABLES["programs"].controls["program"][1]
# The explorable's faults, written into the source of the library's kernel.
WRONG_LINES = {
    "causal": {},
    "all": {},
    "rescale": {
        "row_sum = rescale * row_sum +": "row_sum = row_sum +",
        "acc * rescale[:, None]": "acc",
    },
    "tail": {"(rows[:, None] < Tq) & (cols[None, :] < Tk)": "(rows[:, None] < Tq)"},
    "head": {"kv_head = head // H * Hkv + head % H // (H // Hkv)": "kv_head = head"},
    "offset": {"rows[:, None] + (Tk - Tq)": "rows[:, None]", "first + Tk - Tq": "first"},
}


def launched(which: str, dtype: torch.dtype, heads: int = 4):
    """A launch in the simulator: its output, its lse, its accesses, and what each fold left."""
    source = inspect.getsource(kernel)
    source = source[source.index("LOG2E = ") :]
    for right, wrong in WRONG_LINES[which].items():
        assert right in source
        source = source.replace(right, wrong)
    scope = {"triton": simulator, "tl": simulator.language}
    exec(source, scope)
    right_fold, folds = scope["fold"], []

    def fold_and_note(*given):
        folds.append(right_fold(*given))
        return folds[-1]

    scope["fold"] = fold_and_note
    q, k, v = (x.to(dtype) for x in programs_inputs(LAUNCH).values())
    out, lse = torch.empty_like(q), torch.empty(q.shape[:3])
    sizes = [LAUNCH[name] for name in ("H", "Hkv", "Tq", "Tk", "Dh")]
    how = {"CAUSAL": which not in ("all", "tail"), "PRECISION": "ieee"}
    with simulator.watch() as log:
        scope["forward"][3, heads](q, k, v, out, lse, 16**-0.5, *sizes, 16, 16, 16, **how)
    return out[0], lse[0], log, folds


@functools.cache
def programs(which: str) -> list[list[dict]]:
    """The steps of each of the 12 programs, as the page computes them."""
    state = json.dumps(LAUNCH | {"kernel": which})
    return node(f"{list(PROGRAMS)}.map((program) => m.follow({{...{state}, program}}))", LAUNCHES)


LAUNCHES = (FOLDER / "launch.mjs").as_uri()
RUNS = {name: 2 if name == "head" else 4 for name in WRONG_LINES}  # heads that a launch survives


@needs_node
def test_programs_hold_the_numbers_of_the_still_view():
    for name, values in node(f"m.inputs({json.dumps(LAUNCH)})", LAUNCHES).items():
        assert values == programs_inputs(LAUNCH)[name].flatten().tolist()
        assert torch.equal(torch.tensor(values).half().double(), torch.tensor(values).double())


@needs_node
@pytest.mark.parametrize("which", WRONG_LINES)
def test_programs_load_and_store_what_the_kernel_does(which):
    assert list(WRONG_LINES) == list(EXPLORABLES["programs"].controls["kernel"][1])
    *_, log, _ = launched(which, torch.float16, RUNS[which])
    state = json.dumps(LAUNCH | {"kernel": which})
    lanes = node(
        f"{list(PROGRAMS)}.map((program) => ({{...{state}, program}})).map((state) =>"
        " m.programSteps(state).filter((step) => step.kind !== 'compute').map((step) =>"
        " m.lanesOf(state, step).lanes.flat().filter((lane) => lane === 'on').length))",
        LAUNCHES,
    )
    for program in range(3 * RUNS[which]):
        made = [access for access in log if access.program == (program % 3, program // 3, 0)]
        wanted = [(a.kind, a.name.removesuffix("_ptr"), a.nbytes) for a in made]
        moves = [step for step in programs(which)[program] if step["kind"] != "compute"]
        assert [(move["kind"], move["name"], move["bytes"]) for move in moves] == wanted
        assert lanes[program] == [access.elements.numel() for access in made]
    every, sizes = node(f"[m.launchBytes({state}), m.formula({state})]", LAUNCHES)
    if which == "head":
        assert every is None
        return
    wanted = Counter()
    for access in log:
        wanted[access.name.removesuffix("_ptr")] += access.nbytes
    assert every == wanted and sizes["bytes"] == wanted.total()


@needs_node
@pytest.mark.parametrize("which", WRONG_LINES)
def test_programs_compute_what_the_kernel_does_and_break_as_it_does(which):
    out, lse, log, folds = launched(which, torch.float32, RUNS[which])
    order = list(dict.fromkeys(access.program for access in log))  # as the simulator runs them
    q, k, v = programs_inputs(LAUNCH).values()
    keep = masks.causal(40, 44) if which not in ("all", "tail") else None
    direct = attention(q, share(k, 4), share(v, 4), keep)[0]
    folds, row = iter(folds), LAUNCH["row"]
    for tile, head, _ in order:
        steps = programs(which)[tile + 3 * head]
        for step in steps:
            if step["name"] == "fold":
                row_max, row_sum, acc = (part[row] for part in next(folds))
                got = [step["memory"][name] for name in ("rowMax", "rowSum")]
                assert got == pytest.approx(
                    [row_max.item() * math.log(2), row_sum.item()], rel=1e-5
                )
                assert step["memory"]["acc"] == pytest.approx(acc.tolist(), rel=1e-4, abs=1e-5)
        memory, query = steps[-1]["memory"], 16 * tile + row
        assert memory["out"] == pytest.approx(out[head, query].tolist(), rel=1e-4, abs=1e-5)
        natural = memory["rowMax"] + math.log(memory["rowSum"])
        assert natural == pytest.approx(lse[head, query].item(), rel=1e-5)
        assert memory["direct"] == pytest.approx(direct[head, query].tolist(), rel=1e-9, abs=1e-12)
        distance = (torch.tensor(memory["out"]).double() - direct[head, query]).abs().max().item()
        assert memory["distance"] == pytest.approx(distance, abs=1e-6)
    assert next(folds, None) is None


@needs_node
def test_programs_show_each_fault_and_hide_it_where_it_does_nothing():
    ends = {
        which: [steps[-1]["memory"].get("distance") for steps in programs(which)]
        for which in WRONG_LINES
    }
    wrong = {which: [d is not None and d > 0.005 for d in ends[which]] for which in ends}
    assert not any(wrong["causal"] + wrong["all"])
    assert wrong["rescale"][5] and not wrong["rescale"][0]  # the first tile has nothing to shrink
    assert wrong["head"] == [False] * 3 + [True] * 3 + [False] * 6
    assert all(wrong["tail"]) and all(wrong["offset"])


@needs_node
def test_programs_of_a_wrong_head_end_where_the_simulator_does():
    for heads, at in ((3, 6), (4, 6)):
        *_, last = programs("head")[at]
        said = f"load of k_ptr[{last['outside']['element']}], which has {last['outside']['size']} "
        with pytest.raises(IndexError, match=re.escape(f"program (0, 2, 0): {said}")):
            launched("head", torch.float16, heads)
    assert programs("head")[9][-1]["outside"]["element"] == 3 * 44 * 16


@needs_node
@pytest.mark.parametrize("which", ["causal", "all"])
def test_programs_mask_what_may_not_be_read_and_where_they_must(which):
    Tks = list(range(40, 75))
    states = [LAUNCH | {"kernel": which, "Tk": Tk, "program": p} for Tk in Tks for p in range(3)]
    plans = iter(node(f"{json.dumps(states)}.map(m.planOf)", LAUNCHES))
    for Tk in Tks:
        keep = masks.causal(40, Tk)[0, 0] if which == "causal" else torch.ones(40, Tk).bool()
        for rows in keep.split(16):
            plan = next(plans)
            whole = [part.all() and part.shape[1] == 16 for part in rows.split(16, 1)]
            assert plan["whole"] == 16 * sum(whole)
            beyond = plan["first"] + 16 + Tk - 40  # the kernel doesn't look where queries end
            assert plan["stop"] == (min(Tk, beyond) if which == "causal" else Tk)
            assert not rows[:, plan["stop"] :].any()


@needs_node
@pytest.mark.parametrize("which", ["causal", "all"])
def test_programs_say_of_every_lane_what_became_of_it(which):
    state = json.dumps(LAUNCH | {"kernel": which})
    tiles = node(
        f"{list(PROGRAMS)}.map((program) => ({{...{state}, program}})).flatMap((state) =>"
        " m.programSteps(state).map((step) => ({...step, ...m.lanesOf(state, step)})))",
        LAUNCHES,
    )
    keep = masks.causal(40, 44)[0, 0] if which == "causal" else torch.ones(40, 44).bool()
    room = torch.nn.functional.pad(torch.ones(40, 44), (0, 4, 0, 8)).bool()
    keep = torch.nn.functional.pad(keep, (0, 4, 0, 8))
    for tile in tiles:
        rows, lanes = slice(tile["from"], tile["from"] + 16), tile["lanes"]
        if tile["name"] in ("products", "mask", "fold"):
            cols = slice(tile["start"], tile["start"] + 16)
            masked = tile["masked"] and tile["name"] != "products"
            wanted, off = (keep, "blocked") if masked else (room, "zero")
            wanted = wanted[rows, cols].tolist()
        else:
            inside, off = room[:, 0], "off" if tile["kind"] == "store" else "zero"
            inside = room[0] if tile["name"] in ("k", "v") else inside
            wanted = inside[rows, None].expand(16, len(lanes[0])).tolist()
        assert lanes == [["on" if on else off for on in row] for row in wanted]


@needs_node
def test_programs_without_a_rule_move_what_chapter_06_counts():
    state = json.dumps(LAUNCH | {"kernel": "all"})
    wanted = 4 * (2 * tiled_elements(40, 44, 16, 16, 16) + 2 * 40)  # lse has 4 bytes a number
    assert node(f"m.formula({state})", LAUNCHES) == {"keys": 3 * 44, "bytes": wanted}


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
    assert files == {*NAMES, "launch", "maths", "memory", "toolkit"}


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
        (
            "lodger",
            {},
            r"name must be one of \['clock', 'ledger', 'mask', 'offsets', .*\]; got 'lodger'",
        ),
        ("ledger", {"Tx": 3}, r"has no 'Tx'; it has \['Tq', 'Tk', 'Dh'\]"),
        ("ledger", {"B": 2}, "has no 'B'"),
        ("ledger", {"Tq": 13}, "Tq must be one of .*got 13"),
        ("ledger", {"Tq": True}, "Tq must be one of .*got True"),
        ("saturation", {"Dh": 65}, "Dh must be one of .*got 65"),
        ("mask", {"pattern": "triangle"}, "pattern must be one of .*'causal'.*got 'triangle'"),
        ("clock", {"k": 13}, "k must be one of .*got 13"),
        ("offsets", {"D": 5}, r"D must be one of \[2, 4, 8, .*got 5"),
        ("routes", {"query": "cow"}, "query must be one of .*'cat'.*got 'cow'"),
        ("stepper", {"step": 12}, "step must be one of .*got 12"),
        ("programs", {"program": 12}, "program must be one of .*got 12"),
        ("saturation", {"divided": 1}, "divided must be one of .*got 1"),
    ],
)
def test_errors_list_what_exists(name, state, message):
    with pytest.raises(ValueError, match=message):
        explorable(name, **state)

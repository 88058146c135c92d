import { bytesOf, follow, formula, lanesOf, launchBytes, planOf } from "./launch.mjs";
import { sum } from "./maths.mjs";
import { keysOf, lanes, memory } from "./memory.mjs";
import { explore, h, OWN_KEYS, rich, select, slider } from "./toolkit.mjs";

const LOOK = `
.explorable .controls { align-items: flex-start; }
.explorable .programs { border: 0; margin: 0; padding: 0; min-width: 0; }
.explorable .programs legend { padding: 0; }
.explorable .programs div { display: grid; gap: 2px 4px; font-variant-numeric: tabular-nums;
  grid-template-columns: repeat(3, auto); }
.explorable .programs label { gap: 0.3em; border: 1px solid transparent; padding: 0 0.35em; }
.explorable .programs label:has(:checked) { border-color: currentColor; font-weight: bold; }
.explorable .columns > .memory { flex: 1 1 350px; }
.explorable .columns > .steps { flex: 1 1 370px; }
.explorable .columns .memory svg { max-width: 380px; }
.explorable .steps :is(th, td) { padding: 0.18em 0.2em; }
.explorable .walk :is(th, td) { text-align: left; white-space: normal; vertical-align: top; }
.explorable .walk { table-layout: fixed; }
.explorable .walk tr > :first-child { width: 3.8em; }
.explorable .walk tr > :nth-child(2) { width: 4.9em; }
.explorable .walk span { display: inline-block; padding: 0 0.1em; border: 2px solid transparent; }
.explorable .walk .done { border-bottom-color: currentColor; }
.explorable .walk .now { border-color: currentColor; font-weight: bold; }
.explorable thead td { border-top: 0; }
.explorable .trace { table-layout: fixed; }
.explorable .trace tr > :first-child { width: 4em; }
.explorable .trace tr > :last-child { width: 5.2em; }
.explorable .trace .now > * { font-weight: bold; border-bottom: 2px solid currentColor;
  border-top: 2px solid currentColor; }
.explorable .trace .wrong { text-decoration: underline wavy #cc3311 1px; }
.explorable .detail { table-layout: fixed; }
.explorable .detail tr:last-child > * { height: 3.3em; }
.explorable .detail tr > :first-child { width: 5em; }
.explorable .detail code { font-size: 12px; overflow-wrap: anywhere; }
`;

const minus = (text) => text.replace("-", "−");
const three = (x) => (Number.isInteger(x) || Number.isNaN(x) ? minus(String(x))
  : minus(Math.abs(x) < 0.0005 ? x.toExponential(0) : x.toFixed(3)));
const lowest = (x) => (x < -1e38 ? "lowest" : three(x));
const WRONG = 1e-9; // more than rounding can do here
const isWrong = ({ distance }) => distance !== undefined && !(distance < WRONG); // NaN as well

// --- the grid: a native radio button for each program ---

const programs = (state, choices, move) => {
  const group = `programs-${Math.random().toString(36).slice(2)}`; // one page may show it twice
  const plans = choices.program.map((program) => planOf({ ...state, program }));
  const radios = choices.program.map((value) =>
    h("input", { type: "radio", name: group, value, ...OWN_KEYS }));
  radios.forEach((radio) => radio.addEventListener("input", () => move("program", +radio.value)));
  const refresh = (now) => (radios[choices.program.indexOf(now.program)].checked = true);
  const element = h("fieldset", { class: "programs" },
    h("legend", {}, "program: tile of queries, head"),
    h("div", {}, radios.map((radio, i) =>
      h("label", {}, radio, `(${plans[i].tile}, ${plans[i].head})`))));
  return { element, input: element, refresh };
};

// As many steps as the program has.
const stepsDone = (state, choices, move) => {
  const made = slider("step", "step")(state, choices, move);
  const refresh = (now) => {
    made.input.max = follow(now).length;
    made.refresh({ ...now, step: Math.min(now.step, +made.input.max) });
  };
  return { ...made, refresh };
};

// --- the steps, the row that is followed, and the bytes ---

const say = ({ kind, name }) => (kind === "compute" ? name : `${kind} ${name}`);

const heads = (...names) => h("thead", {}, h("tr", {}, names.map((name) =>
  (name ? h("th", { scope: "col" }, rich(name)) : h("td")))));

const walk = (state, steps, at) => {
  const rows = new Map();
  steps.forEach((step, i) => {
    const name = step.start !== undefined ? keysOf(step, state) : i ? "after" : "before";
    rows.set(name, [...(rows.get(name) ?? []), { step, number: i + 1 }]);
  });
  const one = ({ step, number }) => [h("span", { "aria-current": number === at ? "step" : null,
    class: number === at ? "now" : number < at ? "done" : null },
  say(step), faultOf(state, step) ? " ✗" : ""), " "];
  const phase = ({ step: { masked } }) => ({ true: "mask", false: "no mask" })[masked] ?? "";
  return h("table", { class: "walk" },
    h("caption", {}, "The program's steps: what is underlined is done"),
    heads("keys", "phase", "steps"),
    h("tbody", {}, [...rows].map(([name, parts]) => h("tr", {}, h("th", { scope: "row" }, name),
      h("td", {}, phase(parts[0])), h("td", {}, parts.flatMap(one))))));
};

const trace = (state, steps, at) => {
  const folds = steps.flatMap((step, i) => (step.name === "fold" ? [{ step, number: i + 1 }] : []));
  const last = folds.filter(({ number }) => number <= at).at(-1);
  const rows = folds.map((fold) => {
    const { rowMax, rescale, rowSum, acc, distance } = fold.step.memory;
    const numbers = fold.number > at ? ["", "", "", "", ""]
      : [rowMax, rescale, rowSum, acc[0], distance].map(three);
    return h("tr", { class: fold === last ? "now" : null },
      h("th", { scope: "row" }, keysOf(fold.step, state)), numbers.map((x, column) =>
        h("td", { class: column === 4 && x && isWrong(fold.step.memory) ? "wrong" : null }, x)));
  });
  return h("table", { class: "trace" },
    h("caption", {}, `Query ${planOf(state).first + state.row} and its distance `
      + "from the direct softmax"),
    heads("keys", "`row_max`", "rescale", "`row_sum`", "`acc[0]`", "distance"),
    h("tbody", {}, rows));
};

const CODE = {
  q: "q = load_tile(q_ptr, rows, Tq, Dh, DIM)",
  k: "k = load_tile(k_ptr, cols, Tk, Dh, DIM)",
  v: "v = load_tile(v_ptr, cols, Tk, Dh, DIM)",
  products: "products = tl.dot(q, tl.trans(k), ...)",
  mask: "tl.where(may_read(...), products, -inf)",
  fold: "fold(row_max, row_sum, acc, ...)",
  divide: "acc / row_sum[:, None]",
  out: "store_tile(out_ptr, ..., rows, Tq, ...)",
  lse: "tl.store(lse_ptr + rows, lse, ...)",
};
const FAULTS = { rescale: { fold: "rescale left out" }, tail: { mask: "cols < Tk left out" },
  head: { k: "kv_head = head", v: "kv_head = head" }, offset: { mask: "Tk − Tq left out" } };
const faultOf = ({ kernel }, { name }) => FAULTS[kernel]?.[name];

const signed = (x) => (x < 0 ? `+ ${three(-x)}` : `− ${three(x)}`); // to subtract x
const ofTheQuery = (state, { name, scores, before, memory: now }) => {
  const kept = (x) => (state.kernel === "rescale" ? "" : `${three(now.rescale)} · `) + three(x);
  const lines = {
    products: () => `its highest score is ${three(Math.max(...scores))}`,
    mask: () => `it reads ${scores.filter((x) => x > -Infinity).length} of ${scores.length} lanes`,
    fold: () => `exp(${lowest(before.rowMax)} ${signed(now.rowMax)}) = ${three(now.rescale)}; `
      + `row_sum = ${kept(before.rowSum)} + ${three(now.added.rowSum)} = ${three(now.rowSum)}`,
    divide: () => `acc[0] / row_sum = ${three(now.out[0])}`,
    out: () => `out[0] = ${three(now.out[0])}`,
    lse: () => `row_max + log(row_sum) = ${three(now.rowMax + Math.log(now.rowSum))}`,
  };
  return lines[name]?.() ?? "–";
};

const detail = (state, steps, at) => {
  const step = steps[at - 1];
  const fault = step && faultOf(state, step);
  const moved = !step ? "0" : step.outside ? "0: the load is refused"
    : { load: `${step.bytes} come from slow memory`, store: `${step.bytes} go to slow memory`,
      compute: "0: all stays in fast memory" }[step.kind];
  const lines = { code: [step ? h("code", {}, CODE[step.name]) : "–"], bytes: [moved],
    [`query ${planOf(state).first + state.row}`]: [step ? ofTheQuery(state, step) : "–"] };
  return h("table", { class: "detail prose" },
    h("caption", {}, step ? `Step ${at}: ${say(step)}` : "Before the first step",
      fault ? ` ✗ ${fault}` : ""),
    h("tbody", {}, Object.entries(lines).map(([name, said]) => h("tr", {},
      h("th", { scope: "row" }, name), h("td", {}, said)))));
};

const bytes = (state, steps, at) => {
  const [mine, all, wanted] = [bytesOf(steps.slice(0, at)), launchBytes(state), formula(state)];
  const row = (name, counts) => h("tr", {}, h("th", { scope: "row" }, name),
    Object.keys(mine).map((tensor) => h("td", {}, counts ? String(counts[tensor]) : "–")),
    h("td", {}, counts ? String(sum(Object.values(counts))) : "stops"));
  const { H, Tq, Dh, itemsize } = state;
  const said = `${H} · ((${2 * Tq} + ${2 * wanted.keys}) · ${Dh * itemsize} + ${4 * Tq}) =`;
  return h("table", { class: "bytes" },
    h("caption", {}, "Bytes moved: lse in float32, the others in float16"),
    heads("", ...Object.keys(mine).map((name) => `\`${name}\``), "all"),
    h("tbody", {}, row("so far", mine), row("12 programs", all),
      h("tr", { class: "total" }, h("th", { scope: "row" }, "from sizes"),
        h("td", { colspan: 5 }, said), h("td", {}, String(wanted.bytes)))));
};

const inWords = (state, steps, at) => {
  const { tile, head, kvHead } = planOf(state);
  const step = steps[at - 1];
  if (!step) return `Program (${tile}, ${head}) has ${steps.length} steps to go.`;
  const start = `Program (${tile}, ${head}), step ${at} of ${steps.length}, ${say(step)}: `;
  if (step.outside) {
    return `${start}k_ptr[${step.outside.element}] is asked for, and k has ${step.outside.size} `
      + "elements. The simulator stops here; a card may read what stands behind it.";
  }
  return start + outcome(state, step, kvHead) + verdict(state, steps, at);
};

const outcome = (state, step, kvHead) => {
  const { kind, name, memory: now, before, masked } = step;
  const query = `query ${planOf(state).first + state.row}`;
  if (kind === "store") return `${step.bytes} bytes go to slow memory.`;
  if (kind === "load") return `${step.bytes} bytes come from slow memory`
    + (name === "q" ? " and stay." : `, from head ${kvHead} of ${name}.`);
  if (name === "products") return "every query of the tile meets every key of the tile.";
  if (name === "mask") return `${lanesOf(state, step).lanes.flat()
    .filter((x) => x === "blocked").length} of ${state.block ** 2} scores become −∞.`;
  if (name === "divide") return `the result of ${query} is ${three(now.out[0])} in feature 0.`;
  const verb = state.kernel === "rescale" ? "should shrink" : "shrinks";
  const shrinks = before.rowSum ? `, and what was remembered ${verb} to ${three(now.rescale)}` : "";
  return now.rowMax === before.rowMax ? `the maximum of ${query} stays ${three(now.rowMax)}.`
    : `the maximum of ${query} becomes ${three(now.rowMax)}${shrinks}.`;
};

// After the end: is the row right?
const verdict = ({ kernel }, steps, at) => {
  const { memory: now, name } = steps[at - 1];
  if (!["fold", "divide"].includes(name)) return "";
  if (isWrong(now)) return ` It is ${three(now.distance)} from the direct softmax.`;
  if (["causal", "all"].includes(kernel)) return " It is as the direct softmax.";
  return ` The fault ${at + 2 === steps.length ? "does not show here" : "has not shown so far"}.`;
};

export default {
  render: explore({
    label: "One program of the attention kernel",
    look: LOOK,
    controls: [
      programs,
      stepsDone,
      select("kernel", "kernel", ["causal", "all keys", "causal, no rescale ✗",
        "all keys, the tail not masked ✗", "causal, kv_head = head ✗",
        "causal, without the offset ✗"]),
    ],
    draw(state) {
      const steps = follow(state);
      const at = Math.min(state.step, steps.length);
      return {
        nodes: [h("div", { class: "columns" },
          h("div", { class: "memory" }, memory(state, steps, at), lanes(state, steps, at)),
          h("div", { class: "steps" }, walk(state, steps, at), detail(state, steps, at),
            trace(state, steps, at), bytes(state, steps, at)))],
        words: inWords(state, steps, at),
      };
    },
  }),
};

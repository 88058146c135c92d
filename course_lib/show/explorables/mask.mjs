import {
  inkOn, leaks, maskedSoftmax, maskTable, mayRead, shade, sum, turnedOver,
} from "./maths.mjs";
import { cell, explore, h, OWN_KEYS, select } from "./toolkit.mjs";

const LOOK = `
.explorable .columns > .mask { flex: 1 1 280px; }
.explorable .columns > .mask + * { flex: 1 1 370px; }
.explorable .leaks { margin: 0.5em 0 0; min-height: 2.9em; }
.explorable :is(.mask, .weights) { table-layout: fixed; }
.explorable :is(.mask, .weights) :is(th, td) { height: 5em; text-align: center;
  padding: 2px 3px; line-height: 1.25; }
.explorable :is(.mask, .weights) thead > tr > * { height: auto; border: 0;
  white-space: normal; }
.explorable :is(.mask, .weights) :is(th, td):first-child { text-align: left; }
.explorable .mask button { font: inherit; width: 100%; height: 100%; padding: 0;
  color: #222; background: #fff; border: 1px solid #8a8a8a; cursor: pointer; }
.explorable .mask button[aria-pressed=true] { color: #fff; background: #2b2b2b;
  font-weight: bold; }
.explorable .weights tr > :first-child { width: 4.5em; }
.explorable .weights small { display: block; font-size: 11px; font-weight: normal; }
.explorable .weights .blocked { color: #000;
  background: repeating-linear-gradient(135deg, #c9c9c9 0 5px, #adadad 5px 7px); }
.explorable .weights .overridden { background-image: repeating-linear-gradient(135deg,
    transparent 0 5px, #0006 5px 7px); }
.explorable .weights .nan { color: #000; font-weight: bold; background-color: #fff;
  background-image: repeating-linear-gradient(45deg, transparent 0 6px, #f0b9a8 6px 8px),
    repeating-linear-gradient(135deg, transparent 0 6px, #f0b9a8 6px 8px); }
.explorable .weights .leak { box-shadow: inset 0 0 0 3px #cc3311, inset 0 0 0 4px #fff; }
`;

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const heads = (T, ...more) =>
  h("thead", {}, h("tr", {}, h("td"), Array.from({ length: T }, (_, j) =>
    h("th", { scope: "col" }, `key ${j}`)), more));
const query = (i) => h("th", { scope: "row" }, `query ${i}`);

// Made once and refreshed in place, so a cell that is pressed keeps the focus.
const grid = ({ scores }, choices, move) => {
  const T = scores.length;
  let table;
  const press = (i, j) => {
    move("pattern", turnedOver(table, i, j));
    element.dispatchEvent(new Event("change"));
  };
  const buttons = scores.map((row, i) => row.map((_, j) =>
    h("button", { ...OWN_KEYS, type: "button", onclick: () => press(i, j) })));
  const step = (event) => {
    const way = STEPS[event.key];
    const at = buttons.flat().indexOf(event.target);
    if (!way || at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault(); // an arrow would scroll the page as well
    buttons[Math.floor(at / T) + way[0]]?.[(at % T) + way[1]]?.focus();
  };
  const element = h("table", { class: "mask", onkeydown: step },
    h("caption", {}, "The mask as given. Press a cell."), heads(T),
    h("tbody", {}, buttons.map((row, i) =>
      h("tr", {}, query(i), row.map((button) => h("td", {}, button))))));
  const refresh = (now) => {
    table = maskTable(now.pattern, T);
    buttons.forEach((row, i) => row.forEach((button, j) => {
      const value = table[i][j] ? "True" : "False";
      button.textContent = value;
      button.setAttribute("aria-pressed", table[i][j]);
      button.setAttribute("aria-label", `query ${i}, key ${j}: ${value}`);
    }));
  };
  return { element, input: element, refresh, beside: true };
};

const measure = ({ scores, pattern, means, empty }) => {
  const keep = mayRead(maskTable(pattern, scores.length), means);
  const weights = maskedSoftmax(scores, keep, empty);
  return { keep, weights, leaks: leaks(weights), sums: weights.map(sum) };
};

const short = (weight) => (weight === 0 ? "0" : weight.toFixed(2));

const weight = (now, was, { scores, empty }, [i, j]) => {
  const [value, allowed] = [now.weights[i][j], now.keep[i][j]];
  const leak = j > i && value > 0;
  const score = allowed ? scores[i][j] : empty === "fill" ? "−1e9" : "−∞";
  const marks = [...(allowed ? [] : ["blocked"]), ...(leak ? ["future"] : [])];
  const made = cell(value, was?.weights[i][j], short);
  made.append(...[`score ${score}`, ...marks].map((line) => h("small", {}, line)));
  if (Number.isNaN(value)) made.classList.add("nan");
  else if (value === 0) made.classList.add("blocked");
  else {
    const colour = shade(value);
    made.style.cssText = `background-color:rgb(${colour});color:${inkOn(colour)}`;
    if (!allowed) made.classList.add("overridden");
    if (leak) made.classList.add("leak");
  }
  return made;
};

const weightTable = (now, was, state) =>
  h("table", { class: "weights" }, h("caption", {}, "The weights that result"),
    heads(state.scores.length, h("th", { scope: "col" }, "row sum")),
    h("tbody", {}, now.weights.map((row, i) => h("tr", {}, query(i),
      row.map((_, j) => weight(now, was, state, [i, j])),
      cell(now.sums[i], was?.sums[i], short)))));

const list = (noun, plural, numbers) =>
  numbers.length === 1 ? `${noun} ${numbers[0]}`
    : `${plural} ${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)}`;

const leakInWords = (found) => {
  const readers = [...new Set(found.map(([i]) => i))];
  const each = readers.map((reader) => `query ${reader} reads `
    + list("key", "keys", found.filter(([i]) => i === reader).map(([, j]) => j)));
  return `Leak, where this is a decoder: ${each.join("; ") || "none"}.`;
};

const OUTCOMES = {
  nan: "NaN",
  zeros: "zeros",
  fill: "the average of all keys instead",
};

const inWords = (now, { empty }) => {
  const pairs = now.keep.flat();
  const rows = now.keep.flatMap((row, i) => (row.some(Boolean) ? [] : [i]));
  const readers = new Set(now.leaks.map(([i]) => i)).size;
  const nothing = rows.length
    ? ` ${list("Query", "Queries", rows)} may read nothing: ${OUTCOMES[empty]}.` : "";
  const future = ["No query reads", "1 query reads"][readers] ?? `${readers} queries read`;
  return `${pairs.filter(Boolean).length} of ${pairs.length} pairs may be read.${nothing} `
    + `${future} the future.`;
};

export default {
  render: explore({
    label: "The mask laboratory",
    look: LOOK,
    controls: [
      select("pattern", "`True` for", ["all", "causal", "window of 2", "all but the last key",
        "past only", "future only", "none"], "your own"),
      select("means", "`True` means",
        ["may be read (SDPA)", "blocked (nn.MultiheadAttention)"]),
      select("empty", "an empty row gives", ["NaN: softmax of nothing",
        "zeros: the course's policy", "an average: -1e9 fills in"]),
      grid,
    ],
    draw(state, before) {
      const now = measure(state);
      const was = before && measure(before);
      const verdict = h("p", { class: "leaks" }, leakInWords(now.leaks));
      return { nodes: [weightTable(now, was, state), verdict], words: inWords(now, state) };
    },
  }),
};

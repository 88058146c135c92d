import { places, routes, sum } from "./maths.mjs";
import { cell, explore, h, OWN_KEYS, s, select, slider } from "./toolkit.mjs";

const LOOK = `
.explorable .controls > .controls { flex: 1 0 100%; margin: 0; }
.explorable .columns > .numbers { flex: 1 1 350px; }
.explorable .reading :is(th, td) { padding: 0.18em 0.2em; }
.explorable .reading thead tr + tr th { border-top: 0; font-weight: normal; }
.explorable .reading .part { border-left: 1px solid currentColor; }
.explorable .most { font-weight: bold; }
`;

// A head is told by its colour, its line style and its name. Widths follow the weights.
const LOOKS = {
  "head A": { stroke: "#0077BB", "stroke-dasharray": null },
  "head B": { stroke: "#B85C00", "stroke-dasharray": "9 4" },
  "the wide head": { stroke: "#777777", "stroke-dasharray": "3 3" },
};
const nameOf = ({ features }) =>
  features.length === 2 ? "the wide head" : ["head A", "head B"][features[0]];
const ASKS = { "head A": "who?", "head B": "where?", "the wide head": "who? and where?" };

const two = (number) => (number === 0 ? "0" : number.toFixed(2));
const vector = (numbers) => `[${numbers.map(two).join(", ")}]`;
const output = (parts) => [0, 1].map((f) => sum(parts.map((part) => part.brings[f])));

// The words as native radio buttons, so that the arrow keys walk through the sentence.
const sentence = (state, choices, move) => {
  const group = `routes-${Math.random().toString(36).slice(2)}`; // one page may show it twice
  const radios = choices.query.map((value) =>
    h("input", { type: "radio", name: group, value, ...OWN_KEYS }));
  radios.forEach((radio) => radio.addEventListener("input", () => move("query", radio.value)));
  const refresh = (now) => radios.forEach((radio) => (radio.checked = radio.value === now.query));
  const element = h("div", { class: "controls", role: "radiogroup", "aria-label": "query word" },
    h("span", {}, "query:"), radios.map((radio) => h("label", {}, radio, radio.value)));
  return { element, input: element, refresh };
};

const [WIDTH, LEFT, STEP, FROM, NODE, ASKING] = [378, 76, 55, 20, 190, 256];
const x = (j) => LEFT + STEP * j;
const BOLD = { style: "font-weight: bold" }; // the toolkit's style outweighs an attribute
const text = (left, top, words, more = {}) =>
  s("text", { x: left, y: top, "text-anchor": "middle", ...more }, words);
const box = (middle, top, width, look) => s("rect", { x: middle - width / 2, y: top, width,
  height: 22, rx: 4, fill: "none", "stroke-width": 2, ...look });

// One head: its row of weights under the words, its routes, and what it sends to the query.
const head = (part, row, parts) => {
  const name = nameOf(part);
  const look = LOOKS[name];
  const middle = parts.length === 1 ? WIDTH / 2 : [112, 272][row];
  const top = FROM + 18 + 17 * parts.length;
  const most = places(part.weights);
  const end = WIDTH / 2 + (middle - WIDTH / 2) / 4;
  const side = middle < WIDTH / 2 ? 0 : 1;
  const brings = part.features.length === 2 ? vector(part.brings) : two(sum(part.brings));
  const shift = parts.length === 1 ? 0 : [-6, 6][row];
  const line = (weight, j) => s("path", { fill: "none", ...look, "stroke-width": 0.6 + 12 * weight,
    d: `M${x(j) + shift} ${top}C${x(j) + shift} ${top + 60} ${middle} ${NODE - 60} ${middle} `
      + `${NODE}` });
  return [
    part.weights.map(line),
    text(0, FROM + 18 + 17 * row, name === "the wide head" ? "wide" : name,
      { "text-anchor": "start" }),
    part.weights.map((weight, j) => text(x(j), FROM + 18 + 17 * row, two(weight),
      most.includes(j) ? BOLD : {})),
    box(middle, NODE, 30 + 6.6 * (name + ASKS[name]).length, look),
    text(middle, NODE + 15, `${name}: ${ASKS[name]}`),
    s("line", { x1: middle, y1: NODE + 22, x2: end, y2: ASKING, ...look, "stroke-width": 2 }),
    text((middle + end) / 2 + [-14, 14][side], (NODE + 24 + ASKING) / 2 + 4, `brings ${brings}`,
      { "text-anchor": ["end", "start"][side] }),
  ];
};

const drawing = (state, parts) => {
  const { words, query } = state;
  const each = parts.map((part) => `${nameOf(part)}: `
    + words.map((word, j) => `${word} ${two(part.weights[j])}`).join(", "));
  return s("svg", { viewBox: `0 0 ${WIDTH} ${ASKING + 44}`, role: "img",
    "aria-label": `Routes from ${query} to the words it reads. ${each.join(". ")}.` },
  text(0, FROM - 4, "keys", { "text-anchor": "start" }),
  words.map((word, j) => text(x(j), FROM - 4, word)),
  parts.flatMap((part, row) => head(part, row, parts)).flat(),
  box(WIDTH / 2, ASKING, 120, { stroke: "currentColor" }),
  text(WIDTH / 2, ASKING + 15, `query: ${query}`),
  text(WIDTH / 2, ASKING + 38, `reads ${vector(output(parts))}`, BOLD));
};

// The score, with the numbers it is made of.
const score = ({ words, q, k, query, times }, { features, scores }, j) => {
  const i = words.indexOf(query);
  const products = features.map((f) => `${times * q[f][i]}·${k[f][j]}`);
  return features.length === 1 ? `${products[0]} = ${scores[j]}`
    : `(${products.join(" + ")}) / √2 = ${two(scores[j])}`;
};

const reading = (state, parts) => {
  const column = (name) => h("th", { scope: "col" }, name);
  const first = (tag, ...inside) => h(tag, { class: "part" }, ...inside);
  const bodies = state.words.map((word, j) => h("tr", {}, h("th", { scope: "row" }, word),
    h("td", {}, String(state.v[j])),
    parts.flatMap((part) => [first("td", score(state, part, j)),
      h("td", { class: places(part.weights).includes(j) ? "most" : null }, two(part.weights[j])),
      h("td", {}, two(part.read[j]))])));
  return h("table", { class: "reading" },
    h("caption", {}, `What “${state.query}” reads, word by word`),
    h("thead", {},
      h("tr", {}, h("td"), h("td"), parts.map((part) =>
        h("th", { scope: "colgroup", colspan: 3, class: "part left" }, nameOf(part)))),
      h("tr", {}, column("key"), column("v"), parts.flatMap(() => [
        h("th", { scope: "col", class: "part" }, "score"), column("weight"), column("× v")]))),
    h("tbody", {}, bodies, h("tr", { class: "total" }, h("th", { scope: "row" }, "sum"), h("td"),
      parts.flatMap((part) => [first("td"), h("td", {}, two(sum(part.weights))),
        h("td", {}, two(sum(part.read)))]))));
};

const brought = (parts, before) => {
  const was = (name) => before?.find((part) => nameOf(part) === name)?.brings;
  const row = (name, now, old, look = null) => h("tr", { class: look },
    h("th", { scope: "row" }, name), now.map((number, f) => cell(number, old?.[f], two)));
  return h("table", {}, h("caption", {}, "What arrives at the query"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "brought by"),
      [0, 1].map((f) => h("th", { scope: "col" }, `feature ${f}`)))),
    h("tbody", {}, parts.map((part) => row(nameOf(part), part.brings, was(nameOf(part)))),
      row("sum, the output", output(parts), before && output(before), "total")));
};

const list = (parts) =>
  parts.length === 1 ? parts[0] : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

const inWords = ({ words, query }, parts) => {
  const found = ({ weights }) => {
    const most = places(weights);
    return most.length === words.length && Math.max(...weights) === Math.min(...weights)
      ? `every word alike (${two(weights[0])})`
      : list(most.map((j) => `${words[j]} (${two(weights[j])})`));
  };
  const reads = parts.map((part) => `${found(part)} with ${nameOf(part)}`).join(", and ");
  const [first, second] = output(parts);
  const twice = parts[0].features.length === 2 ? ": one mixture, twice" : "";
  return `“${query}” reads ${reads}. The output is ${vector([first, second])}${twice}.`;
};

export default {
  render: explore({
    label: "Heads as routes",
    look: LOOK,
    controls: [
      sentence,
      select("heads", "who reads", ["two heads, A and B", "head A alone", "head B alone",
        "one wide head"]),
      slider("times", "queries ×"),
    ],
    draw(state, before) {
      const now = routes(state);
      const was = before && routes(before);
      return {
        nodes: [h("div", { class: "columns" },
          drawing(state, now),
          h("div", { class: "numbers" }, reading(state, now), brought(now, was)))],
        words: inWords(state, now),
      };
    },
  }),
};

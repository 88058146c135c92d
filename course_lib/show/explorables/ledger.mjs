import { ledger, wrongLines } from "./maths.mjs";
import { cell, explore, h, rich, s, slider } from "./toolkit.mjs";

const UNIT = 9; // pixels for one row or column of a block
const LONGEST = 12;
const SLOT = LONGEST * UNIT + 50; // a block at its widest, with its labels
const WIDTH = 4 * SLOT;
const COLOURS = { q: "#332288", k: "#009988", v: "#CC3311", scores: "#777777" };
const DASHES = { q: null, k: "6 3", v: "8 3 2 3", scores: null }; // the line styles of the roles

const count = (number) => number.toLocaleString("en-US");
const brackets = (shape) => `[${shape.join(", ")}]`;

const block = (name, [rows, columns], [down, across], place) => {
  const [x, y] = [place * SLOT + 26, 24];
  const [width, height] = [columns * UNIT, rows * UNIT];
  let lines = "";
  for (let r = 1; r < rows; r++) lines += `M${x} ${y + r * UNIT}h${width}`;
  for (let c = 1; c < columns; c++) lines += `M${x + c * UNIT} ${y}v${height}`;
  return [
    s("rect", { x, y, width, height, fill: COLOURS[name], stroke: "currentColor",
      "stroke-width": 2, "stroke-dasharray": DASHES[name] }),
    s("path", { d: lines, stroke: "#fff", "stroke-opacity": 0.45 }),
    s("text", { x, y: 12 }, s("tspan", { "font-weight": "bold" }, name), `  ${across} ${columns}`),
    s("text", { x: x - 5, y: y + 10, "text-anchor": "end" }, down),
    s("text", { x: x - 5, y: y + 24, "text-anchor": "end" }, String(rows)),
  ];
};

const drawing = ({ Tq, Tk, Dh }) =>
  s("svg", {
    viewBox: `0 0 ${WIDTH} ${LONGEST * UNIT + 28}`,
    style: `max-width: ${WIDTH}px`,
    role: "img",
    "aria-label": `Blocks of one head, to scale: q ${Tq} by ${Dh}, k and v ${Tk} by ${Dh}, `
      + `scores ${Tq} by ${Tk}`,
  },
  block("q", [Tq, Dh], ["Tq", "Dh"], 0), block("k", [Tk, Dh], ["Tk", "Dh"], 1),
  block("v", [Tk, Dh], ["Tk", "Dh"], 2), block("scores", [Tq, Tk], ["Tq", "Tk"], 3));

const row = (name, ...cells) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, name)), cells);
const heads = (...names) =>
  h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name))));

const sizes = (now, was) =>
  h("table", {}, h("caption", {}, "What is held, in float32"),
    heads("tensor", "shape", "elements", "bytes"),
    h("tbody", {},
      now.tensors.map((t, i) => row(t.name, h("td", {}, brackets(t.shape)),
        cell(t.elements, was?.tensors[i].elements, count),
        cell(t.bytes, was?.tensors[i].bytes, count))),
      h("tr", { class: "total" }, h("th", { scope: "row" }, "together"), h("td"),
        cell(now.elements, was?.elements, count), cell(now.bytes, was?.bytes, count))));

const COSTS = ["2·B·H·Tq·Tk·Dh", "5·B·H·Tq·Tk", "2·B·H·Tq·Tk·Dh"];
const costs = (now, was) =>
  h("table", {}, h("caption", {}, "What is computed"), heads("step", "count", "FLOPs"),
    h("tbody", {},
      now.operations.map((step, i) => row(step.name, h("td", {}, COSTS[i]),
        cell(step.flops, was?.operations[i].flops, count))),
      h("tr", { class: "total" }, h("th", { scope: "row" }, "together"), h("td"),
        cell(now.flops, was?.flops, count))));

const LOUD = "background:#e4e4e4;color:#111;padding:0 0.4em";
const SILENT = "background:#8a1c00;color:#fff;padding:0 0.4em";

const verdict = ({ code, slip, runs, sizes: pair, shape, looksLike }) => {
  const [mark, look] = runs
    ? ["! runs, and nobody tells you", SILENT]
    : ["✗ error: you are told", LOUD];
  const why = runs
    ? `gives ${brackets(shape)}, which looks like \`${looksLike}\``
    : `the inner sizes differ: ${pair}`;
  return h("tr", {}, h("th", { scope: "row" }, h("code", {}, code), h("br"), slip),
    h("td", {}, h("strong", { style: look }, mark), h("br"), rich(why)));
};

const trap = (lines) =>
  h("table", { class: "prose" }, h("caption", {}, "Does the wrong line run?"),
    heads("line", "with these sizes"), h("tbody", {}, lines.map(verdict)));

const words = ({ Tq, Tk, Dh }, now, lines) => {
  const { elements } = now.tensors.find((tensor) => tensor.name === "scores");
  const silent = lines.filter((line) => line.runs).map((line) => line.code);
  return `Tq ${Tq}, Tk ${Tk}, Dh ${Dh}: ${count(elements)} scores, ${count(now.bytes)} bytes, `
    + `${count(now.flops)} operations. `
    + (silent.length ? `Runs without an error although it is wrong: ${silent.join(" and ")}.`
      : "Both wrong lines stop with an error.");
};

export default {
  render: explore({
    label: "The ledger of one attention call",
    controls: [slider("Tq", "queries `Tq`"), slider("Tk", "keys `Tk`"),
      slider("Dh", "head size `Dh`")],
    draw(state, before) {
      const now = ledger(state);
      const lines = wrongLines(state);
      const was = before && ledger(before);
      return {
        nodes: [drawing(state), h("div", { class: "columns" }, sizes(now, was), costs(now, was)),
          trap(lines)],
        words: words(state, now, lines),
      };
    },
  }),
};

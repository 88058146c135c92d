import { products, signedShade } from "./maths.mjs";
import { cell, explore, h, s, slider } from "./toolkit.mjs";

const LOOK = `
.explorable .columns > svg { flex: 1 1 320px; }
.explorable .diagonals { max-width: 390px; }
`;

const [LEFT, TOP, SIDE] = [30, 34, 312]; // the square of cells
const [LINE, FLOOR, ACROSS, HIGH] = [58, 34, 282, 280]; // the line beside it
const TICKS = [0, 5, 10, 15, 20];

const two = (number) => String(+number.toFixed(2)).replace("-", "−");
const signed = (offset) => String(offset).replace("-", "−");
const count = (number) => number.toLocaleString("en-US");
const colour = (value, most) => `rgb(${signedShade(value / most)})`;
const text = (x, y, words, anchor = "middle") =>
  s("text", { x, y, "text-anchor": anchor }, words);

// The outline of the cells of one diagonal.
const staircase = (offset, T, unit) => {
  const cells = T - Math.abs(offset);
  const start = [LEFT + unit * Math.max(-offset, 0), TOP + unit * Math.max(offset, 0)];
  const there = `h${unit}v${unit}`.repeat(cells);
  return `M${start}${there}${`h-${unit}v-${unit}`.repeat(cells)}`;
};

const squares = ({ T, offset }, { table }, most) => {
  const unit = SIDE / T;
  const CELL = `h${unit + 0.3}v${unit + 0.3}h-${unit + 0.3}z`;
  const place = (i) => (i + 0.5) * unit;
  // One path holds all cells of a colour: an element for each cell was slower to draw. Cells
  // are a little wider than their step, so that no seam shows between them.
  const paths = {};
  table.forEach((row, t) => row.forEach((value, u) => {
    const fill = colour(value, most);
    paths[fill] = `${paths[fill] ?? ""}M${LEFT + u * unit} ${TOP + t * unit}${CELL}`;
  }));
  const mark = { d: staircase(offset, T, unit), fill: "none" };
  return s("svg", { viewBox: `0 0 ${LEFT + SIDE + 6} ${TOP + SIDE + 6}`, role: "img",
    "aria-label": `${T} by ${T} products; each diagonal has one colour. Marked: the diagonal of `
      + `offset ${signed(offset)}.` },
  Object.entries(paths).map(([fill, d]) =>
    s("path", { d, fill, "shape-rendering": "crispEdges" })),
  s("path", { ...mark, stroke: "#fff", "stroke-width": 4 }),
  s("path", { ...mark, stroke: "#000", "stroke-width": 1.8 }),
  TICKS.map((i) => text(LEFT + place(i), TOP - 5, String(i))),
  TICKS.map((i) => text(LEFT - 5, TOP + place(i) + 4, String(i), "end")),
  text(0, 12, "row: position t, column: position u", "start"));
};

// The height is the value, and the strip beside it the colour of that height.
const line = ({ T, offset }, { diagonals }, most) => {
  const x = (at) => LINE + (ACROSS * (at + T - 1)) / (2 * T - 2);
  const y = (value) => FLOOR + (HIGH * (1 - value / most)) / 2;
  const points = diagonals.map((d) => `${x(d.offset)},${y(d.most)}`).join(" ");
  const { most: value } = diagonals[offset + T - 1];
  const strip = Array.from({ length: 40 }, (_, i) => s("rect", { x: LINE - 14, width: 9,
    y: FLOOR + (HIGH * i) / 40, height: HIGH / 40 + 0.3, fill: colour(1 - (2 * i + 1) / 40, 1) }));
  return s("svg", { viewBox: `0 0 ${LINE + ACROSS + 8} ${TOP + SIDE + 6}`, role: "img",
    "aria-label": `The product against the offset, highest at 0 with ${two(most)}; at offset `
      + `${signed(offset)} it is ${two(value)}.` },
  strip,
  [-most, 0, most].map((v) => [
    s("line", { x1: LINE, x2: LINE + ACROSS, y1: y(v), y2: y(v), stroke: "currentColor",
      "stroke-opacity": v ? 0.25 : 1 }),
    text(LINE - 18, y(v) + 4, two(v), "end")]).flat(),
  [-20, -10, 0, 10, 20].map((v) => text(x(v), FLOOR + HIGH + 16, signed(v))),
  s("line", { x1: x(offset), x2: x(offset), y1: FLOOR, y2: FLOOR + HIGH, stroke: "currentColor",
    "stroke-dasharray": "3 3" }),
  s("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": 2 }),
  s("circle", { cx: x(offset), cy: y(value), r: 6, fill: "#CC3311", stroke: "currentColor",
    "stroke-width": 2 }),
  text(0, 12, "product", "start"),
  text(LINE + ACROSS / 2, FLOOR + HIGH + 31, "offset t − u"));
};

const numbers = ({ T, offset }, now, was) => {
  const row = (at) => {
    const of = ({ diagonals }) => diagonals[at + T - 1];
    const old = was && of(was);
    const { cells, least, most } = of(now);
    return h("tr", {}, h("th", { scope: "row" }, signed(at)), h("td", {}, String(cells)),
      cell(least, old?.least, two), cell(most, old?.most, two));
  };
  return h("table", { class: "diagonals" }, h("caption", {}, "The products on a diagonal"),
    h("thead", {}, h("tr", {}, ["offset", "cells", "smallest", "largest"].map((name) =>
      h("th", { scope: "col" }, name)))),
    h("tbody", {}, [...new Set([0, offset, -offset])].map(row)));
};

// A table of products serves every offset, so it is kept.
const kept = {};
const measure = (state) => (kept[`${state.D} ${state.base}`] ??= products(state));

export default {
  render: explore({
    label: "Every two encodings multiplied",
    look: LOOK,
    controls: [slider("D", "width `D`"), slider("base", "base", count),
      slider("offset", "marked offset", signed)],
    draw(state, before) {
      const now = measure(state);
      const was = before && measure(before);
      const { D, base, offset, T } = state;
      const { cells, most } = now.diagonals[offset + T - 1];
      const these = cells === 1 ? "the one product" : `all ${cells} products`;
      const there = `at offset ${signed(offset)} ${cells === 1 ? "is" : "are"} ${two(most)}`;
      const spread = Math.max(...now.diagonals.map((d) => d.most - d.least));
      return {
        nodes: [h("div", { class: "columns" }, squares(state, now, D / 2),
          line(state, now, D / 2)), numbers(state, now, was)],
        words: `D ${D}, base ${count(base)}: ${these} ${there}`
          + `${offset ? `, against ${two(D / 2)} at offset 0` : ""}. The largest difference `
          + `within a diagonal is ${spread.toExponential(0).replace("-", "−")}.`,
      };
    },
  }),
};

import { readRow, rowBytes } from "./maths.mjs";
import { explore, h, rich, s, select, slider } from "./toolkit.mjs";

const LOOK = `
.explorable .columns > .stems { flex: 1 1 380px; }
.explorable .columns > .steps { flex: 1 1 350px; }
.explorable .steps :is(th, td) { padding: 0.18em 0.2em; }
.explorable .stems .score { stroke: var(--jp-layout-color0, Canvas); stroke-width: 3px;
  paint-order: stroke; }
.explorable .stems .long { font-size: 11px; }
.explorable .trace { table-layout: fixed; }
.explorable .trace tr > :first-child { width: 3.2em; }
.explorable .trace tr > :last-child { width: 5.5em; }
.explorable .trace .now > * { font-weight: bold; border-bottom: 2px solid currentColor;
  border-top: 2px solid currentColor; }
.explorable .trace .wrong { text-decoration: underline wavy #cc3311 1px; }
.explorable .hand { table-layout: fixed; }
.explorable .hand :is(th, td) { height: 1.9em; }
.explorable .hand tr > :first-child { width: 6.8em; white-space: nowrap; }
`;

const minus = (text) => text.replace("-", "−");
const three = (x) => {
  if (Number.isInteger(x) || Number.isNaN(x)) return minus(String(x));
  return minus(Math.abs(x) < 0.0005 ? x.toExponential(0) : x.toFixed(3));
};
const max = (x) => (x === -Number.MAX_VALUE ? "lowest" : three(x));
const WRONG = 1e-9; // more than rounding can do here
const isWrong = ({ distance }) => !(distance < WRONG); // NaN as well

// --- the row: a stem for each key, the tiles in frames, the maximum as a line ---

const [LEFT, STEP, GAP, TOP, UNIT, FLOOR] = [60, 31, 4, 62, 20, 176];
const WIDTH = LEFT + 11 * STEP + 10 * GAP;
const text = (left, top, words, more = {}) =>
  s("text", { x: left, y: top, "text-anchor": "middle", ...more }, words);
const line = (y, dashes) => s("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y,
  stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": dashes });

const stem = (x, y, { score, v, key, reading, read }) => [
  s("line", { x1: x, x2: x, y1: FLOOR, y2: y, stroke: "currentColor",
    "stroke-width": reading ? 3 : 1, "stroke-dasharray": read && key !== "–" ? null : "2 3" }),
  s("circle", { cx: x, cy: y, r: 5, stroke: "currentColor", "stroke-width": 1.5,
    fill: reading ? "#009988" : read ? "#777777" : "var(--jp-layout-color0, Canvas)" }),
  text(x, y - 9, three(score), { class: score < -99 ? "score long" : "score" }),
  text(x, FLOOR + 16, key),
  text(x, FLOOR + 33, v),
];

const frame = (left, width, number, reading) => [
  s("rect", { x: left + 1, y: 3, width: width - 2, height: FLOOR + 38, fill: "none", rx: 3,
    stroke: "currentColor", "stroke-width": reading ? 3 : 1,
    "stroke-opacity": reading ? 1 : 0.4 }),
  text(left + width / 2, 18, number, reading ? { style: "font-weight: bold" } : {}),
];

const drawing = (state, steps, at) => {
  const { tile: size, lower } = state.plans[state.plan];
  const highest = Math.max(...state.scores) - lower;
  const height = (score) => (score > highest ? TOP - UNIT : TOP + UNIT * (highest - score));
  const label = (y, words) => text(0, y, words, { "text-anchor": "start" });
  const [now, was] = [steps[at].rowMax, steps[at - 1]?.rowMax];
  const rose = at > 1 && was < now;
  const tiles = steps.slice(1).map(({ tile }, i) => ({ ...tile, number: i + 1,
    left: LEFT + tile.place * (size * STEP + GAP), reading: i + 1 === at, read: i < at }));
  const stems = ({ scores, v, keys, left, ...how }) => scores.map((score, j) =>
    stem(left + (j + 0.5) * STEP, height(score), { score, v: v[j], key: keys[j] ?? "–", ...how }));
  return s("svg", { viewBox: `0 0 ${WIDTH} ${FLOOR + 43}`, role: "img",
    "aria-label": inTiles(steps, at) },
  label(18, "read as"), label(FLOOR + 16, "key"), label(FLOOR + 33, "value"),
  at ? [line(height(now), null), label(height(now) + 4, "highest")] : [],
  at && now > highest ? label(height(now) + 19, "is 0 ↑") : [],
  rose ? [line(height(was), "1 4"), label(height(was) + 4, "before")] : [],
  tiles.flatMap((tile) => frame(tile.left, tile.scores.length * STEP, tile.number, tile.reading)),
  tiles.flatMap(stems).flat());
};

const inTiles = (steps, at) => {
  const one = ({ tile }, i) => `tile ${i + 1}${i + 1 === at ? ", being read" : ""}: scores `
    + `${tile.scores.map(three).join(", ")}, values ${tile.v.join(", ")}`;
  return `The row in tiles, as they are read. ${steps.slice(1).map(one).join("; ")}.`;
};

// --- the numbers ---

const heads = (...names) => h("thead", {}, h("tr", {}, names.map((name) =>
  h("th", { scope: "col" }, rich(name)))));
const range = (keys) => (keys.length === 1 ? String(keys[0]) : `${keys[0]}–${keys.at(-1)}`);

const trace = (steps, at) => {
  const rows = steps.map((step, i) => {
    const look = { class: i === at ? "now" : null, "aria-current": i === at ? "step" : null };
    const numbers = i > at ? ["", "", "", "", ""]
      : [max(step.rowMax), ...[step.rescale, step.rowSum, step.acc, step.distance].map((x) =>
        (x === undefined ? "" : three(x)))];
    return h("tr", look, h("th", { scope: "row" }, step.tile ? range(step.tile.keys) : "start"),
      numbers.map((x, column) =>
      h("td", { class: column === 4 && x && isWrong(step) ? "wrong" : null }, x)));
  });
  return h("table", { class: "trace" }, h("caption", {}, "What is remembered after each tile"),
    heads("keys", "`row_max`", "rescale", "`row_sum`", "`acc`", "distance"),
    h("tbody", {}, rows));
};

const FAULTS = { rescale: "rescale", maximum: "powers", start: "row_max", tail: "scores" };
const signed = (x) => (x < 0 ? `+ ${three(-x)}` : `− ${three(x)}`); // to subtract x

const hand = ({ broken }, steps, at) => {
  const [now, was] = [steps[at], steps[at - 1]];
  const shrunk = (name) => (broken === "rescale" ? three(was[name])
    : `${three(now.rescale)} · ${three(was[name])}`);
  const grown = (name) => `${shrunk(name)} + ${three(now.added[name])} = ${three(now[name])}`;
  const lines = at === 0 ? { scores: "–", row_max: max(now.rowMax), rescale: "–", powers: "–",
    "powers @ v": "–", row_sum: "0", acc: "0" } : {
    scores: now.tile.scores.map(three).join(", "),
    row_max: `max(${max(was.rowMax)}, ${three(Math.max(...now.tile.scores))}) = `
      + max(now.rowMax),
    rescale: broken === "rescale" ? "left out" : `exp(${max(was.rowMax)} `
      + `${signed(now.rowMax)}) = ${three(now.rescale)}`,
    powers: `exp(score ${signed(broken === "maximum" ? Math.max(...now.tile.scores)
      : now.rowMax)}) = ${now.powers.map(three).join(", ")}`,
    "powers @ v": now.powers.map((power, j) => `${three(power)}·${now.tile.v[j]}`).join(" + ")
      + ` = ${three(now.added.acc)}`,
    row_sum: grown("rowSum"),
    acc: grown("acc"),
  };
  return h("table", { class: "hand prose" },
    h("caption", {}, at === 0 ? "Before the first tile" : `Tile ${at}, by hand`),
    h("tbody", {}, Object.entries(lines).map(([name, said]) => h("tr", {},
      h("th", { scope: "row" }, h("code", {}, name), FAULTS[broken] === name ? " ✗" : ""),
      h("td", {}, said)))));
};

const result = (state, { out, direct, distance, read }) => {
  const [held, whole] = rowBytes(state);
  const { length } = state.scores;
  const keys = state.plans[state.plan].tile;
  const row = (name, value, note) => h("tr", {}, h("th", { scope: "row" }, rich(name)),
    h("td", {}, value), h("td", { class: "left" }, note));
  const number = (x) => (read.length ? three(x) : "–");
  return h("table", {}, h("caption", {}, "The result so far, and what is held in float64"),
    h("tbody", {}, row("`acc / row_sum`", number(out), ""),
      row("direct softmax", number(direct), `of the ${read.length} keys read`),
      row("distance", number(distance), ""),
      row("bytes held", String(held), `${keys} ${keys === 1 ? "score" : "scores"} + 3 numbers`),
      row("with the whole row", String(whole), `${length} scores + 3 numbers`)));
};

const inWords = ({ broken, plans, plan }, steps, at) => {
  const [now, was, last] = [steps[at], steps[at - 1], steps.length - 1];
  if (at === 0) return `Nothing is read yet. ${last} ${last === 1 ? "tile waits" : "tiles wait"}.`;
  const rises = `the maximum rises from ${max(was.rowMax)} to ${max(now.rowMax)}`;
  const shrinks = now.rescale === 1 ? ", and nothing shrinks"
    : `, so what was remembered shrinks to ${three(now.rescale)} of itself, then the tile is added`;
  const moved = now.rowMax === was.rowMax ? `the maximum stays ${max(now.rowMax)}`
    : at === 1 ? `the maximum is ${max(now.rowMax)}` : rises + shrinks;
  const right = isWrong(now) ? `the direct softmax gives ${three(now.direct)}`
    : `as the direct softmax of the ${now.read.length} keys read`;
  const hidden = broken === "nothing" || steps.slice(1, at + 1).some(isWrong) ? ""
    : at === last ? " The fault does not show here." : " The fault has not shown so far.";
  return `Tile ${at} of ${last}: ${moved}. The result is ${three(now.out)}, ${right}.${hidden}`;
};

// As many steps as the plan has tiles.
const tilesRead = (state, choices, move) => {
  const made = slider("step", "tiles read")(state, choices, move);
  const refresh = (now) => {
    made.input.max = now.plans[now.plan].order.length;
    made.refresh({ ...now, step: Math.min(now.step, +made.input.max) });
  };
  return { ...made, refresh };
};

export default {
  render: explore({
    label: "Online softmax, tile by tile",
    look: LOOK,
    controls: [
      tilesRead,
      select("plan", "tiles", ["of 3", "of 3, last to first", "of 3, in mixed order", "of 1",
        "of 4", "the whole row in one", "of 3, all scores 900 lower"]),
      select("broken", "break it", ["nothing is broken", "no rescale",
        "the tile's own maximum", "row_max starts at 0", "the tail is not masked"]),
    ],
    draw(state) {
      const steps = readRow(state);
      const at = Math.min(state.step, steps.length - 1);
      return {
        nodes: [h("div", { class: "columns" },
          h("div", { class: "stems" }, drawing(state, steps, at), result(state, steps[at])),
          h("div", { class: "steps" }, trace(steps, at), hand(state, steps, at)))],
        words: inWords(state, steps, at),
      };
    },
  }),
};

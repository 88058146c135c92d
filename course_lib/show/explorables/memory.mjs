// The drawings of `programs`: slow memory in tiles, and the tile of one step lane by lane.
import { lanesOf, planOf } from "./launch.mjs";
import { s } from "./toolkit.mjs";

const span = (from, count) => (count === 1 ? String(from) : `${from}–${from + count - 1}`);
export const keysOf = ({ start }, { Tk, block }) => span(start, Math.min(block, Tk - start));

// --- slow memory: a row for each head, a cell for each tile ---

const COLOURS = { q: "#332288", k: "#009988", v: "#cc3311", out: "#000000", lse: "#000000" };
const text = (left, top, words, more = {}) => s("text", { x: left, y: top, ...more }, words);
const BOLD = { style: "font-weight: bold" }; // the toolkit's style outweighs an attribute

const PLACES = { q: [62, 20, 22], k: [172, 20, 44], v: [282, 20, 44], out: [62, 154, 22],
  lse: [172, 154, 22] };
const SCALE = 2; // of a position

const tensor = (name, state, steps, now) => {
  const { H, Hkv, Tq, Tk, block } = state;
  const { tile, head, kvHead } = planOf(state);
  const [left, top, height] = PLACES[name];
  const [heads, T] = ["k", "v"].includes(name) ? [Hkv, Tk] : [H, Tq];
  const touched = (of, i) => of.some((step) => step.name === name && !step.outside
    && i === (step.start === undefined ? tile : step.start / block));
  const cells = Array.from({ length: heads }, (_, row) =>
    Array.from({ length: Math.ceil(T / block) }, (_, i) => {
      const own = row === (T === Tk ? kvHead : head);
      const moving = own && touched(now, i);
      return s("rect", { x: left + i * block * SCALE + 1, y: top + row * height + 1,
        width: Math.min(block, T - i * block) * SCALE - 2, height: height - 2,
        stroke: "currentColor", "stroke-width": moving ? 4 : 1,
        fill: moving ? COLOURS[name] : own && touched(steps, i) ? "#777777"
          : "var(--jp-layout-color0, Canvas)" });
    }));
  const here = now.find((step) => step.name === name);
  const verb = here ? { load: ": load", store: ": store" }[here.kind] : "";
  return [text(left, top - 6, name + verb, here ? BOLD : {}), cells.flat()];
};

export const memory = (state, steps, at) => {
  const now = steps.slice(at - 1, at).filter((step) => step.kind !== "compute");
  const done = steps.slice(0, at);
  const heads = Array.from({ length: state.H }, (_, row) => row);
  const outside = now.some((step) => step.outside);
  return s("svg", { viewBox: "0 0 376 248", role: "img", "aria-label": memoryInWords(state, done) },
    ["q", "k", "v", "out", "lse"].map((name) => tensor(name, state, done, now)).flat(3),
    heads.flatMap((row) => [20, 154].map((top) =>
      text(0, top + 22 * row + 16, `head ${row}`, row === planOf(state).head ? BOLD : {}))),
    outside ? [s("rect", { x: 173, y: 111, width: 30, height: 18, fill: "none",
      stroke: "currentColor", "stroke-width": 3, "stroke-dasharray": "4 3" }),
    text(210, 125, `beyond the ${state.Hkv} heads of k`)] : [],
    [["#777777", "touched"], ["var(--jp-layout-color0, Canvas)", "untouched"]]
      .flatMap(([fill, words], i) => [s("rect", { x: 283, y: 160 + 24 * i, width: 14, height: 14,
        fill, stroke: "currentColor" }), text(302, 172 + 24 * i, words)]));
};

const memoryInWords = (state, done) => {
  const { head, kvHead } = planOf(state);
  const touched = done.filter(({ kind, outside }) => kind !== "compute" && !outside);
  const one = ({ kind, name, start }) => `${kind} ${name}`
    + (start === undefined ? "" : ` of keys ${keysOf({ start }, state)}`);
  return `Slow memory: q, out and lse with ${state.H} heads, k and v with ${state.Hkv}. `
    + `The program has head ${head} and reads head ${kvHead} of k and v. `
    + `So far: ${touched.map(one).join(", ") || "nothing"}.`;
};

// --- the tile of this step, lane by lane ---

const [SIDE, FROM, LANES] = [11, 62, 20];
const MEANS = { on: "on", zero: "off: read as 0", blocked: "masked: −∞",
  off: "off: not stored" };
const MARKS = { // a dash, a stroke, a cross
  zero: `m3 ${SIDE / 2}h${SIDE - 6}`,
  blocked: `m2 ${SIDE - 2}l${SIDE - 4} ${4 - SIDE}`,
  off: `m2 2l${SIDE - 4} ${SIDE - 4}m0 ${4 - SIDE}l${4 - SIDE} ${SIDE - 4}`,
};

// All lanes of one kind as two paths: 256 of each would be slow to draw.
const drawn = (kind, places) => {
  const each = (mark) => places.map(([x, y]) => `M${x} ${y}${mark}`).join("");
  return [s("path", { d: each(`h${SIDE}v${SIDE}h${-SIDE}z`), stroke: "#555555",
    "stroke-width": 0.5, fill: { on: "#66c2b8", blocked: "#bbbbbb" }[kind] ?? "#ffffff" }),
  s("path", { d: each(MARKS[kind] ?? ""), stroke: "#333333", fill: "none" })];
};

export const lanes = (state, steps, at) => {
  const step = steps[at - 1];
  const box = { viewBox: "0 0 376 200", role: "img" };
  const none = (words) => s("svg", { ...box, "aria-label": words }, text(0, 14, words));
  if (!step) return none("Nothing is loaded yet.");
  if (step.outside) return none("The load is refused.");
  const made = lanesOf(state, step);
  const { block, row } = state;
  const all = made.lanes.flat();
  const kinds = Object.keys(MEANS).filter((kind) => all.includes(kind));
  const count = (kind) => all.filter((x) => x === kind).length;
  const across = { keys: `keys ${span(step.start, block)}`,
    features: `features 0–${state.Dh - 1}` };
  const down = `${made.down} ${span(made.from, block)}`;
  const label = `${made.lanes.length} by ${made.lanes[0].length} lanes, ${down} down`
    + `${made.across ? `, ${across[made.across]} across` : ""}: `
    + `${kinds.map((kind) => `${count(kind)} ${MEANS[kind]}`).join(", ")}.`;
  const width = made.lanes[0].length * SIDE;
  return s("svg", { ...box, "aria-label": label },
    text(FROM, 14, across[made.across] ?? "one number a query"),
    text(0, LANES + 14, made.down), text(0, LANES + 30, span(made.from, block)),
    kinds.flatMap((kind) => drawn(kind, made.lanes.flatMap((line, i) => line.flatMap((at, j) =>
      (at === kind ? [[FROM + j * SIDE, LANES + i * SIDE]] : []))))),
    made.down === "queries" ? s("rect", { x: FROM - 1, y: LANES + row * SIDE - 1, width: width + 2,
      height: SIDE + 2, fill: "none", stroke: "currentColor", "stroke-width": 3 }) : [],
    kinds.flatMap((kind, i) => [drawn(kind, [[250, LANES + 42 * i]]),
      text(267, LANES + 10 + 42 * i, MEANS[kind]),
      text(267, LANES + 25 + 42 * i, `${count(kind)} lanes`)]).flat(2),
    made.down === "queries" ? text(267, LANES + 170, `framed: query ${made.from + row}`) : []);
};

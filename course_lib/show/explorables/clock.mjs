import { clock } from "./maths.mjs";
import { cell, explore, h, rich, s, select, slider } from "./toolkit.mjs";

const LOOK = `
.explorable .columns > .dial { flex: 1 1 340px; }
.explorable .dial svg { margin: auto; }
.explorable .dial :is(th, td) { padding: 0.18em 0.2em; }
`;

// 0 points up and angles grow clockwise. Each hand has its colour and its line style.
const [WIDTH, R, MIDDLE, CENTRE] = [372, 98, 186, 134];
const HANDS = [{ stroke: "#B85C00", "stroke-dasharray": "8 4" }, { stroke: "#0077BB" }];
const VECTORS = [{ stroke: "#009988", "stroke-dasharray": "8 4" }, { stroke: "#332288" }];

const three = (number) => String(+number.toFixed(3)).replace("-", "−");
const fixed = (number) => (Math.abs(number) < 5e-4 ? 0 : number).toFixed(3).replace("-", "−");
const degrees = (angle) => `${((angle * 180) / Math.PI).toFixed(1)}°`.replace("-", "−");
const at = (angle, radius) =>
  [MIDDLE + radius * Math.sin(angle), CENTRE - radius * Math.cos(angle)];

const hand = (angle, look) => {
  const [x2, y2] = at(angle, R);
  return s("line", { x1: MIDDLE, y1: CENTRE, x2, y2, "stroke-width": 3.5, ...look });
};

// From one angle to another; a second turn runs outside the first.
const arc = (from, to) => {
  const steps = Math.ceil(Math.abs(to - from) / 0.1) || 1;
  const points = Array.from({ length: steps + 1 }, (_, i) => {
    const angle = from + ((to - from) * i) / steps;
    return at(angle, 30 + 1.3 * Math.abs(angle - from)).join();
  });
  return s("polyline", { points: points.join(" "), fill: "none", stroke: "#000",
    "stroke-width": 2 });
};

// The names of two hands beyond their ends. Where they'd touch, one moves on outward.
const names = (hands) => {
  const spots = hands.map(({ angle, name }) => {
    const [x, y] = at(angle, R + 13);
    const side = Math.abs(x - MIDDLE) < 30 ? "middle" : x < MIDDLE ? "end" : "start";
    return { x, y, name, side };
  });
  const [upper, lower] = [...spots].sort((a, b) => a.y - b.y);
  const lacks = 15 - (lower.y - upper.y);
  if (lacks > 0 && Math.abs(upper.x - lower.x) < 120) {
    if (upper.y < CENTRE) upper.y -= lacks;
    else lower.y += lacks;
  }
  return spots.map(({ x, y, name, side }) =>
    s("text", { x, y: y + 4, "text-anchor": side }, name));
};

// The disc is white on a dark page as well, so that every colour stands out from it.
const dial = (label, hands, looks, [first, second]) =>
  s("svg", { viewBox: `0 0 ${WIDTH} ${2 * CENTRE + 38}`, role: "img", "aria-label": label },
    s("circle", { cx: MIDDLE, cy: CENTRE, r: R, fill: "#fff", stroke: "currentColor" }),
    s("path", { d: `M${MIDDLE - R} ${CENTRE}h${2 * R}M${MIDDLE} ${CENTRE - R}v${2 * R}`,
      stroke: "#bbb" }),
    hands.map(({ start }, i) =>
      (start ? hand(start, { ...looks[i], "stroke-dasharray": "1.5 3" }) : "")),
    // The dashed hand comes last: over the other one, both can be seen.
    hands.map(({ angle }, i) => hand(angle, looks[i])).reverse(),
    arc(hands[0].angle, hands[1].angle), names(hands),
    s("text", { x: MIDDLE, y: 2 * CENTRE + 16, "text-anchor": "middle",
      style: "font-weight: bold" }, first),
    s("text", { x: MIDDLE, y: 2 * CENTRE + 32, "text-anchor": "middle" }, second));

const table = (caption, columns, ...rows) =>
  h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([name, cells, look = null]) =>
      h("tr", { class: look }, h("th", { scope: "row" }, name), cells))));

const angleCell = (now, was) => cell(now, was, three);
const pair = (now, was) => now.map((value, f) => cell(value, was?.[f], fixed));

const encodings = ({ t, k }, now, was) => {
  const labels = [`t = ${t}`, `t + k = ${t + k}`];
  const hands = now.hands.map(({ angle }, i) => ({ angle, name: labels[i] }));
  const below = `angle between: ${k} × ${three(now.frequency)} = ${three(now.between)} rad`;
  const label = `Two hands on a circle, ${degrees(now.hands[0].angle)} and `
    + `${degrees(now.hands[1].angle)} clockwise from the top; ${below}`;
  const rows = now.hands.map(({ angle, values }, i) => {
    const old = was?.hands[i];
    return [labels[i], [angleCell(angle, old?.angle), pair(values, old?.values)].flat()];
  });
  const between = [angleCell(now.between, was?.between), h("td"), h("td")];
  const product = [h("td"), h("td"), cell(now.product, was?.product, fixed)];
  return h("div", { class: "dial" },
    dial(label, hands, HANDS, [below, "sine to the right, cosine up"]),
    table("The encodings", ["position", "angle", "sin", "cos"], ...rows,
      ["angle between", between, "total"], ["product of the two", product]));
};

const rotary = ({ t, k }, now, was) => {
  const labels = [`key at ${t}`, `query at ${t + k}`];
  const hands = now.vectors.map(({ start, angle }, i) =>
    ({ start, angle: start + angle, name: labels[i] }));
  const between = hands[1].angle - hands[0].angle;
  const below = `angle between: ${three(between)} rad, q · k = ${fixed(now.score)}`;
  const label = "A key and a query as vectors, turned clockwise by "
    + `${degrees(now.vectors[0].angle)} and ${degrees(now.vectors[1].angle)}; ${below}`;
  const rows = now.vectors.map(({ vector, angle, values }, i) => {
    const old = was?.vectors[i];
    return [labels[i], [h("td", {}, `[${vector.join(", ")}]`), angleCell(angle, old?.angle),
      pair(values, old?.values)].flat()];
  });
  const before = h("td", {}, String(now.before));
  const score = [before, h("td"), h("td"), cell(now.score, was?.score, fixed)];
  return h("div", { class: "dial" },
    dial(label, hands, VECTORS, [below, "first feature up, second to the right; dotted: as given"]),
    table("Rotary", ["vector", "given", "turn", "first", "second"], ...rows,
      ["q · k", score, "total"]));
};

export default {
  render: explore({
    label: "One pair as a clock",
    look: LOOK,
    controls: [
      slider("t", "position `t`"),
      slider("k", "offset `k`"),
      select("pair", "pair of `D = 8`", ["0: 1 rad a position", "1: 0.1 rad a position",
        "2: 0.01 rad a position", "3: 0.001 rad a position"]),
    ],
    draw(state, before) {
      const now = clock(state);
      const was = before && clock(before);
      const { t, k } = state;
      return {
        nodes: [h("div", { class: "columns" }, encodings(state, now, was),
          rotary(state, now, was))],
        words: `Positions ${t} and ${t + k}, pair ${state.pair}: ${k} × ${three(now.frequency)} = `
          + `${three(now.between)} radians apart, q\u00a0·\u00a0k is ${fixed(now.score)}. `
          + "Neither changes with t.",
      };
    },
  }),
};

import { deviation, dotScores, entropy, jacobianNorm, softmax } from "./maths.mjs";
import { bars, cell, checkbox, explore, h, rich, s, slider } from "./toolkit.mjs";

const measure = ({ z, Dh, divided }) => {
  const scores = dotScores(z, Dh, divided);
  const weights = softmax(scores);
  return {
    weights,
    bits: entropy(weights),
    gradient: jacobianNorm(weights),
    spread: deviation(scores),
  };
};

const WIDTHS = Array.from({ length: 11 }, (_, i) => 2 ** (i + 2));
const [LEFT, TOP, ACROSS, HIGH] = [26, 18, 228, 160];
const x = (Dh) => LEFT + (ACROSS * (Math.log2(Dh) - 2)) / 10;
const y = (bits, most) => TOP + HIGH * (1 - bits / most);

const curve = (state, divided, most) => {
  const at = (Dh) => y(measure({ ...state, Dh, divided }).bits, most);
  const points = WIDTHS.map((Dh) => `${x(Dh)},${at(Dh)}`).join(" ");
  return [
    s("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": 2,
      "stroke-dasharray": divided ? "6 4" : null }),
    s("text", { x: x(4096) + 6, y: at(4096) + (divided ? 4 : -4) },
      divided ? "divided" : "undivided"),
  ];
};

const trace = (state, now, most) => {
  const ticks = [4, 64, 512, 4096].map((Dh) =>
    s("text", { x: x(Dh), y: TOP + HIGH + 15, "text-anchor": "middle" }, String(Dh)));
  const grid = [0, 1, 2, 3].map((bits) => [
    s("line", { x1: LEFT, x2: LEFT + ACROSS, y1: y(bits, most), y2: y(bits, most),
      stroke: "currentColor", "stroke-opacity": bits ? 0.25 : 1 }),
    s("text", { x: LEFT - 5, y: y(bits, most) + 4, "text-anchor": "end" }, String(bits)),
  ]);
  const here = s("circle", { cx: x(state.Dh), cy: y(now.bits, most), r: 6, fill: "#CC3311",
    stroke: "currentColor", "stroke-width": 2 });
  const label = `Entropy against head size. Undivided it falls towards 0 bits; divided it stays at `
    + `${measure({ ...state, divided: true }).bits.toFixed(2)}. Now ${now.bits.toFixed(2)}.`;
  return s("svg", { viewBox: `0 0 320 ${HIGH + TOP + 35}`, role: "img", "aria-label": label },
    grid.flat(), ticks, curve(state, true, most), curve(state, false, most), here);
};

const panel = (title, drawing) => h("div", {}, h("div", {}, rich(title)), drawing);
const short = (value) => (value >= 0.001 ? value.toPrecision(3) : value.toExponential(1));

const numbers = (now, was, most) => {
  const line = (name, key, unit, format) =>
    h("tr", {}, h("th", { scope: "row" }, name), cell(now[key], was?.[key], format),
      h("td", { class: "left" }, unit));
  return h("table", {}, h("caption", {}, "Measured on these eight scores"), h("tbody", {},
    line("standard deviation of the scores", "spread", "", (v) => v.toFixed(2)),
    line("entropy of the weights", "bits", `of ${most} bits`, (v) => v.toFixed(2)),
    line("gradient norm", "gradient", "Frobenius norm of the softmax Jacobian", short)));
};

export default {
  render: explore({
    label: "Softmax against the size of the scores",
    controls: [slider("Dh", "head size `Dh`"), checkbox("divided", "divide by `√Dh`")],
    draw(state, before) {
      const now = measure(state);
      const was = before && measure(before);
      const most = Math.log2(state.z.length);
      const top = Math.max(...now.weights).toFixed(2);
      const label = `Softmax weights: ${now.weights.map((w) => w.toFixed(2)).join(", ")}`;
      const scores = dotScores(state.z, state.Dh, state.divided);
      const digits = Math.max(...scores.map(Math.abs)) < 100 ? 1 : 0; // more don't fit
      const below = scores.map((score, i) => [`key ${i}`, score.toFixed(digits)]);
      const drawn = bars(now.weights, { below, label, colour: "#A59C74" });
      const setting = `Dh ${state.Dh}, ${state.divided ? "divided" : "not divided"}`;
      return {
        nodes: [h("div", { class: "columns" },
          panel("softmax weights, the scores under them", drawn),
          panel("entropy in bits against `Dh`", trace(state, now, most))), numbers(now, was, most)],
        words: `${setting}: the largest weight is ${top}, the entropy ${now.bits.toFixed(2)} of `
          + `${most} bits, the gradient norm ${short(now.gradient)}.`,
      };
    },
  }),
};

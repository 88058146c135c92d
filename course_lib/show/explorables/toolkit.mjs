// What every explorable shares: elements, native controls, a summary in words, and the loop
// that redraws at once when a control moves.

const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat());
  return element;
};
export const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Text with `code` between backticks.
export const rich = (text) =>
  text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

export const STYLE = `
.explorable { color: var(--jp-content-font-color1, inherit); max-width: 800px;
  font: 14px/1.45 var(--jp-content-font-family, system-ui, sans-serif); padding: 0.3em 0.2em; }
.explorable *, .explorable *::before { box-sizing: border-box; }
.explorable svg { display: block; width: 100%; height: auto; overflow: visible; }
.explorable svg text { fill: currentColor; font: 12px var(--jp-content-font-family, sans-serif); }
.explorable code { font-family: var(--jp-code-font-family, monospace); font-size: 13px;
  color: inherit; background: none; padding: 0; }
.explorable :is(input, button, select):focus-visible { outline-offset: 2px;
  outline: 3px solid var(--jp-content-font-color1, CanvasText); }
.explorable .controls { display: flex; flex-wrap: wrap; gap: 0.4em 1.2em; margin-bottom: 0.6em; }
.explorable .controls label { display: inline-flex; align-items: center; gap: 0.5em;
  min-width: 0; }
.explorable .controls select { font: inherit; color: inherit; min-width: 0; padding: 0.1em 0.2em;
  background: var(--jp-layout-color1, Canvas); border: 1px solid currentColor; }
.explorable .controls input { accent-color: #009988; margin: 0; }
.explorable .controls input[type=range] { width: 110px; }
.explorable .controls output { min-width: 2.6em; font-weight: bold;
  font-variant-numeric: tabular-nums; }
.explorable .columns { display: flex; flex-wrap: wrap; gap: 0.4em 1.6em; align-items: flex-start; }
.explorable .columns > * { flex: 1 1 270px; min-width: 0; }
.explorable table { border-collapse: collapse; margin: 0.4em 0; width: 100%;
  font-size: 13px; }
.explorable caption { caption-side: top; text-align: left; font-weight: bold; padding: 0.2em 0;
  color: inherit; }
.explorable tr { background: none; }
.explorable :is(th, td) { padding: 0.18em 0.4em; text-align: right; font-weight: normal;
  border-top: 1px solid var(--jp-border-color2, #999); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.explorable :is(th, td):first-child, .explorable .left { text-align: left; }
.explorable thead th { font-weight: bold; border-top: 0; }
.explorable .prose :is(th, td) { text-align: left; white-space: normal; vertical-align: top; }
.explorable .total > * { border-top: 2px solid currentColor; }
.explorable .changed { font-weight: bold; }
.explorable .columns svg { max-width: 420px; }
.explorable .words { margin: 0.5em 0 0; min-height: 2.9em; }
`;

// A number that moved since the last step is bold and carries a sign.
export const cell = (now, before, format = String) => {
  const changed = before !== undefined && format(now) !== format(before);
  const arrow = now > before ? "▲ " : now < before ? "▼ " : ""; // NaN is neither
  const sign = changed ? h("span", { "aria-hidden": "true" }, arrow) : "";
  return h("td", { class: changed ? "changed" : null }, sign, format(now));
};

// Every key pressed on a control belongs to the control. Without this attribute, on the control
// itself, JupyterLab takes the arrow keys and letters as notebook commands.
export const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

// A control is a function of (state, choices, move); it returns its element and how to refresh it.
export const slider = (key, text, show = String) => (state, choices, move) => {
  const values = choices[key]; // the slider counts places, so any list of values will do
  const output = h("output", { "aria-hidden": "true" });
  const input = h("input", { type: "range", min: 0, max: values.length - 1, ...OWN_KEYS });
  input.addEventListener("input", () => move(key, values[+input.value]));
  const refresh = (now) => {
    input.value = values.indexOf(now[key]);
    input.setAttribute("aria-valuetext", show(now[key]));
    output.value = show(now[key]);
  };
  return { element: h("label", {}, h("span", {}, rich(text)), input, output), input, refresh };
};

export const checkbox = (key, text) => (state, choices, move) => {
  const input = h("input", { type: "checkbox", ...OWN_KEYS });
  input.addEventListener("input", () => move(key, input.checked));
  const refresh = (now) => (input.checked = now[key]);
  return { element: h("label", {}, input, h("span", {}, rich(text))), input, refresh };
};

// `other` is shown while the value is none of the choices; nobody can choose it.
export const select = (key, text, names, other = null) => (state, choices, move) => {
  const options = choices[key].map((value, i) => h("option", { value: i }, names[i]));
  if (other) options.push(h("option", { value: -1, disabled: "" }, other));
  const input = h("select", OWN_KEYS, options);
  input.addEventListener("input", () => move(key, choices[key][+input.value]));
  const refresh = (now) => (input.value = choices[key].indexOf(now[key]));
  return { element: h("label", {}, h("span", {}, rich(text)), input), input, refresh };
};

// Without a kernel the page still answers; only Python doesn't hear of it.
export const tell = (model, key, value) => {
  try {
    model.set(key, value);
    model.save_changes();
  } catch (error) {
    console.debug(`${key} stays in the page:`, error);
  }
};

// Bars of values between 0 and 1, with the value above each and lines of text below.
export const bars = (values, { below, label, colour }) => {
  const [width, height, left, top] = [320, 160, 26, 18];
  const step = (width - left) / values.length;
  const y = (value) => top + height * (1 - value);
  const grid = [0, 0.5, 1].map((value) => [
    s("line", { x1: left, x2: width, y1: y(value), y2: y(value), stroke: "currentColor",
      "stroke-opacity": value ? 0.25 : 1 }),
    s("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, String(value)),
  ]);
  const drawn = values.map((value, i) => {
    const middle = left + (i + 0.5) * step;
    return [
      s("rect", { x: left + i * step + 3, width: step - 6, y: y(value), height: height * value,
        fill: colour, stroke: "currentColor" }),
      s("text", { x: middle, y: y(value) - 4, "text-anchor": "middle" }, value.toFixed(2)),
      below[i].map((text, line) => s("text", { x: middle, y: top + height + 15 * (line + 1),
        "text-anchor": "middle" }, text)),
    ];
  });
  const box = `0 0 ${width} ${height + top + 35}`;
  return s("svg", { viewBox: box, role: "img", "aria-label": label }, grid.flat(), drawn.flat(2));
};

// Builds a widget's `render` from its controls and a pure `draw(state, before)`, which returns
// { nodes, words }. `before` is the state one move ago, or null in the first view. A control that
// says `beside` stands next to the drawing, not in the bar above it. `look` is more CSS.
export const explore = ({ label, controls, draw, look = "" }) => ({ model, el }) => {
  let state = model.get("state");
  const body = h("div");
  const words = h("p", { class: "words", "aria-live": "polite" });
  const show = (before) => {
    made.forEach((control) => control.refresh(state));
    const view = draw(state, before);
    body.replaceChildren(...view.nodes);
    words.textContent = view.words;
  };
  const move = (key, value) => {
    const before = state;
    state = { ...state, [key]: value };
    show(before);
    model.set("state", state);
  };
  const made = controls.map((control) => control(state, model.get("choices"), move));
  made.forEach(({ input }) => input.addEventListener("change", () => tell(model, "state", state)));
  model.on("change:state", () => {
    if (model.get("state") === state) return;
    state = model.get("state");
    show(null);
  });
  const elements = (beside) =>
    made.filter((control) => Boolean(control.beside) === beside).map(({ element }) => element);
  const bar = h("div", { class: "controls" }, elements(false));
  const stage = elements(true).length
    ? h("div", { class: "columns" }, elements(true), body) : body;
  el.append(h("div", { class: "explorable", role: "group", "aria-label": label },
    h("style", {}, STYLE + look), bar, stage, words));
  show(null);
};

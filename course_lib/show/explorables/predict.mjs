import { h, OWN_KEYS, rich, STYLE, tell } from "./toolkit.mjs";

const LOOK = `
.explorable fieldset { border: 1px solid var(--jp-border-color1, #777); margin: 0;
  padding: 0.4em 0.9em 0.7em; min-width: 0; }
.explorable legend { font-weight: bold; padding: 0 0.4em; }
.explorable .option { display: flex; gap: 0.6em; align-items: baseline; padding: 0.2em 0; }
.explorable .option input { flex: none; margin: 0; accent-color: #009988; }
.explorable button { font: inherit; font-weight: bold; padding: 0.25em 1.2em; margin-top: 0.4em;
  color: #fff; background: #332288; border: 1px solid currentColor; cursor: pointer; }
.explorable button[aria-disabled=true] { color: #333; background: #ddd; cursor: default; }
.explorable .result p { margin: 0.5em 0 0; }
`;

const verdict = (options, chosen, answer) => {
  const line = (label, before) => h("p", {}, h("strong", {}, before, rich(label), "."), " ",
    rich(options[label]));
  return chosen === answer
    ? [line(chosen, "✓ Right: ")]
    : [line(chosen, "✗ You chose: "), line(answer, "→ The answer: ")];
};

const render = ({ model, el }) => {
  const options = Object.fromEntries(model.get("options"));
  const answer = model.get("answer");
  const group = `prediction-${Math.random().toString(36).slice(2)}`; // one page may show it twice
  const radios = Object.keys(options).map((value) =>
    h("input", { type: "radio", name: group, value, ...OWN_KEYS }));
  const labels = radios.map((radio) =>
    h("label", { class: "option" }, radio, h("span", {}, rich(radio.value))));
  const button = h("button", { type: "button", ...OWN_KEYS }, "Commit");
  const reveal = h("button", { type: "button", ...OWN_KEYS }, "Show the answer");
  const result = h("div", { class: "result", "aria-live": "polite" });
  let frozen = false;

  // The measurement in a later cell is the answer. Who can't run it, or won't wait, asks here.
  const freeze = (chosen) => {
    if (frozen || !(chosen in options)) return;
    frozen = true;
    radios.forEach((radio) => {
      radio.checked = radio.value === chosen;
      radio.disabled = true;
      if (radio.checked) radio.parentElement.append(h("strong", {}, "← your choice"));
    });
    // The button keeps the focus: a disabled one would drop a keyboard reader at the page's top.
    button.setAttribute("aria-disabled", "true");
    button.textContent = "Committed";
    button.after(" ", reveal);
    result.textContent = "Noted. The next cells measure it.";
    reveal.addEventListener("click", () => {
      reveal.setAttribute("aria-disabled", "true");
      result.replaceChildren(...verdict(options, chosen, answer));
    });
  };
  button.addEventListener("click", () => {
    if (frozen) return;
    const chosen = radios.find((radio) => radio.checked)?.value;
    if (chosen === undefined) {
      result.textContent = "Choose an option first.";
      return;
    }
    freeze(chosen);
    tell(model, "chosen", chosen);
  });
  model.on("change:chosen", () => freeze(model.get("chosen")));
  el.append(h("div", { class: "explorable" }, h("style", {}, STYLE + LOOK),
    h("fieldset", {}, h("legend", {}, rich(model.get("question"))), labels, button, result)));
  freeze(model.get("chosen"));
};

export default { render };

// One launch of the forward attention kernel, program by program: what each moves and computes.
import { dot, softmax, sum } from "./maths.mjs";

const LOWEST = -3.4028234663852886e38; // of float32: where a maximum begins
const FLOAT32 = 4; // bytes of a number of lse

// Halves between -2 and 2, which float16 has exactly, the same on every page.
const numbers = (seed, count) => {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (1103 * state + 12345) % 65536;
    return ((Math.floor(state / 256) % 9) - 4) / 2;
  });
};
export const inputs = ({ H, Hkv, Tq, Tk, Dh, seed }) => ({
  q: numbers(seed, H * Tq * Dh),
  k: numbers(seed + 1, Hkv * Tk * Dh),
  v: numbers(seed + 2, Hkv * Tk * Dh),
});

export const isCausal = ({ kernel }) => !["all", "tail"].includes(kernel);
const offsetOf = ({ kernel, Tq, Tk }) => (kernel === "offset" ? 0 : Tk - Tq);

// Which queries a program has, which keys it reads, and up to where without a mask.
export const planOf = (state) => {
  const { program, kernel, H, Hkv, Tq, Tk, block } = state;
  const tiles = Math.ceil(Tq / block);
  const [tile, head] = [program % tiles, Math.floor(program / tiles)];
  const first = tile * block;
  const plan = { tile, head, first, rows: Math.min(block, Tq - first), stop: Tk,
    kvHead: kernel === "head" ? head : Math.floor(head / (H / Hkv)),
    whole: Math.floor(Tk / block) * block };
  if (!isCausal(state)) return plan;
  const place = first + offsetOf(state);
  const whole = Math.floor(Math.max(0, place + 1) / block) * block;
  return { ...plan, whole: Math.min(plan.whole, whole),
    stop: Math.min(Tk, Math.max(0, place + block)) };
};

const allows = (state, row, col) => row < state.Tq && (col < state.Tk || state.kernel === "tail")
  && (!isCausal(state) || col <= row + offsetOf(state));

const upTo = (count) => Array.from({ length: count }, (_, i) => i);

// The row that is followed: its scores over one tile of keys, as the kernel computes them.
const reader = (state) => {
  const { Tk, Dh, block, row } = state;
  const { q, k, v } = inputs(state);
  const { head, kvHead, first } = planOf(state);
  const part = (tensor, at) => tensor.slice(at * Dh, (at + 1) * Dh);
  const mine = part(q, head * state.Tq + first + row);
  const score = (kv, col) => dot(mine, part(k, kv * Tk + col)) / Math.sqrt(Dh);
  const scores = (start, masked) => upTo(block).map((j) => {
    if (masked && !allows(state, first + row, start + j)) return -Infinity;
    return start + j < Tk ? score(kvHead, start + j) : 0;
  });
  const values = (start) => upTo(block).map((j) =>
    (start + j < Tk ? part(v, kvHead * Tk + start + j) : Array(Dh).fill(0)));
  // What the direct softmax gives over the keys before `end` that the row may read, all rules kept.
  const direct = (end) => {
    const right = { ...state, kernel: isCausal(state) ? "causal" : "all" };
    const kv = planOf(right).kvHead;
    const cols = upTo(end).filter((col) => allows(right, first + row, col));
    const weights = softmax(cols.map((col) => score(kv, col)));
    return upTo(Dh).map((f) => sum(cols.map((col, i) => weights[i] * part(v, kv * Tk + col)[f])));
  };
  return { scores, values, direct };
};

// `kernel.fold` for one row, in natural units.
const fold = (before, scores, values, kernel) => {
  const rowMax = Math.max(before.rowMax, ...scores);
  const rescale = Math.exp(before.rowMax - rowMax);
  const powers = scores.map((x) => Math.exp(x - rowMax));
  const kept = kernel === "rescale" ? 1 : rescale;
  const added = { rowSum: sum(powers),
    acc: before.acc.map((_, f) => sum(powers.map((power, j) => power * values[j][f]))) };
  return { rowMax, rescale, added, rowSum: kept * before.rowSum + added.rowSum,
    acc: before.acc.map((x, f) => kept * x + added.acc[f]) };
};

const measured = (memory, direct) => {
  const out = memory.acc.map((x) => x / memory.rowSum);
  return { ...memory, out, direct,
    distance: Math.max(...out.map((x, f) => Math.abs(x - direct[f]))) };
};

// What one program does, in turn: { kind, name, bytes }, and at which tile of keys. A load beyond
// the tensor ends it.
export const programSteps = (state) => {
  const { Hkv, Tk, Dh, block, itemsize } = state;
  const plan = planOf(state);
  const steps = [];
  const add = (kind, name, rows = 0, more = {}) =>
    steps.push({ kind, name, bytes: rows * (name === "lse" ? FLOAT32 : Dh * itemsize), ...more });
  add("load", "q", plan.rows);
  for (let start = 0; start < plan.stop; start += block) {
    const tile = { start, masked: start >= plan.whole };
    const rows = Math.min(block, Tk - start);
    if (plan.kvHead >= Hkv) {
      add("load", "k", 0, { ...tile,
        outside: { element: plan.kvHead * Tk * Dh, size: Hkv * Tk * Dh } });
      return steps;
    }
    add("load", "k", rows, tile);
    add("load", "v", rows, tile);
    add("compute", "products", 0, tile);
    if (tile.masked) add("compute", "mask", 0, tile);
    add("compute", "fold", 0, tile);
  }
  add("compute", "divide");
  add("store", "out", plan.rows);
  add("store", "lse", plan.rows);
  return steps;
};

// The steps with what the followed row remembers after each.
export const follow = (state) => {
  const row = reader(state);
  let memory = { rowMax: LOWEST, rowSum: 0, acc: Array(state.Dh).fill(0) };
  return programSteps(state).map((step) => {
    const { name, start, masked } = step;
    const before = memory;
    const scores = ["products", "mask", "fold"].includes(name)
      ? row.scores(start, masked && name !== "products") : null;
    if (name === "fold") {
      memory = fold(memory, scores, row.values(start), state.kernel);
      memory = measured(memory, row.direct(Math.min(start + state.block, state.Tk)));
    } else if (name === "divide") memory = measured(memory, row.direct(state.Tk));
    return { ...step, scores, before, memory };
  });
};

// Bytes by tensor.
const NAMES = ["q", "k", "v", "out", "lse"];
export const bytesOf = (steps) => Object.fromEntries(NAMES.map((name) =>
  [name, sum(steps.filter((step) => step.name === name).map((step) => step.bytes))]));

// Every program's bytes, added up; null where one of them is stopped.
export const launchBytes = (state) => {
  const all = upTo(state.H * Math.ceil(state.Tq / state.block)).map((program) =>
    programSteps({ ...state, program }));
  return all.some((steps) => steps.at(-1).outside) ? null : bytesOf(all.flat());
};

// The same from sizes alone: q, out and lse once, k and v as often as a tile of queries reads them.
export const formula = (state) => {
  const { H, Tq, Tk, Dh, block, itemsize } = state;
  const keys = sum(upTo(Math.ceil(Tq / block)).map((program) =>
    Math.min(Tk, Math.ceil(planOf({ ...state, program }).stop / block) * block)));
  return { keys, bytes: H * ((2 * Tq + 2 * keys) * Dh * itemsize + Tq * FLOAT32) };
};

// What stands in each lane of a step's tile, [down, across]: "on", "zero" (turned off by a load, so
// filled with 0), "blocked" (made -inf), "off" (not stored).
export const lanesOf = (state, { kind, name, start, masked }) => {
  const { Tq, Tk, Dh, block } = state;
  const { first } = planOf(state);
  const tile = ["k", "v"].includes(name) ? { down: "keys", across: "features" }
    : ["q", "divide", "out"].includes(name) ? { down: "queries", across: "features" }
      : name === "lse" ? { down: "queries", across: "" } : { down: "queries", across: "keys" };
  const width = { features: Dh, keys: block }[tile.across] ?? 1;
  const from = tile.down === "keys" ? start : first;
  const inside = (i) => from + i < (tile.down === "keys" ? Tk : Tq);
  const lane = (i, j) => {
    if (kind === "store") return inside(i) ? "on" : "off";
    if (tile.across !== "keys") return inside(i) ? "on" : "zero";
    if (masked && name !== "products" && !allows(state, first + i, start + j)) return "blocked";
    return inside(i) && start + j < Tk ? "on" : "zero";
  };
  return { ...tile, from, lanes: upTo(block).map((i) => upTo(width).map((j) => lane(i, j))) };
};

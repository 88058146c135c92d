// The arithmetic of the explorables: pure functions, tested against torch.

export const sum = (values) => values.reduce((total, x) => total + x, 0);

export const softmax = (scores) => {
  const top = Math.max(...scores); // subtracted first: no exponential overflows
  const powers = scores.map((x) => Math.exp(x - top));
  const total = sum(powers);
  return powers.map((x) => x / total);
};

// In bits. A weight of 0 carries no surprise, so it adds nothing.
export const entropy = (weights) => sum(weights.map((p) => (p > 0 ? -p * Math.log2(p) : 0)));

// Frobenius norm of the softmax Jacobian, J[i][j] = p[i] * ((i == j) - p[j]).
export const jacobianNorm = (weights) =>
  Math.sqrt(sum(weights.flatMap((p, i) => weights.map((r, j) => (p * ((i === j) - r)) ** 2))));

// Population standard deviation: these scores are all there are.
export const deviation = (values) => {
  const mean = sum(values) / values.length;
  return Math.sqrt(sum(values.map((x) => (x - mean) ** 2)) / values.length);
};

export const dotScores = (z, Dh, divided) => z.map((x) => x * (divided ? 1 : Math.sqrt(Dh)));

// One attention call: every tensor with its shape, every operation with its cost.
export const ledger = ({ B, H, Tq, Tk, Dh, itemsize }) => {
  const shapes = {
    q: [B, H, Tq, Dh],
    k: [B, H, Tk, Dh],
    v: [B, H, Tk, Dh],
    scores: [B, H, Tq, Tk],
    weights: [B, H, Tq, Tk],
    out: [B, H, Tq, Dh],
  };
  const tensors = Object.entries(shapes).map(([name, shape]) => {
    const elements = shape.reduce((total, size) => total * size, 1);
    return { name, shape, elements, bytes: elements * itemsize };
  });
  const pairs = B * H * Tq * Tk;
  const operations = [
    { name: "scores", flops: 2 * pairs * Dh }, // one multiplication, one addition
    { name: "softmax", flops: 5 * pairs }, // maximum, subtract, exp, sum, divide
    { name: "out", flops: 2 * pairs * Dh },
  ];
  return {
    tensors,
    operations,
    elements: sum(tensors.map((row) => row.elements)),
    bytes: sum(tensors.map((row) => row.bytes)),
    flops: sum(operations.map((row) => row.flops)),
  };
};

// Two wrong lines: each runs only where two sizes happen to be equal.
export const wrongLines = ({ B, H, Tq, Tk, Dh }) => [
  {
    code: "q @ k",
    slip: "the transpose is forgotten",
    runs: Dh === Tk,
    sizes: `Dh ${Dh}, Tk ${Tk}`,
    shape: [B, H, Tq, Dh],
    looksLike: "scores",
  },
  {
    code: "weights.mT @ v",
    slip: "one transpose too many",
    runs: Tq === Tk,
    sizes: `Tq ${Tq}, Tk ${Tk}`,
    shape: [B, H, Tk, Dh],
    looksLike: "out",
  },
];

// Where a table of booleans has its Trues: row i is a query, column j a key, T of each.
const PATTERNS = {
  all: () => true,
  causal: (i, j) => j <= i,
  window: (i, j) => j <= i && j > i - 2,
  padding: (i, j, T) => j < T - 1,
  past: (i, j) => j < i,
  future: (i, j) => j > i,
  none: () => false,
};

// A pattern is the name of one of these, or the table itself where it is the reader's own.
export const maskTable = (pattern, T) =>
  Array.isArray(pattern) ? pattern
    : Array.from({ length: T }, (_, i) =>
      Array.from({ length: T }, (_, j) => PATTERNS[pattern](i, j, T)));

// The table with one cell turned over, by its name if it has one.
export const turnedOver = (table, i, j) => {
  const turned = table.map((row, r) => row.map((value, c) => (r === i && c === j) !== value));
  const same = (name) => String(maskTable(name, table.length)) === String(turned);
  return Object.keys(PATTERNS).find(same) ?? turned;
};

// Who may read whom, once a function has taken True for "read" or for "blocked".
export const mayRead = (table, means) =>
  table.map((row) => row.map((value) => value === (means === "read")));

// `empty` is the policy for a row with nothing to read. "nan" has none: softmax of -inf alone.
export const maskedSoftmax = (scores, keep, empty) =>
  scores.map((row, i) => {
    if (empty === "zeros" && !keep[i].some(Boolean)) return row.map(() => 0);
    return softmax(row.map((x, j) => (keep[i][j] ? x : empty === "fill" ? -1e9 : -Infinity)));
  });

// The pairs [query, key] in which a query takes weight from a key after its own.
export const leaks = (weights) =>
  weights.flatMap((row, i) => row.flatMap((w, j) => (j > i && w > 0 ? [[i, j]] : [])));

// Which features each head has: of two narrow heads one each, of the wide head both.
const HEADS = { both: [[0], [1]], A: [[0]], B: [[1]], wide: [[0, 1]] };

// What each head reads for one query, and what it brings to the two features of the output.
// Feature f of word j is asked by q[f][j] and found by k[f][j]; both carry v[j].
export const routes = ({ words, q, k, v, query, times, heads }) => {
  const i = words.indexOf(query);
  return HEADS[heads].map((features) => {
    const products = words.map((_, j) => sum(features.map((f) => times * q[f][i] * k[f][j])));
    const scores = products.map((product) => product / Math.sqrt(features.length));
    const weights = softmax(scores);
    const read = weights.map((weight, j) => weight * v[j]);
    return { features, scores, weights, read,
      brings: [0, 1].map((f) => (features.includes(f) ? sum(read) : 0)) };
  });
};

// Where a head reads: every place with at least half of its largest weight.
export const places = (weights) =>
  weights.flatMap((weight, j) => (weight >= Math.max(...weights) / 2 ? [j] : []));

// What each pair of features turns by from one position to the next, in radians.
export const frequencies = (D, base) =>
  Array.from({ length: D / 2 }, (_, i) => base ** ((-2 * i) / D));

// A sine and a cosine of each frequency, in turns.
export const sinusoid = (t, D, base) =>
  frequencies(D, base).flatMap((w) => [Math.sin(t * w), Math.cos(t * w)]);

// A plain loop: a table of products calls this often.
export const dot = (a, b) => {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
};

// Rotary's turn of one pair of features.
export const turned = ([first, second], angle) => [
  first * Math.cos(angle) - second * Math.sin(angle),
  first * Math.sin(angle) + second * Math.cos(angle),
];

// One pair at the positions t and t + k: as encodings, and as a key and a query that are turned.
// `start` is how far a vector stands from its first feature before it is turned.
export const clock = ({ t, k, pair, D, base, query, key }) => {
  const frequency = frequencies(D, base)[pair];
  const hand = (position) => ({ position, angle: position * frequency,
    values: sinusoid(position, D, base).slice(2 * pair, 2 * pair + 2) });
  const turn = (vector, { angle }) => ({ vector, start: Math.atan2(vector[1], vector[0]), angle,
    values: turned(vector, angle) });
  const hands = [hand(t), hand(t + k)];
  const vectors = [turn(key, hands[0]), turn(query, hands[1])];
  return { frequency, hands, vectors, between: k * frequency,
    product: dot(hands[0].values, hands[1].values),
    before: dot(key, query), score: dot(vectors[0].values, vectors[1].values) };
};

// The product of every two encodings, a row for each position, and what stands on each diagonal.
export const products = ({ T, D, base }) => {
  const codes = Array.from({ length: T }, (_, t) => sinusoid(t, D, base));
  const table = codes.map((a) => codes.map((b) => dot(a, b)));
  const diagonals = Array.from({ length: 2 * T - 1 }, (_, i) => {
    const offset = i - T + 1; // row - column
    const cells = table.flatMap((row, t) => row[t - offset] ?? []);
    return { offset, cells: cells.length, least: Math.min(...cells), most: Math.max(...cells) };
  });
  return { table, diagonals };
};

// The tiles of a plan in the order in which they are read, each with its keys. With `filled`, a
// tile that the row's end cuts short is filled up with scores and values of 0, as memory is.
export const tilesOf = ({ scores, v }, { tile, order, lower }, filled) =>
  order.map((place) => {
    const from = place * tile;
    const keys = scores.map((_, j) => j).slice(from, from + tile);
    const zeros = Array(filled ? tile - keys.length : 0).fill(0);
    return { place, keys, scores: [...keys.map((j) => scores[j] - lower), ...zeros],
      v: [...keys.map((j) => v[j]), ...zeros] };
  });

// What online softmax remembers once it has read one more tile. `broken` is the line that is wrong.
export const foldTile = (before, { scores, v }, broken) => {
  const top = Math.max(...scores);
  const rowMax = Math.max(before.rowMax, top);
  const rescale = broken === "rescale" ? 1 : Math.exp(before.rowMax - rowMax);
  const powers = scores.map((x) => Math.exp(x - (broken === "maximum" ? top : rowMax)));
  const added = { rowSum: sum(powers), acc: sum(powers.map((power, j) => power * v[j])) };
  return { rowMax, rescale, powers, added, rowSum: rescale * before.rowSum + added.rowSum,
    acc: rescale * before.acc + added.acc };
};

// The memory before the first tile and after each, with the direct softmax of the keys read.
export const readRow = (state) => {
  const plan = state.plans[state.plan];
  const rowMax = state.broken === "start" ? 0 : -Number.MAX_VALUE; // the lowest number there is
  const steps = [{ rowMax, rowSum: 0, acc: 0, read: [] }];
  for (const tile of tilesOf(state, plan, state.broken === "tail")) {
    const read = [...steps.at(-1).read, ...tile.keys];
    const now = foldTile(steps.at(-1), tile, state.broken);
    const weights = softmax(read.map((j) => state.scores[j] - plan.lower));
    const [out, direct] = [now.acc / now.rowSum, sum(weights.map((w, i) => w * state.v[read[i]]))];
    steps.push({ ...now, tile, read, out, direct, distance: Math.abs(out - direct) });
  }
  return steps;
};

// Bytes of a tile's scores with the three numbers remembered, and of the whole row's with as many.
export const rowBytes = ({ scores, plans, plan, itemsize }) =>
  [plans[plan].tile, scores.length].map((keys) => (keys + 3) * itemsize);

// A colour at `at` between 0 and 1, from eleven of a map's.
const blend = (map, at) => {
  const step = Math.min(Math.floor(at * 10), 9);
  const next = map[step + 1];
  return map[step].map((part, c) => Math.round(part + (at * 10 - step) * (next[c] - part)));
};

// Cividis. The text on it is the one of black and white that stands out more, which is never less
// than 4.5 to 1.
const CIVIDIS = [
  [0, 34, 78], [8, 51, 112], [53, 69, 108], [79, 87, 108], [102, 105, 112],
  [125, 124, 120], [148, 142, 119], [174, 163, 113], [200, 184, 102], [229, 207, 82],
  [254, 232, 56],
];
export const shade = (weight) => blend(CIVIDIS, weight);

// PuOr, for what has a sign: from -1, orange, over 0, white, to 1, purple.
const PUOR = [
  [127, 59, 8], [179, 88, 6], [224, 130, 20], [253, 184, 99], [254, 224, 182],
  [247, 247, 247], [216, 218, 235], [178, 171, 210], [128, 115, 172], [84, 39, 136],
  [45, 0, 75],
];
export const signedShade = (value) => blend(PUOR, (value + 1) / 2);
export const inkOn = (colour) => {
  const linear = colour.map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? "#000" : "#fff";
};

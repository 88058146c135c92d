// The arithmetic of the explorables: pure functions, tested against torch.

const sum = (values) => values.reduce((total, x) => total + x, 0);

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

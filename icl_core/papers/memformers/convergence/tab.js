/* The training of a linear transformer's preconditioners in a browser's tab: `variants.initial`, `task.Pool`,
   `first_order.loss_and_slopes`, `train.problem` and `test_set.controlled_losses` of memformers/shared, one seed,
   without memory.

   Prompts are the last axis. A block of them goes through all layers and back while it stays in the nearest cache, as
   in `fast_segment`. e = w* − w is the error of a prompt, and a layer makes e − M S e of it, M = Σ^½ A Σ^½. */

const BLOCK = 64; // prompts that go through all layers at once
const PAPERS_EIGENVALUES = [1, 1, 0.25, 0.0625, 1]; // `task.PAPER`
const WATCHED = 2048; // prompts at each evaluation; with the floor as a control variate a quarter of Python's will do
const CLOSE = 0.1; // from a multiple of Σ⁻¹, as a share of its size

class Convergence {
  static EVALUATIONS = [10, 50];

  constructor(setting, random) {
    this.setting = setting;
    this.random = random;
    const { d, layers, batch, steps, initial, beta_1, beta_2 } = setting;
    this.shapes = { A: [layers, d, d] };
    this.weights = { A: random.normals(layers * d * d, initial * Math.sqrt(5 / d)) };
    this.root = startRoot(setting, random.rotation(d));
    this.optimiser = new Adam(this.weights, beta_1, beta_2);
    this.made = 0; // steps
    this.S = new Float64Array(d * d * BLOCK);
    this.error = new Float64Array(d * BLOCK);
    this.byGradient = new Float64Array(d * BLOCK);
    this.layerGradients = Array.from({ length: layers }, () => new Float64Array(d * BLOCK));
    // as in `Pool`: a step meets covariates again, but with other w*
    this.pooled = Math.min(Math.max(8 * batch, Math.min(2 ** 18, Math.floor(2 ** 24 / d ** 2))), batch * steps);
    this.pool = null; // drawn by the first step
    const others = new Random(17); // the same test set for every seed
    this.test = { S: others.grams(d, setting.n, WATCHED), first: 0, of: WATCHED, prompts: WATCHED };
    this.floor = exactFloor(d, setting.n, layers);
    this.floorLoss = floorLoss(this.floor.coefficients, d, this.test.S);
  }

  /* Make one step on a batch, or on prompts of the pool, and return its loss. */
  step(batch = this.draw()) {
    const { loss, gradients } = this.gradients(batch);
    const { learning_rate, steps } = this.setting;
    this.optimiser.step(gradients, learning_rate * cosine(this.made, steps));
    this.made += 1;
    return loss;
  }

  draw() {
    const { d, n, batch } = this.setting;
    this.pool ??= this.random.grams(d, n, this.pooled);
    const first = this.random.below(this.pooled - batch + 1);
    return { S: this.pool, first, of: this.pooled, prompts: batch, target: this.random.normals(d * batch) };
  }

  /* Return the mean loss of a batch and the gradient of what is minimised, clipped matrix by matrix. A batch has
     `prompts` prompts from the `first` of the `of` in S [d, d, of] on, and their w* `target` [d, prompts]. */
  gradients({ S, target, prompts, first = 0, of = prompts }) {
    const { d, layers, objective, clip } = this.setting;
    const M = this.whitened();
    const slopes = M.map(() => new Float64Array(d * d));
    let loss = 0;
    for (let start = 0; start < prompts; start += BLOCK) {
      const count = Math.min(BLOCK, prompts - start);
      this.take(S, first + start, of, count);
      for (let i = 0; i < d; i++) {
        for (let p = 0; p < count; p++) this.error[i * BLOCK + p] = target[i * prompts + start + p];
      }
      loss += this.forward(M, count) / prompts;
      this.backward(M, slopes, prompts, count);
    }
    const A = new Float64Array(layers * d * d);
    slopes.forEach((slope, layer) => {
      const factor = objective === "log" ? 1 / loss : 1;
      const gradient = turned(this.root, slope, d).map((value) => factor * value);
      const length = Math.hypot(...gradient);
      const shorter = clip > 0 && length > clip ? clip / length : 1;
      A.set(gradient.map((value) => shorter * value), layer * d * d);
    });
    return { loss, gradients: { A } };
  }

  /* Copy the S of `count` prompts to the block. */
  take(S, first, of, count) {
    const { d } = this.setting;
    for (let row = 0; row < d * d; row++) {
      const from = row * of + first;
      for (let p = 0; p < count; p++) this.S[row * BLOCK + p] = S[from + p];
    }
  }

  /* Bring the block's errors through all layers; return the sum of their squares. */
  forward(M, count) {
    const { d } = this.setting;
    M.forEach((own, layer) => {
      const gradient = this.layerGradients[layer].fill(0);
      addProducts(this.S, this.error, gradient, 1, d, count);
      addProduct(this.error, own.map((value) => -value), gradient, d, d, count, { outRow: BLOCK, rightRow: BLOCK });
    });
    let sum = 0;
    for (let i = 0; i < d; i++) {
      for (let p = 0; p < count; p++) sum += this.error[i * BLOCK + p] ** 2;
    }
    return sum;
  }

  /* Add the derivative of the loss, a mean over `prompts`, by every layer's M to `slopes`. */
  backward(M, slopes, prompts, count) {
    const { d } = this.setting;
    const slope = this.error.map((value) => (2 / prompts) * value);
    for (let layer = M.length - 1; layer >= 0; layer--) {
      subtractOuter(slope, this.layerGradients[layer], slopes[layer], d, count);
      if (layer === 0) return;
      this.byGradient.fill(0);
      addProduct(this.byGradient, transposed(M[layer], d, d), slope, d, d, count, { outRow: BLOCK, rightRow: BLOCK });
      addProducts(this.S, this.byGradient, slope, -1, d, count);
    }
  }

  /* Return M = Σ^½ A Σ^½ of every layer, [d, d] each. */
  whitened() {
    const { d, layers } = this.setting;
    const size = d * d;
    return Array.from({ length: layers }, (_, layer) =>
      turned(this.root, this.weights.A.subarray(layer * size, (layer + 1) * size), d),
    );
  }

  /* Return the expected loss on the test set over w* and queries, with the floor as a control variate. */
  testLoss() {
    const { d } = this.setting;
    const M = this.whitened();
    let sum = 0;
    for (let start = 0; start < WATCHED; start += BLOCK) {
      this.take(this.test.S, start, WATCHED, BLOCK);
      for (let unit = 0; unit < d; unit++) {
        this.error.fill(0);
        this.error.fill(1, unit * BLOCK, (unit + 1) * BLOCK);
        sum += this.forward(M, BLOCK);
      }
    }
    return sum / WATCHED + this.floor.loss - this.floorLoss;
  }

  /* Return the loss on the test set, and what the page draws. */
  evaluate() {
    const { d, layers } = this.setting;
    const loss = this.testLoss();
    const M = this.whitened();
    const away = M.map((own) => distance(own, d));
    const nearly = away.filter((share) => share < CLOSE).length;
    const farthest = Math.max(...away);
    const maps = M.map((own, layer) => {
      const by = scale(own, d);
      return { name: `layer ${layer + 1}`, rows: d, columns: d, values: own.map((value) => value / by) };
    });
    const identities = {
      kind: "maps",
      title: `√Σ A √Σ nearly the identity in ${nearly} of ${layers} layer${layers > 1 ? "s" : ""}`,
      caption:
        "One map for each layer, divided by the mean of its diagonal. Where A is a multiple of Σ⁻¹, √Σ A √Σ " +
        "is one of the identity: ones on the diagonal, grey elsewhere. A layer that has learned nothing is noise.",
      maps,
      limit: 1.2,
      value: "entry",
    };
    const distances = {
      kind: "curves",
      title: `${layers > 1 ? "Layers" : "The layer is"} within ${written(farthest)} of a multiple of Σ⁻¹`,
      caption:
        "How far √Σ A √Σ of each layer is from a multiple of the identity, as a share of its size. Without " +
        `learning it stays near ${written(Math.sqrt(1 - 1 / d ** 2))}.`,
      values: Object.fromEntries(away.map((share, layer) => [`layer ${layer + 1}`, share])),
      axis: "distance",
      log: true,
    };
    const steps = layers > 1 ? `${layers} fixed steps` : "fixed step";
    const losses = {
      kind: "curves",
      title: `Loss ${written(loss)}, where the best ${steps} come to ${written(this.floor.loss)}`,
      caption:
        "The mean squared error on prompts that the training never sees. The dotted line is exact: it is the least " +
        "that so many layers lose whose A are multiples of Σ⁻¹.",
      values: { trained: loss },
      references: [
        { name: `best ${steps}`, kind: "floor", value: this.floor.loss },
        { name: "predicting zero", kind: "gradient descent", value: d },
      ],
      axis: "loss",
      log: true,
    };
    return { loss, panels: { identities, distances, losses } };
  }
}

/* Add sign · S v of every prompt of a block to `total`, [d, block] as v; S [d, d, block]. */
function addProducts(S, v, total, sign, d, count) {
  for (let i = 0; i < d; i++) {
    const sums = i * BLOCK;
    let k = 0;
    for (; k + 1 < d; k += 2) { // two at a time: the sums are read and written less often
      const row = (i * d + k) * BLOCK;
      const part = k * BLOCK;
      for (let p = 0; p < count; p++) {
        const both = S[row + p] * v[part + p] + S[row + BLOCK + p] * v[part + BLOCK + p];
        total[sums + p] += sign * both;
      }
    }
    if (k < d) {
      for (let p = 0; p < count; p++) total[sums + p] += sign * S[(i * d + k) * BLOCK + p] * v[k * BLOCK + p];
    }
  }
}

/* Subtract left rightᵀ, summed over the prompts of a block, from a matrix [d, d]; both are [d, block]. */
function subtractOuter(left, right, matrix, d, count) {
  for (let i = 0; i < d; i++) {
    for (let k = 0; k < d; k++) {
      let sum = 0;
      for (let p = 0; p < count; p++) sum += left[i * BLOCK + p] * right[k * BLOCK + p];
      matrix[i * d + k] -= sum;
    }
  }
}

/* Return root · matrix · root, [d, d] each. */
const turned = (root, matrix, d) => product(product(root, matrix, d, d, d), root, d, d, d);

/* Return the eigenvalues of Σ: the paper's, or by condition number and decay (`task.eigenvalues_of`). */
function eigenvalues({ d, spectrum, condition, decay, sigma2 }) {
  const isPapers = spectrum === "paper";
  const place = (i) => (i / Math.max(d - 1, 1)) ** decay;
  const value = (i) => (isPapers ? PAPERS_EIGENVALUES[i % PAPERS_EIGENVALUES.length] : condition ** -place(i));
  return Array.from({ length: d }, (_, i) => value(i) * sigma2);
}

/* Return what turns white covariates into those that A is learned for (`variants.start_root`), [d, d]: I in whitened
   coordinates, else Σ^½ = Uᵀ √D U, in the original ones in units of the root of Σ's mean eigenvalue. */
function startRoot(setting, U) {
  const { d, coordinates } = setting;
  const D = eigenvalues(setting);
  const mean = D.reduce((sum, value) => sum + value) / d;
  const root = new Float64Array(d * d);
  for (let i = 0; i < d; i++) {
    for (let j = 0; j < d; j++) {
      for (let k = 0; k < d; k++) {
        const length = coordinates === "whitened" ? 1 : Math.sqrt(coordinates === "authors" ? D[k] : D[k] / mean);
        root[i * d + j] += U[k * d + i] * length * U[k * d + j];
      }
    }
  }
  return root;
}

/* Return how far a matrix is from a multiple of the identity, as a share of its size (`variants.distances`). */
function distance(matrix, d) {
  return Math.sqrt(Math.max(0, 1 - trace(matrix, d) ** 2 / d / dot(matrix, matrix)));
}

/* Return what a matrix is divided by to be compared with the identity (`preconditioner.scales`). */
function scale(matrix, d) {
  const mean = trace(matrix, d) / d;
  const size = Math.hypot(...matrix) / d;
  return Math.abs(mean) > 0.3 * size ? mean : size;
}

/* Return n^k E tr S^k for k = 0 to `highest`, exactly (`wishart.moments`): a sum over the partitions (a, b, 1, …, 1)
   of k, each a product over its cells. */
function wishartMoments(d, n, highest) {
  const sums = [BigInt(d)];
  for (let k = 1; k <= highest; k++) {
    let above = 0n;
    let below = 1n;
    for (let first = k; first >= 1; first--) {
      for (let second = Math.min(first, k - first); second >= Math.min(1, k - first); second--) {
        const rest = second ? [second, ...Array(k - first - second).fill(1)] : [];
        const [numerator, denominator] = cellProduct([first, ...rest], d, n);
        above = above * denominator + numerator * below;
        below *= denominator;
      }
    }
    sums.push((2n * BigInt(k) * above) / below);
  }
  return sums;
}

function cellProduct(partition, d, n) {
  let numerator = 1n;
  let denominator = 1n;
  partition.forEach((length, i) => {
    for (let j = 0; j < length; j++) {
      const leg = partition.slice(i + 1).filter((other) => other > j).length;
      const arm = length - j - 1;
      const content = 2 * j - i;
      if (i || j) numerator *= BigInt(content);
      numerator *= BigInt((d + content) * (n + content));
      denominator *= BigInt((2 * arm + leg + 1) * (2 * arm + leg + 2));
    }
  });
  return [numerator, denominator];
}

/* Return the least expected loss of so many layers A = a Σ⁻¹, and the coefficients b of the best polynomial
   1 − Σ_j b_j S^j (`wishart.exact_floors`): H b = m with H_jk = m_(j + k), by Cramer's rule in whole numbers. */
function exactFloor(d, n, layers) {
  const m = wishartMoments(d, n, 2 * layers);
  const size = Array.from({ length: layers }, (_, index) => index + 1);
  const whole = determinant(size.map((j) => size.map((k) => m[j + k])));
  const ratio = (above) => Number((above * 10n ** 18n) / whole) / 1e18;
  const entry = (j, k, column) => (k === column ? m[j] : m[j + k]);
  const replaced = size.map((column) => determinant(size.map((j) => size.map((k) => entry(j, k, column)))));
  const left = replaced.reduce((rest, value, index) => rest - value * m[index + 1], m[0] * whole);
  const coefficients = replaced.map((value, index) => ratio(value * BigInt(n) ** BigInt(index + 1)));
  return { loss: ratio(left), coefficients };
}

/* Return the determinant of a matrix of whole numbers, by Bareiss' elimination, in which every division is exact. */
function determinant(rows) {
  const left = rows.map((row) => [...row]);
  let before = 1n;
  for (let pivot = 0; pivot + 1 < left.length; pivot++) {
    for (let i = pivot + 1; i < left.length; i++) {
      for (let j = pivot + 1; j < left.length; j++) {
        left[i][j] = (left[i][j] * left[pivot][pivot] - left[i][pivot] * left[pivot][j]) / before;
      }
    }
    before = left[pivot][pivot];
  }
  return left.at(-1).at(-1);
}

/* Return what the best polynomial loses on prompts S [d, d, prompts], the mean of ‖I − Σ_j b_j S^j‖². */
function floorLoss(coefficients, d, S) {
  const prompts = S.length / d ** 2;
  let sum = 0;
  for (let prompt = 0; prompt < prompts; prompt++) {
    const own = Float64Array.from({ length: d * d }, (_, index) => S[index * prompts + prompt]);
    let power = new Float64Array(d * d); // by Horner's rule
    for (const b of [...coefficients].reverse()) {
      for (let i = 0; i < d; i++) power[i * d + i] -= b;
      power = product(power, own, d, d, d);
    }
    for (let i = 0; i < d; i++) power[i * d + i] += 1;
    sum += dot(power, power);
  }
  return sum / prompts;
}

/* The training of the simplified transformer in a browser's tab: `task.sample`, `model.forward`, the gradient of
   `gradient.loss_and_gradient`, and the recall of `probes.recalls` of birth/shared; one layer or two, no feed-forward,
   random triggers with uniform outputs, the loss of in-context positions. One layer is the second, on embeddings.

   Matrices are rows end to end, and act on columns as in model.py: a row x becomes x Wᵀ. A sequence goes through
   forward and back on its own; of layer 2 only the positions that count, the queries, are computed. */

const AT_ONCE = 8; // rows of an attention map multiplied together: later keys of the first are zeros
const HELD_OUT = 64; // sequences on which the training is watched
const WORD = "hotshots"; // its second half can be known from the first

class InductionHead {
  static EVALUATIONS = [2, 30];

  constructor(setting, random) {
    this.setting = setting;
    this.random = random;
    this.task = new BigramTask(setting);
    this.isSingle = setting.layers === 1;
    const { d, T } = setting;
    const { N } = this.task;
    const matrix = (rows) => random.normals(rows * d, d ** -0.5); // the scale of the paper
    const [W_E, P, W_U, W_V1, W_O1, V2] = [N, T, N, d, d, d].map(matrix);
    this.weights = { W_K1: matrix(d), W_K2: matrix(d), W_O2: matrix(d) };
    this.frozen = { W_E, P, W_U, R1: product(W_O1, W_V1, d, d, d), V2 };
    this.shapes = { W_E: [N, d], P: [T, d], W_U: [N, d] };
    for (const name of ["R1", "V2", "W_K1", "W_K2", "W_O2"]) this.shapes[name] = [d, d];
    this.optimiser = new Adam(this.weights); // AdamW without decay
    this.test = this.task.heldOut(HELD_OUT);
    const rows = (count, width) => new Float64Array(count * width);
    this.scratch = {};
    for (const name of ["h", "v", "mixed", "dh", "hq", "q", "c", "dc", "dq"]) this.scratch[name] = rows(T, d);
    for (const name of ["hT", "vT"]) this.scratch[name] = rows(d, T);
    for (const name of ["A1", "A2", "dS"]) this.scratch[name] = rows(T, T);
    this.scratch.logits = rows(T, N);
  }

  /* Make one step on a batch, or on fresh sequences, and return its loss. */
  step(batch = this.task.sample(this.setting.batch, this.random)) {
    const { loss, gradients } = this.gradients(batch);
    this.optimiser.step(gradients, this.setting.learning_rate);
    return loss;
  }

  /* Return the mean loss of the positions that count, and its gradient. A batch has the `tokens` [sequences, T + 1] and
     which positions are `counted` [sequences, T]. */
  gradients(batch) {
    const { d } = this.setting;
    const { W_U, V2 } = this.frozen;
    const { x, N, M } = this.prepare();
    const total = { W_K2: new Float64Array(d * d), c: new Float64Array(N * d), S1: new Float64Array(M * M) };
    const { loss, count } = this.through(batch, total);
    const scaled = (values, factor) => values.map((value) => (factor / count) * value);
    const ofOutputs = product(product(transposed(W_U, N, d), total.c, d, N, d), transposed(V2, d, d), d, d, d);
    const gradients = { W_K2: scaled(total.W_K2, d ** -0.5), W_O2: scaled(ofOutputs, 1) };
    if (!this.isSingle) {
      const ofScores = product(transposed(x, M, d), product(total.S1, x, M, M, d), d, M, d);
      gradients.W_K1 = scaled(ofScores, d ** -0.5);
    }
    return { loss: loss / count, gradients };
  }

  /* Make the products of weights that all sequences share (`fast_forward.Tables`). */
  prepare() {
    const { d, T } = this.setting;
    const { W_E, P, W_U, R1, V2 } = this.frozen;
    const { W_K1, W_K2, W_O2 } = this.weights;
    const { N } = this.task;
    const M = N + T; // characters, then positions
    const x = this.tables?.x ?? Float64Array.of(...W_E, ...P);
    const root = d ** -0.5;
    const K2 = W_K2.map((value) => root * value);
    const UO = product(product(W_U, W_O2, N, d, d), V2, N, d, d);
    this.tables = {
      N,
      M,
      x,
      v: this.tables?.v ?? product(x, transposed(R1, d, d), M, d, d),
      S: product(product(x, W_K1, M, d, d), transposed(x, M, d), M, d, M).map((score) => root * score),
      K2,
      K2T: transposed(K2, d, d),
      U: W_U,
      UT: this.tables?.UT ?? transposed(W_U, N, d),
      UO,
      UOT: transposed(UO, N, d),
    };
    return this.tables;
  }

  /* Return the summed loss and hits of a batch and their count; with `total`, add what gradients are made of. */
  through({ tokens, counted }, total = null) {
    const { T } = this.setting;
    const sums = { loss: 0, right: 0, count: 0 };
    for (let at = 0; at < counted.length; at += T) {
      const own = tokens.slice((at / T) * (T + 1), (at / T + 1) * (T + 1));
      const queries = [];
      for (let t = 0; t < T; t++) if (counted[at + t]) queries.push(t);
      if (queries.length) this.sequence(own, queries, sums, total);
    }
    return sums;
  }

  /* Bring one sequence through both layers, and with `total` back. */
  sequence(tokens, queries, sums, total) {
    const { d, T } = this.setting;
    const { N, K2, UT, UOT } = this.tables;
    const { h, hT, hq, q, A2, c, logits } = this.scratch;
    const n = queries.at(-1) + 1; // positions that are read
    const m = queries.length;
    this.firstLayer(tokens, n);
    transposeInto(h, hT, n, d);
    queries.forEach((t, row) => hq.set(h.subarray(t * d, (t + 1) * d), row * d));
    for (const each of [q, c]) each.fill(0, 0, m * d);
    logits.fill(0, 0, m * N);
    addProduct(q, hq, K2, m, d, d);
    this.blocks(queries, (row, rows, keys) => {
      A2.fill(0, row * T, (row + rows) * T);
      addProduct(A2, q, hT, rows, d, keys, { out: row * T, left: row * d, outRow: T, rightRow: n });
      for (let own = row; own < row + rows; own++) softmax(A2, own * T, queries[own] + 1, keys);
      addProduct(c, A2, h, rows, keys, d, { out: row * d, left: row * T, leftRow: T });
    });
    addProduct(logits, hq, UT, m, d, N);
    addProduct(logits, c, UOT, m, d, N);
    queries.forEach((t, row) => this.predict(row * N, tokens[t + 1], sums));
    if (total) this.back(tokens, queries, total);
  }

  /* Call with blocks of queries: the first, how many, and how many keys they look at. */
  blocks(queries, act) {
    for (let row = 0; row < queries.length; row += AT_ONCE) {
      const rows = Math.min(AT_ONCE, queries.length - row);
      act(row, rows, queries[row + rows - 1] + 1);
    }
  }

  /* Fill h, v, and layer 1's attention and mixtures of the first n positions. */
  firstLayer(tokens, n) {
    const { d, T } = this.setting;
    const { N, M, S, x, v: values } = this.tables;
    const { h, v, A1, mixed } = this.scratch;
    for (let t = 0; t < n; t++) {
      for (let i = 0; i < d; i++) {
        h[t * d + i] = x[tokens[t] * d + i] + x[(N + t) * d + i];
        v[t * d + i] = values[tokens[t] * d + i] + values[(N + t) * d + i];
      }
    }
    if (this.isSingle) return;
    for (let t = 0; t < n; t++) {
      const [token, place, row] = [tokens[t] * M, (N + t) * M, t * T];
      for (let s = 0; s <= t; s++) {
        A1[row + s] = S[token + tokens[s]] + S[token + N + s] + S[place + tokens[s]] + S[place + N + s];
      }
      softmax(A1, row, t + 1, T);
    }
    mixed.fill(0, 0, n * d);
    for (let row = 0; row < n; row += AT_ONCE) {
      const end = Math.min(row + AT_ONCE, n);
      addProduct(mixed, A1, v, end - row, end, d, { out: row * d, left: row * T, leftRow: T });
    }
    for (let i = 0; i < n * d; i++) h[i] += mixed[i];
  }

  /* Count the loss and the hit of a query, whose logits begin `at` this place, and put there the loss' derivative. */
  predict(at, target, sums) {
    const { N } = this.task;
    const { logits } = this.scratch;
    let best = 0;
    for (let token = 1; token < N; token++) if (logits[at + token] > logits[at + best]) best = token;
    softmax(logits, at, N, N);
    sums.loss -= Math.log(logits[at + target]);
    sums.right += Number(best === target);
    sums.count += 1;
    logits[at + target] -= 1;
  }

  /* Add what the gradients of a sequence's summed loss are made of; dX is the derivative by X. */
  back(tokens, queries, total) {
    const { d, T } = this.setting;
    const { N, K2T, U, UO } = this.tables;
    const { h, hT, dh, hq, q, A2, c, logits, dc, dq, dS } = this.scratch;
    const n = queries.at(-1) + 1;
    const m = queries.length;
    addProduct(total.c, logits, c, N, m, d, { leftRow: 1, leftColumn: N });
    for (const each of [dc, dq]) each.fill(0, 0, m * d);
    dh.fill(0, 0, n * d);
    addProduct(dc, logits, UO, m, N, d);
    this.blocks(queries, (row, rows, keys) => {
      dS.fill(0, row * T, (row + rows) * T);
      addProduct(dS, dc, hT, rows, d, keys, { out: row * T, left: row * d, outRow: T, rightRow: n });
      for (let own = row; own < row + rows; own++) softmaxBack(dS, A2, own * T, keys);
      addProduct(dq, dS, h, rows, keys, d, { out: row * d, left: row * T, leftRow: T });
      const across = { left: row * T, leftRow: 1, leftColumn: T, right: row * d };
      addProduct(dh, A2, dc, keys, rows, d, across);
      addProduct(dh, dS, q, keys, rows, d, across);
    });
    addProduct(total.W_K2, hq, dq, d, m, d, { leftRow: 1, leftColumn: d });
    if (this.isSingle) return; // nothing reaches what is trained but what is known by now
    c.fill(0, 0, m * d); // from here on what reaches h at the queries
    addProduct(c, dq, K2T, m, d, d);
    addProduct(c, logits, U, m, N, d);
    queries.forEach((t, row) => {
      for (let i = 0; i < d; i++) dh[t * d + i] += c[row * d + i];
    });
    this.backFirstLayer(tokens, n, total.S1);
  }

  /* Add the derivatives of layer 1's scores to those of pairs of characters and positions, [M, M]. */
  backFirstLayer(tokens, n, S1) {
    const { d, T } = this.setting;
    const { N, M } = this.tables;
    const { v, vT, dh, A1, dS } = this.scratch;
    transposeInto(v, vT, n, d);
    for (let row = 0; row < n; row += AT_ONCE) {
      const end = Math.min(row + AT_ONCE, n);
      dS.fill(0, row * T, end * T);
      addProduct(dS, dh, vT, end - row, d, end, { out: row * T, left: row * d, outRow: T, rightRow: n });
      for (let t = row; t < end; t++) {
        softmaxBack(dS, A1, t * T, t + 1);
        const [token, place] = [tokens[t] * M, (N + t) * M];
        for (let s = 0; s <= t; s++) {
          const slope = dS[t * T + s];
          S1[token + tokens[s]] += slope;
          S1[token + N + s] += slope;
          S1[place + tokens[s]] += slope;
          S1[place + N + s] += slope;
        }
      }
    }
  }

  /* Return the readings V W Uᵀ of the memories, and what their argmax runs over (`probes.memory`). */
  memories() {
    const { d, T } = this.setting;
    const { W_E, P, W_U, R1, V2 } = this.frozen;
    const { W_K1, W_K2, W_O2 } = this.weights;
    const { N } = this.task;
    const ofLayer = (matrix) => product(W_E, transposed(matrix, d, d), N, d, d);
    const read = (V, W, U, count) => product(product(V, W, count, d, d), transposed(U, count, d), count, d, count);
    const first = () => read(P.subarray(d), W_K1, P.subarray(0, (T - 1) * d), T - 1);
    return {
      ...(this.isSingle ? {} : { "W_K¹": { values: first(), rows: T - 1, over: "keys" } }),
      "W_K²": { values: read(W_E, W_K2, ofLayer(R1), N), rows: N, over: "keys" },
      "W_O²": { values: read(W_U, W_O2, ofLayer(V2), N), rows: N, over: "queries" },
    };
  }

  /* Return both layers' attention on the word, and how much of layer 2's lies on what the context tells to come. */
  attention() {
    const { T } = this.setting;
    const tokens = [...WORD].map((character) => this.task.characters.indexOf(character));
    const count = tokens.length;
    this.sequence([...tokens, 0], tokens.map((_, t) => t), { loss: 0, right: 0, count: 0 }, null);
    const { A1, A2 } = this.scratch;
    const shown = (A) =>
      Float64Array.from({ length: count * count }, (_, index) => {
        const [row, column] = [Math.floor(index / count), index % count];
        return column > row ? NaN : A[row * T + column];
      });
    let looked = 0;
    let known = 0;
    tokens.forEach((token, t) => {
      const first = tokens.indexOf(token);
      if (first === t) return;
      known += 1;
      for (let s = first + 1; s <= t; s++) if (tokens[s - 1] === token) looked += A2[t * T + s];
    });
    const map = (name, A) => ({ name, rows: count, columns: count, values: shown(A), labels: [...WORD] });
    const maps = this.isSingle ? [map("the only layer", A2)] : [map("layer 1", A1), map("layer 2", A2)];
    return { maps, looked: looked / known };
  }

  /* Return the loss on the test set, and what the page draws. */
  evaluate() {
    this.prepare();
    const { loss, right, count } = this.through(this.test);
    const { maps, looked } = this.attention();
    const should = this.isSingle
      ? "A layer alone cannot tell which characters followed which."
      : "Layer 1 should look at the character just before; layer 2, in the second half of the word, at what " +
        "followed the same character in the first.";
    const attention = {
      kind: "maps",
      title: `${percent(looked)} of ${this.isSingle ? "the" : "layer 2's"} attention is on what followed last time`,
      caption: `Where each character of “${WORD}” looks, row by row. ${should}`,
      maps,
      limit: 1,
      value: "attention",
      attention: true,
    };
    const accuracy = {
      kind: "curves",
      title: `${percent(right / count)} of predictions are right in context`,
      caption:
        "How often the likeliest next character is the one that the context tells, in sequences that the training " +
        "never sees. What cannot look back stays near the dashed line.",
      values: { trained: right / count },
      references: [
        { name: "repeating the character", kind: "gradient descent", value: this.test.repeated },
        { name: "uniform guess", kind: "floor", value: 1 / this.task.N },
      ],
      axis: "accuracy",
      range: [0, 1.02],
    };
    const memories = this.memories();
    const first = this.isSingle ? "" : "W_K¹ pairs positions with the one before, ";
    const recalls = Object.fromEntries(Object.entries(memories).map(([name, own]) => [name, recall(own)]));
    const formation = {
      kind: "curves",
      title: `Recall: ${Object.entries(recalls).map(([name, share]) => `${name} ${percent(share)}`).join(", ")}`,
      caption:
        `The share of its pairs that each matrix gets right, asked on its own. ${first}W_K² pairs characters with ` +
        "themselves, W_O² outputs with their inputs.",
      values: recalls,
      kinds: { "W_K¹": "layer 1", "W_K²": "layer 2", "W_O²": "layer 3" },
      axis: "recall",
      range: [0, 1.02],
    };
    const stored = Object.values(recalls).filter((share) => share >= 0.5).length;
    const readings = {
      kind: "maps",
      title: `Matrices that have stored half of their pairs or more: ${stored} of ${Object.keys(recalls).length}`,
      caption:
        "Each number asks a matrix for one pair; the pairs that it should store are on the diagonal. Divided by the " +
        "diagonal's mean where that stands out. A matrix that has stored nothing looks like noise.",
      maps: Object.entries(memories).map(([name, { values, rows }]) => {
        const by = Math.max(trace(values, rows) / rows, 3 * Math.sqrt(dot(values, values) / values.length));
        return { name, rows, columns: rows, values: Float32Array.from(values, (value) => value / by) };
      }),
      limit: 1,
      value: "reading",
    };
    return { loss: loss / count, panels: { attention, accuracy, formation, readings } };
  }
}

/* The bigram task with random triggers and uniform outputs, from a text's counts (`task.make_task`). */
class BigramTask {
  constructor({ K, T, characters, unigram, bigram }) {
    Object.assign(this, { K, T, characters, N: characters.length, unigram });
    this.cumulated = cumulated(unigram);
    this.rows = bigram.map((row) => cumulated(row.some(Boolean) ? row : unigram));
  }

  /* Draw sequences: their `tokens` [sequences, T + 1], and which positions are to be told by the context. */
  sample(sequences, random) {
    const { K, T, N } = this;
    const tokens = new Int32Array(sequences * (T + 1));
    const counted = new Uint8Array(sequences * T);
    for (let sequence = 0; sequence < sequences; sequence++) {
      const outputs = new Map(); // of the triggers
      while (outputs.size < K) outputs.set(drawn(this.cumulated, random), random.below(N));
      const seen = new Set();
      const start = sequence * (T + 1);
      tokens[start] = drawn(this.cumulated, random);
      for (let t = 0; t < T; t++) {
        const token = tokens[start + t];
        counted[sequence * T + t] = Number(outputs.has(token) && seen.has(token));
        seen.add(token);
        tokens[start + t + 1] = outputs.get(token) ?? drawn(this.rows[token], random);
      }
    }
    return { tokens, counted };
  }

  /* Return sequences for evaluation, the same for every seed, with a steady share of those that repeat themselves
     (`train.held_out`), and how often repeating the character is right. */
  heldOut(sequences) {
    const { T } = this;
    const pool = this.sample(8 * sequences, new Random(17));
    const row = (index) => pool.tokens.subarray(index * (T + 1), (index + 1) * (T + 1));
    const mask = (index) => pool.counted.subarray(index * T, (index + 1) * T);
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    const repeats = (index) => sum(mask(index).map((own, t) => own * Number(row(index)[t] === row(index)[t + 1])));
    const numbered = Array.from({ length: 8 * sequences }, (_, index) => [index, repeats(index)]);
    const chosen = numbered.sort((one, other) => one[1] - other[1]).filter((_, place) => place % 8 === 4);
    const counted = chosen.flatMap(([index]) => [...mask(index)]);
    const repeated = sum(chosen.map(([, repetitions]) => repetitions)) / sum(counted);
    return { tokens: Int32Array.from(chosen.flatMap(([index]) => [...row(index)])), counted, repeated };
  }
}

function cumulated(counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let sum = 0;
  return Float64Array.from(counts, (count) => (sum += count) / total);
}

/* Return an index drawn by cumulated shares. */
function drawn(shares, random) {
  const at = random.uniform();
  let index = 0;
  while (shares[index] <= at) index++;
  return index;
}

/* Replace `count` scores from `start` on by their softmax, and those behind them up to `width` by zeros. */
function softmax(values, start, count, width) {
  let largest = -Infinity;
  for (let i = start; i < start + count; i++) largest = Math.max(largest, values[i]);
  let sum = 0;
  for (let i = start; i < start + count; i++) sum += values[i] = Math.exp(values[i] - largest);
  for (let i = start; i < start + count; i++) values[i] /= sum;
  values.fill(0, start + count, start + width);
}

/* Replace the derivatives by attention, `count` from `start` on, by those by scores. */
function softmaxBack(slopes, attention, start, count) {
  let sum = 0;
  for (let i = start; i < start + count; i++) sum += slopes[i] * attention[i];
  for (let i = start; i < start + count; i++) slopes[i] = attention[i] * (slopes[i] - sum);
}

/* Return the share of pairs whose reading is the largest of its row ("keys") or its column (`probes.recall`). */
function recall({ values, rows, over }) {
  const [across, down] = over === "keys" ? [1, rows] : [rows, 1];
  let right = 0;
  for (let i = 0; i < rows; i++) {
    let best = 0;
    for (let j = 1; j < rows; j++) if (values[i * down + j * across] > values[i * down + best * across]) best = j;
    right += Number(best === i);
  }
  return right / rows;
}

/* The training of a GD-SSM layer in a browser's tab: `layer_nd.attention`, `task.sample`, `train.gradient` and
   `train.watched` of gdssm/shared, for one seed, one layer on vector labels, and a decay for each row or for all.

   A task's x and y are rows of f numbers, [N + 1, f], one task after another. Its windows are C_t = [x_t, y_t, x_t+1],
   and it predicts o = β Σ_t a^(N−t) C_t Q C_tᵀ u with u = C_N q. */

const HELD_OUT = 1024; // tasks on which the training is watched
const TYPICAL = 16; // of them the first, which say how large a sum is; the next one is drawn
const PARTS = ["xₜ", "yₜ", "xₜ₊₁"]; // of a window

class GdssmLayer {
  static EVALUATIONS = [5, 30];

  constructor(setting, random) {
    this.setting = setting;
    this.random = random;
    const rows = setting.recurrence === "row" ? setting.f : 1;
    this.shapes = { a: [rows, 1], Q: [3, 3], q: [3], beta: [] };
    this.weights = {
      a: Float64Array.from({ length: rows }, () => 0.95 + 0.05 * random.uniform()),
      Q: random.normals(9, 0.1),
      q: random.normals(3, 0.1),
      beta: Float64Array.of(1 / setting.N),
    };
    this.optimiser = new Adam(this.weights);
    this.made = 0; // steps
    this.test = this.draw(HELD_OUT, new Random(17)); // the same for every seed
    this.oneStep = this.bestStep();
  }

  /* Make one step on a batch, or on fresh tasks, and return its loss. */
  step(batch = this.draw(this.setting.batch, this.random)) {
    const { loss, gradients } = this.gradients(batch);
    const { learning_rate, steps } = this.setting;
    this.optimiser.step(gradients, learning_rate * cosine(this.made, steps));
    this.made += 1;
    return loss;
  }

  /* Draw tasks y = W x, x uniform on (−r, r) and W of N(0, 1): x and y [tasks, N + 1, f]. */
  draw(tasks, random) {
    const { f, N, r } = this.setting;
    const x = Float64Array.from({ length: tasks * (N + 1) * f }, () => r * (2 * random.uniform() - 1));
    const y = new Float64Array(x.length);
    for (let task = 0; task < tasks; task++) {
      const W = random.normals(f * f);
      for (let pair = 0; pair <= N; pair++) {
        const at = (task * (N + 1) + pair) * f;
        for (let i = 0; i < f; i++) {
          for (let j = 0; j < f; j++) y[at + i] += W[i * f + j] * x[at + j];
        }
      }
    }
    return { x, y };
  }

  /* Return the loss of a batch, half the squared error a coordinate, and its gradient by all weights. */
  gradients({ x, y }) {
    const { f, N } = this.setting;
    const tasks = x.length / ((N + 1) * f);
    const gradients = {};
    for (const [name, values] of Object.entries(this.weights)) gradients[name] = new Float64Array(values.length);
    const powers = this.powers();
    let loss = 0;
    for (let task = 0; task < tasks; task++) {
      loss += this.taskGradient(x, y, task * (N + 1) * f, powers, gradients, tasks * f);
    }
    return { loss: loss / (tasks * f), gradients };
  }

  /* Return a^(N−t) of every window and row, [N, f], and its derivative by a. */
  powers() {
    const { f, N } = this.setting;
    const { a } = this.weights;
    const value = new Float64Array(N * f);
    const slope = new Float64Array(N * f);
    for (let t = 0; t < N; t++) {
      for (let i = 0; i < f; i++) {
        const decay = a[a.length > 1 ? i : 0];
        const later = N - 1 - t; // windows
        value[t * f + i] = decay ** later;
        if (later) slope[t * f + i] = later * decay ** (later - 1);
      }
    }
    return { value, slope };
  }

  /* Add the gradient of the task that begins `at` this place, and return its summed loss; losses count over `count`. */
  taskGradient(x, y, at, powers, gradients, count) {
    const { f, N } = this.setting;
    const { a, Q, q, beta } = this.weights;
    const row = (values, pair) => values.subarray(at + pair * f, at + (pair + 1) * f);
    const windows = Array.from({ length: N }, (_, t) => [row(x, t), row(y, t), row(x, t + 1)]);
    const last = windows[N - 1];
    const u = new Float64Array(f);
    for (let i = 0; i < f; i++) u[i] = q[0] * last[0][i] + q[1] * last[1][i] + q[2] * last[2][i];
    const scores = windows.map((window) => window.map((own) => dot(own, u))); // C_tᵀ u
    const mixed = scores.map((own) => [0, 3, 6].map((k) => Q[k] * own[0] + Q[k + 1] * own[1] + Q[k + 2] * own[2]));
    const z = new Float64Array(f); // Z u
    const byDecay = new Float64Array(f);
    windows.forEach(([first, second, third], t) => {
      const [m0, m1, m2] = mixed[t];
      for (let i = 0; i < f; i++) {
        const value = m0 * first[i] + m1 * second[i] + m2 * third[i];
        z[i] += powers.value[t * f + i] * value;
        byDecay[i] += powers.slope[t * f + i] * value;
      }
    });
    let loss = 0;
    const slope = new Float64Array(f); // of the loss by z
    for (let i = 0; i < f; i++) {
      const error = beta[0] * z[i] - y[at + N * f + i];
      loss += (error * error) / 2;
      gradients.beta[0] += (error * z[i]) / count;
      slope[i] = (beta[0] * error) / count;
      gradients.a[a.length > 1 ? i : 0] += slope[i] * byDecay[i];
    }
    const byQuery = new Float64Array(f);
    const decayed = new Float64Array(f);
    windows.forEach((window, t) => {
      for (let i = 0; i < f; i++) decayed[i] = slope[i] * powers.value[t * f + i];
      const byMixed = window.map((own) => dot(own, decayed));
      for (let j = 0; j < 3; j++) {
        for (let k = 0; k < 3; k++) gradients.Q[3 * k + j] += byMixed[k] * scores[t][j];
        const byScore = Q[j] * byMixed[0] + Q[3 + j] * byMixed[1] + Q[6 + j] * byMixed[2];
        for (let i = 0; i < f; i++) byQuery[i] += byScore * window[j][i];
      }
    });
    for (let k = 0; k < 3; k++) gradients.q[k] += dot(last[k], byQuery);
    return loss;
  }

  /* Return what one step of gradient descent loses on the test tasks at its best rate (`construction.best_eta`). */
  bestStep() {
    const { f, N } = this.setting;
    const labels = new Float64Array(HELD_OUT * f);
    const steps = new Float64Array(HELD_OUT * f);
    for (let task = 0; task < HELD_OUT; task++) {
      const G = this.gradientSum(task);
      const query = (task * (N + 1) + N) * f;
      labels.set(this.test.y.subarray(query, query + f), task * f);
      for (let i = 0; i < f; i++) {
        steps[task * f + i] = dot(G.subarray(i * f, (i + 1) * f), this.test.x.subarray(query, query + f));
      }
    }
    return (dot(labels, labels) - dot(labels, steps) ** 2 / dot(steps, steps)) / (2 * labels.length);
  }

  /* Return ∑ y xᵀ over the pairs of a test task, [f, f]: minus N times the gradient at zero. */
  gradientSum(task) {
    const { f, N } = this.setting;
    const sum = new Float64Array(f * f);
    for (let pair = 0; pair < N; pair++) {
      const at = (task * (N + 1) + pair) * f;
      for (let i = 0; i < f; i++) {
        for (let j = 0; j < f; j++) sum[i * f + j] += this.test.y[at + i] * this.test.x[at + j];
      }
    }
    return sum;
  }

  /* Return the state Z_N after a test task, [f, f] (`layer_nd.states`). */
  state(task) {
    const { f, N } = this.setting;
    const { a, Q } = this.weights;
    const { x, y } = this.test;
    const Z = new Float64Array(f * f);
    for (let pair = 0; pair < N; pair++) {
      const at = (task * (N + 1) + pair) * f;
      const window = (k, i) => [x, y, x][k][at + (k === 2) * f + i];
      for (let i = 0; i < f; i++) {
        const left = [0, 1, 2].map((j) => Q[j] * window(0, i) + Q[3 + j] * window(1, i) + Q[6 + j] * window(2, i));
        for (let j = 0; j < f; j++) {
          const added = left[0] * window(0, j) + left[1] * window(1, j) + left[2] * window(2, j);
          Z[i * f + j] = a[a.length > 1 ? i : 0] * Z[i * f + j] + added;
        }
      }
    }
    return Z;
  }

  /* Return the state of one prompt beside the gradient, scaled by the one factor that fits other prompts, and how far
     it is off, as a share of a gradient's usual size (`accumulated_state.held`). */
  stateBesideGradient() {
    let product = 0;
    let square = 0;
    let size = 0;
    for (let task = 0; task < TYPICAL; task++) {
      const [Z, G] = [this.state(task), this.gradientSum(task)];
      product += dot(Z, G);
      square += dot(Z, Z);
      size += dot(G, G) / TYPICAL;
    }
    const factor = square > 0 ? product / square : 0;
    const exact = this.gradientSum(TYPICAL);
    const state = this.state(TYPICAL).map((value) => factor * value);
    const difference = state.map((value, index) => value - exact[index]);
    return { factor, exact, state, difference, off: Math.sqrt(dot(difference, difference) / size) };
  }

  /* Return the loss on the test tasks, and what the page draws. */
  evaluate() {
    const { f, N, r } = this.setting;
    const { Q } = this.weights;
    const { loss } = this.gradients(this.test);
    const { factor, exact, state, difference, off } = this.stateBesideGradient();
    const square = (name, values) => ({ name, rows: f, columns: f, values });
    const states = {
      kind: "maps",
      title: `The state is ${percent(off)} off the gradient`,
      caption:
        "What the layer has added up over one fresh prompt, beside the sum over its pairs, which is minus N times " +
        "the gradient of a linear model's loss at zero. The layer is never shown it; the difference should vanish.",
      maps: [
        square(`state × ${written(factor)}`, state),
        square("∑ y xᵀ, exact", exact),
        square("difference", difference),
      ],
      limit: Math.max(...exact.map(Math.abs)),
      value: "entry",
    };
    const learned = Q.map((value) => value / Q[3]); // scale and sign move freely among Q, q and β
    const constructed = Float64Array.from(Q, (_, index) => Number(index === 3));
    const farthest = Math.max(...learned.map((value, index) => Math.abs(value - constructed[index])));
    const three = (name, values) => ({ name, rows: 3, columns: 3, values, labels: PARTS });
    const products = {
      kind: "maps",
      title: `Q within ${written(farthest)} of the construction`,
      caption:
        "Q says which products of the tokens xₜ, yₜ, xₜ₊₁ enter the state; it is divided by its entry for y xᵀ. " +
        "In the construction this is the only one. Before training all nine enter.",
      maps: [three("learned", learned), three("constructed", constructed)],
      limit: 1.5,
      value: "entry",
    };
    const above = loss / this.oneStep - 1;
    const side = above < 0 ? "below" : "above";
    const zero = (f * r ** 2) / 6; // `closed_forms.zero_loss`
    const losses = {
      kind: "curves",
      title: `Loss ${written(loss)}: ${percent(Math.abs(above))} ${side} one step of gradient descent`,
      caption:
        "Half the squared error on tasks that the training never sees; the title compares with the best step on " +
        "these tasks. The dotted line is that step's loss over all tasks, exactly. A layer that learns nothing " +
        "stays at predicting zero.",
      values: { trained: loss },
      references: [
        { name: "best single step", kind: "floor", value: zero * (1 - N / (N - 0.2 + f)) }, // `closed_forms.best_loss`
        { name: "predicting zero", kind: "gradient descent", value: zero },
      ],
      axis: "loss",
    };
    return { loss, panels: { states, losses, products } };
  }
}

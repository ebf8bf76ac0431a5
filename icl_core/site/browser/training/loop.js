/* What all trainings in a tab share: when they are evaluated, their schedule, their optimiser, and how numbers are
   written. */

/* Return the steps at which held-out measures are taken, as a set (`evaluations` in training/loop.py). */
function evaluations(steps, every, dense) {
  const chosen = new Set([0, 1, 2, 5]);
  let apart = every;
  for (let first = 0; first < steps; apart *= 2) {
    for (let step = first; step <= apart * dense; step += apart) chosen.add(step);
    first = Math.max(...chosen);
  }
  return new Set([...chosen].filter((step) => step < steps).concat(steps));
}

/* Return the factor on the learning rate at a step: half a cosine from 1 to 0 (`cosine` in training/loop.py). */
const cosine = (step, steps) => (1 + Math.cos((Math.PI * step) / steps)) / 2;

/* Adam as torch has it, on named arrays that it changes in place. */
class Adam {
  constructor(weights, beta1 = 0.9, beta2 = 0.999) {
    this.weights = weights;
    this.beta1 = beta1;
    this.beta2 = beta2;
    this.count = 0;
    this.moments = {};
    for (const [name, values] of Object.entries(weights)) {
      this.moments[name] = [new Float64Array(values.length), new Float64Array(values.length)];
    }
  }

  /* Make one step at a learning rate, by gradients of the same names; a weight without a gradient stays. */
  step(gradients, rate) {
    const { beta1, beta2 } = this;
    this.count += 1;
    const size = rate / (1 - beta1 ** this.count);
    const correction = Math.sqrt(1 - beta2 ** this.count);
    for (const [name, slope] of Object.entries(gradients)) {
      const values = this.weights[name];
      const [mean, square] = this.moments[name];
      for (let i = 0; i < values.length; i++) {
        mean[i] = beta1 * mean[i] + (1 - beta1) * slope[i];
        square[i] = beta2 * square[i] + (1 - beta2) * slope[i] * slope[i];
        values[i] -= (size * mean[i]) / (Math.sqrt(square[i]) / correction + 1e-8);
      }
    }
  }
}

/* Return a number with so many digits, as the page writes it: "0.042", "−1.3". */
const written = (number, digits = 2) => String(Number(number.toPrecision(digits))).replace("-", "−");

/* Return a share in percent, "3%", or "0.4%" below one. */
const percent = (share) => `${written(100 * share, 100 * share < 1 ? 1 : 2)}%`;

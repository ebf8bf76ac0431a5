/* Random numbers that a seed decides: xoshiro128** (Blackman and Vigna, 2018), and the laws that trainings draw from.
   Numbers differ from torch's; their laws are the same. */

class Random {
  constructor(seed) {
    let state = seed >>> 0;
    this.words = Uint32Array.from({ length: 4 }, () => {
      state = (state + 0x9e3779b9) >>> 0; // splitmix32: near seeds begin far apart
      let word = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
      word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
      return word ^ (word >>> 16);
    });
    this.spare = null; // normal numbers come in pairs
  }

  /* Return a whole number from 0 to 2³² − 1. */
  word() {
    const words = this.words;
    const product = Math.imul(words[1], 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const shifted = words[1] << 9;
    words[2] ^= words[0];
    words[3] ^= words[1];
    words[1] ^= words[2];
    words[0] ^= words[3];
    words[2] ^= shifted;
    words[3] = (words[3] << 11) | (words[3] >>> 21);
    return result;
  }

  /* Return a number from 0, included, to 1, excluded. */
  uniform() {
    return this.word() / 4294967296;
  }

  /* Return a whole number below `count`. */
  below(count) {
    return Math.floor(this.uniform() * count);
  }

  /* Return a number from N(0, 1), by the polar method. */
  normal() {
    if (this.spare !== null) {
      const spare = this.spare;
      this.spare = null;
      return spare;
    }
    for (;;) {
      const x = 2 * this.uniform() - 1;
      const y = 2 * this.uniform() - 1;
      const square = x * x + y * y;
      if (square < 1 && square > 0) {
        const factor = Math.sqrt((-2 * Math.log(square)) / square);
        this.spare = y * factor;
        return x * factor;
      }
    }
  }

  /* Return the length of a vector of `degrees` normal numbers: by Marsaglia and Tsang's gamma law from two on. */
  chi(degrees) {
    if (degrees === 1) return Math.abs(this.normal());
    const shape = degrees / 2 - 1 / 3;
    for (;;) {
      const x = this.normal();
      const root = 1 + x / Math.sqrt(9 * shape);
      if (root <= 0) continue;
      const cube = root * root * root;
      const log = Math.log(1 - this.uniform());
      if (log < (x * x) / 2 + shape * (1 - cube + Math.log(cube))) return Math.sqrt(2 * shape * cube);
    }
  }

  /* Return an array of `count` numbers from N(0, `deviation`²). */
  normals(count, deviation = 1) {
    return Float64Array.from({ length: count }, () => deviation * this.normal());
  }

  /* Return S = U Uᵀ / n of `count` prompts of n examples u ~ N(0, I), float32 [d, d, count]. n S is a Wishart matrix:
     its Cholesky factor has chi-distributed numbers on the diagonal and normal ones below it (Bartlett). */
  grams(d, n, count) {
    const S = new Float32Array(d * d * count);
    const factor = new Float64Array(d * d);
    const rank = Math.min(d, n);
    for (let prompt = 0; prompt < count; prompt++) {
      for (let i = 0; i < d; i++) {
        for (let k = 0; k < Math.min(i, rank); k++) factor[i * d + k] = this.normal();
        if (i < rank) factor[i * d + i] = this.chi(n - i);
        for (let j = 0; j <= i; j++) {
          let sum = 0;
          for (let k = 0; k < Math.min(j + 1, rank); k++) sum += factor[i * d + k] * factor[j * d + k];
          S[(i * d + j) * count + prompt] = S[(j * d + i) * count + prompt] = sum / n;
        }
      }
    }
    return S;
  }

  /* Return an orthogonal matrix [d, d] from the Haar measure, reflections included (`rotation` in covariance.py). */
  rotation(d) {
    const rows = Array.from({ length: d }, () => this.normals(d));
    rows.forEach((row, i) => {
      for (const before of rows.slice(0, i)) {
        const along = row.reduce((sum, value, k) => sum + value * before[k], 0);
        row.forEach((value, k) => (row[k] = value - along * before[k]));
      }
      const length = Math.hypot(...row);
      row.forEach((value, k) => (row[k] = value / length));
    });
    return Float64Array.from({ length: d * d }, (_, index) => rows[Math.floor(index / d)][index % d]);
  }
}

/* Products of matrices whose rows stand end to end in an array. */

/* Add left · right to `out`, [rows, columns], with `inner` numbers in each sum; `where` says at which place each
   begins and how far its rows, of the left also its columns, are apart. */
function addProduct(out, left, right, rows, inner, columns, where = {}) {
  const { out: first = 0, outRow = columns, leftColumn = 1, right: begin = 0, rightRow = columns } = where;
  const { left: start = 0, leftRow = inner } = where;
  for (let i = 0; i < rows; i += 2) { // two rows and four columns of the left at a time: fewer numbers are read again
    const isPair = i + 1 < rows;
    const upper = first + i * outRow;
    const lower = upper + outRow;
    let k = 0;
    for (; isPair && k + 3 < inner; k += 4) {
      const at = start + i * leftRow + k * leftColumn;
      const [a, b, c, e] = [left[at], left[at + leftColumn], left[at + 2 * leftColumn], left[at + 3 * leftColumn]];
      const to = at + leftRow;
      const [s, t, u, v] = [left[to], left[to + leftColumn], left[to + 2 * leftColumn], left[to + 3 * leftColumn]];
      const row = begin + k * rightRow;
      for (let j = row; j < row + columns; j++) {
        const w = right[j];
        const x = right[j + rightRow];
        const y = right[j + 2 * rightRow];
        const z = right[j + 3 * rightRow];
        out[upper + j - row] += a * w + b * x + c * y + e * z;
        out[lower + j - row] += s * w + t * x + u * y + v * z;
      }
    }
    for (; k < inner; k++) {
      const at = start + i * leftRow + k * leftColumn;
      const row = begin + k * rightRow;
      for (let j = 0; j < columns; j++) out[upper + j] += left[at] * right[row + j];
      if (isPair) for (let j = 0; j < columns; j++) out[lower + j] += left[at + leftRow] * right[row + j];
    }
  }
}

/* Return left · right. */
function product(left, right, rows, inner, columns) {
  const out = new Float64Array(rows * columns);
  addProduct(out, left, right, rows, inner, columns);
  return out;
}

function transposeInto(matrix, out, rows, columns) {
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) out[j * rows + i] = matrix[i * columns + j];
  }
}

/* Return the transpose of a matrix [rows, columns]. */
function transposed(matrix, rows, columns) {
  const out = new Float64Array(rows * columns);
  transposeInto(matrix, out, rows, columns);
  return out;
}

/* Return the sum of a matrix' diagonal, [size, size]. */
const trace = (matrix, size) => matrix.reduce((sum, value, at) => (at % (size + 1) ? sum : sum + value), 0);

/* Return the inner product of two arrays of one length. */
function dot(left, right) {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += left[i] * right[i];
  return sum;
}

/* What the clock and the linked maps read of plotly.js beyond its documented functions, events and `data` and `layout`.
   Each undocumented part is read by one function, which says why. */

/* An axis as plotly.js has drawn it: `_offset`, `_length`, `p2l` and `l2p` say which pixel a value lies at,
   `_inputDomain` which domain the axis was drawn for. `plot.layout` has neither. */
const drawnAxis = (plot, name) => plot._fullLayout?.[name];

/* Paint the cells of heat maps, [rows][columns] for each of `traces`, without what stands around them: a tenth of the
   time of `Plotly.restyle`, which draws everything. Returns false if plotly.js has no such part any more. */
function paintCells(plot, traces, matrices) {
  const cartesian = plot._fullLayout?._basePlotModules?.find((part) => part.name === "cartesian");
  const calculated = traces.map((trace) => plot.calcdata?.[trace]?.[0]);
  if (!cartesian?.plot || !calculated.every((cells) => cells?.z)) return false;
  try {
    calculated.forEach((cells, index) => (cells.z = matrices[index]));
    cartesian.plot(plot);
  } catch (error) {
    return false;
  }
  return true;
}

/* A chart that plotly.js has drawn. A chart that is made anew has another `on`. */
const isDrawn = (plot) => Boolean(plot.on && plot.data && plot.layout);

const FLOATS = { f8: Float64Array, f4: Float32Array };
const isPacked = (z) => Boolean(z?.shape && z.dtype in FLOATS);

/* The numbers of a heat map, [rows][columns], which come packed in base 64; NaN is undefined, plotly.js's sign for no
   cell. */
function unpack({ dtype, bdata, shape }) {
  const bytes = Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0));
  const numbers = Array.from(new FLOATS[dtype](bytes.buffer), (number) => (Number.isNaN(number) ? undefined : number));
  const [height, width] = shape.split(",").map(Number);
  return Array.from({ length: height }, (_, row) => numbers.slice(row * width, (row + 1) * width));
}

/* What the clock and the linked maps read of plotly.js beyond its documented functions, events and `data` and `layout`.
   Each undocumented part is read by one function, which says why. */

/* An axis as plotly.js has drawn it: `_offset`, `_length`, `p2l` and `l2p` say which pixel a value lies at,
   `_inputDomain` which domain the axis was drawn for. `plot.layout` has neither. */
const drawnAxis = (plot, name) => plot._fullLayout?.[name];

/* How far from a chart's left edge its plot begins, in pixels: `_size` has what long labels have added to the layout's
   margin. */
const drawnMargin = (plot) => plot._fullLayout?._size?.l ?? 0;

const MARKS = ["x", "y", "text", "textfont", "customdata"]; // what of points and lines can be painted
const CELLS = ["z", "text"]; // and of heat maps

/* Paint what traces show, the changes of each of `traces`, without what stands around them: a fraction of the time of
   `Plotly.update`, which draws everything. Returns false if that cannot be done, or if plotly.js has no such part any
   more; the chart is to be drawn in full then. */
function paintTraces(plot, traces, changes) {
  const cartesian = plot._fullLayout?._basePlotModules?.find((part) => part.name === "cartesian");
  if (!cartesian?.plot) return false;
  try {
    const isReady = traces.every((trace, index) => calculate(plot, trace, changes[index]));
    if (isReady) cartesian.plot(plot);
    return isReady;
  } catch (error) {
    return false;
  }
}

/* Have plotly.js calculate a trace anew with some changes: `_fullData` holds it with all its defaults, of which
   `_module.calc` makes what is drawn. Returns false if plotly.js would have to look at more than this trace. */
function calculate(plot, trace, { type, ...changes }) {
  const full = plot._fullData?.[trace];
  const known = { heatmap: CELLS, scatter: MARKS }[type] ?? [];
  if (full?.type !== type || !Object.keys(changes).every((key) => known.includes(key))) return false;
  const unpacked = Object.entries(changes).map(([key, value]) => [key, isPacked(value) ? unpack(value) : value]);
  const update = (type === "heatmap" ? cellsOf : pointsOf)(plot, full, Object.fromEntries(unpacked));
  if (!update) return false;
  if (full.visible !== true) return true;
  const calculated = full._module.calc(plot, Object.assign(full, update));
  calculated[0].t ??= {};
  calculated[0].trace = full;
  plot.calcdata[trace] = calculated;
  return true;
}

/* The changes of a heat map; nothing if its colours follow its numbers. */
function cellsOf(plot, full, changes) {
  const follows = full.coloraxis ? plot._fullLayout[full.coloraxis].cauto : full.zauto;
  return follows ? undefined : changes;
}

/* The cells of each heat map in sight that can be painted, [rows][columns], by trace: `calcdata` alone has them
   unpacked. */
const shownMaps = (plot) =>
  (plot.calcdata ?? []).map(([{ trace, z }]) => {
    const isMap = trace?.type === "heatmap" && trace.visible === true;
    return isMap && cellsOf(plot, trace, {}) ? z : undefined;
  });

/* The changes of points and lines; nothing if other traces or an axis follow them, or if there were no points and now
   are: those have no defaults yet. */
function pointsOf(plot, full, { textfont, ...changes }) {
  const { x = full.x, y = full.y } = changes;
  const length = Math.min(x?.length ?? 0, y?.length ?? 0);
  const axes = [full.xaxis ?? "x", full.yaxis ?? "y"].map((id) => drawnAxis(plot, id.replace(/^[xy]/, "$&axis")));
  if (full.stackgroup || full.error_x?.visible || full.error_y?.visible) return undefined;
  if (axes.some((axis) => axis.autorange) || (full.visible === true) !== length > 0) return undefined;
  return { ...changes, _length: length, textfont: { ...full.textfont, ...textfont } };
}

const withoutText = (annotation) => JSON.stringify({ ...annotation, text: "" });

/* Write the texts of annotations where other texts of theirs stand, which `Plotly.relayout` takes as long for as for the
   whole chart. Returns false if more than plain texts changes. */
function paintTexts(plot, annotations) {
  const places = annotations.map((_, index) =>
    plot.querySelector(`.annotation[data-index="${index}"] .annotation-text:not(:has(*))`),
  );
  const isText = ({ text }, index) => places[index] && !/[<&]/.test(text);
  const isSame = (annotation, index) => withoutText(annotation) === withoutText(plot.layout.annotations?.[index]);
  if (annotations.length !== plot.layout.annotations?.length) return false;
  if (!annotations.every(isText) || !annotations.every(isSame)) return false;
  annotations.forEach(({ text }, index) => (places[index].textContent = text));
  return true;
}

/* A chart that plotly.js has drawn. A chart that is made anew has another `on`. */
const isDrawn = (plot) => Boolean(plot.on && plot.data && plot.layout);

const ARRAYS = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  i2: Int16Array,
  i1: Int8Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
};
const isPacked = (numbers) => Boolean(numbers?.bdata && numbers.dtype in ARRAYS);

/* Numbers that come packed in base 64. With a shape they are a heat map's, [rows][columns], where NaN is undefined,
   plotly.js's sign for no cell. */
function unpack({ dtype, bdata, shape }) {
  const bytes = Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0));
  const numbers = new ARRAYS[dtype](bytes.buffer);
  if (!shape) return numbers;
  const cells = Array.from(numbers, (number) => (Number.isNaN(number) ? undefined : number));
  const [height, width] = shape.split(",").map(Number);
  return Array.from({ length: height }, (_, row) => cells.slice(row * width, (row + 1) * width));
}

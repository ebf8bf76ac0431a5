/* plotly.js writes the space that a map of square cells takes into the layout that it was given, and at the next change
   of size takes that for what was asked for: the map would shrink each time. So it is told anew what was asked for. */

const fitOf = (plot, asked) => {
  const { width, height } = plot._fullLayout;
  return JSON.stringify([width, height, ...asked.map(([axis]) => plot._fullLayout[axis]?.domain)]);
};

function keepMap(plot) {
  const asked = Object.entries(plot.layout.meta?.domains ?? {});
  if (plot.iclFitting || plot.iclFit === fitOf(plot, asked)) return;
  const shrunk = ([axis, domain]) => plot._fullLayout[axis]?._inputDomain?.some((end, index) => end !== domain[index]);
  plot.iclFitting = asked.some(shrunk);
  if (!plot.iclFitting) return void (plot.iclFit = fitOf(plot, asked));
  const fitted = () => {
    plot.iclFitting = false;
    if (plot._fullLayout) plot.iclFit = fitOf(plot, asked);
  };
  const domains = Object.fromEntries(asked.map(([axis, domain]) => [`${axis}.domain`, domain]));
  window.Plotly.relayout(plot, domains).then(fitted, fitted);
}

/* A chart that is made anew has lost its listeners. */
function keepMaps() {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    if (!plot.on || !plot._fullLayout || !window.Plotly || (plot.iclEars && plot.iclEars === plot._ev)) continue;
    plot.iclEars = plot._ev;
    plot.iclFitting = false;
    plot.iclFit = "";
    plot.on("plotly_afterplot", () => (keepMap(plot), keepFilm(plot)));
    keepMap(plot);
  }
}

const NUMBERS = { f8: Float64Array, f4: Float32Array };
const rows = ({ dtype, bdata, shape }) => {
  const all = new NUMBERS[dtype](Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0)).buffer);
  const [height, width] = shape.split(",").map(Number);
  const cells = Array.from(all, (cell) => (Number.isNaN(cell) ? undefined : cell)); // no cell, as plotly.js says it
  return Array.from({ length: height }, (_, row) => cells.slice(row * width, (row + 1) * width));
};
const isCells = ({ type, z, ...more }) => type === "heatmap" && z?.shape && z.dtype in NUMBERS && !Object.keys(more).length;

/* Bring a map to a frame by painting its cells alone, a tenth of the time of drawing what stands around them too: for
   while the clock moves. False if more than cells changes, or plotly.js, which does not promise this, has no such part. */
function paint(plot, { traces, data, layout: { meta, ...more } }) {
  const axes = plot._fullLayout?._basePlotModules?.find((part) => part.name === "cartesian");
  const cells = traces.map((trace) => plot.calcdata?.[trace]?.[0]);
  if (!axes?.plot || !data.every(isCells) || Object.keys(more).length || !cells.every((cell) => cell?.z)) return false;
  try {
    cells.forEach((cell, index) => (cell.z = rows(data[index].z)));
    axes.plot(plot);
  } catch (error) {
    return false;
  }
  plot.layout.meta = meta;
  return true;
}

/* A frame as what `Plotly.update` takes: the same picture in two thirds of the time of `Plotly.animate`. */
const changes = (frame) => {
  const { traces, data, layout } = structuredClone(frame); // plotly.js keeps what it is given, and writes into it
  const { type, ...keys } = Object.assign({}, ...data);
  return [Object.fromEntries(Object.keys(keys).map((key) => [key, data.map((trace) => trace[key])])), layout, traces];
};

/* Another figure in a chart, at one of its snapshots: a chart made anew takes several times as long. */
const replace = (plot, { film, whole, frames }, index) => {
  const { data, layout } = structuredClone(whole);
  const frame = structuredClone(frames?.[index] ?? { traces: [], data: [], layout: {} });
  frame.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
  const { width, height } = plot.layout; // of its box
  plot.iclFilm = film;
  return window.Plotly.react(plot, data, { ...layout, ...frame.layout, width, height });
};

/* Streamlit draws a chart that changes its size of the figure that it was told. */
const keepFilm = (plot) => {
  if (!plot.iclFilm || plot.iclFilm === plot.layout.meta?.film) return;
  window.setTimeout(() => window.dispatchEvent(new Event("icl-panel"))); // when it is drawn
};

/* What a screen reader says of a chart, also of one that is not in sight and so still shows another figure. */
const describe = (plot, { whole, caption }) => {
  if (whole) plot?.closest("[data-testid=stPlotlyChart]")?.setAttribute("aria-label", caption);
};

/* How the clock (clock.js) brings a chart to a frame, and keeps its maps at their size. */

/* A map of square cells takes less than its axes' domains. plotly.js writes the part that it takes into the layout, and
   at the next change of size reads that as the domain: the map would shrink each time. So each chart's figure names the
   domains that it was made for, in `layout.meta.domains`, and a map that was drawn for others is drawn again. */
function keepDomains(plot) {
  const domains = Object.entries(plot.layout.meta?.domains ?? {});
  if (plot.iclFitting || plot.iclFit === fitOf(plot, domains)) return;
  const isShrunk = ([axis, domain]) => drawnAxis(plot, axis)?._inputDomain?.some((end, index) => end !== domain[index]);
  plot.iclFitting = domains.some(isShrunk);
  if (!plot.iclFitting) {
    plot.iclFit = fitOf(plot, domains);
    return;
  }
  const fitted = () => {
    plot.iclFitting = false;
    if (isDrawn(plot)) plot.iclFit = fitOf(plot, domains);
  };
  const update = Object.fromEntries(domains.map(([axis, domain]) => [`${axis}.domain`, domain]));
  window.Plotly.relayout(plot, update).then(fitted, fitted);
}

/* The chart's size and what its maps take of it: while these stay, nothing has to be checked. */
const fitOf = ({ layout }, domains) =>
  JSON.stringify([layout.width, layout.height, ...domains.map(([axis]) => layout[axis]?.domain)]);

/* Listen to every chart; one that was made anew has lost its listeners. */
function listenToCharts() {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    if (!isDrawn(plot) || !window.Plotly || plot.iclListens === plot.on) continue;
    plot.iclListens = plot.on;
    plot.iclFitting = false;
    plot.iclFit = "";
    plot.on("plotly_afterplot", () => {
      keepDomains(plot);
      keepFilm(plot);
    });
    keepDomains(plot);
  }
}

/* Bring a chart to a frame by painting its traces and texts alone, while the clock moves. Returns false if more than
   they changes, or if that cannot be done. */
function paint(plot, { traces, data, layout: { meta, annotations, ...others } }) {
  if (Object.keys(others).length || (annotations && !paintTexts(plot, annotations))) return false;
  if (!paintTraces(plot, traces, data)) return false;
  plot.layout.meta = meta;
  return true;
}

/* A frame as the arguments of `Plotly.update`, which draws it in two thirds of the time of `Plotly.animate`. */
const changes = (frame) => {
  const { traces, data, layout } = structuredClone(frame); // plotly.js keeps what it is given, and writes into it
  const { type, ...attributes } = Object.assign({}, ...data);
  const byAttribute = Object.keys(attributes).map((name) => [name, data.map((trace) => trace[name])]);
  return [Object.fromEntries(byAttribute), layout, traces];
};

/* Put another film's figure, at one of its snapshots, into a chart: a new chart would take several times as long. */
const replace = (plot, { film, whole, frames }, index) => {
  const { data, layout } = structuredClone(whole);
  const frame = structuredClone(frames?.[index] ?? { traces: [], data: [], layout: {} });
  frame.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
  const { width, height } = plot.layout; // those of its box
  plot.iclFilm = film;
  const drawn = window.Plotly.react(plot, data, { ...layout, ...frame.layout, width, height });
  return drawn.then(() => rememberRanges(plot));
};

/* Have a double click, and the button that resets the axes, show the whole of the figure that is in the chart now:
   plotly.js remembers the ranges of the first one. */
const rememberRanges = ({ _fullLayout: layout }) => {
  for (const name of Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key))) {
    const axis = layout[name];
    if (axis._rangeInitial0 !== undefined) [axis._rangeInitial0, axis._rangeInitial1] = axis.range;
  }
};

/* When a chart changes its size, Streamlit draws the figure that the server sent last. Have the clock replace it again,
   once it is drawn. */
const keepFilm = (plot) => {
  if (!plot.iclFilm || plot.iclFilm === plot.layout.meta?.film) return;
  window.setTimeout(() => window.dispatchEvent(new Event("icl-panel")));
};

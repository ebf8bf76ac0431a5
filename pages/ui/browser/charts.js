/* How the page keeps the charts that its clock (clock.js) moves: one chart may show another film, and Streamlit may draw
   or make it anew. */

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

/* Put another film's figure, at one of its snapshots, into a chart, or the same one as it fits its seat: a new chart
   would take several times as long. */
const replace = (plot, panel, index, fit) => {
  const { film, whole } = panel;
  const { data, layout } = structuredClone(fitted(whole, fit));
  const frame = structuredClone(fitted(frameOf(panel, index) ?? { traces: [], data: [], layout: {} }, fit));
  frame.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
  const { width, height } = plot.layout; // those of its box
  plot.iclFilm = nameOf(film, fit.id);
  const drawn = window.Plotly.react(plot, data, { ...layout, ...frame.layout, width, height });
  return drawn.then(() => rememberRanges(plot));
};

/* What a chart shows: its film, and how that fits its seat. */
const nameOf = (film, fit = "") => `${film} ${fit}`;

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
  if (!plot.iclFilm || plot.iclFilm === nameOf(plot.layout.meta?.film, plot.layout.meta?.fit)) return;
  window.setTimeout(() => window.dispatchEvent(new Event("icl-panel")));
};

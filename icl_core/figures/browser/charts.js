/* How the page keeps the charts that its clock (clock.js) moves: one chart may show another film, and Streamlit may draw
   or make it anew. */

const OVER = 200; // milliseconds in which the numbers of maps go over into another run's

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
const replace = (plot, panel, index, fit, isMoving) => {
  const before = shownMaps(plot);
  const { film, whole } = panel;
  const { data, layout } = structuredClone(fitted(whole, fit));
  const frame = structuredClone(fitted(frameOf(panel, index) ?? { traces: [], data: [], layout: {} }, fit));
  frame.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
  const { width, height } = plot.layout; // those of its box
  plot.iclFilm = nameOf(film, fit.id);
  const drawn = window.Plotly.react(plot, data, { ...layout, ...frame.layout, width, height });
  if (!isMoving && !calm()) goOver(plot, before);
  return drawn.then(() => restoreRanges(plot, whole.layout)).then(() => rememberRanges(plot));
};

/* Where a map of square cells takes another's place, plotly.js may widen a range in place of narrowing the domain. */
const restoreRanges = (plot, layout) => {
  const given = Object.entries(layout).filter(([, axis]) => axis?.constrain === "domain" && axis.range);
  const isOther = ([name, { range }]) => String(drawnAxis(plot, name)?.range) !== String(range);
  if (!given.some(isOther)) return undefined;
  return window.Plotly.relayout(plot, Object.fromEntries(given.map(([name, { range }]) => [`${name}.range`, [...range]])));
};

/* Let the numbers of maps go over from those `before` to those of the figure that has just been drawn, where they have
   as many cells. What comes next ends it: another film, another snapshot. */
const goOver = (plot, before) => {
  const after = shownMaps(plot);
  const sizes = (map) => map?.map(({ length }) => length).join();
  const traces = [...after.keys()].filter((trace) => after[trace] && sizes(after[trace]) === sizes(before[trace]));
  const between = (from, to, share) => from.map((cell, place) => cell + share * (to[place] - cell));
  const cellsAt = (trace, share) => {
    if (share === 1) return after[trace]; // to the last digit
    return after[trace].map((row, at) => between(before[trace][at], row, share));
  };
  const paintAt = (share) => {
    const cells = traces.map((trace) => ({ type: "heatmap", z: cellsAt(trace, share) }));
    return paintTraces(plot, traces, cells);
  };
  const { film, snapshot } = plot.layout.meta ?? {};
  let start;
  const turn = (now) => {
    const meta = plot.layout?.meta; // none if the chart has left
    if (plot.iclTurn !== turn || meta?.film !== film || meta?.snapshot !== snapshot) return;
    start ??= now;
    const share = Math.min(1, (now - start) / OVER);
    if (paintAt(share) && share < 1) window.requestAnimationFrame(turn);
  };
  plot.iclTurn = turn;
  if (traces.length && paintAt(0)) window.requestAnimationFrame(turn);
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

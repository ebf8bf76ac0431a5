/* How a clock brings a chart to a frame, and keeps its maps at their size. */

const inSight = (element) => {
  const box = element.getBoundingClientRect();
  return box.bottom > 0 && box.top < window.innerHeight;
};

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

/* Whether a chart shows a snapshot already, as fully as it should: what was only painted is drawn once at rest. */
const isAt = (plot, snapshot, isMoving) => plot.layout.meta?.snapshot === snapshot && (isMoving || !plot.iclPainted);

/* Bring a chart to a frame: while the clock moves by painting alone, where that can be done. */
async function showFrame(plot, frame, isMoving) {
  plot.iclPainted = isMoving && paint(plot, frame);
  if (!plot.iclPainted) await window.Plotly.update(plot, ...changes(frame));
}

/* Bring a chart to a frame by painting its traces and texts alone. Returns false if more than they changes, or if that
   cannot be done. */
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

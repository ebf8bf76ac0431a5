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
    plot.on("plotly_afterplot", () => keepMap(plot));
    keepMap(plot);
  }
}


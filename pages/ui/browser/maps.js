/* plotly.js writes the space that a map of square cells takes into the layout that it was given, and at the next change
   of size takes that for what was asked for: the map would shrink each time. So it is told anew what was asked for. */

function keepMap(plot) {
  const { width, height } = plot._fullLayout;
  const size = `${width} ${height}`;
  if (plot.iclSize === size) return;
  plot.iclSize = size;
  const asked = Object.entries(plot.layout.meta?.domains ?? {});
  const shrunk = ([axis, domain]) => plot._fullLayout[axis]?._inputDomain?.some((end, index) => end !== domain[index]);
  if (asked.some(shrunk))
    window.Plotly.relayout(plot, Object.fromEntries(asked.map(([axis, domain]) => [`${axis}.domain`, domain])));
}

/* A chart that is made anew has lost its listeners. */
function keepMaps() {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    if (!plot.on || !plot._fullLayout || !window.Plotly || (plot.iclEars && plot.iclEars === plot._ev)) continue;
    plot.iclEars = plot._ev;
    plot.iclSize = "";
    plot.on("plotly_afterplot", () => keepMap(plot));
    keepMap(plot);
  }
}


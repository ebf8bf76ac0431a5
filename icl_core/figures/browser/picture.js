/* Draw what a picture of the gallery shows (see `pictures.scene`): panels beside each other, on paper. */
async function drawPicture({ panels, ink, paper }) {
  Object.assign(document.body.style, { color: ink, background: paper });
  const main = document.querySelector("main");
  main.replaceChildren();
  for (const { title, data, layout } of panels) {
    const panel = main.appendChild(document.createElement("div"));
    if (title) panel.appendChild(document.createElement("h1")).textContent = title;
    const plot = panel.appendChild(document.createElement("div"));
    await drawFitting(plot, data, layout);
  }
  await document.fonts.ready;
}

/* Draw a chart; if its maps of square cells are less high than their place, anew as high as they are, so that axis
   titles stand beside them. plotly.js says in `_fullLayout` alone how high that is. */
async function drawFitting(plot, data, layout) {
  const draw = (height) => Plotly.newPlot(plot, data, structuredClone({ ...layout, height }), { staticPlot: true });
  await draw(layout.height);
  const { yaxis, _size } = plot._fullLayout;
  const spare = yaxis.scaleanchor ? _size.h - yaxis._length : 0;
  if (spare > 1) await draw(layout.height - spare);
}

/* The figures of the reproduction study: each is drawn once, as an image that all claims that share it show. A line at
   the page's top says how many are drawn, and goes with the last. */
const figures = JSON.parse(document.getElementById("figures").textContent);
const state = document.getElementById("state");
for (const [index, [name, { data, layout, width, height }]] of Object.entries(figures).entries()) {
  state.textContent = `Figures are drawn: ${index + 1} of ${Object.keys(figures).length}`;
  const figure = { data, layout: { ...layout, width, height } };
  const source = await Plotly.toImage(figure, { format: "svg", width, height }).catch(() => "");
  for (const image of document.images) if (image.dataset.figure === name) image.src = source;
}
state.remove();

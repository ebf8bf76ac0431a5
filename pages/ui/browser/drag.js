/* Points that a visitor drags. A figure names in `layout.meta.drag` the trace of these points, the field of the address
   that holds them as a text, and their labels. While a point is dragged its chart alone changes; where it is let go the
   address gets the new text, and the server draws what follows from it. With a `slope` the label of a point that moves
   changes as a linear function of that slope does; `rest` are coordinates of each point that are not drawn. */

const REACH = 16; // pixels around a point in which it can be taken
const SLACK = 3; // pixels that a pointer may move in a click
const DIGITS = 3; // behind the point, of what is written into the address

/* The point under the pointer, as { plot, drag, points, index, x, y }; undefined if there is none. */
function pointAt({ target, clientX, clientY }) {
  const plot = target.closest?.(".js-plotly-plot");
  const drag = plot && isDrawn(plot) && plot.layout.meta?.drag;
  if (!drag) return undefined;
  const box = plot.getBoundingClientRect();
  const x = drawnAxis(plot, "xaxis");
  const y = drawnAxis(plot, "yaxis");
  const points = plot.calcdata[drag.trace].map((point) => [point.x, point.y]);
  const distances = points.map(([across, up]) =>
    Math.hypot(x._offset + x.l2p(across) - (clientX - box.left), y._offset + y.l2p(up) - (clientY - box.top)),
  );
  const index = distances.indexOf(Math.min(...distances));
  return distances[index] <= REACH ? { plot, drag, points, index, x, y } : undefined;
}

/* Where the pointer is in the units of the chart, within its plot. */
function placeOf({ plot, x, y }, { clientX, clientY }) {
  const box = plot.getBoundingClientRect();
  const within = (axis, pixel) => axis.p2l(Math.max(0, Math.min(axis._length, pixel - axis._offset)));
  return [within(x, clientX - box.left), within(y, clientY - box.top)];
}

/* The points as the text that the address holds: "0.5 1: 2; -0.8 0: -1.4", or "0.5: 1" where the second coordinate is
   the label. Coordinates that are not drawn follow the two that are. */
const textOf = ({ drag, points }) => {
  const written = (value) => String(Number(value.toFixed(DIGITS)));
  return points
    .map(([across, up], index) => {
      if (!drag.labels) return `${written(across)}: ${written(up)}`;
      const features = [across, up, ...(drag.rest?.[index] ?? [])].map(written);
      return `${features.join(" ")}: ${written(drag.labels[index])}`;
    })
    .join("; ");
};

/* Ask the page for an address by a link that does not load it anew (stays.js). */
function go(field, text) {
  const query = new URLSearchParams(location.search);
  query.set(field, text);
  const link = document.createElement("a");
  link.href = `?${query}`;
  link.dataset.stays = "";
  document.body.append(link);
  link.click();
  link.remove();
}

/* Let points be dragged; return the function that ends it. */
function letPointsBeDragged() {
  let held;
  const take = (event) => {
    held = event.button ? undefined : pointAt(event);
    if (!held) return;
    held.from = event;
    event.preventDefault(); // plotly.js would draw a box to zoom into
    event.stopPropagation();
  };
  const move = (event) => {
    if (!held) return;
    event.stopPropagation();
    const { clientX, clientY } = held.from;
    held.moved ||= Math.hypot(event.clientX - clientX, event.clientY - clientY) > SLACK;
    if (!held.moved) return;
    const [before, after] = [held.points[held.index], placeOf(held, event)];
    held.points[held.index] = after;
    const { labels, slope } = held.drag;
    if (slope) labels[held.index] += slope.reduce((sum, rise, side) => sum + rise * (after[side] - before[side]), 0);
    const [across, up] = [0, 1].map((side) => held.points.map((point) => point[side]));
    window.Plotly.restyle(held.plot, { x: [across], y: [up] }, [held.drag.trace]);
  };
  const drop = () => {
    if (held?.moved) go(held.drag.field, textOf(held));
    held = undefined;
  };
  const keep = (event) => {
    if (!held) return;
    event.preventDefault(); // the browser would scroll, and end the drag
    event.stopPropagation();
  };
  const listeners = [
    ["pointerdown", take],
    ["mousedown", (event) => held && event.stopPropagation()],
    ["touchstart", keep],
    ["pointermove", move],
    ["pointerup", drop],
    ["pointercancel", () => (held = undefined)],
  ];
  const options = { capture: true, passive: false };
  for (const [type, listener] of listeners) window.addEventListener(type, listener, options);
  return () => {
    for (const [type, listener] of listeners) window.removeEventListener(type, listener, true);
  };
}

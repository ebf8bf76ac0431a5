/* A curve that is drawn with a finger, or with the arrow keys, in the axes of a panel. */

const PLACES = 33; // of the curve, evenly spaced over the width
const FULL = 100; // the height of the axis
const AXES = { left: 46, right: 300, top: 10, bottom: 190 }; // in the picture's own units
const drawing = find("drawing");
const picture = find("picture");
let heights = null; // the curve in hand
let drawnAt = new Set(); // the places at which it was drawn; at the others it is as high as at the nearest of these
let place = 0; // where keys change it, and where the finger was last

const across = (at) => AXES.left + (at / (PLACES - 1)) * (AXES.right - AXES.left);
const upwards = (height) => AXES.bottom - (height / FULL) * (AXES.bottom - AXES.top);

function shape(name, attributes, text = "") {
  const element = document.createElementNS(picture.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

const line = (curve, name) => {
  const points = (curve ?? []).map((height, at) => (height === null ? "" : `${across(at)},${upwards(height)}`));
  return shape("polyline", { points: points.join(" "), class: name });
};

/* The axes with what is written on them. */
function axes({ x, y, x_ticks, y_ticks }) {
  const { left, right, top, bottom } = AXES;
  const frame = shape("path", { d: `M${left} ${top}V${bottom}H${right}`, class: "frame" });
  const below = x_ticks.map(([share, text]) =>
    shape("text", { x: left + share * (right - left), y: bottom + 18, "text-anchor": "middle" }, text));
  const beside = y_ticks.map(([share, text]) =>
    shape("text", { x: left - 6, y: upwards(share * FULL) + 4, "text-anchor": "end" }, text));
  const title = shape("text", { x: (left + right) / 2, y: bottom + 40, "text-anchor": "middle" }, `${y} against ${x}`);
  return [frame, ...below, ...beside, title];
}

function buildCurve({ curve, own, round }) {
  heights = (curve && own[round - 1]) ?? null;
  drawnAt = new Set(heights?.keys());
  place = 0;
  if (curve) picture.setAttribute("aria-label", `Your curve of ${curve.name}. Left and right choose a place, up and down its height`);
}

/* Draw what the phone has: the first vote thin, the curve in hand, and the measured one once it is shown. */
function drawCurve({ curve, own, round, opened, measured }) {
  drawing.hidden = !curve;
  if (!curve) return;
  drawing.querySelector("button").hidden = opened;
  const first = round > 1 ? [line(own[0], "first")] : [];
  const cursor = shape("circle", { cx: across(place), cy: upwards(heights?.[place] ?? FULL / 2), r: 6, class: "cursor" });
  const hint = shape("text", { x: 173, y: 100, "text-anchor": "middle" }, heights || opened ? "" : "Draw here");
  picture.replaceChildren(...axes(curve), ...first, line(measured, "measured"), line(heights, "own"), cursor, hint);
  const height = heights?.[place] ?? 0;
  picture.setAttribute("aria-valuenow", height);
  picture.setAttribute("aria-valuetext", heights ? `place ${place + 1} of ${PLACES}, height ${height}%` : "nothing drawn yet");
}

/* Bring the curve to a height at a place, and in a straight line from `since` to there. */
function reshape(at, height, since = at) {
  heights ??= Array(PLACES).fill(height);
  heights = [...heights];
  const from = heights[since];
  const steps = Math.max(1, Math.abs(at - since));
  for (let step = 0; step <= steps; step++) {
    const share = at === since ? 1 : step / steps;
    const passed = Math.round(since + (at - since) * share);
    heights[passed] = Math.round(from + (height - from) * share);
    drawnAt.add(passed);
  }
  const known = [...drawnAt];
  const nearest = (other) => known.reduce((best, one) => (Math.abs(one - other) < Math.abs(best - other) ? one : best));
  heights = heights.map((own, other) => (drawnAt.has(other) ? own : heights[nearest(other)]));
  place = at;
  drawCurve(state);
}

const within = (value, top) => Math.min(top, Math.max(0, Math.round(value)));

function trace(event, since) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  const at = within(((x - AXES.left) / (AXES.right - AXES.left)) * (PLACES - 1), PLACES - 1);
  reshape(at, within(((AXES.bottom - y) / (AXES.bottom - AXES.top)) * FULL, FULL), since ?? at);
}

picture.onpointerdown = (event) => {
  if (state.opened) return;
  picture.setPointerCapture(event.pointerId);
  trace(event);
};
picture.onpointermove = (event) => {
  if (event.buttons && !state.opened) trace(event, place);
};
picture.onkeydown = (event) => {
  const [sideways, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 5], ArrowDown: [0, -5] }[event.key] ?? [];
  if (sideways === undefined || state.opened) return;
  event.preventDefault();
  const at = within(place + sideways, PLACES - 1);
  reshape(at, within((heights?.[at] ?? FULL / 2) + up, FULL));
};
drawing.onsubmit = (event) => {
  event.preventDefault();
  if (heights) vote(heights);
  else say("Draw your curve first.");
};

/* How a figure fits its seat on the stage, whose size the server does not know: a projector's figures grow with the
   window, names take as many rows as the seat's width asks for, and a colour bar is as high as its map. */

const DESIGNED = { width: 1280, height: 720 }; // pixels of the window for which the server enlarges a projector's figures
const NAMES = "key"; // the annotation that holds a figure's names (icl_core/figures/stage_seat.py)
const BETWEEN = "   "; // between two names
const ROW = 17; // pixels of height of a row of names
const FILLED = 0.9; // share of its room that a row of names may take: long numbers of an axis push it to the right
const NEARLY = 0.98; // share of the room's height from which a colour bar is as long as its map
const BARE_MARGIN = 12; // pixels at the right of a map without a colour bar
const AS_IT_IS = { id: "" }; // how a figure fits for which nothing has to change
const pen = document.createElement("canvas").getContext("2d");

/* By how much the figures of a projector grow beyond what the server sends. */
const growth = () => {
  if (!document.querySelector(".menu[data-projector]")) return 1;
  const { width, height } = DESIGNED;
  return Math.max(1, Math.min(window.innerWidth / width, window.innerHeight / height));
};

const SHIFTS = ["xshift", "yshift", "standoff", "thickness", "ticklen"];
const grows = (inside, name) =>
  inside === "margin" ||
  SHIFTS.includes(name) ||
  (name === "size" && (inside === "marker" || inside.endsWith("font"))) ||
  (name === "width" && inside === "line");

/* A copy of a figure's properties with larger type, lines, marks and margins; `inside` is the name of the property that
   holds them. */
const enlarged = (value, factor, inside = "") => {
  if (Array.isArray(value)) {
    return typeof value[0] === "object" ? value.map((part) => enlarged(part, factor, inside)) : value;
  }
  if (!value || typeof value !== "object") return value;
  const larger = (part, name) => {
    if (!grows(inside, name)) return enlarged(part, factor, name);
    return Array.isArray(part) ? part.map((number) => number * factor) : part * factor;
  };
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, larger(part, name)]));
};

/* The names of a figure in rows of at most `width` pixels; in the rows that they have if these fit. */
const rowsOf = ({ text, font }, family, width) => {
  pen.font = `${font.size}px ${family}`;
  const pixels = (part) => pen.measureText(part.replace(/<[^>]*>/g, "")).width;
  const given = text.split("<br>");
  if (given.every((row) => pixels(row) <= width)) return given;
  const rows = [];
  for (const name of given.flatMap((row) => row.split(BETWEEN))) {
    const longer = rows.length ? `${rows.at(-1)}${BETWEEN}${name}` : name;
    if (rows.length && pixels(longer) <= width) rows[rows.length - 1] = longer;
    else rows.push(name);
  }
  return rows;
};

const isNames = ({ name }) => name === NAMES;

/* The length of a colour bar beside a map of square cells, in a seat of `width` by `height` pixels, as a share of the
   height between the margins: that of the map; nothing if the map takes all of it. */
const barLength = ({ coloraxis, xaxis, yaxis, margin }, width, height) => {
  if (!coloraxis?.colorbar || !yaxis?.scaleanchor || !xaxis.range || !yaxis.range) return undefined;
  const length = ([from, to]) => Math.abs(to - from);
  const across = (width - margin.l - margin.r) * length(xaxis.domain ?? [0, 1]);
  const down = height - margin.t - margin.b;
  const share = ((across / length(xaxis.range)) * length(yaxis.range)) / down;
  return share < NEARLY ? Math.round(100 * share) / 100 : undefined;
};

const NARROW = 300; // pixels of a small seat

/* Whether a chart stands in a small seat beside the large panel, which is where its colour bar can be read. */
const isBare = (plot, { coloraxis }) =>
  Boolean(coloraxis?.colorbar) && plot.clientWidth < NARROW * growth() && plot.closest('[class*="st-key-stage-lead-"]') &&
  !plot.closest("[data-large]");

/* What has to change of a figure for the seat that a chart stands in: `factor` is its growth, `room` the pixels that a
   row of names may take, in type of `family`, `above` those that the margin above the plot gets more, `len` its colour
   bar's length; a `bare` one has no colour bar. `id` is empty if the figure fits as it is. */
const seatFit = (plot, layout) => {
  const { family } = layout.font;
  const width = plot.clientWidth; // a wide chart may be wider than its seat, where it scrolls
  const height = plot.closest('[class*="st-key-chart-"]').clientHeight; // its own may still be another
  const factor = growth();
  const larger = factor === 1 ? layout : enlarged(layout, factor);
  const names = larger.annotations?.find(isNames);
  const left = Math.max(larger.margin.l, drawnMargin(plot)); // long labels of an axis push the names to the right
  const room = FILLED * (width - left - (names?.xshift ?? 0));
  const given = names?.text.split("<br>") ?? [];
  const rows = names ? rowsOf(names, family, room) : [];
  const bare = isBare(plot, layout);
  const len = bare ? undefined : barLength(larger, width, height);
  const fit = { factor, room, family, len, bare, above: factor * ROW * (rows.length - given.length) };
  const fits = !width || (factor === 1 && String(rows) === String(given) && !len && !bare);
  return { ...fit, id: fits ? "" : JSON.stringify(fit) };
};

/* A figure, or a frame of one, as it fits a seat. */
const fitted = (part, fit) => {
  if (!fit.id) return part;
  const { data, layout, ...others } = fit.factor === 1 ? part : enlarged(part, fit.factor);
  const { annotations, margin, coloraxis, meta } = layout;
  const changed = { ...layout };
  const wrapped = (note) => ({ ...note, text: rowsOf(note, fit.family, fit.room).join("<br>") });
  if (annotations) changed.annotations = annotations.map((note) => (isNames(note) ? wrapped(note) : note));
  if (margin) changed.margin = { ...margin, t: margin.t + fit.above, ...(fit.bare && { r: fit.factor * BARE_MARGIN }) };
  if (coloraxis && fit.bare) changed.coloraxis = { ...coloraxis, showscale: false };
  else if (coloraxis && fit.len) changed.coloraxis = { ...coloraxis, colorbar: { ...coloraxis.colorbar, len: fit.len } };
  if (meta) changed.meta = { ...meta, fit: fit.id };
  return { ...others, data, layout: changed };
};

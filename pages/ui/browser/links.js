/* Linked maps: the row and the column under the pointer, or of the cell that the address names, are outlined in every map
   that has them; a click on a cell tells the server. What the rows and columns of a map are stands in its trace's `meta`
   (grid.py). The outlines lie in an SVG of their own over each chart, which plotly.js does not know of. */

const NEAR = 44; // pixels left of a map and below it where its labels are
const STILL = 5; // pixels that a click may move
const LATER = 120; // milliseconds after which what was drawn anew is outlined again
const PATHS = { halo: "#FFFFFF", row: "#E69F00", column: "#E69F00", cell: "#0E1117" };

const axisOf = (plot, name) => plot._fullLayout?.[name.replace(/^[xy]/, "$&axis")];
const isMap = (trace) => trace.type === "heatmap" && trace.meta?.rows;
const mapsOf = (plot) =>
  (plot.data ?? []).filter(isMap).map(({ meta, xaxis = "x", yaxis = "y" }, index) => {
    return { plot, index, meta, x: axisOf(plot, xaxis), y: axisOf(plot, yaxis) };
  });
const plots = () => [...document.querySelectorAll(".js-plotly-plot")].filter((plot) => plot._fullLayout && plot.data);
const count = (side) => Object.values(side)[0].length;

/* Which row or column lies at a pixel of its axis; -1 beside the map. */
const placeAt = (axis, pixel, size) => {
  const along = pixel - axis._offset;
  const place = Math.round(axis.p2l(along));
  return along >= 0 && along <= axis._length && place >= 0 && place < size ? place : -1;
};

/* The cell of a map under the pointer; a row alone beside its label, a column alone over its label. */
function under(plot, { clientX, clientY }) {
  const box = plot.getBoundingClientRect();
  const [left, top] = [clientX - box.left, clientY - box.top];
  for (const map of mapsOf(plot)) {
    const row = placeAt(map.y, top, count(map.meta.rows));
    const column = placeAt(map.x, left, count(map.meta.columns));
    const below = top - map.y._offset - map.y._length;
    const before = map.x._offset - left;
    if (row >= 0 && column >= 0) return { map, row, column };
    if (row >= 0 && before > 0 && before < NEAR) return { map, row, column: -1 };
    if (column >= 0 && below > 0 && below < NEAR / 2) return { map, row: -1, column };
  }
}

const within = (labels, wanted) => [labels].flat().some((label) => wanted.includes(label));

/* Where a side of a map has the same as another side at `at`, by the most exact kind that both know. */
function same(from, at, to) {
  const kind = at < 0 ? undefined : Object.keys(from).find((each) => each in to);
  if (kind === undefined) return [];
  const wanted = [from[kind][at]].flat();
  return to[kind].flatMap((labels, index) => (within(labels, wanted) ? [index] : []));
}

const rectangle = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
const span = (axis, place) => {
  const ends = [axis.l2p(place - 0.5), axis.l2p(place + 0.5)].map((end) => Math.max(0, Math.min(axis._length, end)));
  return [axis._offset + Math.min(...ends), Math.abs(ends[1] - ends[0])];
};
const across = ({ x, y }, row) => {
  const [top, height] = span(y, row);
  return rectangle(x._offset, top, x._length, height);
};
const down = ({ x, y }, column) => {
  const [left, width] = span(x, column);
  return rectangle(left, y._offset, width, y._length);
};

/* What is outlined in a map of the cell that is shown: the same row and column, on the same side if that knows them. */
function outlines(map, shown) {
  const { rows, columns } = shown.map.meta;
  const onSame = [same(rows, shown.row, map.meta.rows), same(columns, shown.column, map.meta.columns)];
  const turned = [same(rows, shown.row, map.meta.columns), same(columns, shown.column, map.meta.rows)];
  const drawn = (index, [straight, other]) =>
    (onSame[index].length ? onSame[index].map((at) => straight(map, at)) : turned[index].map((at) => other(map, at))).join("");
  const found = { row: drawn(0, [across, down]), column: drawn(1, [down, across]), cell: "" };
  if (map.plot === shown.map.plot && map.index === shown.map.index && shown.row >= 0 && shown.column >= 0) {
    const [[left, width], [top, height]] = [span(map.x, shown.column), span(map.y, shown.row)];
    found.cell = rectangle(left, top, width, height);
  }
  return found;
}

/* The four paths over a chart: once there, only their `d` changes, which no observer of the page's tree hears. */
function overlay(plot) {
  const there = plot.querySelector(":scope > .icl-links");
  if (there) return there;
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "icl-links");
  made.setAttribute("aria-hidden", "true");
  made.style.cssText = "position:absolute;inset:0;width:100%;height:100%;pointer-events:none;overflow:visible";
  for (const [name, stroke] of Object.entries(PATHS)) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const dashed = name === "column" ? { "stroke-dasharray": "4 3" } : {};
    const look = { "data-marks": name, fill: "none", stroke, "stroke-width": name === "halo" ? 3 : 1.5, ...dashed };
    for (const [key, value] of Object.entries(look)) path.setAttribute(key, value);
    made.append(path);
  }
  plot.append(made);
  return made;
}

function draw(plot, found) {
  const there = plot.querySelector(":scope > .icl-links");
  if (!there && !Object.values(found).some(Boolean)) return;
  for (const path of (there ?? overlay(plot)).children) {
    const wanted = found[path.dataset.marks];
    if (path.getAttribute("d") !== wanted) path.setAttribute("d", wanted);
  }
}

class Links {
  constructor() {
    this.ears = [
      [window, "pointermove", (event) => this.move(event)],
      [window, "pointerdown", (event) => this.press(event)],
      [window, "pointerup", (event) => this.up(event)],
      [window, "wheel", () => this.stay()],
      [window, "resize", () => this.later()],
      [window, "icl-panel", () => this.later()],
    ];
    for (const [where, what, hear] of this.ears) where.addEventListener(what, hear, { capture: true, passive: true });
    this.watch = new MutationObserver(() => this.shown && this.later());
    this.watch.observe(document.querySelector("[data-testid=stMain]") ?? document.body, { childList: true, subtree: true });
  }

  /* What the server says: the charts whose cells explain themselves, and the cell that the address names. */
  update({ cells, pinned }, tell) {
    const other = JSON.stringify(pinned) !== JSON.stringify(this.data?.pinned);
    Object.assign(this, { data: { cells, pinned }, tell });
    if (other || !this.over) this.later(0);
    if (this.clicked && pinned) this.reveal();
  }

  nameOf(plot) {
    const box = plot.closest('[class*="st-key-chart-"]');
    return this.data.cells.find((name) => box?.classList.contains(`st-key-chart-${name.replaceAll(" ", "-")}`));
  }

  move(event) {
    if (event.pointerType === "touch" || event.buttons || !this.data) return;
    const plot = event.target.closest?.(".js-plotly-plot");
    if (!plot && !this.over) return;
    this.over = plot && !event.target.closest(".modebar") ? under(plot, event) : undefined;
    if (plot && plot.iclPoints !== this.points(plot)) plot.style.cursor = plot.iclPoints = this.points(plot);
    this.mark();
  }

  points(plot) {
    return this.over?.row >= 0 && this.over.column >= 0 && this.nameOf(plot) ? "pointer" : "";
  }

  press(event) {
    this.down = event;
    this.stay();
  }

  /* The drawer of the cell before does not come into sight any more: what is pressed must not move away. */
  stay() {
    this.clicked = false;
    window.clearTimeout(this.wait);
  }

  up(event) {
    const { down } = this;
    this.down = null;
    if (!down || !this.data || event.button !== 0 || event.target.closest?.(".modebar")) return;
    if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > STILL) return; // it zooms
    const plot = down.target.closest?.(".js-plotly-plot");
    const found = plot && this.nameOf(plot) && under(plot, event);
    if (!found || found.row < 0 || found.column < 0 || this.blank(found)) return;
    const map = mapsOf(plot).length > 1 ? [found.map.index + 1] : [];
    this.clicked = true;
    this.tell("cell", [this.nameOf(plot), ...map, found.row + 1, found.column + 1].join(":"));
  }

  blank({ map, row, column }) {
    const drawn = map.plot.calcdata?.filter(([first]) => isMap(first?.trace ?? {}))[map.index];
    const cell = drawn?.[0]?.z?.[row]?.[column];
    return drawn && (cell === undefined || cell === null || Number.isNaN(cell));
  }

  /* The drawer that a click has opened comes into sight, once it is there; part of the stage stays. */
  reveal(tries = 40) {
    window.clearTimeout(this.wait);
    const drawer = document.querySelector(".st-key-drawer .st-key-one-number");
    if (!drawer && tries) return void (this.wait = window.setTimeout(() => this.reveal(tries - 1), 50));
    this.clicked = false;
    if (!drawer || drawer.getBoundingClientRect().top < 0.8 * window.innerHeight) return;
    const behavior = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    document.querySelector(".st-key-drawers").scrollIntoView({ block: "start", behavior });
  }

  later(after = LATER) {
    window.clearTimeout(this.soon);
    this.soon = window.setTimeout(() => this.mark(), after);
  }

  /* The cell that the address names, as it is drawn. */
  pinned() {
    const { name, map, row, column } = this.data?.pinned ?? {};
    const plot = name && plots().find((each) => this.nameOf(each) === name);
    const found = plot && mapsOf(plot)[map];
    return found && { map: found, row, column };
  }

  mark() {
    if (this.over && !this.over.map.plot.isConnected) this.over = undefined;
    const shown = this.over ?? this.pinned();
    if (!shown && !this.shown) return;
    this.shown = shown;
    for (const plot of plots()) {
      const every = shown ? mapsOf(plot).map((map) => outlines(map, shown)) : [];
      const join = (name) => every.map((each) => each[name]).join("");
      const [row, column, cell] = ["row", "column", "cell"].map(join);
      draw(plot, { halo: row + column + cell, row, column, cell });
    }
  }

  end() {
    for (const timer of [this.soon, this.wait]) window.clearTimeout(timer);
    this.watch.disconnect();
    for (const [where, what, hear] of this.ears) where.removeEventListener(what, hear, { capture: true });
    for (const each of document.querySelectorAll(".icl-links")) each.remove();
  }
}

export default function ({ parentElement, data, setTriggerValue }) {
  const links = (parentElement.iclLinks ??= new Links());
  links.update(data, setTriggerValue);
  return () => {
    links.end();
    delete parentElement.iclLinks;
  };
}

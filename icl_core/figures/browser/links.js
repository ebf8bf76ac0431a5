/* Linked maps: the row and the column under the pointer, or those of the cell that the address names, are outlined in
   every map that has them; a click on a cell tells the server. A heat map's `meta` names its rows and columns
   (map_grid.py). The outlines lie in an SVG over each chart, which plotly.js does not know of. */

const LABELS = 44; // pixels left of a map, and half as many below it, where its labels are
const CLICK = 5; // pixels that the pointer may move during a click
const TWICE = 300; // milliseconds within which a second click makes a double click; plotly.js waits as long
const DELAY = 120; // milliseconds after which a chart that was drawn anew is outlined again
const POLL = 50; // milliseconds between looks for the drawer
const PLACES = ["chart", "panel-half", "panel-wide"]; // boxes of a chart: on the stage, in a drawer
const OUTLINES = { halo: "#FFFFFF", row: "#E69F00", column: "#E69F00", cell: "#0E1117" };
const SVG = "http://www.w3.org/2000/svg";

const isMap = (trace) => trace.type === "heatmap" && trace.meta?.rows;
const axisName = (id) => id.replace(/^[xy]/, "$&axis"); // x2 is xaxis2
const mapsOf = (plot) =>
  (plot.data ?? []).filter(isMap).map(({ meta, z, xaxis = "x", yaxis = "y" }, index) => {
    return { plot, index, meta, z, x: drawnAxis(plot, axisName(xaxis)), y: drawnAxis(plot, axisName(yaxis)) };
  });
const drawnPlots = () => [...document.querySelectorAll(".js-plotly-plot")].filter(isDrawn);
const count = (side) => Object.values(side)[0].length;

/* Which row or column lies at a pixel of the chart; -1 beside the map. */
const indexAt = (axis, pixel, size) => {
  const along = pixel - axis._offset;
  const index = Math.round(axis.p2l(along));
  return along >= 0 && along <= axis._length && index >= 0 && index < size ? index : -1;
};

/* The cell under the pointer, as { map, row, column }; beside a row's label the row alone, below the map the column
   alone. `plotly_hover` reports only cells with a number. */
function cellAt(plot, { clientX, clientY }) {
  const box = plot.getBoundingClientRect();
  const left = clientX - box.left;
  const top = clientY - box.top;
  for (const map of mapsOf(plot)) {
    const row = indexAt(map.y, top, count(map.meta.rows));
    const column = indexAt(map.x, left, count(map.meta.columns));
    const below = top - map.y._offset - map.y._length;
    const before = map.x._offset - left;
    if (row >= 0 && column >= 0) return { map, row, column };
    if (row >= 0 && before > 0 && before < LABELS) return { map, row, column: -1 };
    if (column >= 0 && below > 0 && below < LABELS / 2) return { map, row: -1, column };
  }
}

/* Whether a cell holds no number. */
function isBlank({ map, row, column }) {
  const rows = isPacked(map.z) ? unpack(map.z) : map.z;
  if (!rows?.[row]) return false;
  const number = rows[row][column];
  return number === undefined || number === null || Number.isNaN(number);
}

/* The indices on the side `to` of a map that have the same name as `index` on the side `from`. A side has names of
   several kinds, the most exact first; the first kind that both sides have counts. */
function sameNamed(from, index, to) {
  const kind = index < 0 ? undefined : Object.keys(from).find((name) => name in to);
  if (kind === undefined) return [];
  const names = [from[kind][index]].flat();
  const isSame = (others) => [others].flat().some((name) => names.includes(name));
  return to[kind].flatMap((others, other) => (isSame(others) ? [other] : []));
}

const rectangle = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;

/* Where a row or column begins and how wide it is, in pixels, as far as the axis shows it. */
const span = (axis, index) => {
  const inAxis = (pixel) => Math.max(0, Math.min(axis._length, pixel));
  const ends = [inAxis(axis.l2p(index - 0.5)), inAxis(axis.l2p(index + 0.5))];
  return [axis._offset + Math.min(...ends), Math.abs(ends[1] - ends[0])];
};
const rowPath = ({ x, y }, row) => {
  const [top, height] = span(y, row);
  return rectangle(x._offset, top, x._length, height);
};
const columnPath = ({ x, y }, column) => {
  const [left, width] = span(x, column);
  return rectangle(left, y._offset, width, y._length);
};

/* The paths that outline the shown cell in a map: its row among the map's rows or, if these do not have it, among its
   columns; likewise its column. */
function outlines(map, shown) {
  const { rows, columns } = shown.map.meta;
  const join = (indices, path) => indices.map((index) => path(map, index)).join("");
  const row =
    join(sameNamed(rows, shown.row, map.meta.rows), rowPath) ||
    join(sameNamed(rows, shown.row, map.meta.columns), columnPath);
  const column =
    join(sameNamed(columns, shown.column, map.meta.columns), columnPath) ||
    join(sameNamed(columns, shown.column, map.meta.rows), rowPath);
  let cell = "";
  if (map.plot === shown.map.plot && map.index === shown.map.index && shown.row >= 0 && shown.column >= 0) {
    const [left, width] = span(map.x, shown.column);
    const [top, height] = span(map.y, shown.row);
    cell = rectangle(left, top, width, height);
  }
  return { row, column, cell };
}

/* The SVG over a chart, with its four paths. Once it is there only the paths' `d` changes, which no observer of the
   page's tree reports. */
function overlay(plot) {
  const existing = plot.querySelector(":scope > .icl-links");
  if (existing) return existing;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icl-links");
  svg.setAttribute("aria-hidden", "true");
  svg.style.cssText = "position:absolute;inset:0;width:100%;height:100%;pointer-events:none;overflow:visible";
  for (const [name, stroke] of Object.entries(OUTLINES)) {
    const path = document.createElementNS(SVG, "path");
    const attributes = { "data-marks": name, fill: "none", stroke, "stroke-width": name === "halo" ? 3 : 1.5 };
    if (name === "column") attributes["stroke-dasharray"] = "4 3";
    for (const [attribute, value] of Object.entries(attributes)) path.setAttribute(attribute, value);
    svg.append(path);
  }
  plot.append(svg);
  return svg;
}

function drawOutlines(plot, paths) {
  const existing = plot.querySelector(":scope > .icl-links");
  if (!existing && !Object.values(paths).some(Boolean)) return;
  for (const path of (existing ?? overlay(plot)).children) {
    const d = paths[path.dataset.marks];
    if (path.getAttribute("d") !== d) path.setAttribute("d", d);
  }
}

class Links {
  constructor() {
    this.listeners = [
      [window, "pointermove", (event) => this.move(event)],
      [window, "pointerdown", (event) => this.press(event)],
      [window, "pointerup", (event) => this.release(event)],
      [window, "wheel", () => this.cancelReveal()],
      [window, "resize", () => this.markLater()],
      [window, "icl-panel", () => this.markLater()],
    ];
    const options = { capture: true, passive: true };
    for (const [target, type, listener] of this.listeners) target.addEventListener(type, listener, options);
    this.observer = new MutationObserver(() => this.shown && this.markLater());
    const page = document.querySelector("[data-testid=stMain]") ?? document.body;
    this.observer.observe(page, { childList: true, subtree: true });
  }

  /* Take the server's data: `cells`, the names of the charts whose cells answer to a click; `choosing`, those of them
     where it sets a field of the view, and explains nothing; and `pinned`, the cell that the address names. `send`
     tells the server. */
  update({ cells, choosing, pinned }, send) {
    const isOther = JSON.stringify(pinned) !== JSON.stringify(this.data?.pinned);
    this.data = { cells, choosing, pinned };
    this.send = send;
    if (isOther || !this.hovered) this.markLater(0);
    if (this.clicked && pinned) this.reveal();
  }

  /* The name of a chart whose cells answer to a click, on the stage or in a drawer; of others undefined. */
  nameOf(plot) {
    const box = plot.closest('[class*="st-key-chart-"], [class*="st-key-panel-"]');
    const classes = (name) => PLACES.map((place) => `st-key-${place}-${name.replaceAll(" ", "-")}`);
    return this.data.cells.find((name) => classes(name).some((one) => box?.classList.contains(one)));
  }

  move(event) {
    if (event.pointerType === "touch" || event.buttons || !this.data) return;
    const plot = event.target.closest?.(".js-plotly-plot");
    if (!plot && !this.hovered) return;
    this.hovered = plot && !event.target.closest(".modebar") ? cellAt(plot, event) : undefined;
    if (plot && plot.iclCursor !== this.cursor(plot)) plot.style.cursor = plot.iclCursor = this.cursor(plot);
    this.mark();
  }

  cursor(plot) {
    return this.hovered?.row >= 0 && this.hovered.column >= 0 && this.nameOf(plot) ? "pointer" : "";
  }

  press(event) {
    this.pressed = event;
    this.cancelReveal();
    // A double click zooms out (plotly.js) and opens nothing: its first click is taken back.
    const plot = event.target.closest?.(".js-plotly-plot");
    this.isAgain = Boolean(plot) && plot === this.released?.plot && event.timeStamp - this.released.at < TWICE;
    if (this.isAgain) window.clearTimeout(this.clickTimer);
  }

  /* Do not scroll to the drawer of the last click any more: what is pressed must not move away. */
  cancelReveal() {
    this.clicked = false;
    window.clearTimeout(this.revealTimer);
  }

  release(event) {
    const { pressed } = this;
    this.pressed = null;
    if (!pressed || !this.data || event.button !== 0 || event.target.closest?.(".modebar")) return;
    if (Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) > CLICK) return; // a zoom
    const plot = pressed.target.closest?.(".js-plotly-plot");
    this.released = { plot, at: event.timeStamp };
    const cell = plot && !this.isAgain && this.nameOf(plot) && cellAt(plot, event);
    if (!cell || cell.row < 0 || cell.column < 0 || isBlank(cell)) return;
    const map = mapsOf(plot).length > 1 ? [cell.map.index + 1] : [];
    const name = [this.nameOf(plot), ...map, cell.row + 1, cell.column + 1].join(":");
    window.clearTimeout(this.clickTimer);
    this.clickTimer = window.setTimeout(() => this.ask(name), TWICE);
  }

  /* Ask the server how the number in a cell is made, or for what a click there sets. */
  ask(name) {
    this.clicked = !this.data.choosing.includes(name.split(":")[0]);
    this.send("cell", name);
  }

  /* Scroll to the drawer that a click has opened, once it is there; part of the stage stays in sight. */
  reveal(tries = 40) {
    window.clearTimeout(this.revealTimer);
    const drawer = document.querySelector(".st-key-drawer .st-key-one-number");
    if (!drawer && tries) {
      this.revealTimer = window.setTimeout(() => this.reveal(tries - 1), POLL);
      return;
    }
    this.clicked = false;
    if (!drawer || drawer.getBoundingClientRect().top < 0.8 * window.innerHeight) return;
    const behavior = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    document.querySelector(".st-key-drawers").scrollIntoView({ block: "start", behavior });
  }

  markLater(delay = DELAY) {
    window.clearTimeout(this.markTimer);
    this.markTimer = window.setTimeout(() => this.mark(), delay);
  }

  /* The cell that the address names, if its map is drawn. */
  pinned() {
    const { name, map: index, row, column } = this.data?.pinned ?? {};
    const plot = name && drawnPlots().find((drawn) => this.nameOf(drawn) === name);
    const map = plot && mapsOf(plot)[index];
    return map && { map, row, column };
  }

  /* Outline the cell under the pointer or, if there is none, the one that the address names. */
  mark() {
    if (this.hovered && !this.hovered.map.plot.isConnected) this.hovered = undefined;
    const shown = this.hovered ?? this.pinned();
    if (!shown && !this.shown) return;
    this.shown = shown;
    for (const plot of drawnPlots()) {
      const paths = { row: "", column: "", cell: "" };
      for (const map of shown ? mapsOf(plot) : []) {
        const own = outlines(map, shown);
        for (const name of Object.keys(paths)) paths[name] += own[name];
      }
      drawOutlines(plot, { halo: paths.row + paths.column + paths.cell, ...paths });
    }
  }

  end() {
    for (const timer of [this.markTimer, this.revealTimer, this.clickTimer]) window.clearTimeout(timer);
    this.observer.disconnect();
    for (const [target, type, listener] of this.listeners) {
      target.removeEventListener(type, listener, { capture: true });
    }
    for (const svg of document.querySelectorAll(".icl-links")) svg.remove();
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

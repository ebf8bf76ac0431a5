/* A chart that fills the screen keeps its panel's title and the clock's step, has as many labels as its axes have room
   for, and a colour bar as high as its map. */

const FRAME = "[data-testid=stFullScreenFrame]";
const LINE = 15; // pixels of height that a label needs
const LETTER = 9; // pixels of its letters
const STRIDES = [1, 2, 3, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64];
const LOOKS = [0, 100, 400, 1000]; // milliseconds after which it is seen whether a chart fills the screen

const isFull = (frame) => window.getComputedStyle(frame).position === "fixed";
/* What a panel's heading says, with whose numbers it states, which stand apart in a seat of the stage. */
const titleOf = (heading) => heading && [heading.textContent, heading.dataset.whose].filter(Boolean).join(", ");

const axisOf = (id) => id.replace(/^[xy]/, "$&axis"); // x2 is xaxis2

/* The label of every row or column of a map, if those that the axis shows are among them: a side's names, or what
   links.js knows it by. */
function labelsOf({ tickvals = [], ticktext = [] }, names, kinds) {
  const isShown = (labels) => tickvals.every((place, index) => labels[Math.floor(place)] === ticktext[index]);
  const literal = (label) => String(label).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const known = Object.values(kinds ?? {}).map((labels) => labels.map(literal));
  return tickvals.length ? [names, ...known].find(isShown) : undefined;
}

/* The changes of the layout that give an axis of `pixels` as many labels as fit. */
function axisUpdate(axis, layout, names, kinds, pixels, isUpright) {
  const labels = labelsOf(layout[axis] ?? {}, names, kinds);
  if (!labels) return {};
  const room = pixels / labels.length;
  const needed = isUpright ? LINE : LETTER * (1 + Math.max(...labels.map((label) => String(label).length)));
  const stride = STRIDES.find((each) => each * room >= needed) ?? labels.length;
  const first = labels[0] === "1" ? stride - 1 : 0; // of positions 16, 32, … are written, not 1, 17, …
  const written = labels.map((_, index) => index).filter((index) => index >= first && (index - first) % stride === 0);
  if (written.length <= layout[axis].tickvals.length) return {};
  return {
    [`${axis}.tickvals`]: written.map((index) => index + labels.length / 2000),
    [`${axis}.ticktext`]: written.map((index) => labels[index]),
  };
}

/* The changes of a chart's layout for the screen; empty if it has been changed. */
function fullUpdate(plot) {
  const update = {};
  const pixels = (axis) => drawnAxis(plot, axis)?._length ?? 0;
  for (const { type, x, y, xaxis = "x", yaxis = "y", meta } of plot.data) {
    if (type !== "heatmap" || !x || !y) continue;
    const [across, down] = [axisOf(xaxis), axisOf(yaxis)];
    Object.assign(update, axisUpdate(across, plot.layout, x, meta?.columns, pixels(across), false));
    Object.assign(update, axisUpdate(down, plot.layout, y, meta?.rows, pixels(down), true));
  }
  for (const name of Object.keys(plot.layout).filter((key) => key.startsWith("coloraxis"))) {
    const bar = plot.layout[name].colorbar;
    if (bar?.lenmode !== "pixels") continue;
    Object.assign(update, { [`${name}.colorbar.lenmode`]: "fraction", [`${name}.colorbar.len`]: 1 });
  }
  return update;
}

const valueAt = (layout, path) => path.split(".").reduce((part, key) => part?.[key], layout);

class FullScreen {
  constructor() {
    this.full = null; // the chart that fills the screen: its frame, plot, title and what its layout was
    this.listeners = [
      [window, "click", () => this.lookSoon()],
      [window, "keyup", (event) => event.key === "Escape" && this.lookSoon()],
    ];
    for (const [target, type, listener] of this.listeners) target.addEventListener(type, listener, true);
    this.observer = new MutationObserver(() => this.write());
  }

  lookSoon() {
    for (const timer of this.timers ?? []) window.clearTimeout(timer);
    this.timers = LOOKS.map((delay) => window.setTimeout(() => this.look(), delay));
  }

  look() {
    if (this.full && !(this.full.frame.isConnected && isFull(this.full.frame))) this.leave();
    const frame = [...document.querySelectorAll(FRAME)].find(isFull);
    const plot = frame?.querySelector(".js-plotly-plot");
    if (plot?.layout && !this.full) this.enter(frame, plot);
    this.enlarge();
  }

  enter(frame, plot) {
    const title = document.createElement("div");
    title.className = "icl-full-title";
    frame.append(title);
    const panel = frame.closest('[class*="st-key-seat-"], [class*="st-key-panel-"]');
    const said = panel?.querySelector("h3 [data-title]") ?? panel?.querySelector("h3");
    const step = panel?.querySelector("h3 [data-title]") ? document.querySelector(".clock:not([hidden]) output") : null;
    this.full = { frame, plot, title, said, step, former: {} };
    for (const part of [said, step]) {
      if (part) this.observer.observe(part, { childList: true, characterData: true, subtree: true });
    }
    this.write();
  }

  write() {
    if (!this.full) return;
    const { title, said, step } = this.full;
    title.textContent = [titleOf(said), step && `step ${step.textContent}`].filter(Boolean).join(" · ");
    this.enlarge(); // another film may have come
  }

  /* Give a chart its labels and its colour bar; noted is what was there before. */
  enlarge() {
    if (!this.full?.plot.layout || !window.Plotly) return;
    const { plot, former } = this.full;
    const update = fullUpdate(plot);
    if (!Object.keys(update).length) return;
    for (const path of Object.keys(update)) former[path] ??= valueAt(plot.layout, path);
    window.Plotly.relayout(plot, update);
  }

  leave() {
    const { plot, title, former } = this.full;
    this.observer.disconnect();
    title.remove();
    this.full = null;
    if (plot.isConnected && plot.layout && Object.keys(former).length) window.Plotly.relayout(plot, former);
  }

  end() {
    for (const timer of this.timers ?? []) window.clearTimeout(timer);
    for (const [target, type, listener] of this.listeners) target.removeEventListener(type, listener, true);
    if (this.full) this.leave();
    this.observer.disconnect();
  }
}

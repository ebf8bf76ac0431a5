/* The page's only clock. It moves every panel of the stage to one snapshot of the training, without the server, and
   tells the server where it comes to rest. What a panel shows at each snapshot is in `window.iclStage`, which
   parts.js fills. Its bar and its motion are those of every stage (transport.js). */

const SETTLE = 800; // milliseconds until new charts have found their size
const OPENING = 4000; // milliseconds that a film takes which plays by itself
const PATIENCE = 6000; // milliseconds until Streamlit's charts have left `window.Plotly`
const DELAY = 60; // milliseconds without a change of the page after which the charts are looked at
const SMALLEST_TYPE = 0.75; // of the headline in one line, as a share of its usual type

const opened = (window.iclOpened ??= new Set()); // names of the clocks that have played by themselves in this visit

class Clock extends Transport {
  constructor(root, name) {
    super(root.querySelector(".clock"), root.querySelector(".headline"));
    this.name = name;
    this.menu = root.querySelector(".menu");
    this.menu.onclick = () => document.body.classList.toggle("icl-menu"); // it stays from page to page
    this.resting = undefined; // index where the clock rested last, or where the server put it
    this.data = null; // of the server
    this.sentAt = null; // when the last rest was sent that the server has not answered yet
    this.target = null; // names of panels of which one is to be scrolled into sight
    this.held = null; // "drawer", or names of panels: scrolled into sight, kept there while the page grows
    this.reached = null; // those that a box of the diagram has just asked for
    this.drawerOpens = false; // the last click opens a drawer
    this.pressed = false; // a pointer is down
    this.listen();
  }

  listen() {
    this.listeners = [
      [window, "keydown", (event) => event.isTrusted && this.letGo(), true],
      [window, "keydown", (event) => this.key(event)],
      [window, "click", (event) => (this.drawerOpens = opensDrawer(event.target)), true],
      [window, "pointerdown", () => this.press(true), true],
      [window, "pointerup", () => this.press(false), true],
      [window, "pointercancel", () => this.press(false), true],
      [window, "wheel", () => this.letGo(), true],
      [window, "scroll", () => this.draw(), true],
      [window, "resize", () => this.draw()],
      [window, "icl-panel", () => this.draw()],
      [document, "visibilitychange", () => this.draw()],
      [window, "popstate", () => this.back()],
      [window, "icl-reach", (event) => this.reach(event.detail)],
    ];
    for (const [target, type, listener, capture] of this.listeners) target.addEventListener(type, listener, capture);
    this.observer = new MutationObserver(() => this.later());
    const page = document.querySelector("[data-testid=stMain]") ?? document.body;
    this.observer.observe(page, { childList: true, subtree: true });
    this.sizes = new ResizeObserver(() => this.fitHeadline()); // also once it is shown after a training
    this.sizes.observe(this.headline);
    this.seats = new ResizeObserver(() => this.later());
  }

  /* Take the server's data: the snapshots of the run on screen, and where the address stands. While a rest is on its
     way to the server, the address stands where it stood before, and the clock does not follow it. `send` tells the
     server. */
  update(data, send) {
    const opens = !this.data && data.play && data.at > 0 && !calm() && !opened.has(this.name);
    opened.add(this.name);
    this.opens ||= opens;
    const isOtherRun = !this.data || this.data.run !== data.run;
    if (this.sentAt === data.answers) this.sentAt = null;
    const isAnswered = this.sentAt === null;
    const follows = isOtherRun || (isAnswered && data.at !== this.resting);
    const isOtherBeat = !isOtherRun && isAnswered && data.beat && data.beat !== this.data.beat;
    if (String(data.marks) !== String(this.data?.marks)) {
      const isReached = String(data.marks).replaceAll(" ", "-") === String(this.reached); // it is in sight already
      if (!isReached) this.target = data.marks;
      this.reached = null;
    }
    if (data.reveal && !this.data?.reveal) {
      this.drawerOpens = true;
      this.later();
    }
    this.data = data;
    this.send = send;
    this.take(data);
    this.menu.toggleAttribute("data-projector", data.projector);
    this.bar.toggleAttribute("data-still", data.still);
    this.headline.toggleAttribute("data-still", !data.headline);
    if (isOtherRun) this.stop();
    if (follows) this.resting = data.at;
    if (!window.Plotly && !this.plainTimer) this.waitForPlotly();
    if (opens) this.show(0);
    else if (isOtherBeat) this.playTo(data.at);
    else this.show(follows ? data.at : this.index);
  }

  /* Keep the headline in a line of one height, so that the stage does not move with its words: a long one has smaller
     type, and a very long one two lines of small type. A phone's headline takes the lines that it needs. */
  fitHeadline() {
    const { style, classList } = this.headline;
    style.fontSize = "";
    classList.remove("two-lines");
    if (!this.headline.clientWidth) return; // it is hidden
    const share = this.headline.clientWidth / Math.max(1, this.headline.scrollWidth);
    if (share < SMALLEST_TYPE) classList.add("two-lines");
    else if (share < 1) style.fontSize = `${1.25 * share}rem`;
  }

  waitForPlotly() {
    this.plainTimer = window.setTimeout(() => this.becomePlain(), PATIENCE);
  }

  /* If Streamlit's charts have not left plotly.js within reach, have the server draw the clock's snapshot. */
  becomePlain() {
    if (window.Plotly) return this.draw();
    if (!document.querySelector(".js-plotly-plot")) return this.waitForPlotly(); // there is no chart yet
    this.bar.dataset.plain = "true";
    this.opens = false;
    this.show(this.resting); // which the server draws
    this.send("plain", true);
  }

  /* A film waits for panels that are being drawn, and while a chart fills the screen. */
  waits() {
    return this.drawing.size > 0 || covered();
  }

  /* Tell the server where. */
  rested() {
    if (this.resting === this.index) return;
    this.resting = this.index;
    this.sentAt = Date.now(); // so that the same step, sent again after Back, differs from the last one
    this.send("step", [this.steps[this.index], this.sentAt, location.search]);
  }

  /* After the browser's Back the clock goes back, too. A rest on its way may be lost, and is not waited for. */
  back() {
    if (this.sentAt === null) return;
    this.stop();
    this.sentAt = null;
    this.resting = this.data.at;
    this.show(this.resting);
  }

  key(event) {
    if (!this.data || this.isTyped(event)) return;
    if (event.key === "m" && this.data.projector) this.menu.click();
    if (/^[1-5]$/.test(event.key)) openGroup(event);
    else if (event.key.startsWith("Page")) turn(event);
    else if (!this.data.still && !covered()) this.takeKey(event);
  }

  show(index) {
    super.show(index);
    this.fitHeadline();
  }

  /* Look at the page once it has stopped changing. */
  later() {
    window.clearTimeout(this.laterTimer);
    this.laterTimer = window.setTimeout(() => {
      listenToCharts();
      for (const seat of document.querySelectorAll('[class*="st-key-chart-"]')) this.seats.observe(seat);
      this.draw();
      this.revealDrawer();
      this.revealTarget();
    }, DELAY);
  }

  /* Nothing is scrolled while a pointer is down. Who presses or scrolls does not wait for a drawer any more. */
  press(pressed) {
    this.pressed = pressed;
    this.letGo();
    if (!pressed) this.later();
  }

  /* Whoever presses a key or scrolls looks where they want. */
  letGo() {
    this.drawerOpens = false;
    this.held = null;
  }

  /* Scroll to the row of drawers when a drawer, often below the window's end, has just been opened. */
  revealDrawer() {
    const isWanted = this.drawerOpens || this.held === "drawer";
    if (this.pressed || !isWanted || !document.querySelector(".st-key-drawer")) return;
    this.drawerOpens = false;
    this.held = "drawer"; // it may still grow
    document.querySelector(".st-key-drawers").scrollIntoView({ block: "start", behavior: scrolling() });
  }

  /* Scroll to a panel that a box of the diagram opens. */
  reach(name) {
    this.target = this.reached = [name];
    this.later();
  }

  /* Scroll to the panel that the script speaks of, or that a box of the diagram opens, once it is there. */
  revealTarget() {
    const names = this.target ?? (this.held === "drawer" ? [] : this.held) ?? [];
    const panels = this.pressed ? [] : names.map(panelOf).filter(Boolean);
    if (!panels.length) return;
    this.held = names;
    this.target = null;
    // of several panels those that stand where the first one does: on the stage, or in the drawer
    const place = (panel) => Boolean(panel.closest(".st-key-drawer"));
    const boxes = panels
      .filter((panel) => place(panel) === place(panels[0]))
      .map((panel) => panel.getBoundingClientRect());
    const top = Math.min(...boxes.map((box) => box.top));
    const bottom = Math.max(...boxes.map((box) => box.bottom));
    const page = panels[0].closest("[data-testid=stMain]");
    const isOnFirstScreen = page && bottom + page.scrollTop <= window.innerHeight;
    if (isOnFirstScreen) {
      if (page.scrollTop) page.scrollTo({ top: 0, behavior: scrolling() });
      return;
    }
    const free = freeHeight();
    if (top >= free.top && bottom <= free.bottom) return;
    // Panels that do not fit begin below the line of the script, so that it covers none of them.
    const fits = bottom - top <= free.bottom - free.top;
    const shift = top < free.top || !fits ? top - free.top : bottom - free.bottom;
    page?.scrollBy({ top: shift, behavior: scrolling() });
  }

  /* Play by itself, once, soon after a panel is there, from the first snapshot to where the server put the clock; not
     for a visitor who wants no motion, or who moved first. */
  playFirst() {
    if (!this.opens) return;
    if (![...stage.panels].some(([name, panel]) => panel.run === this.data.run && chart(name)?.layout)) return;
    this.opens = false;
    const { resting } = this;
    this.openingTimer = window.setTimeout(() => {
      if (this.timer || this.index !== 0 || this.resting !== resting) return;
      this.start(OPENING / Math.max(1, resting));
      this.until = resting;
    }, SETTLE);
  }

  /* Bring every panel in sight to the snapshot of the clock; the others follow when they come into sight. */
  draw() {
    if (!this.data || !window.Plotly || document.hidden) return;
    this.playFirst();
    const panels = [...stage.panels].filter(([, panel]) => panel.run === this.data.run);
    const charts = panels.map(([name, panel]) => [name, panel, chart(name)]);
    // where they are is read of all charts before any is changed: the browser lays the page out once
    const seen = charts.filter(([, , plot]) => plot?.layout && inSight(plot));
    const fits = seen.map(([, { whole }, plot]) => (whole ? seatFit(plot, whole.layout) : AS_IT_IS));
    seen.forEach(([name, panel, plot], index) => this.bring(name, panel, plot, fits[index]));
  }

  /* Bring one panel to the snapshot of the clock, and to its film, as it fits its seat, if the chart shows another's. */
  async bring(name, panel, plot, fit) {
    const { film, fit: formerFit } = plot.layout.meta ?? {};
    if (film === undefined || this.drawing.has(name)) return; // a chart without a film shows a run in training
    const isOtherFilm = nameOf(film, formerFit) !== nameOf(panel.film, fit.id);
    const isThere = isAt(plot, this.index, this.moving);
    if (!isOtherFilm && isThere) this.entitle(name, panel, this.index); // titles may come after the figure
    if (isOtherFilm ? !panel.whole : isThere || !frameOf(panel, this.index)) return;
    let done = false;
    await this.drawOne(name, async (index) => {
      if (isOtherFilm) await replace(plot, panel, index, fit, this.moving);
      else await showFrame(plot, fitted(frameOf(panel, index), fit), this.moving);
      this.entitle(name, panel, index);
      done = true;
    });
    // while this one was drawn another film may have come, the seat may have got another size, and Streamlit may have
    // drawn its own figure for that size
    const isSameSeat = !panel.whole || seatFit(plot, panel.whole.layout).id === fit.id;
    const { film: filmNow, fit: fitNow } = plot.layout?.meta ?? {};
    const isKept = !done || !panel.whole || nameOf(filmNow, fitNow) === nameOf(panel.film, fit.id);
    if (panel.film !== stage.panels.get(name)?.film || !isSameSeat || !isKept) this.draw();
  }

  /* Write a panel's title at a snapshot, if it is another one. */
  entitle(name, { titles }, index) {
    const title = document.querySelector(`[data-title="${CSS.escape(name)}"]`);
    const text = titles?.[index];
    if (title && text && title.textContent !== text) title.textContent = text;
  }

  end() {
    this.stop();
    for (const timer of [this.openingTimer, this.laterTimer, this.plainTimer]) window.clearTimeout(timer);
    this.observer.disconnect();
    this.sizes.disconnect();
    this.seats.disconnect();
    for (const [target, type, listener, capture] of this.listeners) target.removeEventListener(type, listener, capture);
  }
}

export default function ({ parentElement, data: { key }, setStateValue }) {
  const clock = (parentElement.iclClock ??= new Clock(parentElement, key));
  const hear = ({ detail }) => {
    const data = stage.clocks.get(key);
    if (data && detail === key) clock.update(data, setStateValue);
  };
  window.addEventListener("icl-clock", hear);
  hear({ detail: key });
  return () => {
    window.removeEventListener("icl-clock", hear);
    clock.end();
    delete parentElement.iclClock;
  };
}

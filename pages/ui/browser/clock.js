/* The page's only clock. It moves every panel of the stage to one snapshot of the training, without the server, and
   tells the server where it came to rest. What a panel shows at each snapshot is in `window.iclStage`, which the
   components of the panels fill (frames.js). */

const PACE = 420; // milliseconds a snapshot at normal speed
const SETTLE = 800; // milliseconds until new charts have found their size
const PATIENCE = 6000; // milliseconds until Streamlit's charts have left `window.Plotly`
const SPEEDS = [1, 2, 0.5];
const TYPES = "input, textarea, select, [contenteditable], [role=slider], [role=listbox], [role=combobox]";

const stage = (window.iclStage ??= { panels: new Map() });

class Clock {
  constructor(root) {
    const find = (query) => root.querySelector(query);
    Object.assign(this, { headline: find(".headline"), bar: find(".clock"), play: find(".play"), track: find("input") });
    Object.assign(this, { ticks: find(".ticks"), output: find("output"), speed: find(".speed") });
    Object.assign(this, { index: 0, pace: 0, timer: 0, moving: false, opens: false, held: false });
    Object.assign(this, { drawing: new Set(), data: null, told: null });
    this.menu = find(".menu");
    this.menu.onclick = () => document.body.classList.toggle("icl-menu"); // stays from page to page
    this.play.onclick = () => (this.timer ? this.rest() : this.start());
    find(".back").onclick = () => this.move(this.index - 1);
    find(".on").onclick = () => this.move(this.index + 1);
    this.speed.onclick = () => this.faster();
    this.track.oninput = () => (this.stop(), (this.moving = true), this.show(Number(this.track.value)));
    for (const end of ["change", "pointerup", "pointercancel", "blur"]) this.track.addEventListener(end, () => this.rest());
    this.ears = [
      [window, "keydown", (event) => this.key(event)],
      [window, "click", (event) => (this.opens = opensDrawer(event.target)), true],
      [window, "pointerdown", () => this.hold(true), true],
      [window, "pointerup", () => this.hold(false), true],
      [window, "pointercancel", () => this.hold(false), true],
      [window, "wheel", () => (this.opens = false), true],
      [window, "scroll", () => this.draw(), true],
      [window, "resize", () => this.draw()],
      [window, "icl-panel", () => this.draw()],
      [window, "popstate", () => this.back()],
      [window, "icl-reach", (event) => ((this.wanted = this.chosen = [event.detail]), this.later())],
    ];
    for (const [where, what, hear, capture] of this.ears) where.addEventListener(what, hear, capture);
    this.watch = new MutationObserver(() => this.later());
    this.watch.observe(document.querySelector("[data-testid=stMain]") ?? document.body, { childList: true, subtree: true });
  }

  /* What the server says: the snapshots of the run on screen, and where the address stands. Where it stood before the
     last rest, if that is on its way to the server: then the clock does not follow. */
  update(data, tell) {
    const other = !this.data || this.data.run !== data.run;
    if (this.told === data.answers) this.told = null;
    const heard = this.told === null;
    const asked = other || (heard && data.at !== this.resting);
    const turned = !other && heard && data.beat && data.beat !== this.data.beat;
    if (String(data.marks) !== String(this.data?.marks)) {
      const chosen = String(data.marks).replaceAll(" ", "-") === String(this.chosen); // it is in sight by now
      if (!chosen) this.wanted = data.marks;
      this.chosen = null;
    }
    this.data = data;
    this.tell = tell;
    this.track.max = data.steps.length - 1;
    this.bar.hidden = data.steps.length < 2;
    this.menu.toggleAttribute("data-projector", data.projector);
    this.bar.toggleAttribute("data-still", data.still);
    this.headline.toggleAttribute("data-still", !data.headline);
    this.mark(data.ticks);
    this.label();
    if (other) this.stop();
    if (asked) this.resting = data.at;
    if (!window.Plotly) this.wait ??= window.setTimeout(() => this.plain(), PATIENCE);
    if (turned) this.playTo(data.at);
    else this.show(asked ? data.at : this.index);
  }

  /* Play to a snapshot, from the start if it lies behind; at once for a visitor who wants no motion. */
  playTo(index) {
    this.stop();
    if (index === this.index) return this.show(index);
    if (calm() || index === 0) return this.show(index);
    if (index < this.index) this.show(0);
    this.start();
    this.until = index;
  }

  /* Streamlit's charts have not left plotly.js where it can be reached: the server draws what the clock shows. */
  plain() {
    if (window.Plotly) return this.draw();
    this.bar.dataset.plain = "true";
    this.tell("plain", true);
  }

  /* Where among the snapshots a step lies. */
  place(step) {
    const { steps } = this.data;
    const next = Math.max(1, steps.findIndex((each) => each >= step));
    return next - 1 + (step - steps[next - 1]) / Math.max(1, steps[next] - steps[next - 1]);
  }

  mark(ticks) {
    const last = Math.max(1, this.data.steps.length - 1);
    this.ticks.replaceChildren(
      ...ticks.map(([step, text]) => {
        const tick = document.createElement("span");
        tick.textContent = text;
        tick.style.left = `${(100 * this.place(step)) / last}%`;
        tick.title = `step ${Math.round(step)}`;
        return tick;
      }),
    );
  }

  label() {
    this.play.textContent = this.timer ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.timer ? "Stop" : "Play");
    const times = SPEEDS[this.pace];
    this.speed.textContent = times === 0.5 ? "½×" : `${times}×`;
    this.speed.setAttribute("aria-label", `Speed: ${times}`);
  }

  faster() {
    this.pace = (this.pace + 1) % SPEEDS.length;
    if (this.timer) this.start();
    this.label();
  }

  start() {
    window.clearInterval(this.timer);
    if (this.index >= this.data.steps.length - 1) this.show(0);
    this.timer = window.setInterval(() => this.tick(), PACE / SPEEDS[this.pace]);
    this.until = Infinity;
    this.moving = true;
    this.label();
  }

  tick() {
    if (this.drawing.size || covered()) return; // a slow machine shows every snapshot, later
    this.show(this.index + 1);
    if (this.index >= Math.min(this.until, this.data.steps.length - 1)) this.rest();
  }

  stop() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.moving = false;
    this.label();
  }

  /* Stop, and tell the server where. */
  rest() {
    this.stop();
    this.draw(); // in full what was only painted
    if (this.resting === this.index) return;
    this.resting = this.index;
    this.told = Date.now(); // so the same step, told again after a step back, is something new
    this.tell("step", [this.data.steps[this.index], this.told, location.search]);
  }

  /* Whoever goes back takes the clock along. A rest that is on its way may be lost: then nobody answers to it. */
  back() {
    if (this.told === null) return;
    this.stop();
    this.told = null;
    this.resting = this.data.at;
    this.show(this.resting);
  }

  move(index) {
    this.show(index);
    this.rest();
  }

  key(event) {
    const plays = event.key === " " && event.target === this.track; // where a click has left the focus
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target.closest?.(TYPES) && !plays)) return;
    if (event.key === "m" && this.data.projector) this.menu.click();
    if (event.key.startsWith("Page")) return turn(event);
    const on = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (this.bar.hidden || this.data.still || covered()) return;
    if (on) this.move(this.index + on);
    else if (event.key === " " && !event.target.closest?.("button, a, summary")) this.play.click();
    else return;
    event.preventDefault();
  }

  show(index) {
    const last = this.data.steps.length - 1;
    this.index = Math.max(0, Math.min(last, index));
    this.track.value = this.index;
    this.track.setAttribute("aria-valuetext", `step ${this.data.steps[this.index]} of ${this.data.steps[last]}`);
    this.output.textContent = `${this.data.steps[this.index]} of ${this.data.steps[last]}`;
    this.headline.textContent = this.data.headlines[this.index];
    this.draw();
  }

  later() {
    window.clearTimeout(this.soon);
    this.soon = window.setTimeout(() => (keepMaps(), this.draw(), this.reveal(), this.reach()), 60);
  }

  /* Nothing moves away while it is pressed. Whoever presses or scrolls has no more need of the drawer's coming. */
  hold(pressed) {
    this.held = pressed;
    this.opens = false;
    if (!pressed) this.later();
  }

  /* A drawer that was just opened, often below the window's end, comes into sight with the row of drawers. */
  reveal() {
    if (this.held || !this.opens || !document.querySelector(".st-key-drawer")) return;
    this.opens = false;
    const behavior = calm() ? "auto" : "smooth";
    document.querySelector(".st-key-drawers").scrollIntoView({ block: "start", behavior });
  }

  /* What the script speaks of, or a box of the diagram opens, comes into sight, once it is there. */
  reach() {
    const panel = !this.held && this.wanted?.map(panelOf).find(Boolean);
    if (!panel) return;
    this.wanted = null;
    const { top, bottom, height } = panel.getBoundingClientRect();
    const behavior = calm() ? "auto" : "smooth";
    const page = panel.closest("[data-testid=stMain]");
    const fits = page && bottom + page.scrollTop <= window.innerHeight; // in the page's first screen
    if (fits) return page.scrollTop && page.scrollTo({ top: 0, behavior });
    const line = document.querySelector(".st-key-script")?.getBoundingClientRect();
    if (top >= (line && line.top <= 1 ? line.bottom : 0) && bottom <= window.innerHeight) return;
    panel.scrollIntoView({ block: height > window.innerHeight / 2 ? "start" : "nearest", behavior });
  }

  /* Play by itself, once, soon after a panel is there; not for a visitor who wants no motion, or was first to move. */
  open() {
    if (!this.data.play || this.opening || calm()) return;
    if (![...stage.panels].some(([name, panel]) => panel.run === this.data.run && chart(name)?.layout)) return;
    const here = this.index;
    this.opening = window.setTimeout(() => this.timer || this.index !== here || this.start(), SETTLE);
  }

  /* Bring every panel in sight to the snapshot of the clock. */
  draw() {
    if (!this.data || !window.Plotly) return;
    this.open();
    const mine = [...stage.panels].filter(([, panel]) => panel.run === this.data.run);
    const charts = mine.map(([name, panel]) => [name, panel, chart(name)]);
    for (const [, panel, plot] of charts) describe(plot, panel);
    const seen = charts.filter(([, , plot]) => plot?.layout && inSight(plot)); // all of them before any is changed
    for (const [name, panel, plot] of seen) this.bring(name, panel, plot);
  }

  async bring(name, panel, plot) {
    const index = this.index;
    const { film, snapshot } = plot.layout.meta ?? {};
    if (film === undefined || this.drawing.has(name)) return; // without one it grows: it is of another run
    const other = film !== panel.film;
    const there = snapshot === index && (this.moving || !plot.iclPainted);
    if (other ? !panel.whole : there || !panel.frames?.[index]) return;
    this.drawing.add(name);
    try {
      plot.iclPainted = !other && this.moving && paint(plot, panel.frames[index]);
      if (other) await replace(plot, panel, index);
      else if (!plot.iclPainted) await window.Plotly.update(plot, ...changes(panel.frames[index]));
      const title = document.querySelector(`[data-title="${CSS.escape(name)}"]`);
      if (title && panel.titles?.[index]) title.textContent = panel.titles[index];
    } catch (error) {
      if (error) console.warn(`The panel ${name} was not drawn:`, error);
    } finally {
      this.drawing.delete(name);
    }
    if (index !== this.index || panel.film !== stage.panels.get(name)?.film) this.draw();
  }

  end() {
    this.stop();
    for (const timer of [this.opening, this.soon, this.wait]) window.clearTimeout(timer);
    this.watch.disconnect();
    for (const [where, what, hear, capture] of this.ears) where.removeEventListener(what, hear, capture);
  }
}

export default function ({ parentElement, data, setStateValue }) {
  const clock = (parentElement.iclClock ??= new Clock(parentElement));
  clock.update(data, setStateValue);
  return () => {
    clock.end();
    delete parentElement.iclClock;
  };
}

/* The stage of a run, with the clock of the dashboard (clock.js), which moves its panels: figures come as the dashboard
   sends them, and stand in the same seats. */

class Stage {
  /* `root` is where it stands; `rests` is called with the training step at which the clock has come to rest. */
  constructor(root, site, rests) {
    this.site = site;
    this.rests = rests;
    this.key = `clock ${(Stage.count = (Stage.count ?? 0) + 1)}`;
    this.shared = window.iclStage;
    this.clockData = null;
    this.head = h("div", { class: "st-key-head", html: CLOCK });
    this.place = h("div", { class: "st-key-current" });
    root.append(this.head, this.place);
    const parts = { parentElement: this.head, data: { key: this.key } };
    this.endClock = iclClock({ ...parts, setStateValue: (name, value) => name === "step" && this.rest(value) });
    this.seats = "";
  }

  /* Show a run: `scene` is its data, `at` the index of the snapshot, `options` those of the clock. */
  show(scene, at, theme, options = {}) {
    const look = themeName(theme);
    const run = `${scene.run} ${look}`;
    const seats = JSON.stringify([scene.seating, look, scene.panels.map(({ name, wide, problem }) => [name, wide, problem])]);
    if (seats !== this.seats) this.seat(scene, theme);
    this.seats = seats;
    this.shared.panels.clear();
    for (const panel of scene.panels) if (!panel.problem) this.take(panel, run, look, theme);
    const { steps, headlines, ticks } = scene;
    const data = { run, steps, headlines, ticks, at, answers: null, headline: true, still: false, marks: [], beat: "" };
    this.clockData = { ...data, projector: theme.projector, play: false, reveal: false, ...options };
    this.tell();
  }

  tell() {
    this.shared.clocks.clear();
    this.shared.clocks.set(this.key, this.clockData);
    window.dispatchEvent(new CustomEvent("icl-clock", { detail: this.key }));
    window.dispatchEvent(new Event("icl-panel"));
  }

  /* Hand the clock a panel's films in the visitor's theme. */
  take(panel, run, look, theme) {
    const film = `${panel.film} ${look}`;
    const named = (part) => {
      const { layout, ...shown } = themed(part, theme, this.site, panel.whole);
      return { ...shown, layout: layout.meta ? { ...layout, meta: { ...layout.meta, film } } : layout };
    };
    const whole = named(panel.whole);
    const frames = panel.frames.map(named);
    this.shared.panels.set(panel.name, { ...panel, run, film, whole, frames });
    this.describe(panel);
  }

  describe({ name, titles, caption, whose, low }) {
    const mark = this.place.querySelector(`[data-of="${CSS.escape(name)}"]`);
    const text = whose ? `${whose[0].toUpperCase()}${whose.slice(1)}. ${caption}` : caption;
    if (!mark) return;
    if (titles.length === 1) mark.parentElement.querySelector("[data-title]").textContent = titles[0]; // no clock writes it
    mark.setAttribute("aria-label", text);
    mark.dataset.caption = text;
    const tag = mark.parentElement.querySelector(".whose");
    tag.textContent = whose.replace(/^mean of /, "");
    tag.classList.toggle("low", low);
  }

  /* Lay out the seats, and draw the charts that the clock then moves. */
  seat(scene, theme) {
    purge(this.place);
    const seats = scene.panels.map((panel) => this.seatOf(panel, theme));
    this.place.replaceChildren(h("div", { class: `st-key-${scene.seating}` }, seats));
  }

  seatOf(panel, theme) {
    const { name, wide, problem, titles = [], needs = [0, 0] } = panel;
    const title = h("span", { "data-title": name }, titles.at(-1) ?? "");
    const about = h("span", { class: "caption", tabindex: "0", role: "note", "data-of": name }, "?");
    const tag = h("small", { class: "whose" });
    const heading = h("div", { class: "seat-title" }, h("h3", { "aria-level": "2" }, title), about, tag);
    const seat = h("div", { class: `st-key-seat-${wide ? "wide-" : ""}${slug(name)}` }, heading);
    if (problem) seat.append(h("p", { class: "problem" }, problem));
    else seat.append(h("div", { class: "holds" }, this.chartOf(panel, theme)));
    if (needs[0]) {
      seat.style.overflowX = "auto";
      seat.style.setProperty("--needed-width", `${needs[0]}px`);
      const height = `max(${Math.floor(0.8 * needs[1])}px, min(${needs[1]}px, 34vw))`;
      seat.style.setProperty("--needed-height", `calc(${height} + 40px)`);
      seat.style.setProperty("--least", `${Math.floor(0.8 * needs[0])}px`);
    }
    return h("div", {}, seat);
  }

  chartOf({ name, whole, caption }, theme) {
    const plot = h("div");
    drawChart(plot, whole, this.site, theme, true).then(() =>
      window.dispatchEvent(new Event("icl-panel")),
    );
    return h("div", { class: `st-key-chart-${slug(name)}` }, chartBox(caption, plot));
  }

  /* The clock has come to rest at a step. */
  rest([step, time]) {
    this.clockData.answers = time;
    this.clockData.at = this.clockData.steps.indexOf(step);
    this.tell();
    this.rests(step);
  }

  end() {
    this.endClock();
    this.shared.clocks.delete(this.key);
    this.shared.panels.clear();
    purge(this.place);
  }
}

/* A scene with one of its panels alone, for lecture notes; the whole one if it has no such panel. */
const alone = (scene, name) => {
  const panels = scene.panels.filter((panel) => panel.name === name);
  return panels.length ? { ...scene, seating: "stage-1x1", panels } : scene;
};

/* A view shows some panels otherwise than the run's base view does: the scene with these. */
const withView = (scene, view) => {
  if (!view) return scene;
  const others = Object.fromEntries(view.panels.map((panel) => [panel.name, panel]));
  return { ...scene, headlines: view.headlines, panels: scene.panels.map((panel) => others[panel.name] ?? panel) };
};

/* The page of an experiment, at the state that the address names. */

const opened = new Set(); // experiments whose film has played by itself in this visit
const SEATS = ["seat", "seat-wide", "panel-half", "panel-wide"];

class ExperimentPage {
  constructor(root, site, paper, lessons) {
    this.site = site;
    this.paper = paper;
    this.lessons = lessons;
    const sidebar = h("aside", { "data-testid": "stSidebar", "aria-label": "Settings" });
    const block = h("div", { "data-testid": "stMainBlockContainer", class: "block-container" });
    this.main = h("main", { "data-testid": "stMain", id: "main", tabindex: "-1" }, block);
    root.append(sidebar, this.main);
    this.header = h("div", { class: "st-key-header" });
    const above = h("div", { class: "above" });
    const below = h("div", { class: "below" });
    block.append(this.header, above);
    this.stage = new Stage(above, site, (step) => this.rested(step));
    this.story = new Story(above, this);
    above.append(this.stage.place); // below the story's line
    block.append(below);
    this.drawers = new Drawers(below, this);
    this.sidebar = new Sidebar(sidebar, this);
    const words = h("span", { hidden: true });
    const links = h("span", { hidden: true });
    block.append(words, links);
    this.ends = [iclLinks({ parentElement: links, data: { cells: [], choosing: [], pinned: null }, setTriggerValue: () => {} })];
    load(paper).then(({ meanings }) => {
      if (!this.hasEnded) this.ends.push(iclWords({ parentElement: words, data: meanings }));
    });
    this.asked = 0;
    this.hasEnded = false;
  }

  /* Show the state that the address names. */
  async show(fields, theme) {
    const asked = (this.asked += 1);
    const state = await readState(this.site, this.paper, this.lessons, fields, theme);
    if (asked !== this.asked || this.hasEnded) return; // another state has been asked for since
    const isFirst = !this.state;
    this.state = state;
    document.title = `${state.texts.title} · in-context learning`;
    if (isFirst) this.showHeader(state);
    this.refresh(isFirst);
    this.prefetch(state);
  }

  /* The run that differs from the one on screen in one setting alone. */
  runAt({ texts, values, runFile }, at, value) {
    const others = values.map((own, index) => (index === at ? value : own));
    return fileOf(texts, others, runFile);
  }

  move(field, value) {
    const { texts, preset } = this.state;
    const [, run] = runOfPreset(texts, preset);
    const isPresets = run.values[texts.fields.indexOf(field)] === value;
    change({ [field]: isPresets ? "" : value, beat: "", marks: "" }, true);
  }

  /* What a field of the view is in the run's own view. */
  baseOf(field) {
    const { texts, runFile } = this.state;
    return texts.runs[runFile].base[field];
  }

  presetFields(preset) {
    const { name, texts, lesson } = this.state;
    return { experiment: name, preset: preset === texts.presets[0].name ? "" : preset, lesson: lesson?.name };
  }

  /* Go to the story's first beat, on the run that it is told of. */
  startOver() {
    const { name, texts, lesson, fields } = this.state;
    const [[preset, [beat]]] = Object.entries(texts.beats).filter(([, { length }]) => length);
    go(this.paper, { ...this.presetFields(preset), experiment: name, beat: beat.name, lesson: lesson?.name, tour: fields.tour });
  }

  refresh(isFirst = false) {
    const { state } = this;
    const place = this.story.placeIn(state);
    const { fields, theme } = state;
    const scene = place.question ? state.untouched : state.scene;
    const step = fields.step === undefined ? NaN : Number(fields.step);
    const named = scene.steps.findLastIndex((other) => other <= step);
    const at = Math.max(0, Number.isNaN(step) ? (place.at ?? scene.at) : named);
    const isNamed = fields.step !== undefined || place.beat || state.lesson;
    const beat = place.question ? "" : (place.beat?.name ?? "");
    const options = { beat, marks: place.marks, play: !isNamed && !state.problems.length && !opened.has(state.id) };
    const isPlaying = this.stage.clockData && beat && place.beat !== this.beat;
    this.beat = place.beat;
    opened.add(state.id);
    this.stage.show(scene, at, theme, options);
    if (isPlaying && fields.step === undefined) this.stage.head.iclClock?.playTo(at);
    this.outline(place);
    this.story.show(state, place);
    this.sidebar.show(state, place);
    if (fields.drawer && !place.beat && fields.drawer !== this.drawers.name) this.drawers.isWanted = true;
    this.drawers.show(state).then(() => state === this.state && !this.hasEnded && this.outline(this.story.placeIn(state)));
    this.say(state);
    if (isFirst && !fields.embed) this.main.focus({ preventScroll: true });
  }

  /* Outline the panels that the story speaks of, dim the others, and hide what questions ask about. */
  outline({ marks, hides }) {
    const isOf = (seat, names) => names.map(slug).some((name) => SEATS.some((kind) => seat.classList.contains(`st-key-${kind}-${name}`)));
    for (const seat of this.main.querySelectorAll('[class*="st-key-seat-"], [class*="st-key-panel-"]')) {
      seat.classList.toggle("outlined", isOf(seat, marks));
      seat.classList.toggle("withheld", isOf(seat, hides));
    }
    const stage = this.main.querySelector('[class*="st-key-stage-"]');
    stage?.classList.toggle("speaks", Boolean(stage.querySelector(".outlined")));
    this.stage.head.classList.toggle("no-headline", hides.includes("headline"));
    this.stage.head.classList.toggle("no-marks", hides.includes("marks"));
  }

  /* Say what the address asks for and the site has not. */
  say({ problems }) {
    this.header.querySelector(".missing")?.remove();
    if (problems.length) this.header.append(h("p", { class: "missing", role: "status" }, problems.join(" ")));
  }

  showHeader({ texts, name, lesson }) {
    const of = this.site.papers.find((paper) => paper.name === this.paper);
    const verdict = h("span", { class: "st-key-verdicts" });
    if (!lesson?.hidden.includes("Evidence")) {
      load(`${this.paper}.${name}/evidence`).then(({ line }) => {
        if (line) verdict.replaceChildren(h("button", { type: "button", class: "plain", onclick: () => change({ drawer: "Evidence" }) }, `${line} ▸`));
      });
    }
    const list = of.experiments.map((other) => linkTo(other.title, this.paper, { experiment: other.name }, other.name === name ? { "aria-current": "page" } : {}));
    const choice = lesson || of.experiments.length < 2 ? texts.title : popover(`${texts.title} ▾`, () => h("nav", { class: "list", "aria-label": "Experiments" }, list), { class: "st-key-experiments" });
    this.header.replaceChildren(h("h1", {}, of.title), choice, verdict);
  }

  /* Load the runs next to the one on screen, so that a slider finds them. */
  prefetch(state) {
    window.clearTimeout(this.ahead);
    this.ahead = window.setTimeout(() => {
      for (const { name, values } of state.texts.knobs) {
        const at = state.texts.fields.indexOf(name);
        if (at < 0) continue;
        const all = Object.keys(values).filter((value) => this.runAt(state, at, value));
        const here = all.indexOf(state.values[at]);
        for (const next of [all[here - 1], all[here + 1]]) {
          const file = next !== undefined && this.runAt(state, at, next);
          if (file) load(`${state.id}/${file}`).catch(() => {});
        }
      }
    }, 300);
  }

  /* The clock has come to rest at a step. */
  rested(step) {
    const { scene, fields } = this.state;
    change({ step: step === scene.steps[scene.at] && !fields.beat ? "" : step });
  }

  end() {
    this.hasEnded = true;
    window.clearTimeout(this.ahead);
    this.drawers.clear();
    this.stage.end();
    for (const end of this.ends) end();
    this.sidebar.end();
  }
}

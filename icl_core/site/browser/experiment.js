/* The page of a paper: one of its experiments, at the state that the address names. */

const opened = new Set(); // experiments whose film has played by itself in this visit

class ExperimentPage {
  constructor(root, site, paper) {
    this.site = site;
    this.paper = paper;
    const sidebar = h("aside", { "data-testid": "stSidebar", "aria-label": "Settings" });
    const block = h("div", { "data-testid": "stMainBlockContainer", class: "block-container" });
    root.append(sidebar, h("main", { "data-testid": "stMain", id: "main", tabindex: "-1" }, block));
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
    this.ends = [
      iclLinks({ parentElement: links, data: { cells: [], choosing: [], pinned: null }, setTriggerValue: () => {} }),
      load(paper).then(({ meanings }) => iclWords({ parentElement: words, data: meanings })),
    ];
    this.asked = 0;
  }

  /* Show the state that the address names. */
  async show(fields, theme) {
    const asked = (this.asked += 1);
    const state = await this.read(fields, theme);
    if (asked !== this.asked) return; // another state has been asked for since
    const isFirst = !this.state || this.state.id !== state.id;
    this.state = state;
    document.title = `${state.texts.title} · in-context learning`;
    if (isFirst) this.showHeader(state);
    this.refresh(isFirst);
    this.prefetch(state);
  }

  async read(fields, theme) {
    const lesson = this.lessonOf(fields);
    const of = this.site.papers.find(({ name }) => name === this.paper);
    const name = lesson?.experiment ?? (of.experiments.some(({ name: other }) => other === fields.experiment) ? fields.experiment : of.experiments[0].name);
    const id = `${this.paper}.${name}`;
    const texts = await load(id);
    const wanted = lesson?.preset ?? fields.preset;
    const preset = texts.presets.find((other) => other.name === wanted) ?? texts.presets[0];
    const asked = { ...knobFields(fields), ...(lesson?.fixed ?? {}) };
    const [first, run] = Object.entries(texts.runs).find(([, { presets }]) => presets.includes(preset.name));
    const values = texts.fields.map((field, at) => asked[field] ?? run.values[at]);
    const file = this.find(texts, values, first) ?? first;
    const isOwn = String(values) !== String(run.values);
    const { base, views, values: shown } = texts.runs[file];
    const view = Object.fromEntries(Object.entries(asked).filter(([field, value]) => field in base && base[field] !== value && field !== "snapshot"));
    const variant = views[queryOf(view)];
    const choices = Object.values(texts.runs[file].drawers).flatMap(({ knobs }) => knobs.map((knob) => knob.name));
    const isUnknown = !variant && Object.keys(view).some((field) => !choices.includes(field));
    const isMissing = isUnknown || String(shown) !== String(values) || this.needsMore(texts, asked, base);
    const own = variant ? await load(`${id}/${variant}`) : null;
    const scene = alone(withView(await load(`${id}/${file}`), own), fields.panel);
    const storyOf = lesson?.preset ?? texts.presets[0].name;
    const isStorys = preset.name === storyOf && !isOwn;
    return {
      id, name, paper: this.paper, texts, preset, values: shown, isOwn, fields, theme, lesson, scene,
      file: variant ?? file,
      ownDrawers: own?.drawers ?? [],
      drawerChoices: texts.runs[file].drawers,
      view,
      isMissing: Boolean(isMissing),
      beats: isStorys ? (texts.beats[storyOf] ?? []) : [],
      hasStory: Boolean(Object.keys(texts.beats).length),
      task: texts.tasks[file] ?? Object.values(texts.tasks)[0],
      bridge: await this.bridge(fields),
      next: this.nextOf(of, name),
      tries: texts.tries,
    };
  }

  /* The sentence that leads into this paper, where the tour through all papers enters it. */
  async bridge({ tour, beat, experiment }) {
    const stops = this.site.tours[tour] ?? [];
    const here = stops.findIndex((stop) => isStop(stop, this.paper, experiment, beat));
    const enters = tour === "all" && here > 0 && stops[here - 1][0] !== this.paper;
    return enters ? (await load(this.paper)).bridge : "";
  }

  nextOf({ experiments }, name) {
    return experiments[experiments.findIndex((other) => other.name === name) + 1];
  }

  /* Whether the address has settings that the site knows nothing of. */
  needsMore(texts, own, base) {
    const known = [...texts.fields, ...Object.keys(base), "snapshot"];
    return Object.keys(own).some((field) => !known.includes(field));
  }

  lessonOf({ lesson }) {
    return this.lessons?.find(({ name, paper }) => name === lesson && paper === this.paper) ?? null;
  }

  /* The file of the run that has these values of the settings in which runs differ, best `first`. */
  find(texts, values, first) {
    const wanted = String(values);
    if (String(texts.runs[first].values) === wanted) return first;
    return Object.keys(texts.runs).find((file) => String(texts.runs[file].values) === wanted);
  }

  /* The run that differs from the one on screen in one setting alone. */
  runAt({ texts, values, file }, at, value) {
    const others = values.map((own, index) => (index === at ? value : own));
    return this.find(texts, others, file.split("-")[0]);
  }

  move(field, value) {
    const { texts, preset } = this.state;
    const [, run] = Object.entries(texts.runs).find(([, { presets }]) => presets.includes(preset.name));
    const isPresets = run.values[texts.fields.indexOf(field)] === value;
    change({ [field]: isPresets ? "" : value, beat: "", marks: "" }, true);
  }

  /* What a field of the view is in the run's own view. */
  baseOf(field) {
    const { texts, file } = this.state;
    return texts.runs[file.split("-")[0]].base[field];
  }

  presetFields(preset) {
    const { name, texts, lesson } = this.state;
    return { experiment: name, preset: preset === texts.presets[0].name ? "" : preset, lesson: lesson?.name };
  }

  startOver() {
    const { name, texts } = this.state;
    go(this.paper, { experiment: name, beat: Object.values(texts.beats)[0][0].name });
  }

  refresh(isFirst = false) {
    const { state } = this;
    const place = this.story.placeIn(state);
    this.placeShown = place;
    const { fields, scene, theme } = state;
    const step = fields.step === undefined ? NaN : Number(fields.step);
    const named = scene.steps.findLastIndex((other) => other <= step);
    const at = Math.max(0, Number.isNaN(step) ? (place.at ?? scene.at) : named);
    const isNamed = fields.step !== undefined || place.beat || state.lesson;
    const options = { beat: place.question ? "" : (place.beat?.name ?? ""), marks: place.marks, play: !isNamed && !state.isMissing && !opened.has(state.id) };
    const isPlaying = this.stage.clockData && place.beat && place.beat !== this.beat && !place.question;
    this.beat = place.beat;
    opened.add(state.id);
    this.stage.show(scene, at, theme, options);
    if (isPlaying && fields.step === undefined) this.stage.head.iclClock?.playTo(at);
    this.outline(place);
    this.story.show(state, place);
    this.sidebar.show(state);
    this.drawers.show(state).then(() => this.outline(place));
    this.say(state);
    if (isFirst && !fields.embed) document.querySelector("#main").focus({ preventScroll: true });
  }

  /* Outline the panels that the story speaks of, dim the others, and hide what questions ask about. */
  outline({ marks, hides }) {
    const root = document.querySelector("#main");
    const isOf = (seat, names) => names.map(slug).some((name) => [...seat.classList].some((one) => new RegExp(`^st-key-(seat|seat-wide|panel-half|panel-wide)-`).test(one) && one.endsWith(`-${name}`) && one.replace(/^st-key-(seat-wide|seat|panel-half|panel-wide)-/, "") === name));
    const seats = root.querySelectorAll('[class*="st-key-seat-"], [class*="st-key-panel-"]');
    for (const seat of seats) {
      seat.classList.toggle("outlined", isOf(seat, marks));
      seat.classList.toggle("withheld", isOf(seat, hides));
    }
    const stage = root.querySelector('[class*="st-key-stage-"]');
    stage?.classList.toggle("speaks", Boolean(stage.querySelector(".outlined")));
    this.stage.head.classList.toggle("no-headline", hides.includes("headline"));
    this.stage.head.classList.toggle("no-marks", hides.includes("marks"));
  }

  /* Say where the site has not what the address asks for. */
  say({ isMissing }) {
    this.header.querySelector(".missing")?.remove();
    if (!isMissing) return;
    const words = "The site has no run of these settings: they need the dashboard, which trains them. You see the nearest that it has.";
    this.header.append(h("p", { class: "missing", role: "status" }, words));
  }

  showHeader({ texts, name, lesson }) {
    const of = this.site.papers.find((paper) => paper.name === this.paper);
    const verdict = h("span", { class: "st-key-verdicts" });
    load(`${this.paper}.${name}/evidence`).then(({ line }) => {
      if (line) verdict.replaceChildren(h("button", { type: "button", class: "plain", onclick: () => change({ drawer: "Evidence" }) }, `${line} ▸`));
    });
    const list = of.experiments.map((other) => linkTo(other.title, this.paper, { experiment: other.name }, other.name === name ? { "aria-current": "page" } : {}));
    const choice = lesson || of.experiments.length < 2 ? texts.title : popover(`${texts.title} ▾`, h("nav", { class: "list", "aria-label": "Experiments" }, list), { class: "st-key-experiments" });
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

  /* The clock has come to rest: a step for the browser's Back, unless it has played to a beat's step by itself. */
  rested(step) {
    const { scene, fields } = this.state;
    const isBeats = fields.beat && fields.step === undefined && step === scene.steps[this.placeShown.at];
    change({ step: step === scene.steps[scene.at] && !fields.beat ? "" : step }, isBeats);
  }

  end() {
    window.clearTimeout(this.ahead);
    this.drawers.clear();
    this.stage.end();
    this.ends[0]();
    this.ends[1].then((end) => end());
    for (const { slider } of this.sidebar.sliders.values()) slider.end();
  }
}

/* The sidebar: the main knobs, whose sliders stop at what was trained; the presets; and the command by which the dashboard
   shows the same. In a lesson its exercises. */

const NUMBER = /^[+-]?((\d{1,3}(,\d{3})*|\d+)(\.\d*)?|\d*[.,]\d+)$/;

/* The numbers that a text may stand for: two if its comma may separate thousands or decimals. */
const readings = (text) => {
  const plain = text.trim().replace(/%+$/, "").trim().replaceAll("−", "-").replaceAll(" ", "");
  if (!NUMBER.test(plain)) return [];
  const spellings = [plain.replaceAll(",", "")];
  if (plain.split(",").length === 2 && !plain.includes(".")) spellings.push(plain.replace(",", "."));
  return [...new Set(spellings)].map(Number);
};

const exerciseKey = (lesson, exercise) => `given ${lesson.name} ${exercise.name}`;

/* Whether the visitor's answer to an exercise counts as right. */
const isRight = (lesson, exercise) =>
  readings(answers.get(exerciseKey(lesson, exercise)) ?? "").some((value) => Math.abs(value - exercise.right) <= exercise.within * (1 + 1e-9));

class Sidebar {
  constructor(root, page) {
    this.page = page;
    this.knobs = h("div", { class: "st-key-main-knobs" });
    this.more = h("div", { class: "more" });
    root.append(this.knobs, this.more);
    this.sliders = new Map(); // by name
    this.of = ""; // whose knobs they are
    this.told = ""; // what stands below them
  }

  show(state) {
    const hidden = state.lesson?.hidden ?? [];
    const of = `${state.id} ${state.lesson?.name}`;
    if (of !== this.of) {
      this.end();
      this.sliders.clear();
      this.knobs.replaceChildren();
    }
    this.of = of;
    this.knobs.hidden = hidden.includes("settings");
    if (!this.knobs.hidden) this.showKnobs(state);
    const told = JSON.stringify([of, state.preset.name, state.isOwn, state.runFile, state.scene.line]);
    if (told === this.told) return; // what is being typed, and what is open, stays
    this.told = told;
    const lesson = state.lesson && this.lesson(state);
    const presets = !hidden.includes("presets") && this.presets(state);
    this.more.replaceChildren(...[lesson, presets, this.origin(state)].filter(Boolean));
  }

  showKnobs(state) {
    for (const knob of state.texts.knobs) {
      const at = state.texts.fields.indexOf(knob.name);
      const [first] = Object.keys(knob.values);
      const value = at < 0 ? first : state.values[at];
      const trained = at < 0 ? [first] : Object.keys(knob.values).filter((other) => this.page.runAt(state, at, other));
      if (!this.sliders.has(knob.name)) this.begin(knob);
      const { slider, place } = this.sliders.get(knob.name);
      place.hidden = Object.keys(knob.values).length < 2; // others keep their place, so that none moves under the pointer
      const disabled = trained.length < 2 || this.isFixed(state, knob.name);
      const look = { label: knob.label, help: knob.help, texts: trained, marks: trained.map((_, index) => index), disabled };
      slider.update({ at: Math.max(0, trained.indexOf(value)), answers: slider.sentAt, look }, (_, [text]) =>
        this.page.move(knob.name, text),
      );
    }
  }

  /* Whether a lesson sets a knob. */
  isFixed({ lesson }, name) {
    return Boolean(lesson) && (lesson.fixes || name in lesson.fixed);
  }

  end() {
    for (const { slider } of this.sliders.values()) slider.end();
  }

  begin(knob) {
    const root = h("div", { class: "atlas-slider" });
    const place = h("div", { class: `st-key-knob-${knob.name}` }, root);
    this.knobs.append(place);
    this.sliders.set(knob.name, { slider: new (knobOf(knob))(root), place });
  }

  presets({ texts, preset, isOwn }) {
    const groups = [...new Set(texts.presets.map(({ group }) => group))];
    const of = (group) => texts.presets.filter((other) => other.group === group);
    const button = ({ name, title, about }) => [
      linkTo(title, this.page.paper, { ...this.page.presetFields(name) }, { class: name === preset.name && !isOwn ? "here" : "" }),
      about && h("small", {}, about),
    ];
    const list = () => groups.map((group) => [h("b", {}, group[0].toUpperCase() + group.slice(1)), of(group).map(button)]);
    const label = isOwn ? `Own setting, from: ${preset.title}` : preset.title;
    const menu = popover(label, () => h("div", { class: "presets" }, list()), { class: "wide" });
    const back = isOwn && linkTo("Back to the preset", this.page.paper, this.page.presetFields(preset.name));
    return h("div", { class: "own" }, menu, back);
  }

  origin(state) {
    const line = state.scene.line && h("small", {}, state.scene.line);
    const words = `Every knob, your own texts and a training of your own are in the dashboard.`;
    const open = popover("Open in the dashboard", () => [
      h("p", {}, words),
      command("streamlit run app.py"),
      h("p", {}, "Then this address shows the same:"),
      command(`http://localhost:8501/${location.hash.slice(1)}`),
    ], { class: "plain" });
    const train = () => {
      this.page.drawers.isWanted = true;
      change({ drawer: TRAIN, marks: "" });
    };
    const trains = state.texts.trains && !state.lesson && h("button", { type: "button", onclick: train }, "Train it here ▸");
    return h("div", { class: "origin" }, h("p", {}, "Shipped run. ", line), trains, open, this.embed(state));
  }

  /* What puts the stage, or one of its panels, into a page of one's own. */
  embed({ scene, texts }) {
    const frame = (more) => {
      const { page, fields: linked } = readAddress();
      const clock = this.page.stage.head.iclClock; // at whose step it is
      const fields = { step: scene.clock ? clock.steps[clock.index] : undefined, ...linked };
      const address = `${location.href.split(/[?#]/)[0]}?embed${addressOf(page, { ...fields, ...more })}`;
      return command(`<iframe src="${address}" width="1000" height="640" title="${texts.title}"></iframe>`);
    };
    const panels = () => scene.panels.map(({ name }) => [h("p", {}, name), frame({ panel: name })]);
    const isFile = location.protocol === "file:" && h("p", { class: "note" }, "This address is of a file on this computer: put the folder on a host first.");
    const words = "In lecture notes or a page of yours, at the step and the beat that you see, with its question:";
    const content = () => [h("p", {}, words), isFile, frame({}), h("details", {}, h("summary", {}, "One panel alone"), panels())];
    return popover("Embed", content, { class: "plain" });
  }

  lesson(state) {
    const { lesson } = state;
    const items = lesson.exercises.map((exercise, index) => this.exercise(lesson, exercise, index + 1));
    const able = h("details", {}, h("summary", {}, "Aims"), h("ul", {}, lesson.able.map((aim) => h("li", {}, `You will be able to ${aim}`))));
    const leave = linkTo("Leave the lesson", this.page.paper, { experiment: state.name });
    const done = h("p", { class: "result right", role: "status", hidden: true });
    this.showDone = () => {
      const others = this.page.lessons;
      const next = others[others.findIndex(({ name }) => name === lesson.name) + 1];
      done.hidden = !lesson.exercises.every((exercise) => isRight(lesson, exercise));
      const on = next ? linkTo(`Next lesson: ${next.title}`, next.paper, { experiment: next.experiment, lesson: next.name }) : linkTo("To the gallery of all findings", "gallery", {});
      done.replaceChildren("This lesson is done. ", on);
    };
    this.showDone();
    const forget = () => {
      for (const exercise of lesson.exercises) answers.drop(exerciseKey(lesson, exercise));
      this.told = "";
      this.page.refresh();
    };
    const clear = h("button", { type: "button", class: "plain", onclick: forget }, "Clear my answers");
    return h("div", { class: "lesson" }, h("h2", {}, lesson.title), items, done, clear, able, leave);
  }

  exercise(lesson, exercise, number) {
    const key = exerciseKey(lesson, exercise);
    const result = h("p", { role: "status", class: "result" });
    const check = () => {
      const given = answers.get(key) ?? "";
      const numbers = readings(given);
      const right = isRight(lesson, exercise);
      result.classList.toggle("right", right);
      if (!given) result.textContent = "";
      else if (right) result.textContent = `✓ Right: ${exercise.answer}`;
      else result.textContent = numbers.length ? `Not yet: ${given}. ${exercise.hint}` : "Enter the result as a number: 1,250 or 0.5, for instance.";
    };
    const field = h("input", { type: "text", maxlength: "20", "aria-label": `Answer ${number}, ${exercise.unit}`, value: answers.get(key) ?? "" });
    field.onchange = () => {
      answers.put(key, field.value.trim());
      check();
      this.showDone();
      this.page.story.show(this.page.state, this.page.story.placeIn(this.page.state));
    };
    check();
    return h("div", { class: "exercise" }, h("p", {}, h("b", {}, `${number}. `), exercise.ask), h("label", {}, field, " ", exercise.unit), result);
  }
}

/* The class that shows a knob: a slider, whose stops have labels where the values are names. */
const knobOf = (knob) =>
  class extends iclSlider {
    get shown() {
      return knob.slides ? this.text : knob.values[this.text];
    }

    show(index) {
      super.show(index);
      this.range.ariaValueText = this.output.textContent = this.shown;
      this.root.style.setProperty("--letters", this.shown.length);
    }
  };

/* The script's line: the task, or the beat on screen with its question. It has the buttons and the words of the
   dashboard's (pages/ui/story). */

const PASSED = "-1"; // an answer: "Show me"
const LEAVE_OUT = / \(.*/; // of a choice in an answer

/* Whether a stop of a tour is a beat of an experiment of a paper. */
const isStop = ([paper, experiment, beat], ...names) => [paper, experiment, beat].join() === names.join();

class Story {
  constructor(root, page) {
    this.page = page;
    this.root = h("div", { class: "st-key-script" });
    root.append(h("div", { class: "sticks" }, this.root));
  }

  key(beat) {
    return `answer ${this.state.scene.run} ${beat.name}`;
  }

  /* The question of a beat, while it is open. */
  open(beat) {
    return beat?.ask && answers.get(this.key(beat)) === null ? beat.ask : null;
  }

  /* Where the story stands in a state of the page: the beat on screen, its open question, and what is outlined, hidden
     and shown for it. In a lesson it is the first beat up to here that still asks for its prediction. */
  placeIn(state) {
    this.state = state;
    const { beats, fields, lesson } = state;
    const named = beats.findIndex(({ name }) => name === fields.beat);
    const required = lesson?.predict ?? [];
    const withheld = beats.slice(0, named + 1).findIndex((beat) => required.includes(beat.name) && this.open(beat));
    const index = withheld >= 0 ? withheld : named;
    const beat = beats[index];
    const question = this.open(beat);
    const requested = (fields.marks ?? "").split(",").filter((name) => state.texts.drawings.includes(name));
    const marks = requested.length ? requested : (beat?.marks ?? []);
    const place = { index, beat, question, withheld: withheld >= 0, marks: question ? [] : marks };
    return { ...place, hides: this.hides(place), at: this.at(place) };
  }

  /* The snapshot at which a beat is seen; while its question is open that of the beat before. */
  at({ index, beat, question }) {
    if (!beat) return null;
    if (!question || question.there) return beat.at;
    return this.state.beats.slice(0, index).findLast(({ at }) => at !== null)?.at ?? 0;
  }

  /* What open questions hide: see `_hidden_parts` of pages/ui/story/places.py. */
  hides({ index, beat, question }) {
    const { beats, lesson, scene } = this.state;
    const hidden = [...(question?.hides ?? [])];
    const later = beats.slice(index + 1).map((other) => this.open(other)?.hides ?? []);
    const early = scene.clock ? ["marks"] : ["marks", "headline"];
    if (beat) hidden.push(...later.flat().filter((name) => early.includes(name)));
    const shown = beats.slice(0, index + 1).flatMap(({ marks }) => marks);
    for (const other of beats) {
      const asked = lesson?.predict.includes(other.name) && this.open(other);
      if (asked) hidden.push(...asked.hides.filter((name) => !shown.includes(name)));
    }
    return hidden;
  }

  show(state, place) {
    const { beat, question } = place;
    const { fields, lesson, preset, runFile, isOwn } = state;
    const told = JSON.stringify([beat?.name, Boolean(question), fields.tour, lesson?.name, preset.name, runFile, isOwn, lesson && this.result(lesson), readAddress().fields.projector]);
    if (told === this.told) return; // what is open, and the focus, stay
    this.told = told;
    const isFocused = this.root.contains(document.activeElement);
    this.root.replaceChildren(
      h("div", { class: "st-key-turns" }, this.turns(state, place)),
      h("div", { class: "says-place" }, h("div", { class: "st-key-says" }, place.beat ? this.beat(state, place) : this.task(state))),
      h("div", { class: "st-key-tries" }, state.lesson ? [] : this.tries(state)),
    );
    ownLinks(this.root);
    if (isFocused) (this.root.querySelector(".st-key-choices button") ?? this.root.querySelector(".primary"))?.focus();
  }

  turns(state, { index, beat, question, withheld }) {
    const { beats, fields } = state;
    const stops = this.stops(fields.tour);
    const here = beat && stops.findIndex((stop) => isStop(stop, state.paper, state.name, beat.name));
    const isOnTour = beat && here >= 0;
    const button = (name, label, kind, act, disabled = false) =>
      h("div", { class: `st-key-${name}` }, h("button", { type: "button", class: kind, onclick: act, disabled }, label));
    if (!beat) {
      const begin = () => (beats.length ? this.to(beats[0]) : this.page.startOver());
      if (!beats.length && !state.hasStory) return [];
      const back = this.left && h("button", { type: "button", onclick: () => (location.hash = this.left) }, "◀ Back");
      const isOver = answers.get(`finished ${state.id}`); // Page Down does not begin it again
      return [back, isOver ? button("again", "Start again", "", begin) : button("next", "Start ▶", "primary", begin)];
    }
    this.left = location.hash; // for the way back, once the visitor has left the script
    const before = isOnTour ? stops[here - 1] && (() => this.stop(stops[here - 1], fields.tour)) : beats[index - 1] && (() => this.to(beats[index - 1]));
    const after = isOnTour ? stops[here + 1] && (() => this.stop(stops[here + 1], fields.tour)) : beats[index + 1] && (() => this.to(beats[index + 1]));
    const leave = () => (isOnTour ? go("", { end: fields.tour }) : this.finish());
    const dots = beats.map((_, at) => h("i", { class: at === index ? "here" : "" }));
    const number = isOnTour
      ? h("span", { class: "part" }, `${here + 1} / ${stops.length}`)
      : h("span", { class: "dots", role: "img", "aria-label": `Beat ${index + 1} of ${beats.length}` }, dots);
    const next = question ? () => this.answer(beat, PASSED) : (after ?? leave);
    return [
      button("before", "◀", "", before ?? (() => {}), !before),
      number,
      button("next", question || after ? "Next ▶" : "Done ✓", "primary", next, question && withheld),
    ];
  }

  /* Leave the script at its end. */
  finish() {
    this.left = null;
    answers.put(`finished ${this.state.id}`, "1");
    this.to(null);
  }

  /* Go to a beat, with the view, the drawer and the step that it sets; null leaves the script. */
  to(beat) {
    const { beats } = this.state;
    const cleared = Object.fromEntries(beats.flatMap(({ view }) => Object.keys(view)).map((name) => [name, ""]));
    change({ ...cleared, ...(beat?.view ?? {}), drawer: beat?.drawer, marks: "", beat: beat?.name, step: this.stays(beat) ? this.state.fields.step : undefined, tour: beat && this.state.fields.tour });
  }

  /* Whether the clock stays where it is: after the script, and where an open question is asked at any step. */
  stays(beat) {
    const question = this.open(beat);
    return !beat || Boolean(question && !question.there);
  }

  stops(tour) {
    return Object.hasOwn(this.page.site.tours, tour ?? "") ? this.page.site.tours[tour] : [];
  }

  stop([paper, experiment, beat, sets], tour) {
    go(paper, { experiment, beat, tour, ...sets });
  }

  answer(beat, choice) {
    answers.put(this.key(beat), choice);
    if (this.state.fields.step === undefined) this.page.refresh();
    else change({ step: "" }, true); // the answer speaks of the beat's own step
  }

  task({ lesson, beats }) {
    const task = this.state.task;
    if (!task) return [];
    const pieces = task.pieces.map(([text, kind]) => h("span", { class: `piece ${kind}` }, text));
    const example = h("span", { class: "example" }, pieces, task.answer && [" → ", h("span", { class: "piece answer" }, task.answer)]);
    const isFinished = answers.get(`finished ${this.state.id}`) && this.state.next && !lesson;
    const next = isFinished && h("p", { class: "says" }, "You have seen this story to its end. Next: ", linkTo(this.state.next.title, this.state.paper, { experiment: this.state.next.name }));
    const lead = lesson ? `${this.lead(lesson)} ${this.result(lesson)} ` : "";
    const leaves = !beats.length && this.state.hasStory && !lesson ? `Start goes to the preset “${this.state.texts.presets[0].full}”. ` : "";
    return [next, h("p", { class: "says" }, lead, leaves, h("span", { html: task.say }), " ", example)];
  }

  lead(lesson) {
    if (answers.get(`finished ${this.state.id}`)) return "You have seen this lesson's story to its end.";
    return lesson.predict.length ? "Press Start. The lesson asks for your predictions." : "";
  }

  /* How many exercises of a lesson are answered rightly. */
  result(lesson) {
    const right = lesson.exercises.filter((exercise) => isRight(lesson, exercise)).length;
    const count = lesson.exercises.length;
    return right ? `You answered ${right} of ${count} exercises.` : `Its ${count} exercises stand in the sidebar.`;
  }

  beat(state, place) {
    const isOpen = place.question || !place.beat.ask;
    const bridge = state.bridge && h("p", { class: "says" }, state.bridge);
    const brief = state.begins && state.task && h("p", { class: "says", html: state.task.brief });
    return [isOpen && [bridge, brief], this.said(state, place)];
  }

  said(state, { beat, question, withheld }) {
    if (question) {
      const choices = question.choices.map((choice, index) =>
        h("button", { type: "button", onclick: () => this.answer(beat, String(index)) }, choice),
      );
      const pass = !withheld && h("button", { type: "button", class: "plain", onclick: () => this.answer(beat, PASSED) }, "Show me");
      return [h("p", { class: "says", html: question.ask }), h("div", { class: "st-key-choices" }, choices, pass)];
    }
    const parts = [];
    if (beat.ask) {
      const why = popover("Why?", () => h("p", { html: beat.ask.why }), { class: "plain" });
      const outcome = this.outcome(beat.ask, answers.get(this.key(beat)));
      const text = h("p", { class: "says", html: `${outcome} ${beat.ask.answer}` });
      parts.push(h("div", { class: "st-key-answered" }, text, why));
    }
    const doing = beat.do && ` In the dashboard: ${beat.do}`;
    parts.push(h("p", { class: "says" }, h("span", { html: beat.say }), doing));
    return parts;
  }

  outcome({ choices, right }, chosen) {
    const words = choices.map((choice) => choice.replace(LEAVE_OUT, "").replace(/[<&]/g, (sign) => ({ "<": "&lt;", "&": "&amp;" })[sign]));
    if (chosen === PASSED) return `The answer: ${words[right]}.`;
    if (Number(chosen) === right) return `Right, as you chose: ${words[right]}.`;
    return `The answer: ${words[right]}. You chose: ${words[chosen]}.`;
  }

  tries({ paper, tries }) {
    const items = tries.map(({ say, query, here }) =>
      h("li", {}, here ? linkTo(say, paper, query) : [h("span", {}, say), h("small", {}, " (trains: in the dashboard)")]),
    );
    const tour = (name, label) => {
      const stops = this.stops(name);
      const first = stops[0];
      return first && new Set(stops.map(([, experiment]) => experiment)).size > 1
        ? h("p", {}, linkTo(label, first[0], { experiment: first[1], beat: first[2], tour: name, ...first[3] }))
        : [];
    };
    const list = h("ul", { class: "tries" }, items);
    return popover("Try ▾", () => [list, tour(paper, "Tour of this paper"), tour("all", "Take the ten-minute tour")], { class: "plain" });
  }
}

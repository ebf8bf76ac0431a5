/* Sliders of knobs with trained runs, which marks under the track show. While one is dragged its thumb snaps to a mark,
   whose value the server is sent at once; a value between is sent where the pointer rests or lets go. What a slider
   shows comes in a part (part.js). */

const SNAP = 8; // pixels around a mark
const REST = 600; // milliseconds after which a held thumb rests
const KEY_REST = 150; // milliseconds after which a key that is held counts as let go
const LATEST = 10_000; // milliseconds for which an answer is waited for
const CONTENT = `
  <div class="name"><span aria-hidden="true"></span></div>
  <div class="track"><div class="spots"></div><output aria-hidden="true"></output><input type="range" min="0" /></div>`;

class AtlasSlider {
  constructor(root) {
    root.innerHTML = CONTENT;
    this.root = root;
    [this.name, this.spots, this.output, this.range] = [".name", ".spots", "output", "input"].map((part) =>
      root.querySelector(part),
    );
    this.look = ""; // label, help, stops and marks, as JSON
    this.texts = []; // the stops' values
    this.marks = []; // indices of the stops at which runs exist, ascending
    this.held = false; // by a pointer
    this.sent = null; // the value that the server shows, or that it was sent last
    this.sentAt = null; // when it was sent; null once the server has answered
    this.waiting = null; // the value that is sent as soon as it has
    this.listen();
  }

  listen() {
    for (const type of ["pointerdown", "pointermove", "lostpointercapture", "keydown", "input"]) {
      this.range.addEventListener(type, (event) => this[type](event));
    }
    this.back = () => (this.sentAt = null); // what is on its way may be lost
    window.addEventListener("popstate", this.back);
    this.app = document.querySelector("[data-testid=stApp]");
    this.observer = new MutationObserver(() => this.sendWaiting());
    this.observer.observe(this.app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  }

  end() {
    this.stop();
    window.removeEventListener("popstate", this.back);
    this.observer.disconnect();
  }

  /* Take what the server shows; `tell` tells it something. The thumb follows, unless the visitor holds it or has moved
     it since then: it stays at its value, which may be another stop now. */
  update({ at, answers, look }, tell) {
    this.tell = tell;
    const { text } = this;
    this.draw(look);
    if (this.sentAt === answers || Date.now() - this.sentAt > LATEST) this.sentAt = null;
    const follows = !this.held && !this.timer && this.sentAt === null;
    if (follows) this.sent = this.texts[at];
    this.show(follows ? at : Math.max(0, this.texts.indexOf(text)));
    this.sendWaiting();
  }

  draw(look) {
    if (JSON.stringify(look) === this.look) return;
    const { label, help, texts, marks, disabled } = look;
    Object.assign(this, { look: JSON.stringify(look), texts, marks });
    const element = (name, properties) => Object.assign(document.createElement(name), properties);
    this.name.firstChild.textContent = label;
    this.name.querySelector(".caption")?.remove();
    if (help) {
      const about = { className: "caption", role: "note", tabIndex: 0, ariaLabel: help, textContent: "?" };
      const mark = element("span", about);
      mark.dataset.caption = help;
      this.name.append(mark);
    }
    this.spots.replaceChildren(...marks.map(() => element("i")));
    marks.forEach((index, place) => (this.spots.children[place].style.left = this.share(index)));
    const ariaDescription = `Trained already: ${marks.map((index) => texts[index]).join(", ")}`;
    Object.assign(this.range, { max: texts.length - 1, ariaLabel: label, ariaDescription, disabled });
  }

  get text() {
    return this.texts[this.range.value];
  }

  share(index) {
    return `${(100 * index) / Math.max(1, this.texts.length - 1)}%`;
  }

  /* Put the thumb at a stop. */
  show(index) {
    this.range.value = index;
    this.range.ariaValueText = this.output.textContent = this.text;
    this.root.style.setProperty("--at", this.share(index));
    this.root.style.setProperty("--letters", this.text.length);
  }

  /* The stop under the pointer; near a mark the mark. */
  stopAt({ clientX }) {
    const { left, width } = this.spots.getBoundingClientRect();
    const last = this.texts.length - 1;
    const distance = (index) => Math.abs(left + (width * index) / last - clientX);
    const nearest = this.marks.reduce((best, mark) => (distance(mark) < distance(best) ? mark : best));
    if (distance(nearest) <= SNAP) return nearest;
    return Math.round(Math.max(0, Math.min(1, (clientX - left) / width)) * last);
  }

  pointerdown(event) {
    if (event.button) return;
    this.held = true;
    this.range.setPointerCapture(event.pointerId);
    this.pointermove(event);
  }

  pointermove(event) {
    if (!this.held) return;
    this.at = this.stopAt(event);
    if (this.at === Number(this.range.value)) return;
    this.show(this.at);
    this.later(this.marks.includes(this.at) ? 0 : REST, () => this.ask());
  }

  lostpointercapture() {
    this.held = false;
    this.stop();
    this.send(this.text);
  }

  keydown(event) {
    this.repeats = event.repeat;
    const marks = { PageUp: this.marks.find((mark) => mark > this.range.value) };
    marks.PageDown = this.marks.findLast((mark) => mark < this.range.value);
    if (!(event.key in marks)) return;
    event.preventDefault();
    this.range.value = marks[event.key] ?? this.range.value;
    this.input();
  }

  /* A key has moved the thumb; or the browser has, under the pointer, which decides itself. */
  input() {
    if (this.held) return this.show(this.at);
    this.show(this.range.value);
    this.later(this.repeats ? KEY_REST : 0, () => this.send(this.text));
  }

  later(pause, act) {
    this.stop();
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      act();
    }, pause);
  }

  stop() {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  /* Send the value as soon as the server has drawn the one before: the newest of those asked for until then. */
  ask() {
    this.waiting = this.text;
    this.sendWaiting();
  }

  sendWaiting() {
    const isDrawn = this.sentAt === null && this.app.dataset.testScriptState === "notRunning";
    if (this.waiting !== null && isDrawn) this.send(this.waiting);
  }

  send(text) {
    this.waiting = null;
    if (text === this.sent) return;
    this.sent = text;
    this.sentAt = Date.now();
    this.tell("moved", [text, this.sentAt]);
  }
}

const takeSlider = (part) => {
  if (!part.data.slider) return;
  const root = part.parentElement.querySelector(".atlas-slider");
  const slider = (root.iclSlider ??= new AtlasSlider(root));
  slider.update(part.data.slider, part.setTriggerValue);
  part.leave = () => {
    slider.end();
    delete root.iclSlider;
  };
};

if (!window.iclTakesSliders) {
  window.iclTakesSliders = true; // this outlives the component
  window.addEventListener("icl-part", ({ detail }) => takeSlider(detail));
  window.iclParts?.forEach(takeSlider);
}

export default function () {}

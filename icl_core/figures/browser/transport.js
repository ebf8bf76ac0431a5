/* The bar of a stage's clock, and its motion: play and stop, drag, one snapshot back or on, speed, milestones.

   One class extends it for the dashboard (pages/ui/browser/clock.js), one for a plain page and a notebook (stage.js).
   They say which panels are moved and where the clock rests:

     draw()    brings the panels to the snapshot `index`
     rested()  is called where the clock has come to rest
     waits()   whether playing waits, as for a panel that is still being drawn */

const INTERVAL = 420; // milliseconds for a snapshot at normal speed
const SPEEDS = [1, 2, 0.5];
const INPUTS = "input, textarea, select, [contenteditable], [role=slider], [role=listbox], [role=combobox]";
const BAR = `
  <button type="button" class="play" title="Play or stop (Space)"></button>
  <button type="button" class="back" title="One snapshot back (←)" aria-label="One snapshot back">‹</button>
  <span class="track"><input type="range" min="0" step="1" aria-label="training step shown"><span class="ticks"></span></span>
  <button type="button" class="on" title="One snapshot on (→)" aria-label="One snapshot on">›</button>
  <output></output>
  <button type="button" class="speed" title="Speed"></button>`;

/* Whether the visitor's system asks for no motion. */
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

class Transport {
  /* `bar` is the empty element that becomes the clock's bar, `headline` the one that says what is to be seen. */
  constructor(bar, headline) {
    this.bar = bar;
    this.headline = headline;
    this.steps = [0]; // the training step of each snapshot
    this.headlines = [""];
    this.labels = null; // what the bar says of each snapshot, where that is not its step
    this.index = 0; // of the snapshot shown
    this.speedIndex = 0;
    this.timer = 0; // of playing
    this.until = Infinity; // index at which playing ends
    this.moving = false; // playing, or the track is dragged
    this.drawing = new Set(); // names of the panels that are being drawn
    this.findParts();
  }

  findParts() {
    this.bar.innerHTML = BAR;
    const find = (query) => this.bar.querySelector(query);
    this.play = find(".play");
    this.track = find("input");
    this.ticks = find(".ticks");
    this.widths = new ResizeObserver(() => this.spreadTicks()); // also once the bar is shown
    this.widths.observe(this.ticks);
    this.output = find("output");
    this.speed = find(".speed");
    this.play.onclick = () => (this.timer ? this.rest() : this.start());
    find(".back").onclick = () => this.move(this.index - 1);
    find(".on").onclick = () => this.move(this.index + 1);
    this.speed.onclick = () => this.changeSpeed();
    this.track.oninput = () => this.drag();
    for (const end of ["change", "pointerup", "pointercancel", "blur"]) {
      this.track.addEventListener(end, () => this.rest());
    }
  }

  /* Take the snapshots of a run, and its milestones: [training step, name]. */
  take({ steps, headlines, labels, ticks }) {
    this.steps = steps;
    this.headlines = headlines;
    this.labels = labels?.length ? labels : null;
    this.track.max = steps.length - 1;
    this.bar.hidden = steps.length < 2;
    this.drawTicks(ticks);
    this.label();
  }

  /* Where among the snapshots a step lies: 2.5 is halfway between those of index 2 and 3. */
  place(step) {
    const next = Math.max(1, this.steps.findIndex((other) => other >= step));
    const before = this.steps[next - 1];
    return next - 1 + (step - before) / Math.max(1, this.steps[next] - before);
  }

  /* The index of the first snapshot at which `step` has been reached. */
  reachedAt(step) {
    const index = this.steps.findIndex((other) => other >= step);
    return index < 0 ? this.steps.length - 1 : index;
  }

  drawTicks(ticks) {
    const last = Math.max(1, this.steps.length - 1);
    const inOrder = [...ticks].sort(([first], [second]) => first - second);
    const marks = inOrder.map(([step, text]) => {
      const tick = document.createElement("button");
      tick.type = "button";
      tick.textContent = text;
      tick.style.left = `${(100 * this.place(step)) / last}%`;
      const shown = this.steps[this.reachedAt(step)];
      const place = shown === step ? `step ${step}` : `step ${shown}, the first shown from ${Math.round(step)} on`;
      tick.title = `Go to ${place}`;
      tick.setAttribute("aria-label", `${text}, ${place}`);
      tick.onclick = () => this.move(this.reachedAt(step));
      return tick;
    });
    this.ticks.replaceChildren(...marks);
    this.spreadTicks();
  }

  /* Move the names of milestones that would overlap apart, half of the way each. */
  spreadTicks() {
    const names = [...this.ticks.children];
    for (const name of names) name.style.marginLeft = "0";
    const places = names.map((name) => name.getBoundingClientRect());
    const shifts = places.map(() => 0);
    for (let round = 0; round < names.length; round += 1) { // one that moves may reach the next
      for (let next = 1; next < names.length; next += 1) {
        const before = places[next - 1].right + shifts[next - 1];
        const overlap = Math.max(0, before - places[next].left - shifts[next]);
        shifts[next - 1] -= overlap / 2;
        shifts[next] += overlap / 2;
      }
    }
    names.forEach((name, index) => {
      name.style.marginLeft = `${shifts[index]}px`;
    });
  }

  label() {
    this.play.textContent = this.timer ? "❚❚" : "▶";
    this.play.setAttribute("aria-label", this.timer ? "Stop" : "Play");
    const speed = SPEEDS[this.speedIndex];
    this.speed.textContent = speed === 0.5 ? "½×" : `${speed}×`;
    this.speed.setAttribute("aria-label", `Speed: ${speed}`);
  }

  changeSpeed() {
    this.speedIndex = (this.speedIndex + 1) % SPEEDS.length;
    if (this.timer) this.start();
    this.label();
  }

  drag() {
    this.stop();
    this.moving = true;
    this.show(Number(this.track.value));
  }

  /* Play to the end, a snapshot in `interval` milliseconds. */
  start(interval = INTERVAL / SPEEDS[this.speedIndex]) {
    window.clearInterval(this.timer);
    if (this.index >= this.steps.length - 1) this.show(0);
    this.timer = window.setInterval(() => this.tick(), interval);
    this.until = Infinity;
    this.moving = true;
    this.label();
  }

  tick() {
    if (document.hidden) return; // the film goes on once it is seen
    if (this.waits()) return; // so a slow machine shows every snapshot, only later
    this.show(this.index + 1);
    if (this.index >= Math.min(this.until, this.steps.length - 1)) this.rest();
  }

  stop() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.moving = false;
    this.label();
  }

  rest() {
    this.stop();
    this.say();
    this.draw(); // in full what was only painted
    this.rested();
  }

  move(index) {
    this.show(index);
    this.rest();
  }

  /* Play to a snapshot, from the start if it lies behind; show it at once to a visitor who wants no motion. */
  playTo(index) {
    this.stop();
    if (index === this.index || index === 0 || calm()) return this.show(index);
    if (index < this.index) this.show(0);
    this.start();
    this.until = index;
  }

  /* Whether a key belongs to the browser, or to a field that is being filled in. */
  isTyped(event) {
    const plays = event.key === " " && event.target === this.track; // a click leaves the focus on the track
    return event.ctrlKey || event.metaKey || event.altKey || (event.target.closest?.(INPUTS) && !plays);
  }

  /* Take a key: the arrows move by a snapshot, Space plays and stops. */
  takeKey(event) {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (this.bar.hidden) return;
    if (direction) this.move(this.index + direction);
    else if (event.key === " " && !event.target.closest?.("button, a, summary")) this.play.click();
    else return;
    event.preventDefault();
  }

  show(index) {
    const last = this.steps.length - 1;
    this.index = Math.max(0, Math.min(last, index));
    this.track.value = this.index;
    const where = this.labels?.[this.index] ?? `${this.steps[this.index]} of ${this.steps[last]}`;
    this.track.setAttribute("aria-valuetext", `step ${where}`);
    this.output.textContent = where;
    this.say();
    this.draw();
  }

  /* Show the headline of the step, which a screen reader says where the clock comes to rest. */
  say() {
    this.headline.setAttribute("aria-live", this.moving ? "off" : "polite");
    this.headline.textContent = this.headlines[this.index];
  }

  /* Draw a panel by `draw`, unless it is being drawn; draw all again if the clock has moved meanwhile, or has come to
     rest, where what was only painted is drawn in full. */
  async drawOne(name, draw) {
    if (this.drawing.has(name)) return;
    const { index, moving } = this;
    this.drawing.add(name);
    try {
      await draw(index);
    } catch (error) {
      if (error) console.warn(`The panel ${name} was not drawn:`, error);
    } finally {
      this.drawing.delete(name);
    }
    if (index !== this.index || moving !== this.moving) this.draw();
  }
}

/* The drawers under the stage, in groups. What a drawer holds is loaded as it is opened. */

const TRAIN = "Train it here";
const GROUPS = ["Look closer", "Change it", "Compare", "Evidence", "Why"];

class Drawers {
  constructor(root, page) {
    this.page = page;
    this.groups = h("div", { class: "st-key-drawer-groups", role: "radiogroup", "aria-label": "More" });
    this.names = h("div", { class: "st-key-drawer-names", role: "radiogroup", "aria-label": "Drawers of the group" });
    this.drawer = h("div", { class: "st-key-drawer" });
    root.append(h("div", { class: "st-key-drawers" }, this.groups, this.names, this.drawer));
    this.shown = "";
    this.isWanted = false; // a button elsewhere on the page opens a drawer, which then is scrolled into sight
  }

  /* Show the drawer that the address names, of a state of the page. */
  async show(state) {
    const hidden = state.lesson?.hidden ?? [];
    const trains = state.texts.trains && !hidden.includes("train") ? [[TRAIN, "Change it"]] : [];
    const own = [["Evidence", "Evidence"], ["Why", "Why"]];
    const drawers = [...state.scene.drawers, ...trains, ...own].filter(([name]) => !hidden.includes(name));
    const open = drawers.find(([name]) => name === state.fields.drawer);
    this.name = open?.[0];
    const firsts = GROUPS.map((group) => drawers.find(([, other]) => other === group)).filter(Boolean);
    const focused = this.groups.contains(document.activeElement) || this.names.contains(document.activeElement);
    const label = focused && document.activeElement.textContent;
    this.groups.replaceChildren(...firsts.map(([name, group]) => this.button(group, name, open?.[1] === group)));
    const inGroup = open ? drawers.filter(([, group]) => group === open[1]) : [];
    const several = inGroup.length > 1 ? inGroup : [];
    this.names.replaceChildren(...several.map(([name]) => this.button(name, name, name === open[0])));
    this.names.hidden = !several.length;
    if (focused) [...this.groups.children, ...this.names.children].find(({ textContent }) => textContent === label)?.focus();
    const isMissing = state.fields.drawer && !open;
    const choices = open && state.drawerChoices[open[0]];
    const chosen = choices ? pick(state.view, choices.knobs.map(({ name }) => name)) : {};
    const of = open?.[0] === TRAIN ? "" : state.file; // a training goes on under another run
    const wanted = open ? `${of} ${open[0]} ${themeName(state.theme)} ${queryOf(chosen)}` : `${isMissing}`;
    if (wanted === this.shown) return;
    this.clear();
    this.shown = wanted;
    if (choices) this.drawer.append(this.choices(state, choices.knobs, chosen));
    if (open) await this.fill(state, open[0], wanted, choices?.views[queryOf(chosen)]);
    if (open && this.isWanted) this.groups.scrollIntoView({ behavior: calmly() });
    this.isWanted = false;
    if (isMissing) this.drawer.append(h("p", { class: "note" }, this.without(state.fields.drawer, drawers)));
  }

  without(name, drawers) {
    const here = drawers.map(([other]) => other).join(", ");
    const isDashboards = ["Numbers", "Sweep", "View"].includes(name);
    return isDashboards ? `The drawer ${name} is in the dashboard alone.` : `There is no drawer ${name} here; there are ${here}.`;
  }

  button(label, name, pressed) {
    const act = () => {
      this.name = pressed ? "" : name; // it is in sight
      change({ drawer: this.name, marks: "" });
    };
    return h("button", { type: "button", role: "radio", "aria-checked": String(pressed), onclick: act }, label);
  }

  clear() {
    this.shown = "";
    this.training?.end();
    this.training = null;
    purge(this.drawer);
    this.drawer.replaceChildren();
  }

  /* The choices beside a drawer's figures. */
  choices({ view, isVariant }, knobs, chosen) {
    const fields = knobs.map(({ name, label, options }) => {
      const choose = ({ target }) => change({ [name]: target.value === target.dataset.base ? "" : target.value });
      const base = this.page.baseOf(name);
      const list = Object.entries(options).map(([value, text]) => h("option", { value, selected: value === (chosen[name] ?? base) }, text));
      return h("label", {}, h("span", {}, label), h("select", { onchange: choose, "data-base": base, "data-knob": name }, list));
    });
    const isTrained = Object.keys(view).length && !isVariant;
    return h("div", { class: "choices" }, fields, h("small", {}, isTrained ? "The stage shows the run as it is." : ""));
  }

  async fill(state, name, wanted, view) {
    if (name === "Evidence") {
      const { html } = await load(`${state.id}/evidence`);
      if (wanted === this.shown) this.drawer.replaceChildren(ownLinks(h("div", { html })));
      return;
    }
    if (name === "Why") {
      const { why } = await load(state.paper);
      if (wanted === this.shown) this.drawer.replaceChildren(ownLinks(h("div", { class: "reads", html: state.texts.about + why })));
      return;
    }
    if (name === TRAIN) {
      const [options] = await Promise.all([load(`${state.id}/tab`), loadWorker(), plotlyIsThere]);
      const root = h("div");
      if (wanted === this.shown) this.drawer.replaceChildren(root);
      if (wanted === this.shown) this.training = new iclTabTraining(root, options[state.theme.dark ? 1 : 0]);
      return;
    }
    const index = state.scene.drawers.findIndex(([other]) => other === name);
    const hasOwn = state.ownDrawers.includes(name);
    const isChosen = wanted.split(" ").at(-1) !== "";
    const note = (text) => this.drawer.append(h("p", { class: "note" }, text));
    if (isChosen && view === undefined && !hasOwn) return note("These choices together are in the dashboard alone.");
    const own = hasOwn ? `${state.file}.${index}` : `${state.runFile}.${index}`;
    const held = await load(`${state.id}/${view === undefined ? own : `${state.runFile}.${index}.${view}`}`);
    if (wanted !== this.shown) return;
    if (name.startsWith("Your own")) note("In the dashboard you type your own here.");
    if (held.problem) this.drawer.append(h("p", { class: "problem" }, held.problem));
    else if (held.diagram) this.diagram(held.diagram);
    else this.panels(held.panels, state.theme);
  }

  panels(panels, theme) {
    const boxes = panels.map((panel) => {
      const { name, wide, problem, title, caption, note, whole, table, needs } = panel;
      const box = h("section", { class: `st-key-panel-${wide ? "wide" : "half"}-${slug(name)} panel` });
      if (problem) box.append(h("p", { class: "problem" }, problem));
      else box.append(h("h3", {}, title));
      if (whole) {
        const plot = h("div");
        const place = chartBox(title, plot);
        if (needs?.[0]) place.style.minWidth = `${needs[0]}px`;
        box.append(place);
        drawChart(plot, whole, this.page.site, theme);
      }
      if (table) box.append(tableOf(table, title));
      if (note) box.append(h("p", { class: "note" }, note));
      if (caption) box.append(h("p", { class: "small" }, caption));
      return h("div", {}, box);
    });
    this.drawer.append(h("div", { class: "st-key-panels" }, boxes));
  }

  diagram({ say, svg, opens, legend }) {
    const root = h("div", { class: "diagram" });
    this.drawer.append(h("p", {}, say), root, h("p", { class: "key", html: legend }));
    const panels = Object.fromEntries(Object.entries(opens).map(([box, [panel]]) => [box, slug(panel)]));
    const setTriggerValue = (_, box) => {
      const [marks, drawer] = opens[box] ?? [];
      if (marks) change({ marks, drawer: drawer || "The model" });
    };
    iclDiagram({ parentElement: this.drawer, data: { svg, panels }, setTriggerValue });
  }
}

const loadWorker = async () => (window.iclWorkerSource ??= await load("worker"));

const tableOf = ({ columns, rows }, title) =>
  h(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": title },
    h(
      "table",
      { class: "plain-table" },
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))),
    ),
  );

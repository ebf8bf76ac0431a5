/* The drawers under the stage, in groups. What a drawer holds is loaded as it is opened. */

const TRAIN = "Train it here";
const GROUPS = ["Look closer", "Change it", "Compare", "Evidence", "Why"];

class Drawers {
  constructor(root, page) {
    this.page = page;
    this.groups = h("div", { class: "st-key-drawer-groups", role: "group", "aria-label": "More" });
    this.names = h("div", { class: "st-key-drawer-names", role: "group" });
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
    const firsts = GROUPS.map((group) => drawers.find(([, other]) => other === group)).filter(Boolean);
    this.groups.replaceChildren(...firsts.map(([name, group]) => this.button(group, name, open?.[1] === group)));
    const inGroup = open ? drawers.filter(([, group]) => group === open[1]) : [];
    const several = inGroup.length > 1 ? inGroup : [];
    this.names.replaceChildren(...several.map(([name]) => this.button(name, name, name === open[0])));
    this.names.hidden = !several.length;
    const isMissing = state.fields.drawer && !open;
    const choices = open && state.drawerChoices[open[0]];
    const chosen = choices ? pick(state.view, choices.knobs.map(({ name }) => name)) : {};
    const of = open?.[0] === TRAIN ? "" : state.file; // a training goes on under another run
    const wanted = open ? `${of} ${open[0]} ${themeName(state.theme)} ${queryOf(chosen)}` : `${isMissing}`;
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.clear();
    if (choices) this.drawer.append(this.choices(choices.knobs, chosen));
    if (open) await this.fill(state, open[0], wanted, choices?.views[queryOf(chosen)]);
    if (this.isWanted) this.groups.scrollIntoView({ behavior: calmly() });
    this.isWanted = false;
    if (isMissing) this.drawer.append(h("p", { class: "note" }, `The drawer ${state.fields.drawer} is in the dashboard alone.`));
  }

  button(label, name, pressed) {
    const act = () => change({ drawer: pressed ? "" : name, marks: "" });
    return h("button", { type: "button", role: "radio", "aria-checked": String(pressed), onclick: act }, label);
  }

  clear() {
    this.training?.end();
    this.training = null;
    for (const plot of this.drawer.querySelectorAll(".js-plotly-plot")) window.Plotly?.purge(plot);
    this.drawer.replaceChildren();
  }

  /* The choices beside a drawer's figures. */
  choices(knobs, chosen) {
    const fields = knobs.map(({ name, label, options }) => {
      const choose = ({ target }) => change({ [name]: target.value === target.dataset.base ? "" : target.value });
      const base = this.page.baseOf(name);
      const list = Object.entries(options).map(([value, text]) => h("option", { value, selected: value === (chosen[name] ?? base) }, text));
      return h("label", {}, h("span", {}, label), h("select", { onchange: choose, "data-base": base, "data-knob": name }, list));
    });
    return h("div", { class: "choices" }, fields, h("small", {}, "The stage stays as it is."));
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
      const [options] = await Promise.all([load(`${state.id}/tab`), this.loadWorker(), plotlyIsThere]);
      const root = h("div");
      if (wanted === this.shown) this.drawer.replaceChildren(root);
      if (wanted === this.shown) this.training = new iclTabTraining(root, options[state.theme.dark ? 1 : 0]);
      return;
    }
    const index = state.scene.drawers.findIndex(([other]) => other === name);
    const run = state.file.split("-")[0];
    const own = state.ownDrawers.includes(name) ? `${state.file}.${index}` : `${run}.${index}`;
    const held = await load(`${state.id}/${view === undefined ? own : `${run}.${index}.${view}`}`).catch(() => null);
    if (wanted !== this.shown) return;
    if (!held) this.drawer.append(h("p", { class: "note" }, "Of this run of the atlas the site has the stage alone."));
    else if (held.problem) this.drawer.append(h("p", { class: "problem" }, held.problem));
    else if (held.diagram) this.diagram(held.diagram);
    else this.panels(held.panels, state.theme);
  }

  async loadWorker() {
    window.iclWorkerSource ??= await load("worker");
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

const pick = (fields, names) => Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

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

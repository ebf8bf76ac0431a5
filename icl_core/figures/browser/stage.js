/* A run's stage with its clock: in a plain page, or as a widget in a notebook (anywidget). Its bar and its motion are
   those of the dashboard (transport.js, film.js).

   `data` holds
     title, steps, headlines    one headline a snapshot
     clock                      what the clock counts, such as "training step"
     ticks                      the milestones: [training step, name]
     config                     Plotly's
     at                         the index of the snapshot shown first
     panels                     of each: name, titles (one a snapshot, or a single one), caption, note, wide, figure
                                (Plotly's, at the snapshot shown first) and frames (one a snapshot; none if it does
                                not move) */

const element = (parent, tag, text = "", name = "") => {
  const child = document.createElement(tag);
  child.textContent = text;
  if (name) child.className = name;
  parent.append(child);
  return child;
};

class Stage extends Transport {
  /* Draw the stage into `root`; `keys` is the element whose keys the clock takes, and `onRest` is called with the
     index at which it comes to rest. */
  constructor(root, data, keys, onRest) {
    root.replaceChildren();
    root.classList.add("icl-stage");
    element(root, "h1", data.title);
    const headline = element(root, "p", "", "headline");
    headline.setAttribute("role", "status");
    super(element(root, "div", "", "clock"), headline);
    this.root = root;
    this.onRest = onRest;
    this.bar.setAttribute("role", "group");
    this.bar.setAttribute("aria-label", data.clock);
    this.take(data.steps.length ? data : { ...data, steps: [0] });
    this.drawPanels(data);
    const later = () => this.draw();
    this.listeners = [
      [keys, "keydown", (event) => this.key(event)],
      [window, "scroll", later, true],
      [window, "resize", later],
      [document, "visibilitychange", later],
    ];
    for (const [target, type, listener, capture] of this.listeners) target.addEventListener(type, listener, capture);
    this.show(data.at);
  }

  drawPanels({ panels, config, at }) {
    const places = element(this.root, "div", "", "panels");
    this.panels = panels.map((panel) => {
      const place = element(places, "section", "", panel.wide ? "wide" : "");
      const heading = element(place, "h2", panel.titles[Math.min(at, panel.titles.length - 1)]);
      const plot = element(place, "div", "", "chart");
      element(place, "p", panel.caption);
      if (panel.note) element(place, "p", panel.note, "note");
      if (panel.figure.layout.height) plot.style.height = `${panel.figure.layout.height}px`;
      return { ...panel, heading, plot };
    });
    for (const { plot, figure } of this.panels) {
      // only now: the places have their widths when all of them stand
      const drawn = window.Plotly.newPlot(plot, figure.data, figure.layout, config);
      drawn.then(() => {
        plot.on("plotly_afterplot", () => keepDomains(plot));
        keepDomains(plot);
        this.draw();
      });
    }
  }

  waits() {
    return this.drawing.size > 0;
  }

  rested() {
    this.onRest(this.index);
  }

  key(event) {
    if (!this.isTyped(event)) this.takeKey(event);
    if (event.defaultPrevented) event.stopPropagation(); // a notebook has its own use for it
  }

  /* Bring every panel in sight to the snapshot of the clock; the others follow when they come into sight. */
  draw() {
    if (document.hidden) return;
    // where they are is read of all charts before any is changed: the browser lays the page out once
    const seen = (this.panels ?? []).filter(({ plot }) => plot.layout && inSight(plot));
    for (const { plot, frames, heading, titles, name } of seen) {
      if (!frames[this.index] || isAt(plot, this.index, this.moving)) continue;
      this.drawOne(name, async (index) => {
        await showFrame(plot, frames[index], this.moving);
        heading.textContent = titles[Math.min(index, titles.length - 1)];
      });
    }
  }

  end() {
    this.stop();
    for (const [target, type, listener, capture] of this.listeners) target.removeEventListener(type, listener, capture);
    for (const { plot } of this.panels) window.Plotly.purge(plot);
  }
}

/* Have Plotly in the page: the notebook's kernel sends its source to the stages that ask while there is none. */
const loadPlotly = (model) =>
  new Promise((resolve) => {
    if (window.Plotly) return resolve();
    const take = (_, buffers) => {
      model.off("msg:custom", take);
      if (!window.Plotly) element(document.head, "script", new TextDecoder().decode(buffers[0])).remove();
      resolve();
    };
    model.on("msg:custom", take);
    model.send("plotly");
  });

/* Draw the stage of an anywidget; its `index` follows the clock, and the clock follows it. */
const render = async ({ model, el }) => {
  await loadPlotly(model);
  const onRest = (index) => {
    model.set("index", index);
    model.save_changes();
  };
  el.tabIndex = 0; // so that it can have the keys
  const data = { ...JSON.parse(model.get("stage")), at: model.get("index") };
  const stage = new Stage(el, data, el, onRest);
  const follow = () => model.get("index") === stage.index || stage.playTo(model.get("index"));
  model.on("change:index", follow);
  return () => {
    model.off("change:index", follow);
    stage.end();
  };
};

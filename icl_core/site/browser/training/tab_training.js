/* The part of a page in which a visitor trains a model: sliders, a button, and charts that grow while a web worker
   trains (worker.js, whose text the page holds as `window.iclWorkerSource`).

   `options` holds
     experiment  the id of what is trained
     title       the heading
     note        how this training differs from the experiment's own; may be empty
     knobs       the sliders: { name, label, values or min, max and step, value }
     setting     the values of all settings; those of the knobs are replaced by what the sliders show
     dark        whether the background is dark
     colours     those of the figures (`colours` in site/training.py)

   A worker posts panels by name, of two kinds:
     maps    { title, caption, maps: [{ name, rows, columns, values, labels }], limit, value, attention }
     curves  { title, caption, values: { series: number }, kinds, references: [{ name, kind, value }], axis, log,
             range }; a series' kind is a colour's name, by default its own */

class TabTraining {
  constructor(root, options) {
    this.root = root;
    Object.assign(this, options);
    this.seed = this.setting.seed ?? 0;
    this.isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    root.replaceChildren();
    root.classList.add("icl-tab-training");
    root.classList.toggle("dark", this.dark);
    const { ink, faint, paper, lines } = this.colours;
    for (const [name, colour] of Object.entries({ ink, faint, paper, accent: lines.trained })) {
      root.style.setProperty(`--${name}`, colour);
    }
    this.add(root, "h2", this.title);
    const form = this.add(root, "div", "", "sliders");
    this.sliders = this.knobs.map((knob) => this.addSlider(form, knob));
    const row = this.add(root, "div", "", "go");
    this.button = this.add(row, "button", "Train here");
    this.button.type = "button";
    this.button.addEventListener("click", () => (this.worker ? this.stop() : this.start()));
    this.status = this.add(row, "p");
    this.status.setAttribute("role", "status");
    if (this.note) this.add(root, "p", this.note, "note");
    this.places = this.add(root, "div", "", "panels");
    this.panels = {};
  }

  /* Take everything away again, the worker too. */
  end() {
    this.halt();
    this.last = null;
    for (const { chart } of Object.values(this.panels)) window.Plotly.purge(chart);
    this.root.replaceChildren();
  }

  add(parent, tag, text = "", name = "") {
    const child = document.createElement(tag);
    child.textContent = text;
    if (name) child.className = name;
    parent.append(child);
    return child;
  }

  addSlider(form, { name, label, values, min, max, step, value }) {
    const place = this.add(form, "label");
    this.add(place, "span", label);
    const input = this.add(place, "input");
    const shown = this.add(place, "span", "", "value");
    shown.setAttribute("aria-hidden", "true"); // the slider says it
    const range = values ? { min: 0, max: values.length - 1, step: 1 } : { min, max, step };
    Object.assign(input, { type: "range", ...range, value: values ? values.indexOf(value) : value });
    const now = () => (values ? values[Number(input.value)] : Number(input.value));
    const show = () => {
      shown.textContent = now();
      input.setAttribute("aria-valuetext", now());
    };
    input.addEventListener("input", show);
    input.addEventListener("change", () => this.worker && this.start());
    show();
    return { name, now };
  }

  /* Train from the start at what the sliders show, with another seed each time. */
  start() {
    this.halt();
    const moved = Object.fromEntries(this.sliders.map(({ name, now }) => [name, now()]));
    this.url = URL.createObjectURL(new Blob([window.iclWorkerSource], { type: "text/javascript" }));
    const worker = new Worker(this.url);
    this.curves = {};
    this.last = null;
    this.worker = worker;
    worker.onmessage = ({ data }) => worker === this.worker && this.take(data);
    worker.onerror = () => worker === this.worker && this.rest("The training could not go on.");
    worker.postMessage({ experiment: this.experiment, setting: { ...this.setting, ...moved }, seed: this.seed });
    this.seed += 1;
    this.button.textContent = "Stop";
    this.root.classList.add("training");
    this.say("The training begins …");
  }

  /* End the training where it is, and show how far it came. */
  stop() {
    this.rest(this.last ? `Stopped: ${this.reached()}` : "Stopped");
  }

  halt() {
    this.worker?.terminate();
    this.worker = null;
    URL.revokeObjectURL(this.url);
    this.button.textContent = "Train here";
    this.root.classList.remove("training");
  }

  rest(text) {
    this.halt();
    this.say(text);
    if (this.last) this.drawSoon();
  }

  /* Write the status; a screen reader says it where nothing trains, and not at every step. */
  say(text) {
    this.status.setAttribute("aria-live", this.worker && this.last ? "off" : "polite");
    this.status.textContent = text;
  }

  reached() {
    const { step, steps, loss, seconds } = this.last;
    const [now, all] = [step, steps].map((count) => count.toLocaleString("en"));
    return `step ${now} of ${all} · loss ${Number(loss.toPrecision(3))} · ${seconds.toFixed(0)} s`;
  }

  take(message) {
    if ("diverged" in message) {
      this.rest(`It diverged at step ${message.diverged}: the loss is no longer a number. Try other sliders.`);
      return;
    }
    this.last = message;
    for (const [name, panel] of Object.entries(message.panels)) {
      for (const [series, value] of Object.entries(panel.values ?? {})) {
        const curve = ((this.curves[name] ??= {})[series] ??= { x: [], y: [] });
        curve.x.push(message.step);
        curve.y.push(value);
      }
    }
    if (message.step === message.steps) this.rest(`Trained: ${this.reached()}`);
    else {
      this.say(this.reached());
      if (!this.isStill) this.drawSoon();
    }
  }

  /* Draw the latest snapshot with the next frame, or when the charts have drawn the one before. */
  drawSoon() {
    this.isWaiting = true;
    if (!this.isDrawing) requestAnimationFrame(() => this.draw());
  }

  async draw() {
    if (this.isDrawing || !this.isWaiting || !this.root.isConnected || !this.last) return;
    this.isDrawing = true;
    this.isWaiting = false;
    const { panels, steps, step } = this.last;
    for (const name of Object.keys(panels)) this.panels[name] ??= this.addPanel();
    await Promise.all(Object.entries(panels).map(([name, panel]) => this.drawPanel(name, panel, steps)));
    this.root.dataset.step = step;
    this.isDrawing = false;
    if (this.isWaiting) this.drawSoon();
  }

  addPanel() {
    const place = this.add(this.places, "section");
    const title = this.add(place, "h3");
    const chart = this.add(place, "div", "", "chart");
    chart.setAttribute("role", "img");
    return { title, chart, caption: this.add(place, "p") };
  }

  drawPanel(name, panel, steps) {
    const { title, chart, caption } = this.panels[name];
    title.textContent = panel.title;
    caption.textContent = panel.caption;
    chart.setAttribute("aria-label", panel.title);
    const isMap = panel.kind === "maps";
    const [data, layout] = isMap ? this.maps(panel, chart) : this.lines(panel, this.curves[name], steps);
    return window.Plotly.react(chart, data, layout, { displayModeBar: false, responsive: true });
  }

  /* Return the layout from which charts start, as that of all figures (figures/style.py). */
  layout(more) {
    const { ink, faint, paper, family } = this.colours;
    return {
      margin: { l: 58, r: 14, t: 30, b: 46 },
      font: { family, size: 15, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: paper, bordercolor: faint, font: { size: 14, color: ink } },
      ...more,
    };
  }

  axis(title, more) {
    const { grid, faint } = this.colours;
    const text = { title: { text: title, font: { size: 15 }, standoff: 8 }, tickfont: { size: 13 } };
    return { ...text, gridcolor: grid, linecolor: faint, showline: true, zeroline: false, automargin: true, ...more };
  }

  /* Return the traces and the layout of maps in square cells with one scale, in as many columns as make them large. */
  maps({ maps, limit, value, attention }, { clientWidth, clientHeight }) {
    const counts = maps.map((_, index) => index + 1);
    const under = (across) => Math.ceil(maps.length / across);
    const side = (across) => Math.min((clientWidth - 90) / across, (clientHeight - 60) / under(across));
    const columnCount = counts.reduce((best, across) => (side(across) > side(best) ? across : best));
    const spans = [columnCount, under(columnCount)].map((count) => (place) => {
      const between = 0.18 / count;
      const pitch = (1 + between) / count; // from the edge of a map to that of the next
      return [place * pitch, Math.min(1, (place + 1) * pitch - between)];
    });
    const low = attention ? 0 : -limit;
    const bar = { thickness: 10, outlinewidth: 0, x: 1.02, len: 1, tickfont: { size: 13 } };
    const title = { text: value, side: "right", font: { size: 13 } };
    const colorscale = attention ? this.colours.attention : this.colours.signed;
    const tickvals = [low, (low + limit) / 2, limit];
    const ticktext = tickvals.map((tick) => String(Number(tick.toPrecision(3))).replace("-", "−"));
    const colorbar = { ...bar, title, tickvals, ticktext };
    const coloraxis = { colorscale, cmin: low, cmax: limit, colorbar };
    const layout = this.layout({ margin: { l: 30, r: 60, t: 30, b: 30 }, coloraxis, annotations: [] });
    const data = maps.map(({ name, rows, columns, values, labels }, index) => {
      const end = index ? index + 1 : "";
      const x = spans[0](index % columnCount);
      const y = spans[1](Math.floor(index / columnCount)).map((share) => 1 - share).reverse();
      const unnamed = { showticklabels: false, ticks: "" };
      const ticks = labels ? { tickvals: labels.map((_, at) => at), ticktext: labels, ticks: "" } : unnamed;
      const plain = { showgrid: false, zeroline: false, constrain: "domain", tickangle: 0, tickfont: { size: 11 } };
      const columnTicks = index + columnCount < maps.length ? unnamed : ticks; // under the lowest map alone
      layout[`xaxis${end}`] = { ...plain, ...columnTicks, domain: x, anchor: `y${end}` };
      const square = { scaleanchor: `x${end}`, autorange: false, range: [rows - 0.5, -0.5], constraintoward: "top" };
      const rowTicks = index % columnCount ? unnamed : ticks;
      layout[`yaxis${end}`] = { ...plain, ...rowTicks, ...square, domain: y, anchor: `x${end}` };
      const where = { xref: "paper", yref: "paper", x: (x[0] + x[1]) / 2, y: y[1] };
      const text = { text: name, showarrow: false, font: { size: 14 }, xanchor: "center", yanchor: "bottom" };
      layout.annotations.push({ ...text, ...where });
      const z = Array.from({ length: rows }, (_, row) => values.slice(row * columns, (row + 1) * columns));
      const hovertemplate = `row %{y}, column %{x}: ${value} %{z:.3g}<extra></extra>`;
      return { type: "heatmap", z, coloraxis: "coloraxis", xaxis: `x${end}`, yaxis: `y${end}`, hovertemplate };
    });
    return [data, layout];
  }

  /* Return the traces and the layout of curves over the training, with lines at the values that they are compared
     with. */
  lines({ references = [], kinds = {}, axis, log, range }, curves, steps) {
    const { lines, dashes } = this.colours;
    const trace = (name, kind, x, y, width) => ({
      type: "scatter", mode: "lines", name, x, y, line: { color: lines[kind], dash: dashes[kind] ?? "solid", width },
    });
    const data = [
      ...references.map(({ name, kind, value }) => trace(name, kind, [0, steps], [value, value], 2)),
      ...Object.entries(curves).map(([name, { x, y }]) => {
        const kind = kinds[name] ?? name;
        return trace(name, kind, [...x], [...y], kind === "trained" ? 3 : 2);
      }),
    ];
    const powers = [-5, -4, -3, -2, -1, 0, 1, 2];
    const tickvals = powers.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`)));
    const y = this.axis(axis, log ? { type: "log", tickvals, ticktext: tickvals.map(String) } : { range });
    const x = this.axis("training step", { range: [0, steps], tickformat: "," });
    const legend = { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 14 } };
    return [data, this.layout({ xaxis: x, yaxis: y, legend, showlegend: data.length > 1, hovermode: "x unified" })];
  }
}

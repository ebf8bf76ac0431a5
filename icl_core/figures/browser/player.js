/* A run's stage with its clock, in a plain page or in a notebook's frame; the page has loaded Plotly.

   mount(root, data) draws it into `root`. `data` holds
     title, steps, headlines    one headline a step
     clock                      what the clock counts, such as "training step"
     config                     Plotly's
     at                         the index of the step shown first
     panels                     of each: title, caption, note, titles (one a step, or a single one), figure (Plotly's,
                                at the first step) and frames (one a step; empty for a panel that does not move) */

const MILLISECONDS = 400; // from step to step as it plays

const element = (parent, tag, text = "", name = "") => {
  const child = document.createElement(tag);
  child.textContent = text;
  if (name) child.className = name;
  parent.append(child);
  return child;
};

export function mount(root, data) {
  const { Plotly } = window;
  let at = data.at;
  let timer = 0;
  root.replaceChildren();
  element(root, "h1", data.title);
  const headline = element(root, "p", "", "headline");
  headline.setAttribute("aria-live", "polite");
  const clock = element(root, "div", "", "clock");
  const play = element(clock, "button", "Play");
  const slider = element(clock, "input");
  Object.assign(slider, { type: "range", min: 0, max: Math.max(0, data.steps.length - 1), step: 1, value: at });
  slider.setAttribute("aria-label", data.clock);
  const step = element(clock, "output");
  clock.hidden = data.steps.length < 2;

  const places = element(root, "div", "", "panels");
  const panels = data.panels.map((panel) => {
    const place = element(places, "section", "", panel.wide ? "wide" : "");
    const title = element(place, "h2");
    const chart = element(place, "div", "", "chart");
    element(place, "p", panel.caption);
    if (panel.note) element(place, "p", panel.note, "note");
    if (panel.figure.layout.height) chart.style.height = `${panel.figure.layout.height}px`;
    return { ...panel, chart, heading: title };
  });
  for (const panel of panels) {
    // only now: the places have their widths when all of them stand
    panel.drawn = Plotly.newPlot(panel.chart, panel.figure.data, panel.figure.layout, data.config);
  }

  const show = async (index) => {
    at = index;
    slider.value = index;
    step.textContent = data.steps.length ? `${data.clock} ${data.steps[index]}` : "";
    slider.setAttribute("aria-valuetext", step.textContent);
    headline.textContent = data.headlines[index];
    for (const panel of panels) {
      panel.heading.textContent = panel.titles[Math.min(index, panel.titles.length - 1)];
      const frame = panel.frames[index];
      if (!frame) continue;
      await panel.drawn;
      if (at !== index) return; // the clock has gone on
      const now = { frame: { duration: 0, redraw: true }, transition: { duration: 0 }, mode: "immediate" };
      Plotly.animate(panel.chart, frame, now).catch(() => {}); // a later step interrupts it
    }
  };

  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  play.onclick = () => {
    if (timer) return stop();
    play.textContent = "Pause";
    if (at === data.steps.length - 1) show(0);
    timer = setInterval(() => {
      if (at < data.steps.length - 1) show(at + 1);
      if (at === data.steps.length - 1) stop();
    }, MILLISECONDS);
  };
  slider.oninput = () => {
    if (timer) stop();
    show(Number(slider.value));
  };
  show(at);
}

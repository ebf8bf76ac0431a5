/* Parts of every page. */

/* A new element: `h("p", { class: "says", onclick }, "text", child)`. A function is a listener, an `html` its content. */
const h = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") element.innerHTML = value;
    else if (typeof value === "function") element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
};

const calmly = () => (window.matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
const slug = (name) => name.replaceAll(" ", "-");

/* A button that opens what stands below it, and closes with Escape or a click elsewhere. */
const popover = (label, content, attributes = {}) => {
  const body = h("div", { class: "popover", hidden: true }, content);
  const button = h("button", { type: "button", "aria-expanded": "false", ...attributes }, label);
  const root = h("span", { class: "opens" }, button, body);
  const show = (open) => {
    body.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) document.addEventListener("click", outside, true);
    else document.removeEventListener("click", outside, true);
  };
  const outside = ({ target }) => {
    if (!root.contains(target) || target.closest("a")) show(false);
  };
  button.onclick = () => show(body.hidden);
  root.onkeydown = (event) => {
    if (event.key !== "Escape" || body.hidden) return;
    event.stopPropagation();
    show(false);
    button.focus();
  };
  return root;
};

const linkTo = (label, page, fields, attributes = {}) => h("a", { href: addressOf(page, fields), ...attributes }, label);

/* A command, with a button that copies it. */
const command = (text) => {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}` }, "Copy");
  button.onclick = async () => {
    await navigator.clipboard?.writeText(text);
    button.textContent = "Copied";
  };
  return h("span", { class: "command" }, h("code", {}, text), button);
};

/* The visit's answers: to questions of beats and to exercises. They outlive a reload. */
const answers = {
  get(key) {
    return sessionStorage.getItem(`icl ${key}`);
  },
  put(key, value) {
    sessionStorage.setItem(`icl ${key}`, value);
  },
  clear(beginning) {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(`icl ${beginning}`)) sessionStorage.removeItem(key);
  },
};

/* The box of a chart, which a screen reader calls by its label. */
const chartBox = (label, plot) =>
  h("div", { class: "stPlotlyChart", "data-testid": "stPlotlyChart", role: "figure", "aria-label": label }, plot);

/* A chart that fits its place: the figure as the core made it, in the visitor's theme. */
const drawChart = async (place, figure, site, theme, fills = false) => {
  await plotlyIsThere;
  const { data, layout } = structuredClone(themed(figure, theme, site));
  const drawn = await window.Plotly.newPlot(place, data, fills ? { ...layout, ...sizeOf(place) } : layout, site.plotly);
  if (fills) sizes.observe(place.parentElement);
  return drawn;
};

const sizeOf = ({ parentElement: { clientWidth: width, clientHeight: height } }) => ({ width, height });

/* Charts that fill their places follow these in size. */
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const plot = target.querySelector(".js-plotly-plot");
    const size = plot && sizeOf(plot);
    const isOther = plot?.layout && (plot.layout.width !== size.width || plot.layout.height !== size.height);
    if (isOther && size.width && size.height) window.Plotly.relayout(plot, size);
  }
});

const plotlyIsThere = new Promise((resolve) => {
  const look = () => (window.Plotly ? resolve() : window.setTimeout(look, 30));
  look();
}).then(() => document.fonts.load('16px "Source Sans"').catch(() => [])); // by which charts measure their texts

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

/* Put what a button opens below it, within the window, whatever box the button stands in. */
const stand = (body, button) => {
  const { left, bottom } = button.getBoundingClientRect();
  const { width, height } = body.getBoundingClientRect();
  body.style.left = `${Math.max(8, Math.min(left, window.innerWidth - width - 8))}px`;
  body.style.top = `${Math.max(8, Math.min(bottom + 4, window.innerHeight - height - 8))}px`;
};

/* A button that opens what `content()` returns below it, and closes with Escape or a click elsewhere. */
const popover = (label, content, attributes = {}) => {
  const body = h("div", { class: "popover", hidden: true });
  const button = h("button", { type: "button", "aria-expanded": "false", ...attributes }, label);
  const root = h("span", { class: "opens" }, button, body);
  const show = (open) => {
    body.hidden = !open;
    if (open) body.replaceChildren(...[content()].flat(Infinity).filter(Boolean));
    ownLinks(body);
    button.setAttribute("aria-expanded", String(open));
    if (open) stand(body, button);
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

const linkTo = (label, page, fields, attributes = {}) =>
  h("a", { href: addressOf(page, { ...lasting(), ...fields }), ...attributes }, label);

/* A command, with a button that copies it. */
const command = (text) => {
  const button = h("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}` }, "Copy");
  button.onclick = async () => {
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false); // none without https
    button.textContent = copied ? "Copied" : "Select it, and copy by keys";
  };
  return h("span", { class: "command" }, h("code", {}, text), button);
};

/* What a browser keeps under a name: for the visit, or longer. A page opened from a disk, or in a frame, may have no
   storage; it is then kept until the page is left. */
const keeper = (storageOf) => {
  const own = new Map();
  const attempt = (act, instead) => {
    try {
      return act(storageOf());
    } catch (error) {
      return instead();
    }
  };
  return {
    get: (key) => attempt((storage) => storage.getItem(`icl ${key}`), () => own.get(key) ?? null),
    put: (key, value) => attempt((storage) => storage.setItem(`icl ${key}`, value), () => own.set(key, value)),
    drop: (key) => attempt((storage) => storage.removeItem(`icl ${key}`), () => own.delete(key)),
  };
};

const answers = keeper(() => sessionStorage); // to questions of beats and to exercises
const chosen = keeper(() => localStorage); // the theme

/* The box of a chart, which a screen reader calls by its label. */
const chartBox = (label, plot) =>
  h("div", { class: "stPlotlyChart", "data-testid": "stPlotlyChart", role: "figure", "aria-label": label }, plot);

/* A chart that fits its place: the figure as the core made it, in the visitor's theme. */
const drawChart = async (place, figure, site, theme, fills = false) => {
  await plotlyIsThere;
  if (!place.isConnected) return; // what it was for has left
  const { data, layout } = structuredClone(themed(figure, theme, site));
  await window.Plotly.newPlot(place, data, fills ? { ...layout, ...sizeOf(place) } : layout, site.plotly);
  if (fills) sizes.observe(place.parentElement);
};

/* Let go of the charts in a part of the page. */
const purge = (root) => {
  for (const plot of root.querySelectorAll(".js-plotly-plot")) {
    sizes.unobserve(plot.parentElement);
    window.Plotly?.purge(plot);
  }
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

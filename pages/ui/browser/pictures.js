/* Charts as pictures: the camera in a chart's toolbar saves a PNG, and a button beside it an SVG. Both hold the
   panel's title and the setting, and are named by them. plotly.js's own picture has neither. */

const CAMERA = '.modebar-btn[data-title^="Download plot"], .modebar-btn[data-picture=png]';
const SCALE = 3; // pixels of a PNG for a pixel of the page
const TITLE = { "font-size": 16, "font-weight": "bold", line: 22, letter: 9.3 }; // pixels: of a line, of a letter
const SETTING = { "font-size": 12, "font-weight": "normal", line: 17, letter: 6.4 };
const PAD = 10; // pixels around the title
const SVG = "http://www.w3.org/2000/svg";

/* Break a text into lines of at most `length` letters, at blanks. */
const wrap = (text, length) =>
  text.split(" ").reduce((lines, word) => {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
    return lines;
  }, []);

const element = (name, attributes, text = "") => {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.textContent = text;
  return made;
};

/* The panel that a chart stands in: its drawing's name, and its title as it is now. */
function panelOf(plot) {
  const box = plot.closest('[class*="st-key-seat-"], [class*="st-key-panel-"]');
  const name = box?.className.match(/st-key-(?:seat|panel)-(?:wide-|half-)?([\w-]+)/)?.[1];
  const title = titleOf(box?.querySelector("h3 [data-title]") ?? box?.querySelector("h3"));
  return { name: name ?? "figure", title: title ?? plot.closest("[aria-label]")?.getAttribute("aria-label") ?? "" };
}

/* The SVG of a chart with its title and the setting above it, on the page's background. */
async function pictureOf(plot, title, setting) {
  const { data, layout } = structuredClone({ data: plot.data, layout: plot.layout });
  // plotly.js has written into the domains what its square cells take of them: see film.js
  for (const [axis, domain] of Object.entries(layout.meta?.domains ?? {})) layout[axis] = { ...layout[axis], domain };
  const { width, height } = plot.getBoundingClientRect();
  const options = { format: "svg", width, height, imageDataOnly: true };
  const chart = await window.Plotly.toImage({ data, layout, config: {} }, options);
  const texts = [];
  let above = PAD;
  for (const [text, { line, letter, ...font }] of [[title, TITLE], [setting, SETTING]]) {
    for (const part of wrap(text, Math.max(20, Math.floor((width - 2 * PAD) / letter)))) {
      above += line;
      texts.push(element("text", { x: PAD, y: above - line / 4, fill: layout.font.color, ...font }, part));
    }
  }
  const picture = element("svg", { width, height: height + above, viewBox: `0 0 ${width} ${height + above}` });
  picture.setAttribute("font-family", layout.font.family);
  const background = window.getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;
  const inner = new DOMParser().parseFromString(chart, "image/svg+xml").documentElement;
  inner.setAttribute("y", above);
  picture.append(element("rect", { width: "100%", height: "100%", fill: background }), ...texts, inner);
  return picture;
}

/* The address of a picture's file. */
async function fileOf(picture, format) {
  const [width, height] = ["width", "height"].map((name) => SCALE * Number(picture.getAttribute(name)));
  if (format === "png") for (const [name, size] of Object.entries({ width, height })) picture.setAttribute(name, size);
  const address = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(picture))}`;
  if (format !== "png") return address;
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  return canvas.toDataURL("image/png");
}

/* Make a button of a toolbar one that saves a picture. */
const name = (button, format) => {
  button.dataset.picture = format;
  button.dataset.title = `Save as ${format.toUpperCase()}`;
  button.setAttribute("aria-label", button.dataset.title);
};

class Pictures {
  constructor() {
    this.listeners = [
      [window, "pointerover", (event) => this.offer(event.target.closest?.(".js-plotly-plot"))],
      [window, "click", (event) => this.click(event)],
    ];
    for (const [target, type, listener] of this.listeners) target.addEventListener(type, listener, true);
  }

  /* Put the button for an SVG beside the camera of a chart; plotly.js makes a toolbar anew now and then. */
  offer(plot) {
    const camera = plot?.querySelector(CAMERA);
    if (!camera || camera.dataset.picture) return;
    name(camera, "png");
    const group = document.createElement("div");
    group.className = "modebar-group";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "modebar-btn icl-svg";
    button.textContent = "SVG";
    button.style.color = camera.querySelector("path")?.style.fill ?? "";
    name(button, "svg");
    group.append(button);
    camera.parentElement.after(group);
  }

  click(event) {
    const button = event.target.closest?.("[data-picture]");
    const plot = button?.closest(".js-plotly-plot");
    if (!plot || !window.Plotly?.toImage) return; // plotly.js's own picture, then
    event.preventDefault();
    event.stopPropagation();
    this.save(plot, button.dataset.picture);
  }

  /* The run and its setting, as they come in a part (part.js). */
  get data() {
    return [...(window.iclParts ?? [])].find(({ data }) => data.pictures)?.data.pictures ?? { steps: [] };
  }

  /* The training step that a chart shows; undefined if it shows none. */
  stepOf(plot) {
    const { steps, step } = this.data;
    const { film, snapshot } = plot.layout.meta ?? {};
    if (film !== undefined) return steps[snapshot]; // the clock moves it
    return step ?? undefined;
  }

  async save(plot, format) {
    const { name, title } = panelOf(plot);
    const step = this.stepOf(plot);
    const setting = [this.data.title, step === undefined ? "" : `step ${step}`, this.data.line];
    const picture = await pictureOf(plot, title, setting.filter(Boolean).join(" · "));
    const link = document.createElement("a");
    link.href = await fileOf(picture, format);
    const parts = [this.data.id, name, step === undefined ? "" : `step${step}`, this.data.fields];
    link.download = `${parts.filter(Boolean).join("-")}.${format}`;
    link.click();
  }

  end() {
    for (const [target, type, listener] of this.listeners) target.removeEventListener(type, listener, true);
  }
}

export default function ({ parentElement }) {
  const pictures = (parentElement.iclPictures ??= new Pictures());
  const fullScreen = (parentElement.iclFullScreen ??= new FullScreen());
  return () => {
    pictures.end();
    fullScreen.end();
    delete parentElement.iclPictures;
    delete parentElement.iclFullScreen;
  };
}

/* Charts as pictures: the camera in a chart's toolbar saves a PNG, and buttons beside it an SVG and a PDF. All hold the
   panel's title and the setting, and are named by them. plotly.js's own picture has neither. */

const CAMERA = '.modebar-btn[data-title^="Download plot"], .modebar-btn[data-picture=png]';
const SCALE = 3; // pixels of a PNG for a pixel of the page
const TITLE = { size: 16, weight: 600 };
const SETTING = { size: 12, weight: 400 };
const PAD = 10; // pixels around the title

/* The panel that a chart stands in: its drawing's name, and its title as it is now. */
function panelOf(plot) {
  const box = plot.closest('[class*="st-key-seat-"], [class*="st-key-panel-"]');
  const name = box?.className.match(/st-key-(?:seat|panel)-(?:wide-|half-)?([\w-]+)/)?.[1];
  const title = titleOf(box?.querySelector("h3 [data-title]") ?? box?.querySelector("h3"));
  return { name: name ?? "figure", title: title ?? plot.closest("[aria-label]")?.getAttribute("aria-label") ?? "" };
}

/* A chart with its title and the setting above it, on the page's background. */
async function pictureOf(plot, title, setting) {
  const { width, height } = plot.getBoundingClientRect();
  const { color, family } = plot.layout.font;
  const texts = svgElement("g", {});
  let above = PAD;
  for (const [text, font] of [[title, TITLE], [setting, SETTING]]) {
    above += write(texts, text, { x: PAD, y: above, width: width - 2 * PAD }, { ...font, family, fill: color });
  }
  const picture = await blankPicture(width, height + above, { paper: paperOf(), family });
  picture.append(texts);
  place(picture, await figureSvg(plot, width, height), 0, above);
  return picture;
}

/* The page's background. */
const paperOf = () => window.getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;

/* Make a button of a toolbar one that saves a picture. */
const name = (button, format) => {
  button.dataset.picture = format;
  button.dataset.title = `Save as ${format.toUpperCase()}`;
  button.setAttribute("aria-label", button.dataset.title);
};

/* A button of a toolbar that saves a picture. */
const buttonOf = (format, color) => {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "modebar-btn icl-picture";
  button.textContent = format.toUpperCase();
  button.style.color = color;
  name(button, format);
  return button;
};

class Pictures {
  constructor() {
    this.listeners = [
      [window, "pointerover", (event) => this.offer(event.target.closest?.(".js-plotly-plot"))],
      [window, "click", (event) => this.click(event)],
    ];
    for (const [target, type, listener] of this.listeners) target.addEventListener(type, listener, true);
  }

  /* Put the buttons for SVG and PDF beside the camera of a chart; plotly.js makes a toolbar anew now and then. */
  offer(plot) {
    const camera = plot?.querySelector(CAMERA);
    if (!camera || camera.dataset.picture) return;
    name(camera, "png");
    const group = document.createElement("div");
    group.className = "modebar-group";
    const color = camera.querySelector("path")?.style.fill ?? "";
    group.append(buttonOf("svg", color), buttonOf("pdf", color));
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
    const parts = [this.data.id, name, step === undefined ? "" : `step${step}`, this.data.fields];
    await saveAs(picture, parts.filter(Boolean).join("-"), format, SCALE);
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

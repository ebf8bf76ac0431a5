/* Charts as pictures: the camera in a chart's toolbar saves a PNG, and a button beside it an SVG. Both hold the
   panel's title and the setting, and are named by them. plotly.js's own picture has neither. */

const CAMERA = '.modebar-btn[data-title^="Download plot"], .modebar-btn[data-picture=png]';
const SCALE = 3; // pixels of a PNG for a pixel of the page
const TITLE = { size: 16, line: 21, letter: 9.3 }; // pixels: of the letters, of a line, of a letter's width
const SETTING = { size: 12, line: 21, letter: 6.4 };
const PAD = 10; // pixels around the title
const CAPITALS = 12; // pixels of their height: plotly.js places the base of the first line of several

/* Break a text into lines of at most `length` letters, at blanks. */
const wrap = (text, length) =>
  text.split(" ").reduce((lines, word) => {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < length) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
    return lines;
  }, []);
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const inLines = (text, width, font) => wrap(text, Math.max(20, Math.floor(width / font.letter)));

/* The panel that a chart stands in: its drawing's name, and its title as it is now. */
function panelOf(plot) {
  const box = plot.closest('[class*="st-key-seat-"], [class*="st-key-panel-"]');
  const name = box?.className.match(/st-key-(?:seat|panel)-(?:wide-|half-)?([\w-]+)/)?.[1];
  const title = (box?.querySelector("h3 [data-title]") ?? box?.querySelector("h3"))?.textContent;
  return { name: name ?? "figure", title: title ?? plot.closest("[aria-label]")?.getAttribute("aria-label") ?? "" };
}

/* The figure of a chart with the title and the setting above it, on the page's background. */
function pictureOf(plot, title, setting) {
  const { data, layout } = structuredClone({ data: plot.data, layout: plot.layout });
  const { width, height } = plot.getBoundingClientRect();
  const titleLines = inLines(title, width - 2 * PAD, TITLE);
  const settingLines = inLines(setting, width - 2 * PAD, SETTING);
  const above = PAD + TITLE.line * titleLines.length + SETTING.line * settingLines.length;
  const bold = titleLines.map((line) => `<b>${escaped(line)}</b>`);
  const small = settingLines.map((line) => `<span style="font-size:${SETTING.size}px">${escaped(line)}</span>`);
  // plotly.js has written into the domains what its square cells take of them: see maps.js
  for (const [axis, domain] of Object.entries(layout.meta?.domains ?? {})) layout[axis] = { ...layout[axis], domain };
  layout.title = {
    text: [...bold, ...small].join("<br>"),
    font: { size: TITLE.size },
    ...{ x: PAD / width, xref: "container", xanchor: "left" },
    ...{ y: 1 - (PAD + CAPITALS) / (height + above), yref: "container", yanchor: "top" },
  };
  layout.margin = { ...layout.margin, t: (layout.margin?.t ?? 0) + above };
  layout.paper_bgcolor = window.getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;
  return { figure: { data, layout, config: {} }, width, height: height + above };
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
    const { figure, width, height } = pictureOf(plot, title, setting.filter(Boolean).join(" · "));
    const link = document.createElement("a");
    link.href = await window.Plotly.toImage(figure, { format, width, height, scale: format === "png" ? SCALE : 1 });
    const parts = [this.data.id, name, step === undefined ? "" : `step${step}`, this.data.fields];
    link.download = `${parts.filter(Boolean).join("-")}.${format}`;
    link.click();
  }

  end() {
    for (const [target, type, listener] of this.listeners) target.removeEventListener(type, listener, true);
  }
}

export default function ({ parentElement, data }) {
  const pictures = (parentElement.iclPictures ??= new Pictures());
  const fullScreen = (parentElement.iclFullScreen ??= new FullScreen());
  pictures.data = data;
  return () => {
    pictures.end();
    fullScreen.end();
    delete parentElement.iclPictures;
    delete parentElement.iclFullScreen;
  };
}

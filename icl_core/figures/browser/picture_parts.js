/* What pictures of charts are made of: charts and texts as SVG in the page's type, and the files that they become. */

const SVG = "http://www.w3.org/2000/svg";
const ruler = document.createElement("canvas").getContext("2d");

const svgElement = (name, attributes, text = "") => {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.textContent = text;
  return made;
};

/* Break a text into lines of at most `width` pixels, at blanks. */
function wrap(text, width, { size, weight, family }) {
  ruler.font = `${weight} ${size}px ${family}`;
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : "";
    if (longer && ruler.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/* Write a text in lines into a box of the picture, { x, y, width }; return the height of its lines. */
function write(picture, text, box, style) {
  const { size, weight, family, fill } = style;
  const line = 1.4 * size;
  const lines = text ? wrap(text, box.width, style) : [];
  lines.forEach((part, index) => {
    const place = { x: box.x, y: box.y + (index + 0.75) * line };
    const font = { "font-family": family, "font-size": size, "font-weight": weight, fill };
    picture.append(svgElement("text", { ...place, ...font }, part));
  });
  return line * lines.length;
}

/* An address's content as an address of its own, that needs no network. */
async function inlined(address) {
  const reader = new FileReader();
  reader.readAsDataURL(await (await fetch(address)).blob());
  await new Promise((resolve) => (reader.onload = resolve));
  return reader.result;
}

/* The page's rule for the first type of `family`, with the type itself, so that a picture looks the same anywhere; ""
   if the page has none. */
let face; // of the first picture: all are in the same type
const faceOf = (family) => (face ??= findFace(family.split(",")[0].replaceAll(/["']/g, "").trim()).catch(() => ""));

async function findFace(name) {
  const rules = [...document.styleSheets].flatMap((sheet) => {
    try {
      return [...sheet.cssRules];
    } catch {
      return []; // another site's
    }
  });
  const rule = rules.find(
    ({ style, constructor }) =>
      constructor === CSSFontFaceRule &&
      style.getPropertyValue("font-family").replaceAll(/["']/g, "") === name &&
      style.getPropertyValue("font-style") !== "italic",
  );
  const source = rule?.style.getPropertyValue("src").match(/url\(["']?([^"')]+)/)?.[1];
  if (!source) return "";
  const address = new URL(source, rule.parentStyleSheet.href ?? document.baseURI);
  const weight = rule.style.getPropertyValue("font-weight") || "normal";
  return `@font-face { font-family: "${name}"; font-weight: ${weight}; src: url(${await inlined(address)}) }`;
}

/* An empty picture of some size, on paper; `scale` pixels for one of its own units. */
async function blankPicture(width, height, { paper, family }, scale = 1) {
  const size = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` };
  const picture = svgElement("svg", { ...size, "font-family": family });
  const type = svgElement("style", {}, await faceOf(family));
  picture.append(type, svgElement("rect", { width: "100%", height: "100%", fill: paper }));
  return picture;
}

/* A figure as SVG of some size. */
async function figureSvg({ data, layout }, width, height) {
  const figure = structuredClone({ data, layout });
  // plotly.js has written into the domains what its square cells take of them: see film.js
  for (const [axis, domain] of Object.entries(layout.meta?.domains ?? {})) {
    figure.layout[axis] = { ...figure.layout[axis], domain };
  }
  const options = { format: "svg", width, height, imageDataOnly: true };
  return window.Plotly.toImage({ ...figure, config: {} }, options);
}

/* Put a figure's SVG into a picture. */
function place(picture, chart, x, y) {
  const inner = new DOMParser().parseFromString(chart, "image/svg+xml").documentElement;
  inner.setAttribute("x", x);
  inner.setAttribute("y", y);
  picture.append(inner);
}

const textOf = (picture) => new XMLSerializer().serializeToString(picture);

/* A picture as a canvas, `scale` pixels for one of its pixels. */
async function canvasOf(picture, scale = 1) {
  const [width, height] = ["width", "height"].map((side) => Math.round(scale * picture.getAttribute(side)));
  const scaled = picture.cloneNode(true);
  for (const [side, size] of Object.entries({ width, height })) scaled.setAttribute(side, size);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(textOf(scaled))}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d", { alpha: false }).drawImage(image, 0, 0, width, height);
  return canvas;
}

const blobOf = (canvas, type) => new Promise((resolve) => canvas.toBlob(resolve, type, 1)); // 1: lossless

/* The page that prints a picture, as large as it is. */
const printable = (picture, title) => {
  const [width, height] = ["width", "height"].map((side) => picture.getAttribute(side));
  const named = Object.assign(document.createElement("title"), { textContent: title }).outerHTML;
  return `<!doctype html><meta charset="utf-8">${named}<style>
    @page { size: ${width}px ${height}px; margin: 0 }
    html, body { margin: 0; overflow: hidden; print-color-adjust: exact; -webkit-print-color-adjust: exact }
    svg { display: block; width: ${width}px; height: ${height}px }
  </style>${textOf(picture)}`;
};

/* Open the browser's print window for a picture, which saves it as a PDF of one page. */
function print(picture, title) {
  const frame = Object.assign(document.createElement("iframe"), { srcdoc: printable(picture, title), title });
  frame.style.cssText = "position: fixed; width: 0; height: 0; border: 0";
  const former = document.title;
  frame.onload = async () => {
    await frame.contentDocument.fonts.ready;
    document.title = title; // under which some browsers save the PDF
    frame.contentWindow.onafterprint = () => {
      document.title = former;
      frame.remove();
    };
    frame.contentWindow.print();
  };
  document.body.append(frame);
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/* Save a picture: "svg", "png" or "pdf". */
async function saveAs(picture, stem, format, scale = 1) {
  if (format === "pdf") print(picture, stem);
  else if (format === "svg") download(new Blob([textOf(picture)], { type: "image/svg+xml" }), `${stem}.svg`);
  else download(await blobOf(await canvasOf(picture, scale), "image/png"), `${stem}.png`);
}

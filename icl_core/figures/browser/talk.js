/* The stage for a talk: a picture of 1920 × 1080 pixels, and the film of its clock, an animated WebP with a frame for
   every snapshot.

   A scene is what a picture shows:
     headline, footer  texts above and below the panels
     panels            of each: title, wide, figure (Plotly's)
   A look is the picture's { paper, ink, family }. */

const SCREEN = { width: 1280, height: 720, scale: 1.5 }; // in units of the page's pixels, and pixels for each
const EDGE = 24;
const GAP = 16;
const HEADLINE = { size: 24, weight: 600 };
const PANEL_TITLE = { size: 16, weight: 600 };
const FOOTER = { size: 13, weight: 400 };
const FRAME = 420; // milliseconds, as of the clock
const LAST_FRAME = 2500;

/* Where panels stand: rows of seats as on the stage, of which a wide panel takes two. */
function seatsOf(panels) {
  const spans = panels.map(({ wide }) => (wide ? 2 : 1));
  const total = spans.reduce((sum, span) => sum + span, 0);
  const columns = Math.ceil(total / (total <= 3 ? 1 : 2));
  let [row, column] = [0, 0];
  const seats = spans.map((span) => {
    if (column && column + span > columns) [row, column] = [row + 1, 0];
    const seat = { row, column, span };
    column += span;
    return seat;
  });
  return { seats, columns, rows: row + 1 };
}

/* The picture of a scene. `drawn` keeps the SVG of figures that come again in the next scene. */
async function stagePicture({ headline, footer, panels }, look, drawn = new Map()) {
  const { width, height, scale } = SCREEN;
  const picture = await blankPicture(width, height, look, scale);
  const style = (font) => ({ ...font, family: look.family, fill: look.ink });
  const inner = width - 2 * EDGE;
  const above = EDGE + write(picture, headline, { x: EDGE, y: EDGE / 2, width: inner }, style(HEADLINE));
  const below = height - EDGE - FOOTER.size;
  const [line] = wrap(footer, inner, style(FOOTER));
  write(picture, line, { x: EDGE, y: below, width: Infinity }, style(FOOTER));
  const { seats, columns, rows } = seatsOf(panels);
  const seatWidth = (inner - (columns - 1) * GAP) / columns;
  const seatHeight = (below - above - (rows - 1) * GAP - EDGE / 2) / rows;
  for (const [index, { title, figure }] of panels.entries()) {
    const { row, column, span } = seats[index];
    const box = {
      x: EDGE + column * (seatWidth + GAP),
      y: above + row * (seatHeight + GAP),
      width: span * seatWidth + (span - 1) * GAP,
    };
    const titled = write(picture, title, box, style(PANEL_TITLE));
    const key = `${index} ${titled}`;
    const former = drawn.get(key);
    const isSame = former?.figure === figure;
    const chart = isSame ? former.chart : await figureSvg(figure, box.width, seatHeight - titled);
    drawn.set(key, { figure, chart });
    place(picture, chart, box.x, box.y + titled);
  }
  return picture;
}

/* The film of `count` scenes as an animated WebP; `sceneAt` returns one by its index, and `tell` is told which one is
   drawn. Null where the browser writes no WebP. */
async function filmOf(count, sceneAt, look, tell = () => {}) {
  const drawn = new Map();
  const frames = [];
  for (let index = 0; index < count; index += 1) {
    tell(index);
    const canvas = await canvasOf(await stagePicture(sceneAt(index), look, drawn));
    const blob = await blobOf(canvas, "image/webp");
    if (blob.type !== "image/webp") return null;
    frames.push(imageChunks(new Uint8Array(await blob.arrayBuffer())));
  }
  const { width, height, scale } = SCREEN;
  return animated(frames, width * scale, height * scale);
}

/* The chunks of a WebP that hold its picture. */
function imageChunks(bytes) {
  const view = new DataView(bytes.buffer);
  const chunks = [];
  for (let at = 12; at < bytes.length; ) { // behind "RIFF", the size and "WEBP"
    const name = String.fromCharCode(...bytes.subarray(at, at + 4));
    const size = 8 + view.getUint32(at + 4, true);
    const end = at + size + (size % 2);
    if (["ALPH", "VP8 ", "VP8L"].includes(name)) chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

/* Some pictures' chunks as one animated WebP, which begins again at its end
   (https://developers.google.com/speed/webp/docs/riff_container). */
function animated(frames, width, height) {
  const number = (value, bytes) => Array.from({ length: bytes }, (_, place) => (value >> (8 * place)) & 255);
  const letters = (text) => [...text].map((letter) => letter.charCodeAt(0));
  const sizes = [...number(width - 1, 3), ...number(height - 1, 3)];
  const sizeOf = (parts) => parts.reduce((sum, { length }) => sum + length, 0); // even: chunks are padded
  const chunk = (name, ...parts) => [[...letters(name), ...number(sizeOf(parts), 4)], ...parts];
  const isAnimated = 2;
  const replaces = 2; // what the frame before has left
  const parts = [
    letters("WEBP"),
    ...chunk("VP8X", [isAnimated, 0, 0, 0, ...sizes]),
    ...chunk("ANIM", [0, 0, 0, 0, 0, 0]), // background, and no end of repetitions
    ...frames.flatMap((chunks, index) => {
      const milliseconds = index === frames.length - 1 ? LAST_FRAME : FRAME;
      return chunk("ANMF", [0, 0, 0, 0, 0, 0, ...sizes, ...number(milliseconds, 3), replaces], ...chunks);
    }),
  ];
  const file = chunk("RIFF", ...parts).map((part) => Uint8Array.from(part));
  return new Blob(file, { type: "image/webp" });
}

/* The scene of a plain page's stage (stage.js says what `data` holds) at a snapshot. */
function sceneOf({ title, steps, headlines, panels }, index) {
  const at = ({ figure, frames, titles, wide }) => {
    const { data, layout } = frames.length ? structuredClone(figure) : figure;
    const frame = frames[index];
    frame?.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
    const moved = frame ? { data, layout: { ...layout, ...frame.layout } } : figure;
    return { title: titles[Math.min(index, titles.length - 1)], wide, figure: moved };
  };
  const footer = steps.length ? `${title} · step ${steps[index]} of ${steps.at(-1)}` : title;
  return { headline: headlines[index], footer, panels: panels.map(at) };
}

/* A plain page's stage as a file with some ending, for the command line: ".svg", ".pdf" (the page to be printed) or
   ".webp" (the film, as an address that holds it). */
async function drawnStage(data, look, ending) {
  if (ending === ".webp") {
    const film = await filmOf(data.headlines.length, (index) => sceneOf(data, index), look);
    return inlined(URL.createObjectURL(film));
  }
  const picture = await stagePicture(sceneOf(data, data.at), look);
  return ending === ".svg" ? textOf(picture) : printable(picture, data.title);
}

/* What the page's components show, as it comes in parts (part.js), kept for the clock (clock.js): its own data and, of
   each panel of the stage, its frames and its whole figure. The parts come one after the other, in any order. */

const stage = (window.iclStage ??= { panels: new Map(), clocks: new Map() });

/* Remove one of a panel's two parts. This may be called late, when another part has taken its place, which stays. */
const remove = (name, kind, part) => {
  const { [kind]: current, ...rest } = stage.panels.get(name) ?? {};
  if (current !== part) return;
  if (rest.whole || rest.frames) stage.panels.set(name, rest);
  else stage.panels.delete(name);
};

/* Frames and titles for every place of the clock, of a panel that shows some of its states at several places. */
const inOrder = ({ order, frames, titles, ...message }) => {
  if (!order) return { ...message, frames, titles };
  const at = (state, snapshot) => {
    const { layout, ...frame } = frames[state];
    return { ...frame, layout: { ...layout, meta: { ...layout.meta, snapshot } } };
  };
  return { ...message, frames: order.map(at), titles: order.map((state) => titles[state]) };
};

/* The frame of a place of the clock. The last one is what the whole figure shows, where that is sent. */
const frameOf = ({ frames = [], whole }, index) => {
  if (!whole || !frames.length || index !== frames.length) return frames[index];
  const { traces, data, layout } = frames[0]; // all frames have the same properties
  const select = (properties, like) =>
    Object.fromEntries(Object.keys(like).map((key) => [key, properties[key] ?? null]));
  const last = traces.map((trace, place) => select(whole.data[trace], data[place]));
  return { traces, data: last, layout: select(whole.layout, layout) };
};

/* What `playback.pack` has packed: JSON, compressed. */
const unpackPart = async (bytes) => {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const message = JSON.parse(await new Response(stream).text());
  for (const { data } of message.frames ?? [message.whole]) for (const trace of data) widen(trace);
  return message;
};

const CHUNK = 2 ** 13; // arguments of one call

/* Give the numbers of a map that come in three bytes each, first all of the lowest ones, their fourth: plotly.js reads
   single precision. */
const widen = (trace) => {
  if (trace.z?.dtype !== "f3") return;
  const planes = atob(trace.z.bdata);
  const count = planes.length / 3;
  const numbers = new Uint8Array(4 * count);
  for (let at = 0; at < planes.length; at += 1) {
    numbers[4 * (at % count) + 1 + Math.floor(at / count)] = planes.charCodeAt(at);
  }
  let text = "";
  for (let at = 0; at < numbers.length; at += CHUNK) text += String.fromCharCode(...numbers.subarray(at, at + CHUNK));
  trace.z = { ...trace.z, dtype: "f4", bdata: btoa(text) };
};

const takeClock = (part) => {
  const { clock, ...data } = part.data;
  stage.clocks.set(clock, data);
  window.dispatchEvent(new CustomEvent("icl-clock", { detail: clock }));
  part.leave = () => stage.clocks.get(clock) === data && stage.clocks.delete(clock);
};

const takePanel = async (part) => {
  const sent = await unpackPart(part.data);
  if (!window.iclParts.has(part)) return; // it has left
  const message = sent.whole ? sent : inOrder(sent);
  const { name, film } = message;
  const kind = message.whole ? "whole" : "frames";
  const panel = stage.panels.get(name);
  stage.panels.set(name, panel?.film === film ? { ...panel, ...message } : message);
  window.dispatchEvent(new Event("icl-panel"));
  part.leave = () => remove(name, kind, message[kind]);
};

const takePart = (part) => {
  if (part.data instanceof Uint8Array) takePanel(part);
  else if (part.data.clock) takeClock(part);
};

if (!window.iclTakesParts) {
  window.iclTakesParts = true; // this outlives the component
  window.addEventListener("icl-part", ({ detail }) => takePart(detail));
  window.iclParts?.forEach(takePart);
}

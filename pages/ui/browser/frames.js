/* What a panel of the stage shows at each snapshot, kept for the clock (clock.js): its frames and, if the chart that
   stands there may show another film, its whole figure. The two come one after the other, in any order. */

const stage = (window.iclStage ??= { panels: new Map() });

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

export default function ({ data }) {
  const sent = data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : data;
  const message = sent.whole ? sent : inOrder(sent);
  const { name, film } = message;
  const kind = message.whole ? "whole" : "frames";
  const panel = stage.panels.get(name);
  stage.panels.set(name, panel?.film === film ? { ...panel, ...message } : message);
  window.dispatchEvent(new Event("icl-panel"));
  return () => remove(name, kind, message[kind]);
}

/* What a panel of the stage shows at each snapshot, kept for the clock (clock.js): its frames, and its whole figure if
   the chart that stands there may show another. They come one after the other, in any order. */

const stage = (window.iclStage ??= { panels: new Map() });

/* A part takes away itself alone: this may be called late, when another has come. */
const remove = (name, kind, part) => {
  const { [kind]: there, ...rest } = stage.panels.get(name) ?? {};
  if (there !== part) return;
  if (rest.whole || rest.frames) stage.panels.set(name, rest);
  else stage.panels.delete(name);
};

export default function ({ data }) {
  const part = data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : data;
  const { name, film } = part;
  const kind = part.whole ? "whole" : "frames";
  const there = stage.panels.get(name);
  stage.panels.set(name, there?.film === film ? { ...there, ...part } : part);
  window.dispatchEvent(new Event("icl-panel"));
  return () => remove(name, kind, part[kind]);
}

/* What a panel of the stage shows at each snapshot, kept for the clock (clock.js). */

const stage = (window.iclStage ??= { panels: new Map() });

export default function ({ data }) {
  const panel = data instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(data)) : data;
  stage.panels.set(panel.name, panel);
  window.dispatchEvent(new Event("icl-panel"));
  return () => {
    if (stage.panels.get(panel.name) === panel) stage.panels.delete(panel.name);
  };
}

/* A model's diagram: a click or a key on a box tells the server which, and its panel comes into sight. */

const panel = (name) => {
  const places = ["seat", "seat-wide", "panel-half", "panel-wide"];
  return document.querySelector(places.map((place) => `[class~="st-key-${place}-${CSS.escape(name)}"]`).join(", "));
};

const reach = (name, tries = 30) => {
  const found = panel(name);
  if (found) found.scrollIntoView({ block: "center" });
  else if (tries) window.setTimeout(() => reach(name, tries - 1), 200); // its drawer is still to be drawn
};

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".diagram");
  root.innerHTML = data.svg;
  const opened = (event) => {
    const box = event.target.closest?.("[data-box]");
    if (!box || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation(); // a space would play the clock
    setTriggerValue("opened", box.dataset.box);
    reach(data.panels[box.dataset.box]);
  };
  root.onclick = root.onkeydown = opened;
}

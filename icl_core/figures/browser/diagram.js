/* A model's diagram. A click or a key on a box tells the server which one, and has the clock scroll to its panel. */

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".diagram");
  root.innerHTML = data.svg;
  const open = (event) => {
    const box = event.target.closest?.("[data-box]");
    if (!box || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation(); // a space would play the clock
    setTriggerValue("opened", box.dataset.box);
    window.dispatchEvent(new CustomEvent("icl-reach", { detail: data.panels[box.dataset.box] }));
  };
  root.onclick = root.onkeydown = open;
}

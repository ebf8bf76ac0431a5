/* A click on a link that stays on the page tells the server where to, instead of loading the page anew. */

export default function ({ parentElement, setTriggerValue }) {
  parentElement.iclStays?.(); // Streamlit runs this again for another theme, and ends the last one only
  const follow = (event) => {
    const link = event.target.closest?.("a[data-stays]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setTriggerValue("asked", new URL(link.href).search.slice(1));
    link.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", code: "Escape", keyCode: 27, bubbles: true }));
    link.dispatchEvent(new KeyboardEvent("keyup", { key: "Escape", code: "Escape", keyCode: 27, bubbles: true })); // closes its menu
  };
  window.addEventListener("click", follow, true);
  const ends = [holdStill(), tellOffline()];
  return (parentElement.iclStays = () => {
    window.removeEventListener("click", follow, true);
    for (const end of ends) end();
  });
}

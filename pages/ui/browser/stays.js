/* A click on a link that stays on the page tells the server the new address, instead of loading the page anew. */

const ESCAPE = { key: "Escape", code: "Escape", keyCode: 27, bubbles: true };

export default function ({ parentElement, setTriggerValue }) {
  parentElement.iclStays?.(); // for another theme Streamlit runs this again, and ends only the last run
  const follow = (event) => {
    const link = event.target.closest?.("a[data-stays]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setTriggerValue("asked", new URL(link.href).search.slice(1));
    // closes the menu that the link stands in
    for (const type of ["keydown", "keyup"]) link.dispatchEvent(new KeyboardEvent(type, ESCAPE));
  };
  window.addEventListener("click", follow, true);
  const ends = [
    holdStill(), tellOffline(), keepFiguresNamed(), keepOneLarge(), letPointsBeDragged(),
    letExperimentsBeChosen(), answerCancel(),
  ];
  return (parentElement.iclStays = () => {
    window.removeEventListener("click", follow, true);
    for (const end of ends) end();
  });
}

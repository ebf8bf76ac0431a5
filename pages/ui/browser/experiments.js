/* The panel of experiments: what is typed leaves those that have all of its words, the arrows move among them, and
   Enter in the field takes the first. */

const panelLinks = (panel) => [...panel.querySelectorAll("a")].filter((link) => !link.hidden);

const searchExperiments = ({ target }) => {
  const panel = target.closest?.(".experiments");
  if (!panel) return;
  const words = target.value.toLowerCase().split(/\s+/);
  for (const link of panel.querySelectorAll("a")) {
    const text = link.textContent.toLowerCase();
    link.hidden = !words.every((word) => text.includes(word));
  }
  panel.querySelector("p").hidden = panelLinks(panel).length > 0;
};

const walkExperiments = (event) => {
  const panel = event.target.closest?.(".experiments");
  if (!panel || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const isTyping = event.target.matches("input");
  const links = panelLinks(panel);
  const step = { ArrowDown: 1, ArrowRight: !isTyping, ArrowUp: -1, ArrowLeft: -!isTyping }[event.key];
  if (step) {
    const next = links.indexOf(event.target) + step;
    (links[next] ?? panel.querySelector("input")).focus();
  } else if (isTyping && event.key === "Enter") links[0]?.click();
  else return;
  event.preventDefault();
  event.stopPropagation();
};

/* Listen to the panel, which comes and goes; return the function that ends it. */
const letExperimentsBeChosen = () => {
  window.addEventListener("input", searchExperiments, true);
  window.addEventListener("keydown", walkExperiments, true);
  return () => {
    window.removeEventListener("input", searchExperiments, true);
    window.removeEventListener("keydown", walkExperiments, true);
  };
};

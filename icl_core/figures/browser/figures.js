/* Name every figure of the stage by its finding, which its title says at the step shown, and take the charts' tools out
   of the way of Tab: what they do can be had under Numbers. A line of the script that scrolls gets into it. */

const TOOLS = ".modebar-btn, [data-testid=stElementToolbarButton] button";

const nameFigures = () => {
  for (const title of document.querySelectorAll(".seat-title [data-title]")) {
    const seat = title.closest('[class*="st-key-seat-"]');
    const figure = seat?.querySelector("[data-testid=stPlotlyChart]");
    const name = title.textContent.trim();
    if (figure && figure.getAttribute("aria-label") !== name) figure.setAttribute("aria-label", name);
  }
  for (const tool of document.querySelectorAll(TOOLS)) if (tool.tabIndex >= 0) tool.tabIndex = -1;
  // a line of the script that is higher than its place can be scrolled by keys, too
  for (const line of document.querySelectorAll(".st-key-says")) {
    if (line.scrollHeight > line.clientHeight) line.tabIndex = 0;
    else line.removeAttribute("tabindex");
  }
};

/* Do so again whenever the page changes; return the function that ends it. */
const keepFiguresNamed = () => {
  let asked = 0;
  const later = () => {
    asked ||= window.setTimeout(() => {
      asked = 0;
      nameFigures();
    }, 200);
  };
  const observer = new MutationObserver(later);
  observer.observe(document.body, { childList: true, subtree: true });
  later();
  return () => {
    window.clearTimeout(asked);
    observer.disconnect();
  };
};

/* What of the page around it the clock (clock.js) must know. */

const chart = (name) => document.querySelector(`[class~="st-key-chart-${CSS.escape(name.replaceAll(" ", "-"))}"] .js-plotly-plot`);
const inSight = (element) => {
  const box = element.getBoundingClientRect();
  return box.bottom > 0 && box.top < window.innerHeight;
};
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches; // for who wants no motion
const opensDrawer = (target) =>
  Boolean(target.closest?.(".st-key-drawers button, .st-key-drawers label, .st-key-verdicts")) &&
  !target.closest("[aria-checked=true], [aria-pressed=true]");

/* A panel on the stage or in the open drawer. */
const panelOf = (name) => {
  const end = CSS.escape(name.replaceAll(" ", "-"));
  const places = ["seat-", "seat-wide-", "panel-half-", "panel-wide-"];
  return document.querySelector(places.map((place) => `[class~="st-key-${place}${end}"]`).join());
};

/* Page Down and Page Up walk the script. */
const turn = (event) => {
  const button = document.querySelector(`.st-key-${event.key === "PageDown" ? "next" : "before"} button:not([disabled])`);
  if (!button || covered()) return;
  button.click();
  event.preventDefault();
};

/* Whether a drawer's chart fills the screen: moving would draw it anew, and so end that. */
const covered = () => {
  const top = document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2);
  const frame = top?.closest(".st-key-drawer [data-testid=stFullScreenFrame]");
  return frame && window.getComputedStyle(frame).position === "fixed";
};

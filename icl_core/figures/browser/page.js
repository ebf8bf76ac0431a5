/* What the clock (clock.js) must know of the page around it. */

/* A panel's chart on the stage. */
const chart = (name) => {
  const end = CSS.escape(name.replaceAll(" ", "-"));
  return document.querySelector(`[class~="st-key-chart-${end}"] .js-plotly-plot`);
};
const scrolling = () => (calm() ? "auto" : "smooth");
/* Whether a click on `target` opens a drawer, and does not close the one that is open. */
const opensDrawer = (target) =>
  Boolean(target.closest?.(".st-key-drawers button, .st-key-drawers label, .st-key-verdicts")) &&
  !target.closest("[aria-checked=true], [aria-pressed=true]");

/* From where to where the window shows panels once the page is scrolled: below the script's line, which sticks to the
   window's top where there is a script, and above the clock where that stands at the window's end. */
const freeHeight = () => {
  const script = document.querySelector(".st-key-script");
  const sticky = script?.parentElement;
  const style = sticky && window.getComputedStyle(sticky);
  const top = style?.position === "sticky" ? parseFloat(style.top) + script.getBoundingClientRect().height : 0;
  const clock = document.querySelector(".clock:not([hidden])");
  const isFixed = clock && window.getComputedStyle(clock).position === "fixed";
  return { top, bottom: isFixed ? clock.getBoundingClientRect().top : window.innerHeight };
};

/* A panel on the stage or in the open drawer. */
const panelOf = (name) => {
  const end = CSS.escape(name.replaceAll(" ", "-"));
  const places = ["seat-", "seat-wide-", "panel-half-", "panel-wide-"];
  return document.querySelector(places.map((place) => `[class~="st-key-${place}${end}"]`).join());
};

/* Page Down and Page Up go to the next beat of the script and to the one before. */
const turn = (event) => {
  const name = event.key === "PageDown" ? "next" : "before";
  const button = document.querySelector(`.st-key-${name} button:not([disabled])`);
  if (!button || covered()) return;
  button.click();
  event.preventDefault();
};

/* The keys 1 to 5 open the groups of drawers, in their order. */
const openGroup = (event) => {
  const group = document.querySelectorAll(".st-key-drawer-groups [role=radio]")[Number(event.key) - 1];
  const isElsewhere = event.target.closest?.("[data-testid=stPopoverBody], [role=dialog]");
  if (!group || event.repeat || isElsewhere || covered()) return;
  group.click();
  event.preventDefault();
};

/* Whether a drawer's chart fills the screen: a rerun would draw that chart anew, and so end its full screen. */
const covered = () => {
  const top = document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2);
  const frame = top?.closest(".st-key-drawer [data-testid=stFullScreenFrame]");
  return frame && window.getComputedStyle(frame).position === "fixed";
};

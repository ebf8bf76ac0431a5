/* The stage's large panel: the first one, until a beat of the script speaks of another alone, or the title of another is
   clicked or pressed by keys. It is kept for each experiment of the visit. page.css lays the stage out. */

const STAGE = '[class*="st-key-stage-lead-"]';
const larger = (window.iclLarger ??= new Map()); // by clock, which every stage has: the seat chosen, at which marks
const clockShown = () => [...(window.iclStage?.clocks ?? [])].at(-1) ?? ["", { marks: [] }]; // see parts.js
const seatName = (seat) => seat.className.match(/st-key-seat-(?:wide-)?([^ ]+)/)[1];
const isSeatWide = (seat) => seat.className.includes("st-key-seat-wide-");

/* Set an attribute that has another value; null takes it away. */
const put = (element, name, value) => {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
};

/* Mark the large panel for the style, give the stage what its figure needs, and make the other titles buttons. */
const layOut = () => {
  for (const stage of document.querySelectorAll(STAGE)) {
    const seats = [...stage.querySelectorAll('[class*="st-key-seat-"]')];
    if (!seats.length) continue;
    const [clock, { marks }] = clockShown();
    const spoken = marks.map((name) => name.replaceAll(" ", "-"));
    const [only, another] = seats.filter((seat) => spoken.includes(seatName(seat))); // several are compared
    const { name, at } = larger.get(clock) ?? {};
    const chosen = at === String(marks) && seats.find((seat) => seatName(seat) === name);
    const large = chosen || (only && !another ? only : seats[0]);
    const kind = `${isSeatWide(large) ? "wide" : "half"}${large === seats.at(-1) ? " last" : ""}`;
    put(stage, "data-chosen", large === seats[0] ? null : kind);
    const needed = window.getComputedStyle(large);
    for (const name of ["--needed-width", "--needed-height"]) {
      stage.style.setProperty(name, needed.getPropertyValue(name) || "0px");
    }
    const isPhone = window.innerWidth <= 900; // where all are as wide as the window
    for (const seat of seats) {
      const isLarge = isPhone || seat === large;
      put(seat.parentElement, "data-large", isLarge ? kind : null);
      const title = seat.querySelector("h3 [data-title]");
      if (!title) continue;
      put(title, "role", isLarge ? null : "button");
      const kept = title === document.activeElement ? "-1" : null; // the focus stays where it is
      put(title, "tabindex", isLarge ? kept : "0");
      put(title, "title", isLarge ? null : "Make this panel the large one");
    }
  }
};

/* Lay the stage out whenever it changes; return the function that ends it. */
const keepOneLarge = () => {
  let asked = 0;
  const later = () => {
    asked ||= window.requestAnimationFrame(() => {
      asked = 0;
      layOut();
    });
  };
  const choose = (event) => {
    const title = event.target.closest?.(`${STAGE} h3 [role=button]`);
    if (!title || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation(); // the space bar plays the film
    const [clock, { marks }] = clockShown();
    larger.set(clock, { name: seatName(title.closest('[class*="st-key-seat-"]')), at: String(marks) });
    layOut();
  };
  const observer = new MutationObserver(later);
  observer.observe(document.body, { childList: true, subtree: true });
  window.addEventListener("click", choose, true);
  window.addEventListener("keydown", choose, true);
  window.addEventListener("icl-clock", later);
  window.addEventListener("resize", later);
  later();
  return () => {
    observer.disconnect();
    window.cancelAnimationFrame(asked);
    window.removeEventListener("click", choose, true);
    window.removeEventListener("keydown", choose, true);
    window.removeEventListener("icl-clock", later);
    window.removeEventListener("resize", later);
  };
};

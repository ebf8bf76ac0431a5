/* The stage's large panel: the first one, until the title of another is clicked, or pressed by keys, or a beat of the
   script speaks of others. It is kept for each experiment of the visit. page.css lays the stage out. */

const STAGE = '[class*="st-key-stage-lead-"]';
const larger = (window.iclLarger ??= new Map()); // the name of the seat chosen, by experiment
const experimentShown = () => `${location.pathname} ${new URLSearchParams(location.search).get("experiment")}`;
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
    const chosen = seats.find((seat) => seatName(seat) === larger.get(experimentShown()));
    const large = chosen ?? seats[0];
    const kind = isSeatWide(large) ? "wide" : "half";
    put(stage, "data-chosen", chosen ? `${kind}${chosen === seats.at(-1) ? " last" : ""}` : null);
    const needed = window.getComputedStyle(large);
    for (const name of ["--needed-width", "--needed-height"]) {
      stage.style.setProperty(name, needed.getPropertyValue(name) || "0px");
    }
    for (const seat of seats) {
      const isLarge = seat === large;
      put(seat.parentElement, "data-large", isLarge ? kind : null);
      const title = seat.querySelector("h3 [data-title]");
      if (!title) continue;
      put(title, "role", isLarge ? null : "button");
      put(title, "tabindex", isLarge ? null : "0");
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
    larger.set(experimentShown(), seatName(title.closest('[class*="st-key-seat-"]')));
    layOut();
  };
  const speak = ({ detail }) => {
    const names = detail.map((name) => name.replaceAll(" ", "-"));
    const seats = [...document.querySelectorAll(`${STAGE} [class*="st-key-seat-"]`)].map(seatName);
    const [first] = names.filter((name) => seats.includes(name));
    const shown = larger.get(experimentShown()) ?? seats[0];
    if (!first) larger.delete(experimentShown());
    else if (!names.includes(shown)) larger.set(experimentShown(), first);
    layOut();
  };
  const observer = new MutationObserver(later);
  observer.observe(document.body, { childList: true, subtree: true });
  window.addEventListener("click", choose, true);
  window.addEventListener("keydown", choose, true);
  window.addEventListener("icl-marks", speak);
  later();
  return () => {
    observer.disconnect();
    window.cancelAnimationFrame(asked);
    window.removeEventListener("click", choose, true);
    window.removeEventListener("keydown", choose, true);
    window.removeEventListener("icl-marks", speak);
  };
};

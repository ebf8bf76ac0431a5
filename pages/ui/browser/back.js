/* A page that finds a server again is run there as a whole before the server knows its widgets: what is moved before
   that would be lost. So until then nothing on it can be moved. One that Streamlit has given up on, as it could not read
   what it was told, loads itself anew: what it shows is in its address. */

const PARTS = "[data-testid=stMain], [data-testid=stSidebar]";
const LONGEST = 20_000; // milliseconds; a page must not stay so for ever
const ANEW = "icl anew"; // when this window last loaded itself anew
// whether the page has lost its server, and whether the next one is running it; outlives what Streamlit runs again
let lost = false, running = false, timer;

const hold = (held) => document.querySelectorAll(PARTS).forEach((part) => (part.inert = held));
const free = () => {
  timer = clearTimeout(timer);
  lost = running = false;
  hold(false);
};
const look = (app) => {
  const here = app.dataset.testConnectionState === "CONNECTED", rests = app.dataset.testScriptState === "notRunning";
  if (!here) {
    free();
    lost = true; // Streamlit itself holds the widgets now
  } else if (lost && rests && running) free();
  else if (lost && !timer) {
    hold(true);
    timer = setTimeout(free, LONGEST);
  }
  running = lost && here && !rests;
};

/* Not again and again, if it is given up on again. */
const anew = (app) => {
  if (app.dataset.testConnectionState !== "DISCONNECTED_FOREVER") return;
  if (Date.now() - Number(sessionStorage.getItem(ANEW)) < LONGEST) return;
  sessionStorage.setItem(ANEW, Date.now());
  location.reload();
};

/* Returns what ends it. */
const holdStill = () => {
  const app = document.querySelector("[data-testid=stApp]"), watch = new MutationObserver(() => look(app));
  const told = { attributes: true, attributeFilter: ["data-test-connection-state", "data-test-script-state"] };
  watch.observe(app, told);
  if (!window.iclAnew) (window.iclAnew = new MutationObserver(() => anew(app))).observe(app, told); // on every page from now on
  look(app);
  return () => watch.disconnect();
};

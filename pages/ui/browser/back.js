/* Hold the page still while a new server takes it over. A page that has lost its server and finds one again is run
   there as a whole before that server knows its widgets; what the visitor changed until then would be lost. A page
   that Streamlit has given up on, as it could not read a message, is loaded anew: the address holds what it shows. */

const PARTS = "[data-testid=stMain], [data-testid=stSidebar]";
const LONGEST = 20_000; // milliseconds; the page must not stay still for ever
const LOADED_ANEW = "icl anew"; // key of the time at which this window last loaded itself anew

// These outlive the component, which Streamlit ends and runs again.
let lost = false; // the page has lost its server, and no other one has run it yet
let running = false; // another one is running it
let timer;

const setStill = (still) => document.querySelectorAll(PARTS).forEach((part) => (part.inert = still));
const release = () => {
  timer = clearTimeout(timer);
  lost = running = false;
  setStill(false);
};
const watchServer = (app) => {
  const isConnected = app.dataset.testConnectionState === "CONNECTED";
  const isAtRest = app.dataset.testScriptState === "notRunning";
  if (!isConnected) {
    release();
    lost = true; // Streamlit itself disables the widgets now
  } else if (lost && isAtRest && running) release();
  else if (lost && !timer) {
    setStill(true);
    timer = setTimeout(release, LONGEST);
  }
  running = lost && isConnected && !isAtRest;
};

/* Load a page anew that Streamlit has given up on, but not again and again. */
const loadAnew = (app) => {
  if (app.dataset.testConnectionState !== "DISCONNECTED_FOREVER") return;
  if (Date.now() - Number(sessionStorage.getItem(LOADED_ANEW)) < LONGEST) return;
  sessionStorage.setItem(LOADED_ANEW, Date.now());
  location.reload();
};

/* Watch the server; return the function that ends it. */
const holdStill = () => {
  const app = document.querySelector("[data-testid=stApp]");
  const options = { attributes: true, attributeFilter: ["data-test-connection-state", "data-test-script-state"] };
  const observer = new MutationObserver(() => watchServer(app));
  observer.observe(app, options);
  if (!window.iclAnew) {
    window.iclAnew = new MutationObserver(() => loadAnew(app)); // never ended: it serves every page from now on
    window.iclAnew.observe(app, options);
  }
  watchServer(app);
  return () => observer.disconnect();
};

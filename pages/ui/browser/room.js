/* The bar for the room: dark theme, projector, full screen. */

/* Streamlit keeps the visitor's theme under this name, one for each page, and reads it as a page is loaded. */
const themeKey = (path) => `stActiveTheme-${path}-v2`;

/* Choose a theme for all pages of the menu, and load this one anew: everything else is in the address. */
const choose = (theme) => {
  const links = document.querySelectorAll(".st-key-menu a[href]");
  const paths = [location.pathname, ...[...links].map((link) => new URL(link.href).pathname)];
  for (const path of paths) localStorage.setItem(themeKey(path), JSON.stringify(theme));
  location.reload();
};

const fill = () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen());

export default function ({ parentElement, data, setTriggerValue }) {
  const find = (name) => parentElement.querySelector(`.room .${name}`);
  const label = (button, text, pressed) => {
    button.title = text;
    button.setAttribute("aria-label", text);
    button.setAttribute("aria-pressed", String(pressed));
  };
  const dark = find("dark");
  label(dark, data.dark ? "Light theme" : "Dark theme", data.dark);
  dark.onclick = () => choose(data.dark ? "Light" : "Dark");
  const projector = find("projector");
  projector.hidden = !data.stage;
  label(projector, "Projector: the stage alone, larger (m brings the menu back)", data.projector);
  projector.onclick = () => setTriggerValue("projector", true);
  const full = find("full");
  const describe = () => label(full, document.fullscreenElement ? "Leave the full screen" : "Full screen", Boolean(document.fullscreenElement));
  describe();
  full.onclick = fill;
  document.addEventListener("fullscreenchange", describe);
  return () => document.removeEventListener("fullscreenchange", describe);
}

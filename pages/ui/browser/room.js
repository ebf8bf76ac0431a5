/* The bar for the room: dark theme, projector, full screen; and, where the menu has no room in a line, what opens it. */

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

/* Have a button open the menu of pages; whatever else is clicked, and Escape, closes it. Return the function that ends
   it. */
const letMenuOpen = (button) => {
  const show = (open) => {
    button.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("icl-pages", open);
  };
  const isOpen = () => document.body.classList.contains("icl-pages");
  const click = ({ target }) => {
    show(button.contains(target) && !isOpen());
    if (isOpen()) document.querySelector(".st-key-pages a")?.focus();
  };
  const key = (event) => {
    if (event.key !== "Escape" || !isOpen()) return;
    show(false);
    button.focus();
  };
  document.addEventListener("click", click);
  document.addEventListener("keydown", key);
  return () => {
    document.removeEventListener("click", click);
    document.removeEventListener("keydown", key);
  };
};

export default function ({ parentElement, data, setTriggerValue }) {
  parentElement.iclRoom?.(); // with other data Streamlit runs this again, and ends only the last run
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
  const endMenu = letMenuOpen(find("pages"));
  return (parentElement.iclRoom = () => {
    document.removeEventListener("fullscreenchange", describe);
    endMenu();
  });
}

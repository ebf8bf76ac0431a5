/* The frame of every page: the menu, the theme, the projector, and which page the address names. */

const PAGES = { "": showFront, gallery: showGallery, lessons: showLessons, claims: showClaims };

/* A choice that outlives the visit; a page opened from a disk may have no storage. */
const remembered = (name) => {
  try {
    return localStorage.getItem(`icl ${name}`);
  } catch (error) {
    return null;
  }
};
const remember = (name, value) => {
  try {
    localStorage.setItem(`icl ${name}`, value);
  } catch (error) {
    console.info("This browser keeps no choices for the next visit.");
  }
};

class Site {
  constructor(root, site) {
    this.site = site;
    this.isEmbedded = new URLSearchParams(location.search).has("embed");
    this.menu = h("header", { class: "st-key-menu" });
    this.place = h("div", { class: "page" });
    root.replaceChildren(h("a", { class: "skip", href: "#main", onclick: (event) => this.skip(event) }, "Skip to the page"), this.menu, this.place);
    this.page = null;
    this.shown = null; // the page and what of it
    iclLargePanel();
    iclFigures();
    window.addEventListener("hashchange", () => this.route());
    this.route();
  }

  skip(event) {
    event.preventDefault();
    document.querySelector("#main")?.focus();
  }

  get theme() {
    const chosen = remembered("theme");
    const dark = chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    return { dark, projector: "projector" in readAddress().fields };
  }

  async route() {
    const { page, fields } = readAddress();
    const { theme } = this;
    const embed = this.isEmbedded || "embed" in fields;
    document.documentElement.toggleAttribute("data-dark", theme.dark);
    document.documentElement.toggleAttribute("data-projector", theme.projector);
    document.documentElement.toggleAttribute("data-embed", embed);
    document.getElementById("projector").disabled = !theme.projector;
    this.drawMenu(page, theme);
    const paper = this.site.papers.find(({ name }) => name === page);
    // an experiment has a page of its own, which then follows the address
    const shows = paper ? `${fields.lesson ?? ""} ${fields.experiment ?? ""}` : `${themeName(theme)} ${JSON.stringify(fields)}`;
    const wanted = `${page} ${shows}`;
    if (wanted !== this.shown) await this.open(wanted, paper, page, fields, theme);
    if (paper && this.page instanceof ExperimentPage) await this.page.show(fields, theme);
  }

  async open(wanted, paper, page, fields, theme) {
    this.shown = wanted;
    this.page?.end?.();
    if (typeof this.page === "function") this.page();
    this.place.replaceChildren();
    window.scrollTo(0, 0);
    if (paper) {
      this.page = new ExperimentPage(this.place, this.site, page);
      if (fields.lesson || this.site.lessons.some((lesson) => lesson.paper === page)) this.page.lessons = await load("lessons");
      return;
    }
    const show = fields.end && !page ? showEnd : (PAGES[page] ?? PAGES[""]);
    const place = h("div", { class: "page" });
    this.page = (await show(place, this.site, theme, fields)) ?? null;
    if (wanted !== this.shown) return;
    document.title = `${document.querySelector(".here")?.textContent ?? TITLE} · in-context learning`;
    this.place.replaceChildren(...place.childNodes);
  }

  drawMenu(page, theme) {
    const names = [["", "Start"], ["gallery", "Gallery"], ...this.site.papers.map(({ name, short }) => [name, short]), ["lessons", "Lessons"], ["claims", "Claims"]];
    const links = names.map(([name, label]) => linkTo(label, name, {}, name === page ? { class: "here", "aria-current": "page" } : {}));
    const tool = (label, pressed, act, sign) =>
      h("button", { type: "button", title: label, "aria-label": label, "aria-pressed": String(pressed), onclick: act, html: sign });
    const isStage = this.site.papers.some(({ name }) => name === page);
    const dark = tool(theme.dark ? "Light theme" : "Dark theme", theme.dark, () => this.choose(theme), "◐");
    const projector = isStage && tool("Projector: the stage alone, larger (m brings the menu back)", theme.projector, () => this.project(theme), "▣");
    const open = tool("Menu", false, () => document.body.classList.toggle("icl-pages"), "☰");
    open.classList.add("opens-menu");
    const focused = this.menu.contains(document.activeElement) ? document.activeElement.title : null;
    this.menu.replaceChildren(h("nav", { class: "st-key-pages", "aria-label": "Pages" }, links), h("div", { class: "st-key-tools" }, open, dark, projector));
    if (focused) [...this.menu.querySelectorAll("button")].find(({ title }) => title === focused)?.focus();
    document.body.classList.remove("icl-pages");
  }

  choose({ dark }) {
    remember("theme", dark ? "light" : "dark");
    this.route();
  }

  project({ projector }) {
    const { page, fields } = readAddress();
    const { projector: _, ...others } = fields;
    location.hash = addressOf(page, projector ? others : { ...others, projector: "1" });
  }
}

window.iclStage ??= { panels: new Map(), clocks: new Map() };
load("site").then((site) => new Site(document.querySelector("[data-testid=stApp]"), site));

/* The frame of every page: the menu, the theme, the projector, and which page the address names. */

const PAGES = { "": showFront, gallery: showGallery, lessons: showLessons, claims: showClaims };

class Site {
  constructor(root, site) {
    this.site = site;
    this.isEmbedded = new URLSearchParams(location.search).has("embed");
    this.menu = h("header", { class: "st-key-menu" });
    this.place = h("div", { class: "page" });
    root.replaceChildren(h("a", { class: "skip", href: "#main", onclick: (event) => this.skip(event) }, "Skip to the page"), this.menu, this.place);
    this.page = null;
    this.shown = null; // the page on screen and what of it
    this.asked = null; // the one that was asked for last
    iclLargePanel();
    iclFigures();
    window.addEventListener("hashchange", () => this.route());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.route());
    this.route();
  }

  skip(event) {
    event.preventDefault();
    document.querySelector("#main")?.focus();
  }

  get theme() {
    const own = chosen.get("theme");
    const dark = own ? own === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
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
    try {
      if (wanted !== this.shown) await this.open(wanted, paper, page, fields, theme);
      if (wanted === this.shown) await this.page?.show?.(fields, theme);
    } catch (problem) {
      console.warn(problem);
      this.shown = null;
      if (wanted === this.asked) this.place.replaceChildren(h("p", { class: "not-loaded", role: "alert" }, problem.message));
    }
  }

  /* Put another page into the place of the one that is there, once it has what it needs; nothing if yet another one has
     been asked for meanwhile. */
  async open(wanted, paper, page, fields, theme) {
    this.asked = wanted;
    const lessons = paper && this.site.lessons.some((lesson) => lesson.paper === page) ? await load("lessons") : [];
    const place = h("div", { class: "page" });
    const show = fields.end && !page ? showEnd : Object.hasOwn(PAGES, page) ? PAGES[page] : PAGES[""];
    const begin = paper ? null : await show(place, this.site, theme, fields);
    if (wanted !== this.asked) return;
    this.page?.end();
    purge(this.place);
    this.place.replaceChildren(...place.childNodes);
    window.scrollTo(0, 0);
    this.shown = wanted;
    this.page = paper ? new ExperimentPage(this.place, this.site, page, lessons) : { end: begin?.() ?? (() => {}) };
    if (!paper) document.title = `${page ? document.querySelector("h1").textContent : TITLE} · in-context learning`;
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
    chosen.put("theme", dark ? "light" : "dark");
    this.route();
  }

  project({ projector }) {
    const { page, fields } = readAddress();
    const { projector: _, ...others } = fields;
    location.hash = addressOf(page, projector ? others : { ...others, projector: "1" });
  }
}

window.iclStage ??= { panels: new Map(), clocks: new Map() };
load("site").then(
  (site) => new Site(document.querySelector("[data-testid=stApp]"), site),
  (problem) => document.querySelector("[data-testid=stApp]").append(h("p", { class: "not-loaded", role: "alert" }, problem.message)),
);

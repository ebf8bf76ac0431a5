/* The other pages: the start with its film, the gallery, the lessons, the claims, and the end of a tour. Each is drawn into
   a place of its own; what it returns, if anything, begins what moves once that is on the page, and returns what ends
   it. */

const TITLE = "How models learn in context";
const WHAT =
  "A trained model can pick up a new pattern from its input alone, while none of its weights change. This is " +
  "<b>in-context learning</b>. Here are small models that do it, trained and taken apart.";

const mainOf = (root, ...content) => {
  const block = h("div", { "data-testid": "stMainBlockContainer", class: "block-container list-page" }, content);
  root.append(h("main", { "data-testid": "stMain", id: "main", tabindex: "-1" }, block));
  return ownLinks(block);
};

const pictureOf = (id, shows, theme) =>
  h("img", { src: `pictures/${id}.${theme.dark ? "dark" : "light"}.webp`, alt: shows ?? "", width: "340", height: "220", loading: "lazy" });

/* A card of the gallery, all of which is its link. */
const cardOf = (paper, { name, title, says, shows }, theme, more) => {
  const id = `${paper}.${name}`;
  const link = linkTo(h("b", {}, title), paper, { experiment: name });
  return h("section", { class: `st-key-finding-${paper}-${name} card` }, link, shows !== undefined && pictureOf(id, shows, theme), h("p", {}, says ?? ""), more);
};

const showFront = async (root, site, theme) => {
  const { opening, cards, bars } = await load("front");
  const film = h("div", { class: "st-key-opening-film" });
  const { papers, tours, lessons } = site;
  const [first] = tours.all;
  const words = opening && h(
    "div",
    { class: "st-key-opening-words" },
    h("h2", {}, opening.title),
    h("div", { html: opening.say }),
    h("p", {}, linkTo("Take the ten-minute tour", first[0], { experiment: first[1], beat: first[2], tour: "all", ...first[3] }, { class: "button primary" })),
    h("p", {}, linkTo("Open the experiment", opening.experiment.split(".")[0], { experiment: opening.experiment.split(".")[1] })),
    h("p", {}, linkTo("Gallery of all findings", "gallery", {})),
    lessons.length && h("p", {}, linkTo("Lessons, ready to teach", "lessons", {})),
  );
  const charts = []; // drawn once the page is there
  const drawn = cards.map(({ name, title, found, figure, alt }) => {
    const plot = h("div");
    if (figure) charts.push([plot, figure]);
    return h("section", { class: "card" }, h("h3", {}, title), h("p", {}, found), figure && chartBox(alt, plot), h("p", {}, linkTo(`Open ${title}`, name, {})));
  });
  mainOf(
    root,
    h("h1", {}, TITLE),
    h("p", { html: WHAT }),
    opening && h("div", { class: "st-key-opening" }, words, film),
    h("div", { class: "st-key-cards" }, drawn),
    h("h2", {}, "What the papers claim, and what comes out here"),
    h("div", { html: bars }),
    linkTo("All claims, and what was measured", "claims", {}),
  );
  return () => {
    for (const [plot, figure] of charts) drawChart(plot, figure, site, { ...theme, projector: false });
    if (!opening) return () => {};
    const stage = new Stage(film, site, () => {});
    stage.show(opening, opening.at, { ...theme, projector: false }, { play: true });
    return () => stage.end();
  };
};

const showGallery = async (root, site, theme) => {
  const papers = await load("gallery");
  const count = papers.reduce((sum, { cards }) => sum + cards.length, 0);
  const sections = papers.map(({ name, title, found, cards }) => [
    h("h2", {}, title),
    h("p", {}, found),
    h("div", { class: `st-key-gallery-${name}` }, cards.map((card) => cardOf(name, card, theme))),
  ]);
  mainOf(root, h("h1", {}, `${count} findings, a picture each`), h("p", {}, "Each card is one experiment: what its trained model shows, computed from its run. Open a card to play the training."), sections);
};

const showEnd = async (root, site, theme, { end }) => {
  const papers = await load("gallery");
  const seen = [...new Map((site.tours[end] ?? []).map(([paper, name]) => [`${paper}.${name}`, [paper, name]])).values()];
  const cards = await Promise.all(
    seen.map(async ([paper, name]) => {
      const card = papers.find((other) => other.name === paper).cards.find((other) => other.name === name);
      const { seen: says } = await load(`${paper}.${name}`);
      return cardOf(paper, { ...card, says: says || card.says }, theme);
    }),
  );
  const on = h("p", {}, h("b", {}, "Go on: "), linkTo("See all findings in the gallery", "gallery", {}), " · ", linkTo("Do a lesson, with exercises", "lessons", {}));
  mainOf(root, h("h1", {}, "What you have seen"), on, h("div", { class: "st-key-gallery-seen" }, cards));
};

const showLessons = async (root) => {
  const lessons = await load("lessons");
  const note = (lesson, { minutes, ask, they_say: says, tell, show }, index) => [
    h("p", {}, h("b", {}, `${index + 1}. Ask: `), `${ask} (${minutes} minutes)`),
    h("p", {}, h("b", {}, "They will say: "), says.join(" ")),
    h("p", {}, h("b", {}, "Then: "), tell),
    h("p", {}, show.here ? linkTo(`Show: ${show.say}`, lesson.paper, show.query) : `Show, in the dashboard: ${show.say}`),
  ];
  const sections = lessons.map((lesson) => {
    const { title, of, able, minutes, exercises, notes, paper, name, experiment } = lesson;
    return h(
      "section",
      { class: "card lesson-card" },
      h("h2", {}, title),
      h("p", {}, "You will be able to"),
      h("ul", {}, able.map((aim) => h("li", {}, aim))),
      h("p", { class: "small" }, `${of} · ${minutes} minutes · ${exercises.length} exercises`),
      h("p", {}, linkTo("Open the lesson", paper, { experiment, lesson: name }, { class: "button primary" })),
      h("details", {}, h("summary", {}, "Lecturer's notes"), notes.map((one, index) => note(lesson, one, index))),
      h(
        "details",
        {},
        h("summary", {}, "Exercises, with answers"),
        exercises.map(({ ask, answer }, index) => [
          h("p", {}, h("b", {}, `${index + 1}. `), ask),
          h("details", {}, h("summary", {}, `Answer ${index + 1}`), h("p", {}, answer)),
        ]),
      ),
    );
  });
  mainOf(root, h("h1", {}, "Lessons, ready to teach"), h("p", {}, "A lesson is a page with less on it: a prediction comes before its answer, and three exercises are checked as they are answered. The exercises are there to learn from, not to be marked."), sections);
};

const showClaims = async (root) => {
  const { bars, rule, kinds, verdicts, papers } = await load("claims");
  const choices = { paper: "", kind: "", verdict: "" };
  const select = (name, label, options) => {
    const choose = ({ target }) => {
      choices[name] = target.value;
      filter();
    };
    const list = [h("option", { value: "" }, "all"), ...options.map(([value, text]) => h("option", { value }, text))];
    return h("label", {}, `${label} `, h("select", { onchange: choose }, list));
  };
  const filters = h(
    "div",
    { class: "st-key-claim-filters" },
    select("paper", "Paper", papers.map(({ name, title }) => [name, title])),
    select("kind", "Kind", Object.entries(kinds)),
    select("verdict", "Verdict", Object.entries(verdicts)),
  );
  const none = h("p", { role: "status", hidden: true }, "No claim is of this kind and verdict.");
  const sections = papers.map(({ title, table }) => h("section", {}, h("h2", {}, title), h("div", { html: table })));
  const filter = () => {
    let shown = 0;
    sections.forEach((section, at) => {
      const { name, rows } = papers[at];
      const lines = [...section.querySelectorAll("tbody tr")];
      let index = 0;
      let heading = null;
      let count = 0;
      for (const line of lines) {
        if (line.querySelector("th")) {
          if (heading) heading.hidden = !count;
          [heading, count] = [line, 0];
          continue;
        }
        const [, kind, verdict] = rows[index];
        index += 1;
        const fits = (!choices.paper || choices.paper === name) && (!choices.kind || choices.kind === kind) && (!choices.verdict || choices.verdict === verdict);
        line.hidden = !fits;
        count += fits;
        shown += fits;
      }
      if (heading) heading.hidden = !count;
      section.hidden = ![...section.querySelectorAll("td")].some((cell) => !cell.parentElement.hidden);
    });
    none.hidden = shown > 0;
  };
  mainOf(root, h("h1", {}, "What the papers claim, and what comes out here"), h("div", { html: bars }), filters, none, sections, h("p", { class: "small" }, rule));
};

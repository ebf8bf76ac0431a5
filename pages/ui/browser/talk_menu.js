/* The menu's part for talks: the stage on screen as a picture, and the film of its clock (talk.js). */

/* A panel's title, with whose numbers it states where its heading keeps these apart. */
const titled = (text, { dataset }) => [text, dataset.whose].filter(Boolean).join(", ");

/* The panels on the stage that are figures. */
const panelsOnScreen = () =>
  [...document.querySelectorAll('[class*="st-key-seat-"] .seat-title [data-title]')]
    .map((title) => {
      const seat = title.closest('[class*="st-key-seat-"]');
      const plot = [...seat.querySelectorAll(".js-plotly-plot")].find(({ offsetParent }) => offsetParent);
      const wide = seat.className.includes("st-key-seat-wide-");
      const text = titled(title.textContent, title);
      return { name: title.dataset.title, heading: title, title: text, wide, figure: plot };
    })
    .filter(({ figure }) => figure?.layout);

/* A panel at a snapshot of the clock, as the clock would show it; as it is where the clock does not move it. */
function panelAt(shown, panel, run, index) {
  const frame = panel?.run === run && panel.whole && frameOf(panel, index);
  if (!frame) return shown;
  const { data, layout } = structuredClone(panel.whole);
  frame.traces.forEach((trace, place) => Object.assign(data[trace], frame.data[place]));
  const title = panel.titles ? titled(panel.titles[index], shown.heading) : shown.title;
  return { ...shown, title, figure: { data, layout: { ...layout, ...frame.layout } } };
}

/* What the menu saves: the scene `now`, and the scenes at the clock's `steps`, in a `look` (see talk.js); `pictures`
   says of which run and setting, and `at` is the index of the step shown. Null where there is no figure. */
function whatIsShown() {
  const { pictures } = [...(window.iclParts ?? [])].find(({ data }) => data.pictures)?.data ?? {};
  const panels = panelsOnScreen();
  if (!pictures || !panels.length || !window.Plotly?.toImage) return null;
  const { color, family } = panels[0].figure.layout.font;
  const paper = window.getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor;
  const clock = [...stage.clocks.values()].at(-1) ?? { steps: [] };
  const moves = clock.steps.length > 1;
  const footer = (index) =>
    [pictures.title, moves ? `step ${clock.steps[index]}` : "", pictures.line].filter(Boolean).join(" · ");
  const at = Number(document.querySelector(".clock input")?.value ?? 0);
  // as they are now: another run may come while a film is drawn
  const films = new Map(stage.panels);
  const { run, headlines } = clock;
  const sceneAt = (index) => ({
    headline: headlines[index],
    footer: footer(index),
    panels: panels.map((panel) => panelAt(panel, films.get(panel.name), run, index)),
  });
  const headline = document.querySelector(".headline:not([data-still])")?.textContent ?? "";
  return {
    pictures,
    look: { paper, ink: color, family },
    steps: moves ? clock.steps : [],
    at,
    now: () => ({ ...(moves ? sceneAt(at) : { footer: footer(at), panels }), headline }),
    sceneAt,
  };
}

async function saveStage(format, tell) {
  const shown = whatIsShown();
  if (!shown) return tell("There is no figure on the stage yet.");
  const { pictures, look, steps, at } = shown;
  const stem = (part) => [pictures.id, part, pictures.fields].filter(Boolean).join("-");
  if (format !== "film") {
    const picture = await stagePicture(shown.now(), look);
    return saveAs(picture, stem(steps.length ? `stage-step${steps[at]}` : "stage"), format);
  }
  if (!steps.length) return tell("This stage has no clock: there is no film of it.");
  const drawing = (index) => tell(`Drawing snapshot ${index + 1} of ${steps.length} …`);
  const film = await filmOf(steps.length, shown.sceneAt, look, drawing);
  if (!film) return tell("This browser writes no WebP: take Chrome, Edge or Firefox.");
  download(film, `${stem("film")}.webp`);
  return tell("Saved");
}

export default function ({ parentElement }) {
  const said = parentElement.querySelector(".said");
  const buttons = [...parentElement.querySelectorAll("[data-format]")];
  const tell = (text) => (said.textContent = text);
  for (const button of buttons) {
    button.onclick = async () => {
      for (const each of buttons) each.disabled = true;
      tell("");
      await saveStage(button.dataset.format, tell).catch((error) => tell(`It could not be drawn: ${error}`));
      for (const each of buttons) each.disabled = false;
    };
  }
}

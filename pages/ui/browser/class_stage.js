/* The page of the stage on a phone: the page around it (join_stage.js) calls `iclShow` with the scene of one snapshot. It
   has no clock to move: what a phone showed at another step would not be what the class speaks of. */

window.iclStage ??= { panels: new Map(), clocks: new Map() };
const night = window.matchMedia("(prefers-color-scheme: dark)");
const onPhone = new Stage(document.querySelector("main"), LOOK, () => {});
const where = h("p", { class: "where" });
const line = h("p", { class: "note" });
onPhone.head.append(where);
onPhone.place.after(line);
let shown = null;

const draw = () => {
  const theme = { dark: night.matches, projector: false };
  document.documentElement.toggleAttribute("data-dark", theme.dark);
  if (!shown) return;
  document.getElementById("title").textContent = shown.title;
  where.textContent = shown.clock ? `${shown.clock} ${shown.steps[0]} of ${shown.last}` : "";
  line.textContent = shown.line;
  onPhone.show(shown, 0, theme);
};

window.iclShow = (scene) => {
  shown = widened(scene);
  draw();
};
night.addEventListener("change", draw);
draw();

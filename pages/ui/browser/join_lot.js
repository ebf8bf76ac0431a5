/* The setting that a phone has drawn, and what it says: a part of the phones' page. */

async function drawSetting() {
  try {
    take(await ask("draw", { number: state.number }));
  } catch (problem) {
    refuse(problem);
  }
}
find("draw").onclick = drawSetting;

/* Show the phone's own setting, or the button that draws one; return whether there is a lot at all. */
function drawLot({ lot }) {
  find("draw").hidden = !lot || lot.own !== undefined;
  find("answers").hidden = lot?.own !== undefined; // what the setting says stands right below it
  show("own", lot?.own?.replaceAll(" = ", "\u00a0=\u00a0") ?? "");
  show("large", lot?.large ?? "");
  if (!lot) return false;
  show("before", "");
  show("ask", lot.own === undefined ? "Your class trains a model at many settings." : "Your setting");
  say(lot.says ?? `There are ${lot.of} settings. Draw yours, and see here what comes of it.`);
  return true;
}

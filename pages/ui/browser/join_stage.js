/* The stage on a phone: a page of its own in a frame (class_stage.js), which shows the snapshot at which the lecturer's
   clock rests, in place of the question. */

const STAGE_PAUSE = 1500; // milliseconds between two questions to the server while the stage is shown
const KEPT = 20; // scenes, so that the clock may go back without asking
const scenes = new Map(); // promises, by the stage's name, the oldest first
let frame = null;
let loading = null; // a promise, once the page of the stage has been asked for
let wanted; // the name of the stage that is to be seen: empty while there is none, undefined if the lecturer shows none

/* Show the stage of that name. What fails is tried again with the next answer of the server. */
async function follow(name) {
  wanted = name;
  find("stageless").hidden = name !== "";
  if (!name) return bring(false);
  try {
    const [scene] = await Promise.all([sceneOf(name), stagePage()]);
    if (name !== wanted) return;
    bring(true); // charts take the size of what is in sight
    if (frame.shown === name) return;
    frame.contentWindow.iclShow(scene);
    frame.shown = name;
  } catch {
    scenes.delete(name);
  }
}

const bring = (isStage) => {
  document.querySelector("main").hidden = isStage;
  if (frame) frame.hidden = !isStage;
};

const sceneOf = (name) => {
  if (!scenes.has(name)) scenes.set(name, ask("scene", { name }));
  if (scenes.size > KEPT) scenes.delete(scenes.keys().next().value);
  return scenes.get(name);
};

/* The page of the stage, once it has loaded; while it loads it is not asked for again, and one that has failed is. */
const stagePage = () => (loading ??= loadStage());

async function loadStage() {
  frame = Object.assign(document.createElement("iframe"), { title: "The stage", hidden: true, src: "class/stage" });
  document.body.append(frame);
  await new Promise((resolve) => (frame.onload = resolve));
  if (frame.contentWindow.iclShow) return;
  frame.remove();
  frame = loading = null;
  throw new Error("The page of the stage did not load.");
}

/* A phone in a class: it asks every one or two seconds what is shown, and sends what is answered. */

const PAUSE = 2000; // milliseconds between two questions to the server
const LONG_PAUSE = 5000; // after a refusal or without a connection
const AGAIN = new Set([429, 503]); // refusals after which the phone asks again by itself
const KEY = "icl phone";

const find = (id) => document.getElementById(id);
const [enter, choices, form, field] = ["enter", "choices", "number", "value"].map(find);

/* A random name of this phone, kept in it alone. Where a browser keeps nothing, it lasts as long as the page. */
function ownKey() {
  const random = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  try {
    const key = localStorage.getItem(KEY) ?? random.join("");
    localStorage.setItem(KEY, key);
    return key;
  } catch {
    return random.join("");
  }
}

const phone = ownKey();
let code = "";
let state = {}; // what the server said last
let timer = 0;

const say = (text) => {
  if (find("said").textContent !== text) find("said").textContent = text;
};
const show = (id, text) => {
  find(id).textContent = text;
  find(id).hidden = !text;
};

/* Ask the server for something; an object, or a refusal with its status. */
async function ask(what, more) {
  const response = await fetch(`class/${what}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code, phone, ...more }),
  });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.say), { status: response.status });
  return answer;
}

function later(pause) {
  clearTimeout(timer);
  timer = setTimeout(look, pause);
}

/* Ask what is shown, and again after a while. */
async function look() {
  clearTimeout(timer);
  if (document.hidden || !code) return; // a phone in a pocket is silent
  try {
    take(await ask("state", { version: state.version }));
    later(state.stage ? STAGE_PAUSE : PAUSE);
  } catch (problem) {
    refuse(problem);
  }
}

async function vote(answer) {
  try {
    take(await ask("vote", { number: state.number, round: state.round, answer }));
  } catch (problem) {
    refuse(problem);
  }
}

/* Say why something was refused; a code that is none may be entered anew. */
function refuse({ message, status }) {
  if (status === undefined) {
    bring(false); // a stage that stands still would look as if the lecturer's did
    say("No connection to the class. This page tries again.");
  } else {
    say(message);
  }
  if (status === undefined || AGAIN.has(status)) return later(LONG_PAUSE);
  if (status === 404 || status === 410 || (status === 400 && !state.version)) return leave();
  later(LONG_PAUSE); // the sentence stands for a while
}

function leave() {
  code = "";
  state = {};
  follow();
  show("class", "");
  show("before", "");
  show("ask", "Join your class");
  drawLot({});
  choices.hidden = form.hidden = drawing.hidden = true;
  enter.hidden = false;
}

/* Take what the server says, and draw it if it is new. */
function take(answer) {
  if (answer.ask === undefined && answer.version === state.version) {
    draw(state);
    return;
  }
  const isOther = !state.version || answer.number !== state.number || answer.round !== state.round;
  state = answer;
  if (isOther) build(answer);
  draw(answer);
}

/* Put the question and its answers in place. */
function build(shown) {
  const { ask, choices: texts = [], curve } = shown;
  enter.hidden = true;
  show("class", `Class ${code}`);
  show("ask", ask ?? "Wait for the question.");
  choices.hidden = !texts.length;
  form.hidden = ask === undefined || texts.length > 0 || curve !== undefined;
  field.value = "";
  buildCurve(shown);
  choices.replaceChildren(
    ...texts.map((text, index) => {
      const button = document.createElement("button");
      const [bar, label, count] = ["bar", "label", "count"].map((name) => {
        const part = document.createElement("span");
        part.className = name;
        return part;
      });
      label.textContent = text;
      button.append(bar, label, count);
      button.onclick = () => vote(index);
      return button;
    }),
  );
}

/* A vote in words; what a choice has in brackets is left out. */
const inWords = (value, { choices: texts, unit }) =>
  value === null ? "" : texts.length ? `“${texts[value].split(" (")[0]}”` : `${value} ${unit}`.trim();

/* Mark the phone's own answer and, once they are open, how many gave each. */
function draw(shown) {
  drawCurve(shown);
  follow(shown.stage);
  if (drawLot(shown)) return;
  if (shown.ask === undefined) {
    say("It appears here by itself.");
    return;
  }
  const { opened, own, round, tally, right, curve, measured } = shown;
  const vote = own[round - 1];
  const first = curve ? "Thin: your first curve." : `First you said ${inWords(own[0], shown)}.`;
  show("before", round > 1 ? `Second vote. ${own[0] === null ? "" : first}` : "");
  const all = tally?.reduce((sum, count) => sum + count, 0);
  [...choices.children].forEach((button, index) => {
    const [bar, , count] = button.children;
    button.setAttribute("aria-pressed", index === vote);
    button.disabled = opened;
    bar.style.width = all ? `${(100 * tally[index]) / all}%` : "0";
    count.textContent = tally ? `${index === right ? "✓ " : ""}${tally[index]}` : index === vote ? "✓" : "";
  });
  find("value").parentElement.hidden = shown.choices.length > 0 || curve !== undefined || opened;
  find("number").querySelector("label").textContent = shown.unit ? `Your number, in ${shown.unit}` : "Your number";
  const mine = shown.choices.length || curve ? "Your answer is in." : `Your answer: ${inWords(vote, shown)}.`;
  const truth = measured ? " The thick curve was measured." : right === undefined ? "" : ` The answer: ${inWords(right, shown)}.`;
  if (opened) say(`${vote === null ? "You did not answer." : mine} The answers are open: see the screen.${truth}`);
  else if (vote === null) say("Your answer is counted without a name.");
  else say(`${mine} You may change it until the answers are opened.`);
}

function join(text) {
  code = text.trim().toUpperCase();
  history.replaceState(null, "", `?code=${encodeURIComponent(code)}`);
  say("");
  look();
}

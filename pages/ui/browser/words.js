/* A symbol of the paper's glossary says what it means, where the pointer rests on it or the keyboard comes to it: in any
   text of the page. Nothing is put into that text, which is Streamlit's. */

const REST = 250; // milliseconds
const SIDES = /[\p{L}\p{N}\p{M}_-]/u; // no D of 1-D, no Q under a tilde
const MINE = "[data-testid=stMain], [data-testid=stSidebar]";

const whole = (text, start, term) =>
  !SIDES.test(text[start - 1] ?? " ") && !SIDES.test(text[start + term.length] ?? " ");

/* Where a term of the list stands in a text so that `offset` lies within. */
function termAt(text, offset, terms) {
  for (const [term, meaning] of terms) {
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) {
      if (at <= offset && offset <= at + term.length && whole(text, at, term)) return { term, meaning, at };
    }
  }
}

function underPointer({ clientX: x, clientY: y }) {
  const there = document.caretPositionFromPoint?.(x, y);
  if (there) return [there.offsetNode, there.offset];
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? [range.startContainer, range.startOffset] : [];
}

class Words {
  constructor() {
    this.note = Object.assign(document.createElement("div"), { className: "meaning", role: "tooltip", hidden: true });
    document.body.append(this.note);
    this.ears = [
      ["pointermove", (event) => this.move(event)],
      ["focusin", (event) => this.reach(event.target)],
      ["focusout", () => this.hide()],
      ["scroll", () => this.hide()],
      ["keydown", (event) => event.key === "Escape" && this.hide()],
    ];
    for (const [what, hear] of this.ears) window.addEventListener(what, hear, true);
  }

  move(event) {
    window.clearTimeout(this.timer);
    if (event.pointerType !== "mouse" || event.buttons) return this.hide();
    if (!this.within(event)) this.hide();
    this.timer = window.setTimeout(() => this.look(event), REST);
  }

  within({ clientX: x, clientY: y }) {
    const box = this.box;
    return !this.note.hidden && box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  }

  look(event) {
    const [node, offset] = underPointer(event);
    if (node?.nodeType !== Node.TEXT_NODE || !node.parentElement?.closest(MINE)) return;
    if (node.parentElement.closest("input, textarea, code, table")) return;
    const found = termAt(node.textContent, offset, this.terms);
    if (!found) return;
    const range = document.createRange();
    range.setStart(node, found.at);
    range.setEnd(node, found.at + found.term.length);
    const box = range.getBoundingClientRect();
    const near = event.clientX >= box.left - 2 && event.clientX <= box.right + 2;
    if (near && event.clientY >= box.top && event.clientY <= box.bottom) this.say(`${found.term}: ${found.meaning}`, box);
  }

  reach(target) {
    const word = target.closest?.(".word");
    if (word) this.say(word.getAttribute("aria-label"), word.getBoundingClientRect());
  }

  say(text, box) {
    this.box = box;
    this.note.textContent = text;
    this.note.hidden = false;
    const { width } = this.note.getBoundingClientRect();
    this.note.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - width - 8))}px`;
    this.note.style.top = `${box.bottom + 6}px`;
  }

  hide() {
    this.note.hidden = true;
  }

  end() {
    window.clearTimeout(this.timer);
    for (const [what, hear] of this.ears) window.removeEventListener(what, hear, true);
    this.note.remove();
  }
}

export default function ({ parentElement, data }) {
  const words = (parentElement.iclWords ??= new Words());
  words.terms = data;
  return () => {
    words.end();
    delete parentElement.iclWords;
  };
}

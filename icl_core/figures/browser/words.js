/* A symbol of the paper's glossary says what it means where the pointer rests on it, in any text of the page, or
   where the keyboard comes to it. Nothing is put into the text, which is Streamlit's. */

const REST = 250; // milliseconds
const WORD_CHARACTERS = /[\p{L}\p{N}\p{M}_-]/u; // so there is no term in the D of 1-D, or in a Q under a tilde
const TEXTS = "[data-testid=stMain], [data-testid=stSidebar]";
const NO_TEXTS = "input, textarea, code, table";

const isWholeWord = (text, start, term) =>
  !WORD_CHARACTERS.test(text[start - 1] ?? " ") && !WORD_CHARACTERS.test(text[start + term.length] ?? " ");

/* The term that stands in a text at `offset`, with its meaning and where it starts. */
function termAt(text, offset, terms) {
  for (const [term, meaning] of terms) {
    for (let start = text.indexOf(term); start >= 0; start = text.indexOf(term, start + 1)) {
      const isHere = start <= offset && offset <= start + term.length;
      if (isHere && isWholeWord(text, start, term)) return { term, meaning, start };
    }
  }
}

/* The text node under the pointer, and the offset in it. */
function textAt({ clientX: x, clientY: y }) {
  const position = document.caretPositionFromPoint?.(x, y);
  if (position) return [position.offsetNode, position.offset];
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? [range.startContainer, range.startOffset] : [];
}

class Words {
  constructor() {
    this.note = Object.assign(document.createElement("div"), { className: "meaning", role: "tooltip", hidden: true });
    document.body.append(this.note);
    this.listeners = [
      ["pointermove", (event) => this.move(event)],
      ["focusin", (event) => this.focus(event.target)],
      ["focusout", () => this.hide()],
      ["scroll", () => this.hide()],
      ["keydown", (event) => event.key === "Escape" && this.hide()],
    ];
    for (const [type, listener] of this.listeners) window.addEventListener(type, listener, true);
  }

  move(event) {
    window.clearTimeout(this.timer);
    if (event.pointerType !== "mouse" || event.buttons) return this.hide();
    if (!this.isOnTerm(event)) this.hide();
    this.timer = window.setTimeout(() => this.explain(event), REST);
  }

  /* Whether the pointer is still on the term that is explained. */
  isOnTerm({ clientX: x, clientY: y }) {
    const box = this.box;
    return !this.note.hidden && box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  }

  explain(event) {
    const [node, offset] = textAt(event);
    if (node?.nodeType !== Node.TEXT_NODE || !node.parentElement?.closest(TEXTS)) return;
    if (node.parentElement.closest(NO_TEXTS)) return;
    const match = termAt(node.textContent, offset, this.terms);
    if (!match) return;
    const range = document.createRange();
    range.setStart(node, match.start);
    range.setEnd(node, match.start + match.term.length);
    const box = range.getBoundingClientRect();
    // the browser names the nearest text, also if the pointer is beside it
    const { clientX: x, clientY: y } = event;
    const isNear = x >= box.left - 2 && x <= box.right + 2 && y >= box.top && y <= box.bottom;
    if (isNear) this.show(`${match.term}: ${match.meaning}`, box);
  }

  focus(target) {
    const word = target.closest?.(".word");
    if (word) this.show(word.getAttribute("aria-label"), word.getBoundingClientRect());
  }

  show(text, box) {
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
    for (const [type, listener] of this.listeners) window.removeEventListener(type, listener, true);
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

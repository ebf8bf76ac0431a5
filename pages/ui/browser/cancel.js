/* A button that cancels something says at once that it is being done: the server answers later, above all while it
   computes. The words are the style's (page.css), as Streamlit owns the button's own. */

const CANCEL = '[class*="st-key-cancel"] button';
const ANSWERED = 5000; // milliseconds after which a button that still stands there can be pressed again

/* Answer presses; return the function that ends it. */
const answerCancel = () => {
  const answer = (event) => {
    const button = event.target.closest?.(CANCEL);
    if (!button) return;
    if (button.dataset.cancelling) return event.stopImmediatePropagation(); // by a key, too
    button.dataset.cancelling = "true";
    button.setAttribute("aria-label", "Cancelling");
    window.setTimeout(() => {
      delete button.dataset.cancelling;
      button.removeAttribute("aria-label");
    }, ANSWERED);
  };
  window.addEventListener("click", answer, true);
  return () => window.removeEventListener("click", answer, true);
};

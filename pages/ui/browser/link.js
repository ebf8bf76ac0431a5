/* The link to what is on screen: a button copies it, its QR code fills the window when it is pressed. */

/* Copy a text. Browsers have a clipboard only where pages are safe, on https and on localhost; in a plain network an
   older way is left. Returns whether it was copied. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.style.cssText = "position:fixed;opacity:0";
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
}

export default function ({ parentElement, data }) {
  const find = (query) => parentElement.querySelector(query);
  find(".link").textContent = data.link;
  find(".said").textContent = "";
  find(".copy").onclick = async () => {
    find(".said").textContent = (await copy(data.link)) ? "Copied" : "Not copied: select the link";
  };
  const [code, large, dialog] = [".code", ".large", "dialog"].map(find);
  for (const button of [code, large]) button.innerHTML = data.code; // an SVG that the server has drawn
  code.hidden = !data.code;
  code.onclick = () => dialog.showModal(); // above everything, wherever the button stands
  large.onclick = () => dialog.close();
}

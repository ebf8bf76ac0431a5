/* What the pages show comes in scripts, as a page that is opened from a disk may load nothing else. Each calls `iclTake`
   with its name and one value: JSON, compressed, in base64. */

const KEPT = 60; // values of which the newest are kept
const values = new Map(); // promises, by name, the oldest first
const taking = new Map(); // who waits for a script, by name

window.iclTake = (name, text) => {
  taking.get(name)?.(unpackText(text));
  taking.delete(name);
  values.get(name)?.catch(() => values.delete(name)); // it may be loaded again
};

const unpackText = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return widened(JSON.parse(await new Response(stream).text()));
};

/* Maps come in three bytes a number, as the dashboard sends them (figures/browser/parts.js). */
const widened = (value) => {
  for (const { whole, frames = [] } of value?.panels ?? value?.opening?.panels ?? []) {
    for (const { data } of whole ? [whole, ...frames] : frames) data.forEach(iclWiden);
  }
  return value;
};

/* The value called `name`, as a promise, which is rejected if there is none. */
const load = (name) => {
  const value = values.get(name) ?? begin(name);
  values.delete(name);
  values.set(name, value); // the newest now
  if (values.size > KEPT) values.delete(values.keys().next().value);
  return value;
};

const begin = (name) =>
  new Promise((resolve, reject) => {
    taking.set(name, resolve);
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    const end = () => {
      script.remove();
      if (!taking.delete(name)) return; // it has come
      values.delete(name);
      reject(new Error(`The site has no file data/${name}.js, or it is damaged.`));
    };
    script.onload = end; // a host may answer with a page of its own
    script.onerror = end;
    document.head.append(script);
  });

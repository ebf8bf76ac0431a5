/* The address is the state of the page, in the same fields as in the dashboard: `#birth?experiment=induction&step=300`.
   It stands behind the #, so that the site needs no server. */

const PAGE_FIELDS = ["experiment", "preset", "step", "drawer", "beat", "tour", "lesson", "marks", "end", "panel"];
const LASTING_FIELDS = ["projector", "embed"];

const pick = (fields, names) => Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));

/* The page and the fields that an address asks for. */
const readAddress = (hash = location.hash) => {
  const [page, query = ""] = hash.replace(/^#/, "").split("?");
  return { page, fields: Object.fromEntries(new URLSearchParams(query)) };
};

const addressOf = (page, fields) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  const query = new URLSearchParams(given).toString();
  return `#${page}${query ? `?${query}` : ""}`;
};

/* The fields of the present address that stay from page to page. */
const lasting = () => pick(readAddress().fields, LASTING_FIELDS);

/* Go to a state of the site; `stays` does so without a step for the browser's Back. */
const go = (page, fields, stays = false) => {
  const address = addressOf(page, { ...lasting(), ...fields });
  if (address === location.hash) return;
  if (stays) location.replace(address);
  else location.hash = address;
};

/* Change some fields of the present state; an empty one is left out. */
const change = (fields, stays = false) => {
  const { page, fields: present } = readAddress();
  go(page, { ...present, ...fields }, stays);
};

/* The settings and view fields among the fields of an address. */
const knobFields = (fields) => {
  const own = Object.entries(fields).filter(([name]) => ![...PAGE_FIELDS, ...LASTING_FIELDS].includes(name));
  return Object.fromEntries(own);
};

/* Fields as one text, by which views are found (scenes.py). */
const queryOf = (fields) =>
  Object.keys(fields)
    .sort()
    .map((name) => `${name}=${fields[name]}`)
    .join("&");

/* Have the links of the dashboard in a part of the page lead to the same states of the site. */
const ownLinks = (root) => {
  for (const link of root.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href");
    if (/^[a-z]+:/.test(href) || href.startsWith("#")) {
      if (href.startsWith("http")) Object.assign(link, { target: "_blank", rel: "noopener" });
      continue;
    }
    const { page, fields } = readAddress(href);
    link.setAttribute("href", addressOf(page, { ...lasting(), ...fields }));
    link.removeAttribute("target");
  }
  return root;
};

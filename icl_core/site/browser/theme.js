/* Figures come in the light theme. Here they are drawn in the dark one and enlarged for a projector, as the core does it
   (figures/style.py). */

const IN_TEXT = /(color:)(#\w{6})/g;

const swapped = (value, colours) => {
  if (typeof value === "string") {
    return (colours[value] ?? value).replace(IN_TEXT, (_, before, colour) => before + (colours[colour] ?? colour));
  }
  if (Array.isArray(value)) return value.map((item) => swapped(item, colours));
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, swapped(item, colours)]));
};

const enlargedForRoom = (value, larger, name = "") => {
  if (Array.isArray(value)) return value.map((item) => enlargedForRoom(item, larger));
  if (value && typeof value === "object") {
    const prefix = name === "margin" || name.endsWith("font") ? `${name}.` : "";
    const parts = Object.entries(value).map(([key, item]) => [key, enlargedForRoom(item, larger, prefix + key)]);
    return Object.fromEntries(parts);
  }
  if (typeof value !== "number") return value;
  if (name.endsWith("font.size")) return Math.max(larger.text, value * larger.factor);
  const grows = name.startsWith("margin.") || ["xshift", "yshift", "standoff"].includes(name);
  return grows ? value * larger.factor : value;
};

/* A trace with a line that is wide enough for a room, if it draws one: `whole` is the trace as its figure has it. */
const widerLine = (trace, whole, { line: least }) => {
  const { type, mode, line } = { ...whole, ...trace };
  const width = line?.width ?? 2;
  const isLine = (type ?? "scatter") === "scatter" && (mode ?? "lines").includes("lines") && width;
  return isLine ? { ...trace, line: { ...line, width: Math.max(least, width) } } : trace;
};

/* A figure in a theme, or a frame of the figure `whole`: `dark` and `projector` are what the visitor has chosen. */
const themed = (part, { dark, projector }, { colours, larger }, whole = part) => {
  const shown = dark ? { ...part, data: swapped(part.data, colours), layout: swapped(part.layout, colours) } : part;
  if (!projector) return shown;
  const data = shown.data.map((trace, place) => {
    const grown = enlargedForRoom(trace, larger);
    if (!part.traces) return widerLine(grown, grown, larger);
    return trace.line ? widerLine(grown, whole.data[part.traces[place]], larger) : grown; // a frame has what changes
  });
  return { ...shown, data, layout: enlargedForRoom(shown.layout, larger) };
};

const themeName = ({ dark, projector }) => `${dark ? "dark" : "light"}${projector ? " projector" : ""}`;

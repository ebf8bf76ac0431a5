/* What an address asks for: which experiment, preset, run and view, and what the site has of it. */

const PROBLEM = "The site has no run of these settings: they need the dashboard, which trains them. You see the nearest that it has.";

/* The file of the run that has these values of the settings in which runs differ, best `first`. */
const fileOf = (texts, values, first) => {
  const wanted = String(values);
  if (String(texts.runs[first].values) === wanted) return first;
  return Object.keys(texts.runs).find((file) => String(texts.runs[file].values) === wanted);
};

/* The run of a preset: its file, and what is known of it. */
const runOfPreset = (texts, preset) => Object.entries(texts.runs).find(([, { presets }]) => presets.includes(preset.name));

/* The one of `all` called `name`, else the first; a name that is none of them adds a sentence to `problems`. */
const pickNamed = (all, name, what, problems) => {
  const found = all.find((other) => other.name === name);
  if (name !== undefined && !found) problems.push(`There is no ${what} ${name} here. You see ${all[0].name}.`);
  return found ?? all[0];
};

/* The sentence that leads into a paper, where the tour through all papers enters it; and whether a tour enters an
   experiment. */
const entering = async (site, paper, { tour, beat, experiment }) => {
  const stops = Object.hasOwn(site.tours, tour ?? "") ? site.tours[tour] : [];
  const here = stops.findIndex((stop) => isStop(stop, paper, experiment, beat));
  const before = stops[here - 1];
  const begins = here >= 0 && (!before || before[0] !== paper || before[1] !== experiment);
  const entersPaper = tour === "all" && before && before[0] !== paper;
  return { begins, bridge: entersPaper ? (await load(paper)).bridge : "" };
};

/* The state of a paper's page that the address names. Rejected if a file of it cannot be loaded. */
const readState = async (site, paper, lessons, fields, theme) => {
  const problems = [];
  const lesson = lessons.find((other) => other.name === fields.lesson && other.paper === paper) ?? null;
  if (fields.lesson && !lesson) problems.push(`There is no lesson ${fields.lesson} here.`);
  const { experiments } = site.papers.find(({ name }) => name === paper);
  const { name } = pickNamed(experiments, lesson?.experiment ?? fields.experiment, "experiment", problems);
  const id = `${paper}.${name}`;
  const texts = await load(id);
  if (!texts.presets.length) throw new Error(`The site has no run of the experiment ${name}.`);
  const preset = pickNamed(texts.presets, lesson?.preset ?? fields.preset, "preset", problems);
  const [first, run] = runOfPreset(texts, preset);
  const linked = lesson?.fixes ? pick(knobFields(fields), Object.keys(run.base)) : knobFields(fields);
  const asked = { ...linked, ...(lesson?.fixed ?? {}) };
  const values = texts.fields.map((field, at) => asked[field] ?? run.values[at]);
  const runFile = fileOf(texts, values, first) ?? first;
  const isOwn = String(values) !== String(run.values);
  const { base, views, drawers, values: shown } = texts.runs[runFile];
  const others = Object.entries(asked).filter(([field, value]) => field in base && base[field] !== value && field !== "snapshot");
  const view = Object.fromEntries(others);
  const variant = views[queryOf(view)];
  const choices = Object.values(drawers).flatMap(({ knobs }) => knobs.map((knob) => knob.name));
  const isUnknownView = !variant && Object.keys(view).some((field) => !choices.includes(field));
  const known = [...texts.fields, ...Object.keys(base), "snapshot", "version"];
  const needsMore = Object.keys(asked).some((field) => !known.includes(field));
  if (isUnknownView || needsMore || String(shown) !== String(values)) problems.push(PROBLEM);
  const own = variant ? await load(`${id}/${variant}`) : null;
  const plain = await load(`${id}/${runFile}`);
  const untouched = pick(view, Object.keys(view).filter((field) => !texts.replaced.includes(field)));
  const calm = views[queryOf(untouched)];
  const storyOf = lesson?.preset ?? texts.presets[0].name;
  const isStorys = preset.name === storyOf && !isOwn;
  const beats = isStorys ? (texts.beats[storyOf] ?? []) : [];
  if (fields.beat && beats.length && !beats.some((beat) => beat.name === fields.beat)) {
    problems.push(`There is no beat ${fields.beat} here; there are ${beats.map((beat) => beat.name).join(", ")}.`);
  }
  return {
    id, name, paper, texts, preset, values: shown, isOwn, fields, theme, lesson, problems, view, runFile, beats,
    scene: alone(withView(plain, own), fields.panel),
    // with nothing put in place of parts of the model, which would tell what comes of it
    untouched: alone(withView(plain, calm ? await load(`${id}/${calm}`) : null), fields.panel),
    file: variant ?? runFile,
    isVariant: Boolean(variant),
    ownDrawers: own?.drawers ?? [],
    drawerChoices: drawers,
    hasStory: Object.values(texts.beats).some(({ length }) => length),
    task: texts.tasks[runFile],
    next: experiments[experiments.findIndex((other) => other.name === name) + 1],
    tries: texts.tries,
    ...(await entering(site, paper, { ...fields, experiment: name })),
  };
};

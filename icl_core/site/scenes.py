"""Which runs and views of an experiment the site shows, and under which names it finds them.

A *scene* is a run with a view. Of every preset's shipped run the site has the view that the preset
begins with; of the runs of beats, tries, lessons and claims also the views that these set; and of
each run of the atlas the experiment's own view.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Experiment, Preset
from icl_core.contract.knobs import BadSetting
from icl_core.contract.lesson import Lesson
from icl_core.contract.settings_io import value_text
from icl_core.contract.story import Try
from icl_core.runs import store
from icl_core.runs.header import Header, key_of
from icl_core.runs.store import Store
from icl_core.sweeps import atlas

MOST_VIEWS = 64  # of a drawer


@cache
def shipped_runs() -> Store:
    """Return the shipped runs alone, whatever has been trained on this computer."""
    return Store(store.default().shipped, Path("/nowhere"))


@dataclass
class ShownRun:
    """A run of the site.

    name     its file's name: "r3"
    config   its settings, as an address asks for them: with one seed where a preset does
    base     the view that it begins with
    presets  the names of the presets that show it; none for a run of the atlas
    views    the fields of other views, by the name of their files: "r3-2"
    """

    name: str
    header: Header
    config: Any
    base: Any
    presets: list[str] = field(default_factory=list)
    views: dict[str, dict[str, Any]] = field(default_factory=dict)


class Scenes:
    """The scenes of an experiment."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.experiment: Experiment = registry.experiment(id)
        self.runs: list[ShownRun] = []
        self._by_config: dict[Any, ShownRun] = {}
        for preset in self.experiment.presets:
            self._add_preset(preset)
        for config in atlas.configs(id):
            header = shipped_runs().atlases.headers(id).get(key_of(id, config))
            if header and config not in self._by_config:
                self._add(header, config, self.experiment.view())
        for preset, fields in self._views():
            self._add_view(preset, fields)

    def _add_preset(self, preset: Preset) -> None:
        header = shipped_runs().preset(self.id, preset.name)
        if header is None:
            return
        base = self.experiment.view(**preset.view)
        run = self._by_config.get(preset.config)
        if run is None or run.base != base:
            run = self._add(header, preset.config, base)
        run.presets.append(preset.name)

    def _add(self, header: Header, config: Any, base: Any) -> ShownRun:
        run = ShownRun(f"r{len(self.runs)}", header, config, base)
        self.runs.append(run)
        self._by_config.setdefault(config, run)
        return run

    def run_of(self, preset: str) -> ShownRun | None:
        """Return the run of a preset; None if none is shipped."""
        return next((run for run in self.runs if preset in run.presets), None)

    def find(self, preset: str, fields: Mapping[str, Any]) -> ShownRun | None:
        """Return the run of a preset with some settings changed; None if the site has none."""
        run = self.run_of(preset)
        settings = {name: value for name, value in fields.items() if name in self._settings}
        if run is None or not settings:
            return run
        with suppress(BadSetting):
            return self._by_config.get(replace(run.config, **settings))
        return None

    @property
    def lessons(self) -> list[Lesson]:
        """The lessons on the experiment."""
        return [
            lesson
            for paper, lesson in registry.lessons().values()
            if f"{paper.name}.{lesson.experiment}" == self.id
        ]

    @property
    def _settings(self) -> Mapping[str, Any]:
        return knobs.knobs_of(self.experiment.config)

    def _views(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield a preset and fields for all that leads to a view of its own: beats, tries and
        lessons."""
        first = self.experiment.presets[0].name
        story = self.experiment.story
        lessons = self.lessons
        if story:
            for preset in dict.fromkeys([first, *(lesson.preset for lesson in lessons)]):
                for beat in story.beats:
                    yield preset, beat.view
            for item in story.tries:
                yield item.preset or first, item.fields
        for lesson in lessons:
            yield lesson.preset, lesson.fixed
            for note in lesson.notes:
                yield note.show.preset or lesson.preset, note.show.fields

    def _add_view(self, preset: str, fields: Mapping[str, Any]) -> None:
        run = self.find(preset, fields)
        if run is None:
            return
        base = knobs.values(run.base)
        changed = {
            name: value
            for name, value in fields.items()
            if name in base and value != base[name] and name != "snapshot"
        }
        if changed and changed not in run.views.values():
            with suppress(BadSetting):  # a view may refuse the combination
                replace(run.base, **changed)
                run.views[f"{run.name}-{len(run.views) + 1}"] = changed

    def is_shown(self, preset: str, fields: Mapping[str, Any]) -> bool:
        """Return whether the site shows a preset's run with some fields set."""
        run = self.find(preset, fields)
        if run is None:
            return False
        base = knobs.values(run.base)
        changed = {name: value for name, value in fields.items() if base.get(name, value) != value}
        return not changed or changed in run.views.values()

    def drawer_knobs(self, run: ShownRun) -> dict[str, list[str]]:
        """Return, by drawer, the choices beside its figures that the site can answer: those of the
        run of the first preset that stand in one drawer alone."""
        if self.experiment.presets[0].name not in run.presets:
            return {}
        view_knobs = knobs.knobs_of(self.experiment.view)
        by_drawer: dict[str, list[str]] = {}
        for name, knob in view_knobs.items():
            places = {
                drawing.place
                for drawing in self.experiment.drawings
                if name in drawing.knobs and drawing.applies(run.config)
            } - {STAGE}
            is_shown = not knob.shown_if or getattr(run.config, knob.shown_if)
            if len(places) == 1 and knob.kind in ("choice", "toggle") and is_shown:
                by_drawer.setdefault(places.pop(), []).append(name)
        return by_drawer

    def drawer_views(self, run: ShownRun, fields: list[str]) -> list[dict[str, Any]]:
        """Return the views that a drawer's choices lead to: all their combinations, or where these
        are more than MOST_VIEWS one choice at a time."""
        view_knobs = knobs.knobs_of(self.experiment.view)
        base = knobs.values(run.base)
        choices = {name: list(view_knobs[name].options) or [False, True] for name in fields}
        if prod(map(len, choices.values())) <= MOST_VIEWS:
            combined = [
                dict(zip(choices, values, strict=True)) for values in product(*choices.values())
            ]
        else:
            combined = [{name: value} for name, values in choices.items() for value in values]
        changed = [
            {name: value for name, value in fields.items() if value != base[name]}
            for fields in combined
        ]
        return [fields for fields in changed if fields]

    def _drawers(self, run: ShownRun) -> dict[str, Any]:
        """Return the choices of each drawer with their options, and the views that they lead to, by
        the number of their file."""
        view_knobs = knobs.knobs_of(self.experiment.view)
        drawers: dict[str, Any] = {}
        for drawer, fields in self.drawer_knobs(run).items():
            options: list[dict[str, Any]] = []
            for name in fields:
                labels = view_knobs[name].options or {"false": "no", "true": "yes"}
                options.append(
                    {"name": name, "label": view_knobs[name].label, "options": dict(labels)}
                )
            views = self.drawer_views(run, fields)
            files = {view_query(view): number for number, view in enumerate(views)}
            drawers[drawer] = {"knobs": options, "views": files}
        return drawers

    def index(self) -> dict[str, Any]:
        """Return what the browser finds a scene by.

        fields   the settings in which the runs differ
        runs     of each run its values of these, as texts; its presets; its base view; its views
        """
        defaults = knobs.values(self.runs[0].config) if self.runs else {}
        fields = [
            name
            for name in defaults
            if len({value_text(getattr(run.config, name)) for run in self.runs}) > 1
        ]
        runs: dict[str, Any] = {}
        for run in self.runs:
            runs[run.name] = {
                "values": [value_text(getattr(run.config, name)) for name in fields],
                "presets": run.presets,
                "base": {name: value_text(value) for name, value in knobs.values(run.base).items()},
                "views": {view_query(view): name for name, view in run.views.items()},
                "drawers": self._drawers(run),
            }
        return {"fields": fields, "runs": runs}


def view_query(fields: Mapping[str, Any]) -> str:
    """Return fields as the browser's address.js writes them: sorted, as name=value joined by &."""
    return "&".join(f"{name}={value_text(fields[name])}" for name in sorted(fields))


def try_query(scenes: Scenes, item: Try, preset: str = "") -> dict[str, str]:
    """Return the address of something to try, without the fields that are the preset's: that of the
    try, or else `preset`, or the first."""
    presets = {preset.name: preset for preset in scenes.experiment.presets}
    first = scenes.experiment.presets[0]
    shown = presets[item.preset or preset or first.name]
    base = {**knobs.values(shown.config), **knobs.values(scenes.experiment.view(**shown.view))}
    query = {"experiment": scenes.id.partition(".")[2]}
    if shown != first:
        query["preset"] = shown.name
    query |= item.sight
    for name, value in item.fields.items():
        if value != base[name]:
            query[name] = value_text(value)
    return query

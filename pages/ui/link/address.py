"""The address of a page is its state: experiment, preset and every knob are read from it and
written to it.

A link, the browser's Back and a second window therefore all show the same thing. A widget shows
what the address says, and its callback writes what the visitor chose. The address leaves out a
field whose value is the preset's.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Experiment, Paper, Preset
from icl_core.contract.knobs import BadSetting, Knob
from icl_core.contract.lesson import Lesson
from icl_core.contract.message import sentence
from icl_core.contract.settings_io import value_text
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.header import Header
from icl_core.runs.request import Request
from pages.ui.link import lesson_rules, pending_address

# A step of the address has fewer digits: Python refuses to read a very long number.
STEP_DIGITS = 10
# Fields that stay in the address when the visitor chooses another preset or experiment.
_LASTING_FIELDS = ("projector", "at_once")
# Fields of the page itself that a link to the same state repeats.
LINKED_FIELDS = (
    "step",
    "drawer",
    "cell",
    "kept",
    "beat",
    "tour",
    "lesson",
    "at_once",
    "sweep",
    "sweep_seeds",
    "metric",
)
# Fields that belong to the page; every other field of the address is a knob.
_PAGE_FIELDS = (
    "experiment",
    "preset",
    "version",
    "marks",
    *LINKED_FIELDS,
    *_LASTING_FIELDS,
)


@dataclass(frozen=True)
class Setting:
    """What the address asks for.

    id          the experiment's id, paper.name
    name        the experiment's name within its paper
    config      a valid config: of the `chosen` values or, if these are refused, the last valid one
    chosen      the values of the config's fields as the visitor chose them
    warnings    sentences about what the address asks for and cannot have
    refused     why the experiment refuses `chosen`; empty if it accepts them
    lesson      the lesson that is open
    stored      the run of the config, if there is one
    """

    id: str
    name: str
    experiment: Experiment
    preset: Preset
    config: Any
    chosen: dict[str, Any]
    view: Any
    warnings: tuple[str, ...]
    refused: str = ""
    lesson: Lesson | None = None
    stored: Header | None = None

    @property
    def paper(self) -> str:
        """The paper's name."""
        return self.id.partition(".")[0]

    @cached_property
    def request(self) -> Request:
        """The request for the run of the config."""
        return Request(self.id, self.config)

    @cached_property
    def view_knobs(self) -> Mapping[str, Knob]:
        """The knobs of the view's fields, by name."""
        return knobs.knobs_of(self.experiment.view)

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The fields that the lesson sets, and their values."""
        return self.lesson.fixed_fields(self.preset.config) if self.lesson else {}

    @cached_property
    def base_view(self) -> Any:
        """The view that the preset starts from."""
        return base_view(self.experiment, self.preset)

    @cached_property
    def trained_fields(self) -> dict[str, Any]:
        """The preset's values of the view's fields that replace parts of the trained model."""
        replacements = self.experiment.replaced
        fields = replacements.fields if replacements else ()
        return {field: getattr(self.base_view, field) for field in fields}


def read(paper: Paper) -> Setting:
    """Return the setting that the address asks `paper` for.

    What the address asks for and cannot have is left out; `warnings` of the setting name it.
    """
    warnings: list[str] = []
    lesson = lesson_rules.requested_lesson(paper, warnings)
    name = lesson.experiment if lesson else _pick("experiment", tuple(paper.experiments), warnings)
    id = f"{paper.name}.{name}"
    experiment = registry.experiment(id)
    presets = {preset.name: preset for preset in experiment.presets}
    preset_name = lesson_rules.lesson_preset(lesson, warnings)
    preset = presets[preset_name or _pick("preset", tuple(presets), warnings)]
    _check_version(id, warnings)
    _check_step(warnings)

    all_knobs = {**knobs.knobs_of(experiment.config), **knobs.knobs_of(experiment.view)}
    # Old links may have fields that the experiment has given up; these change nothing.
    ignored = (*_PAGE_FIELDS, *getattr(experiment.view, "GONE", ()))
    texts = {field: text for field, text in st.query_params.items() if field not in ignored}
    current_names = {field: settings_io.current_name(all_knobs, field) for field in texts}
    values = _parse(
        {current_names[field]: text for field, text in texts.items()}, all_knobs, warnings
    )
    fixed = lesson.fixed_fields(preset.config) if lesson else {}
    unread = [
        field
        for field in texts
        if current_names[field] not in values or current_names[field] in fixed
    ]
    values = lesson_rules.apply_lesson(lesson, preset, values, warnings)

    view = _view(experiment, preset, values, warnings)
    chosen = _chosen(experiment, preset, values)
    config, refused = _config(id, experiment, preset, chosen)
    st.session_state["id"] = id
    st.session_state["unread"] = unread
    st.session_state["former"] = {
        current: field for field, current in current_names.items() if current != field
    }
    stored = None if refused else store.default().find(Request(id, config))
    return Setting(
        *(id, name, experiment, preset, config, chosen, view, tuple(warnings), refused, lesson),
        stored,
    )


def shown_id() -> str:
    """Return the id of the experiment that the page shows; empty if it shows none."""
    return st.session_state.get("id", "")


def is_shown(id: str) -> bool:
    """Return whether the page shows the experiment of that id."""
    return shown_id() == id


def base_view(experiment: Experiment, preset: Preset) -> Any:
    """Return the view that a preset starts from."""
    return experiment.view(**preset.view)


def with_current_view(setting: Setting) -> Setting:
    """Return the setting with the address's present view.

    A fragment runs again without the page around it, whose setting may be older than the address.
    """
    with suppress(BadSetting):
        choices = current_choices(setting, setting.view_knobs)
        return replace(setting, view=replace(setting.view, **choices))
    return setting


def current_choices(setting: Setting, fields: Iterable[str]) -> dict[str, Any]:
    """Return the address's present values of the view's `fields`; the view may refuse them."""
    base = knobs.values(setting.base_view)
    query = st.query_params
    texts = {field: query.get(field, value_text(base[field])) for field in fields}
    values = _parse(texts, setting.view_knobs, [])  # the page itself warns of what cannot be read
    choices = {field: values.get(field, getattr(setting.view, field)) for field in texts}
    return choices | {field: setting.fixed[field] for field in choices if field in setting.fixed}


def refusal(setting: Setting, chosen: dict[str, Any]) -> str:
    """Return why the view refuses the `chosen` values; empty if it accepts them or the page has
    said why."""
    try:
        replace(setting.view, **chosen)
    except BadSetting as error:
        is_said = any(warning.startswith(str(error)) for warning in setting.warnings)
        return "" if is_said else str(error)
    return ""


def write(field: str, value: Any, base: Any) -> None:
    """Put a knob's value into the address, or take it out if it is `base`, the preset's.

    What could not be read of the address is dropped.
    """
    write_all({field: (value, base)})


def write_all(fields: Mapping[str, tuple[Any, Any]]) -> None:
    """Put several values into the address at once, each given with the preset's.

    Every change of the address is a step for the browser's Back: this is one. A preset's value is
    left out, unless a document in the address would set another in its place.
    """
    fitted = _fitted_fields({field: value for field, (value, _) in fields.items()})
    former = st.session_state.get("former", {})
    drop = {
        "version",
        *st.session_state.get("unread", []),
        *(former.get(field) for field in fields),
        *fields,
    }
    put = {
        field: value_text(value)
        for field, (value, base) in fields.items()
        if value != base or field in fitted
    }
    pending_address.change(put, drop=drop)


def _fitted_fields(changes: Mapping[str, Any]) -> set[str]:
    """Return the fields that the documents of the address would set after `changes` to it."""
    if "id" not in st.session_state:
        return set()
    config = registry.experiment(st.session_state["id"]).config
    values = {field: knob.default for field, knob in knobs.knobs_of(config).items()}
    query = pending_address.current_query()
    for field, knob in knobs.knobs_of(config).items():
        if knob.kind == "document":
            values[field] = changes.get(field, query.get(field, ""))
    return settings_io.fitted_fields(config, values)


def go(**fields: str) -> None:
    """Replace all settings of the address by `fields`.

    The projector's field stays, and so does the lesson within its experiment.
    """
    pending_address.write({**lasting_query(), **lesson_rules.lesson_query(fields), **fields})


def lasting_query() -> dict[str, str]:
    """Return the fields of the address that stay wherever the visitor goes."""
    query = pending_address.current_query()
    return {name: query[name] for name in _LASTING_FIELDS if name in query}


def _pick(field: str, names: tuple[str, ...], warnings: list[str]) -> str:
    """Return the name in the address's `field`, or the first of `names` if it is none of them."""
    name = st.query_params.get(field, names[0])
    if name in names:
        return name
    warnings.append(f"{knobs.unknown_name(field, name, names)}. You see {names[0]}.")
    return names[0]


def _check_version(id: str, warnings: list[str]) -> None:
    current = str(registry.version(id))
    linked = st.query_params.get("version", current)
    if linked != current:
        warnings.append(
            f"This link was made with version {linked:.20} of the experiment; this is version "
            f"{current}."
        )


def _check_step(warnings: list[str]) -> None:
    step = st.query_params.get("step", "0")
    if not (step.isdecimal() and len(step) < STEP_DIGITS):
        warnings.append(
            f"step must be a whole number from 0, got {step!r:.80}. You see the preset's."
        )


def _parse(
    texts: dict[str, str], all_knobs: Mapping[str, Knob], warnings: list[str]
) -> dict[str, Any]:
    """Return the values of the fields whose text can be read and is within the knob's range."""
    values: dict[str, Any] = {}
    for field, text in texts.items():
        if field not in all_knobs:
            warnings.append(sentence(str(settings_io.no_setting(field, all_knobs))))
            continue
        try:
            value = all_knobs[field].parse(field, text)
            all_knobs[field].check(field, value)
            values[field] = value
        except BadSetting as error:
            warnings.append(f"{error}. The preset's value is used.")
    return values


def _fields_of(settings: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return those of `values` that are fields of a class of settings."""
    return {field: values[field] for field in knobs.knobs_of(settings) if field in values}


def _view(
    experiment: Experiment, preset: Preset, values: dict[str, Any], warnings: list[str]
) -> Any:
    """Return the preset's view with `values`, without those that the view refuses."""
    view = base_view(experiment, preset)
    view_values = _fields_of(experiment.view, values)
    with suppress(BadSetting):
        return replace(view, **view_values)
    for field, value in view_values.items():  # one by one: a refused value takes no other with it
        try:
            view = replace(view, **{field: value})
        except BadSetting as error:
            warnings.append(f"{error}. The preset's value is used.")
    return view


def _chosen(experiment: Experiment, preset: Preset, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all fields of the config: those of the address, those that its documents
    set, and the preset's."""
    base = knobs.values(preset.config)
    named = _fields_of(experiment.config, values)
    try:
        return settings_io.with_documents(experiment.config, base, named)
    except BadSetting:  # a document is not here: the config says so
        return {**base, **named}


def _config(
    id: str, experiment: Experiment, preset: Preset, chosen: dict[str, Any]
) -> tuple[Any, str]:
    """Return the config of the `chosen` values and "", or the last valid config and the reason why
    they are refused. Settings that are too large to be trained here are refused unless their run is
    there."""
    try:
        config = experiment.config(**chosen)
    except knobs.TooLarge as error:
        with device.no_memory_check():
            config = experiment.config(**chosen)
        if store.default().find(Request(id, config)) is None:
            return _last_valid(id, preset), str(error)
    except BadSetting as error:
        return _last_valid(id, preset), str(error)
    st.session_state[f"good:{id}"] = config
    return config, ""


def _last_valid(id: str, preset: Preset) -> Any:
    with suppress(BadSetting):  # a document that it needs may be gone since
        return replace(st.session_state.get(f"good:{id}", preset.config))
    return preset.config

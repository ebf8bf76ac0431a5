"""The address is the state: experiment, preset and every knob are read from it and written to it.

So a link, the browser's Back and a second window all show the same thing. A widget shows what the
address says, and its callback writes what the visitor chose. A field that equals the preset's is
left out.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Experiment, Paper, Preset
from icl_core.contract.knobs import BadSetting
from icl_core.contract.lesson import Lesson
from pages.ui.link import lesson_rules, pending_address

STEP_DIGITS = 10  # of a training step, and then none that Python would read
_KEPT = ("projector", "at_once")  # survives another preset or experiment
_OWN = (
    "experiment",
    "preset",
    "version",
    "step",
    "drawer",
    "beat",
    "tour",
    "marks",
    "cell",
    "kept",
    "lesson",
    "sweep",
    "sweep_seeds",
    "metric",
    *_KEPT,
)


@dataclass(frozen=True)
class Setting:
    """What the address asks for. `chosen` are the config's values as chosen, which `config` may
    refuse."""

    id: str
    name: str  # of the experiment within its paper
    experiment: Experiment
    preset: Preset
    config: Any
    chosen: dict[str, Any]
    view: Any
    warnings: tuple[str, ...]
    refused: str = ""
    lesson: Lesson | None = None


def read(paper: Paper) -> Setting:
    """The setting that the address asks `paper` for; what it cannot be is said in `warnings` and
    left out."""
    warnings: list[str] = []
    lesson = lesson_rules.requested_lesson(paper, warnings)
    name = lesson.experiment if lesson else _pick("experiment", tuple(paper.experiments), warnings)
    id = f"{paper.name}.{name}"
    experiment = registry.experiment(id)
    presets = {preset.name: preset for preset in experiment.presets}
    preset = presets[
        lesson_rules.lesson_preset(lesson, warnings) or _pick("preset", tuple(presets), warnings)
    ]
    _check_version(id, warnings)
    _check_step(warnings)
    known = {**knobs.knobs_of(experiment.config), **knobs.knobs_of(experiment.view)}
    passed_over = (
        *_OWN,
        *getattr(experiment.view, "GONE", ()),
    )  # fields that were given up change nothing
    raw = {field: text for field, text in st.query_params.items() if field not in passed_over}
    names = {field: settings_io.current_name(known, field) for field in raw}
    asked = _readable({names[field]: text for field, text in raw.items()}, known, warnings)
    unread = [
        field
        for field in raw
        if names[field] not in asked or names[field] in lesson_rules.fixed_fields(lesson, preset)
    ]
    asked = lesson_rules.apply_lesson(lesson, preset, asked, warnings)
    view = _view(experiment, preset, asked, warnings)
    chosen = {**knobs.values(preset.config), **_of(experiment.config, asked)}
    config, refused = _config(id, experiment, preset, chosen)
    st.session_state["id"] = id
    st.session_state["unread"] = unread
    st.session_state["former"] = {today: field for field, today in names.items() if today != field}
    return Setting(
        id, name, experiment, preset, config, chosen, view, tuple(warnings), refused, lesson
    )


def is_shown(id: str) -> bool:
    """Whether the page shows that experiment."""
    return st.session_state.get("id") == id


def base_view(experiment: Experiment, preset: Preset) -> Any:
    """The view a preset starts from."""
    return experiment.view(**preset.view)


def refresh_view(setting: Setting, fields: Iterable[str]) -> Any:
    """The view with `fields` as the address has them now: a fragment runs again without the page
    around it."""
    with suppress(BadSetting):
        return replace(setting.view, **current_choices(setting, fields))
    return setting.view


def current_choices(setting: Setting, fields: Iterable[str]) -> dict[str, Any]:
    """`fields` of the view as the address has them now, which the view may refuse."""
    known = knobs.knobs_of(type(setting.view))
    base = knobs.values(base_view(setting.experiment, setting.preset))
    former = {field: known[field].was or field for field in fields}
    query = st.query_params
    raw = {
        field: query.get(field, query.get(former[field], value_text(base[field])))
        for field in fields
    }
    readable = _readable(raw, known, [])  # what cannot be read is said by the page
    here = {field: readable.get(field, getattr(setting.view, field)) for field in fields}
    fixed = lesson_rules.fixed_fields(setting.lesson, setting.preset)
    return here | {field: fixed[field] for field in here if field in fixed}


def refusal(setting: Setting, chosen: dict[str, Any]) -> str:
    """Why the view refuses what was chosen; empty if it does not, or if the page has said so."""
    try:
        replace(setting.view, **chosen)
    except BadSetting as error:
        said = any(warning.startswith(str(error)) for warning in setting.warnings)
        return "" if said else str(error)
    return ""


def write(field: str, value: Any, base: Any) -> None:
    """Put a knob's value into the address, or take it out where it is the preset's; drop what was
    unreadable."""
    write_all({field: (value, base)})


def write_all(fields: Mapping[str, tuple[Any, Any]]) -> None:
    """Write several, each by its value and the preset's, at once: every change of the address is a
    step back."""
    former = st.session_state.get("former", {})
    gone = {
        "version",
        *st.session_state.get("unread", []),
        *(former.get(field) for field in fields),
        *fields,
    }
    pending_address.change(
        {field: value_text(value) for field, (value, base) in fields.items() if value != base},
        drop=gone,
    )


def go(**fields: str) -> None:
    """Leave all settings for `fields`; the projector stays, and a lesson within its experiment."""
    pending_address.write({**lasting_query(), **lesson_rules.lesson_query(fields), **fields})


def lasting_query() -> dict[str, str]:
    """What of the address stays wherever the visitor goes."""
    query = pending_address.current_query()
    return {name: query[name] for name in _KEPT if name in query}


def value_text(value: Any) -> str:
    """A value as the address writes it; `Knob.parse` reads it back exactly."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def all_fields(setting: Setting) -> dict[str, str]:
    """All fields and the version, for a link that shows the same thing after defaults
    have changed."""
    fields = {**knobs.values(setting.config), **knobs.values(setting.view)}
    own = {
        "experiment": setting.name,
        "preset": setting.preset.name,
        "version": str(registry.version(setting.id)),
    }
    mine = (
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
    here = {name: st.query_params[name] for name in mine if name in st.query_params}
    return {
        **own,
        **{field: value_text(value) for field, value in fields.items() if field != "snapshot"},
        **here,
    }


def _pick(field: str, names: tuple[str, ...], warnings: list[str]) -> str:
    asked = st.query_params.get(field, names[0])
    if asked in names:
        return asked
    warnings.append(
        f"{field} must be one of {', '.join(names)}, got {asked!r:.80}. You see {names[0]}."
    )
    return names[0]


def _check_version(id: str, warnings: list[str]) -> None:
    now = str(registry.version(id))
    asked = st.query_params.get("version", now)
    if asked != now:
        warnings.append(
            f"This link was made with version {asked:.20} of the experiment; this is version {now}."
        )


def _check_step(warnings: list[str]) -> None:
    asked = st.query_params.get("step", "0")
    if not (asked.isdecimal() and len(asked) < STEP_DIGITS):
        warnings.append(
            f"step must be a whole number from 0, got {asked!r:.80}. You see the preset's."
        )


def _readable(
    raw: dict[str, str], known: dict[str, knobs.Knob], warnings: list[str]
) -> dict[str, Any]:
    good: dict[str, Any] = {}
    for field, given in raw.items():
        if field not in known:
            warnings.append(
                f"There is no setting {field!r:.80}; the settings are {', '.join(known)}."
            )
            continue
        try:
            value = known[field].parse(field, given)
            known[field].check(field, value)
            good[field] = value
        except BadSetting as error:
            warnings.append(f"{error}. The preset's value is used.")
    return good


def _of(settings: type, asked: dict[str, Any]) -> dict[str, Any]:
    return {field: asked[field] for field in knobs.knobs_of(settings) if field in asked}


def _view(
    experiment: Experiment, preset: Preset, asked: dict[str, Any], warnings: list[str]
) -> Any:
    view, mine = base_view(experiment, preset), _of(experiment.view, asked)
    with suppress(BadSetting):
        return replace(view, **mine)
    for field, value in mine.items():  # what is refused takes nothing else with it
        try:
            view = replace(view, **{field: value})
        except BadSetting as error:
            warnings.append(f"{error}. The preset's value is used.")
    return view


def _config(
    id: str, experiment: Experiment, preset: Preset, chosen: dict[str, Any]
) -> tuple[Any, str]:
    """The config, or the last good one with the reason why the chosen one is refused."""
    try:
        config = experiment.config(**chosen)
    except BadSetting as error:
        return _last_good(id, preset), str(error)
    st.session_state[f"good:{id}"] = config
    return config, ""


def _last_good(id: str, preset: Preset) -> Any:
    with suppress(BadSetting):  # what it needs may be gone since
        return replace(st.session_state.get(f"good:{id}", preset.config))
    return preset.config

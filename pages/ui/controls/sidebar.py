"""The sidebar of a paper's page: the main knobs, sliders first, the presets, and behind one heading
the setting as a line of text to be read and edited, and the other knobs by group.

Beside a knob stand the preset's value where it is changed, and what a move costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st
from streamlit.elements.lib.mutable_expander_container import ExpanderContainer

from icl_core.contract import knobs, settings_io
from icl_core.contract.knobs import BadSetting, Knob
from icl_core.jobs import estimate
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import limits
from pages.ui.controls import atlas_slider, auto_train, widgets
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

LINE_LABEL = "Setting as text"
_REFUSED_LINE = "refused line"  # in the session: experiment, line shown, line typed, and why
_LEFT_OUT = "left out of the line"  # in the session: experiment, line, and what it does not name
_COST_HELP = "What the next stop of this knob costs: at once, a few seconds, or a press on Run."


def preset_menu(setting: Setting) -> None:
    """Draw the presets behind one button, by group, each with a line; choosing one resets all other
    settings.

    The button says which preset is on screen, or that the setting is the visitor's own.
    """
    is_own = setting.config != setting.preset.config
    label = f"Own setting, from: {setting.preset.title}" if is_own else setting.preset.title
    key = f"{setting.id}:presets"
    menu = st.popover(label, key=key, width="stretch", on_change="rerun")
    if not menu.open:
        return
    with menu, st.container(key="presets", gap="xsmall"):
        groups = dict.fromkeys(preset.group for preset in setting.experiment.presets)
        for group in groups:
            st.markdown(f"**{group[:1].upper()}{group[1:]}**")
            for preset in setting.experiment.presets:
                if preset.group != group:
                    continue
                is_shown = preset == setting.preset and not is_own
                st.button(
                    preset.title,
                    key=f"{setting.id}:preset {preset.name}",
                    type="primary" if is_shown else "secondary",
                    width="stretch",
                    on_click=_choose_preset,
                    args=(key, setting.name, preset.name),
                )
                if preset.about:
                    st.caption(preset.about)


def _choose_preset(menu_key: str, experiment: str, preset: str) -> None:
    st.session_state[menu_key] = False
    address.go(experiment=experiment, preset=preset)


def main_knobs(setting: Setting) -> None:
    """Draw the knobs that the experiment declares as its main ones, the sliders before the others,
    each with what a move costs."""
    all_knobs = knobs.knobs_of(setting.experiment.config)
    fields = [
        field for field in knobs.main_knobs(setting.experiment.config) if has_effect(setting, field)
    ]
    fields.sort(key=lambda field: all_knobs[field].kind != "slider")
    ready = _trained_values(setting)
    shown = {field: _prepared(setting, field, ready.get(field, [])) for field in fields}
    costs = {} if setting.refused else _costs(setting, shown)
    with st.container(key="main-knobs", gap="xxsmall"):
        for field, (knob, base, stops) in shown.items():
            with st.container(key=f"knob-{field}", gap=None):
                value = setting.chosen[field]
                widgets.draw(setting, field, knob, value, base, stops, ready.get(field, []))
                _show_notes(_changed_text(knob, value, base), costs.get(field))
        atlas_slider.listen()


def _trained_values(setting: Setting) -> Mapping[str, list[Any]]:
    """Return, by field, the values at which a run exists if only that field is moved.

    Of a refused setting these are the values of the one field that has to be moved back.
    """
    ready = estimate.ready_values(setting.request)
    if not setting.refused:
        return ready
    valid = knobs.values(setting.config)
    moved = [field for field, value in setting.chosen.items() if value != valid[field]]
    return {moved[0]: ready[moved[0]]} if len(moved) == 1 else {}


def way_back(setting: Setting) -> None:
    """Draw the button back to the preset, if anything differs from it."""
    if setting.chosen != knobs.values(setting.preset.config):
        query = {"experiment": setting.name, "preset": setting.preset.name}
        st.button("Back to the preset", on_click=address.go, kwargs=query)


def more_settings(setting: Setting, has_switch: bool) -> None:
    """Draw, behind one heading, what differs from the preset as a line that can be edited, the
    other knobs by group, and the switch of trainings that start by themselves if it `has_switch`.

    Several groups can be open; what is closed is not sent, as everything on the page makes a
    slider's answer slower.
    """
    all_knobs = knobs.knobs_of(setting.experiment.config)
    main = knobs.main_knobs(setting.experiment.config)
    others = [field for field in all_knobs if field not in main]
    groups: dict[str, list[str]] = {}
    for field in others:
        groups.setdefault(all_knobs[field].group, []).append(field)
    with st.container(key="group-more", gap=None):
        box = _box(setting, "More settings", "more", others)
    _show_left_out(setting)  # it may have closed the box
    if not box.open:
        return
    with box:
        _show_line(setting)
        for number, (group, fields) in enumerate(groups.items()):
            with st.container(key=f"group-{number}", gap=None):
                _group(setting, group, fields)
        if has_switch:
            auto_train.show_switch()


def _box(setting: Setting, title: str, key: str, fields: Sequence[str]) -> ExpanderContainer:
    """Return the place for some knobs behind a heading, beside which stands how many of them are
    changed; it is open where one holds a document."""
    all_knobs = knobs.knobs_of(setting.experiment.config)
    base = knobs.values(setting.preset.config)
    changed = sum(setting.chosen[field] != base[field] for field in fields)
    has_document = any(
        all_knobs[field].kind == "document" and setting.chosen[field] for field in fields
    )
    box = st.expander(title, has_document, key=f"{setting.id}:{key}", on_change="rerun")
    if changed:
        # over the end of its heading
        st.html(f'<div class="notes"><span class="changed">{changed} changed</span></div>')
    return box


def _group(setting: Setting, group: str, fields: list[str]) -> None:
    """Draw a group of knobs behind its heading."""
    title = f"{group[:1].upper()}{group[1:]}" or "Settings"
    box = _box(setting, title, f"group {group}", fields)
    if not box.open:
        return
    with box:
        for field in fields:
            if not has_effect(setting, field):
                continue
            knob, field_base, stops = _prepared(setting, field, [])
            with st.container(key=f"knob-{field}", gap=None):
                widgets.draw(setting, field, knob, setting.chosen[field], field_base, stops)
                _show_notes(_changed_text(knob, setting.chosen[field], field_base))


def _prepared(setting: Setting, field: str, ready: list[Any]) -> tuple[Knob, Any, list[Any]]:
    """Return the knob of a field within its present bounds, the preset's value, and the values that
    its slider must be able to show beside its stops."""
    knob = knobs.knobs_of(setting.experiment.config)[field]
    base = getattr(setting.preset.config, field)
    stops = [*ready, *(getattr(preset.config, field) for preset in setting.experiment.presets)]
    if knob.at_most:
        # a chosen value that is refused is shown as well
        high = max(setting.chosen[field], getattr(setting.config, knob.at_most))
        stops = [stop for stop in stops if stop <= high]
        knob = replace(knob, high=high, default=min(knob.default, high))
        base = min(base, high)
    return knob, base, stops


def has_effect(setting: Setting, field: str) -> bool:
    """Return whether a field of the config changes anything, given the others; true for all fields
    while the config is refused."""
    knob = knobs.knobs_of(setting.experiment.config)[field]
    return bool(not knob.shown_if or setting.refused or getattr(setting.config, knob.shown_if))


def _costs(
    setting: Setting, shown: Mapping[str, tuple[Knob, Any, Sequence[Any]]]
) -> dict[str, str]:
    """Return, by field, in words what the dearest single move of a knob costs.

    `shown` holds, by field, the knob, the preset's value and further stops. A list that is typed,
    and a number with too many stops for a slider, costs what the setting itself costs.
    """
    moves: dict[str, list[Any]] = {}
    for field, (knob, base, stops) in shown.items():
        value = setting.chosen[field]
        values = widgets.stops_of(knob, [value, base, *stops])
        moves[field] = _moves(knob, values, value)
    seconds = estimate.seconds_of_moves(setting.request, moves)
    if not all(moves.values()):
        typed = estimate_seconds(setting.request)
        seconds |= {field: typed for field in shown if not moves[field]}
    return {field: _cost_text(seconds[field]) for field in shown}


def _moves(knob: Knob, values: Sequence[Any], value: Any) -> list[Any]:
    """Return the values to which one move leads from `value`: a slider's neighbours, or all other
    options of a choice; none where the value is typed."""
    if knob.kind != "slider":
        return [other for other in values if other != value]
    index = values.index(value) if value in values else 0
    return [*values[max(0, index - 1) : index], *values[index + 1 : index + 2]]


def _cost_text(seconds: float | None) -> str:
    if seconds == 0.0:
        return "ready"
    if limits.read_only():
        return "nearest run"
    if seconds is not None and seconds < auto_train.longest() and auto_train.is_on():
        return formats.short_duration(seconds)
    return f"Run: {formats.short_duration(seconds)}"


def _changed_text(knob: Knob, value: Any, base: Any) -> str:
    """Return the preset's value in words if `value` is another one, else an empty string."""
    if value == base or knob.kind == "document":
        return ""
    return f"preset {knob.options.get(base, widgets.value_text(base))}"


def _show_notes(changed: str, cost: str | None = None) -> None:
    """Draw the notes of a knob under its right end.

    changed  the preset's value in words, empty if it is the knob's
    cost     what a move costs, if it is said
    """
    parts = [f'<span class="changed">{escape(changed)}</span>'] if changed else []
    if cost:
        parts.append(f'<span title="{_COST_HELP}">{escape(cost)}</span>')
    if parts:
        notes = '<span aria-hidden="true"> · </span>'.join(parts)
        st.html(f'<div class="notes">{notes}</div>')


def _show_line(setting: Setting) -> None:
    """Draw the line; a line that cannot be read stays as it was typed, with the reason below."""
    names = knobs.knobs_of(setting.experiment.config)
    base = knobs.values(setting.preset.config)
    line = settings_io.to_line(setting.experiment.config, setting.chosen, base)
    refused_id, shown_line, typed, reason = st.session_state.get(_REFUSED_LINE, ("", "", "", ""))
    is_refused = refused_id == setting.id and shown_line == line
    value = typed if is_refused else line
    key = f"{setting.id}:line"
    set_widget(key, value)
    st.text_input(
        LINE_LABEL,
        value,
        placeholder=f"as {_example_line(setting)}",
        max_chars=2000,
        disabled=bool(setting.lesson),
        help=f"What differs from the preset. Type any of {', '.join(names)}; the others are as in "
        "the preset, and an empty line is the preset.",
        **widget_arguments(key, _line_changed, key, setting, line),
    )
    if is_refused:
        st.error(f"{escape_markdown(reason[:1].upper() + reason[1:])}.")


def _show_left_out(setting: Setting) -> None:
    """Say what a typed line has left out of what was given, as long as it is as it was typed."""
    base = knobs.values(setting.preset.config)
    line = settings_io.to_line(setting.experiment.config, setting.chosen, base)
    left_id, left_line, left_out = st.session_state.get(_LEFT_OUT, ("", "", ""))
    if left_out and (left_id, left_line) == (setting.id, line):
        st.info(
            f"This line does not name what you gave, which is no longer used. Add `{left_out}` to "
            "use it again."
        )


def _example_line(setting: Setting) -> str:
    """Return a line that changes nothing: the present values of the first main knobs."""
    main = knobs.main_knobs(setting.experiment.config)
    return "; ".join(f"{field}={setting.chosen[field]}" for field in main[:2])


def _line_changed(key: str, setting: Setting, line: str) -> None:
    """Make the typed line the setting, or keep it with the reason why it cannot be read."""
    typed = st.session_state[key]
    base = knobs.values(setting.preset.config)
    try:
        named = _line_values(setting.experiment.config, typed)
        values = settings_io.with_documents(setting.experiment.config, base, named)
    except BadSetting as problem:
        st.session_state[_REFUSED_LINE] = setting.id, line, typed, str(problem)
        return
    st.session_state.pop(_REFUSED_LINE, None)
    left_out = "; ".join(
        f"{field}={setting.chosen[field]}"
        for field, knob in knobs.knobs_of(setting.experiment.config).items()
        if knob.kind == "document" and setting.chosen[field] and field not in named
    )
    new_line = settings_io.to_line(setting.experiment.config, values, base)
    st.session_state[_LEFT_OUT] = setting.id, new_line, left_out
    address.write_all({field: (values[field], base[field]) for field in base})


def _line_values(settings_class: type, typed: str) -> dict[str, Any]:
    """Return the values in a typed line. Raises `BadSetting` for one that is out of range."""
    texts = settings_io.from_line(settings_class, typed)
    values: dict[str, Any] = {}
    for field, text in texts.items():
        knob = knobs.knobs_of(settings_class)[field]
        values[field] = knob.parse(field, text)
        knob.check(field, values[field])
    return values

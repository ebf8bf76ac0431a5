"""The sidebar of a paper's page: the preset, the main knobs, the setting as a line, and the other
knobs by group."""

from dataclasses import replace
from typing import Any

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.knobs import Knob
from icl_core.jobs import estimate
from pages.ui.controls import knob_notes, settings_line, widgets
from pages.ui.link import address
from pages.ui.link.address import Setting


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
    """Draw the knobs that the experiment declares as its main ones, each with what a move costs."""
    fields = [
        field for field in knobs.main_knobs(setting.experiment.config) if has_effect(setting, field)
    ]
    ready = {} if setting.refused else estimate.ready_values(setting.request)
    shown = {field: _prepared(setting, field, ready.get(field, [])) for field in fields}
    costs = {} if setting.refused else knob_notes.costs(setting, shown)
    with st.container(key="main-knobs", gap="xxsmall"):
        for field, (knob, base, stops) in shown.items():
            with st.container(key=f"knob-{field}", gap=None):
                widgets.draw(setting, field, knob, setting.chosen[field], base, stops)
                values = widgets.stops_of(knob, [setting.chosen[field], base, *stops])
                changed = knob_notes.changed_text(knob, setting.chosen[field], base)
                knob_notes.show(changed, costs.get(field), values, ready.get(field, []))


def changes(setting: Setting) -> None:
    """Draw what differs from the preset as one line that can be edited, and a button back."""
    settings_line.show(setting)
    if setting.chosen != knobs.values(setting.preset.config):
        query = {"experiment": setting.name, "preset": setting.preset.name}
        st.button("Back to the preset", on_click=address.go, kwargs=query)


def other_knobs(setting: Setting) -> None:
    """Draw the other knobs by group. Several groups can be open; a closed one is not sent, as
    everything on the page makes a slider's answer slower."""
    groups: dict[str, list[str]] = {}
    main = knobs.main_knobs(setting.experiment.config)
    for field, knob in knobs.knobs_of(setting.experiment.config).items():
        if field not in main:
            groups.setdefault(knob.group, []).append(field)
    for number, (group, fields) in enumerate(groups.items()):
        with st.container(key=f"group-{number}", gap=None):
            _group(setting, group, fields)


def _group(setting: Setting, group: str, fields: list[str]) -> None:
    """Draw a group behind its heading, beside which stands how many of its knobs are changed."""
    all_knobs = knobs.knobs_of(setting.experiment.config)
    base = knobs.values(setting.preset.config)
    changed = sum(setting.chosen[field] != base[field] for field in fields)
    has_document = any(
        all_knobs[field].kind == "document" and setting.chosen[field] for field in fields
    )
    title = f"{group[:1].upper()}{group[1:]}" or "Settings"
    box = st.expander(title, has_document, key=f"{setting.id}:group {group}", on_change="rerun")
    if changed:
        knob_notes.show_changed(changed)
    if not box.open:
        return
    with box:
        for field in fields:
            if not has_effect(setting, field):
                continue
            knob, field_base, stops = _prepared(setting, field, [])
            with st.container(key=f"knob-{field}", gap=None):
                widgets.draw(setting, field, knob, setting.chosen[field], field_base, stops)
                knob_notes.show(knob_notes.changed_text(knob, setting.chosen[field], field_base))


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

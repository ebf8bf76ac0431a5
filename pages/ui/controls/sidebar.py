"""The sidebar of a paper's page: presets, the config's knobs, and what differs from the preset."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import streamlit as st

from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import Knob
from icl_core.sweeps import atlas
from pages.ui.controls import widgets
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown


def presets(setting: Setting) -> None:
    """Draw the presets as pills, a row for each group; choosing one resets all other settings.

    The first group, the current preset's and the one that the visitor opens are drawn.
    """
    groups: dict[str, list[Preset]] = {}
    for preset in setting.experiment.presets:
        group = preset.group[:1].upper() + preset.group[1:]
        groups.setdefault(group, []).append(preset)
    first, *others = groups
    drawn = [first, *(group for group in others if setting.preset in groups[group])]
    for group in drawn:
        _preset_pills(setting, group, groups[group])
    opened = _group_pills("More presets", f"{setting.id}:presets", others)
    if opened and opened not in drawn:
        _preset_pills(setting, opened, groups[opened])
    if setting.preset.about:
        st.caption(setting.preset.about)


def config_knobs(setting: Setting) -> None:
    """Draw a widget for each field of the config, by group, and a button back to the preset.

    Groups after the first are drawn if the visitor opens them or uses a document of theirs there.
    """
    knobs_by_field = knobs.knobs_of(setting.experiment.config)
    groups: dict[str, list[str]] = {}
    for field, knob in knobs_by_field.items():
        groups.setdefault(knob.group, []).append(field)
    first, *others = groups
    with st.expander(first, expanded=True) if others else nullcontext():
        _config_widgets(setting, groups[first])
    opened = _group_pills("More settings", f"{setting.id}:group", others)
    for group in others:
        has_document = any(
            knobs_by_field[field].kind == "document" and setting.chosen[field]
            for field in groups[group]
        )
        if has_document or group == opened:
            with st.container(border=True):
                _config_widgets(setting, groups[group])
    if setting.refused:
        return
    differences = settings_io.differences(setting.config, setting.preset.config)
    if differences:
        st.caption("Differs from the preset: " + escape_markdown("; ".join(differences)))
        query = {"experiment": setting.name, "preset": setting.preset.name}
        st.button("Back to the preset", on_click=address.go, kwargs=query)


def _preset_pills(setting: Setting, group: str, presets: list[Preset]) -> None:
    key = f"{setting.id}:preset of {group}"
    titles = {preset.name: preset.title for preset in presets}
    current = {"experiment": setting.name, "preset": setting.preset.name}
    widgets.link_pills(group, key, titles, "preset", current)


def _group_pills(label: str, key: str, groups: list[str]) -> str | None:
    """Draw pills for the groups and return the one that is open, if any.

    A closed group is not sent at all, as everything on the page makes a slider's answer slower.
    """
    return st.pills(label, groups, key=key) if groups else None


def _config_widgets(setting: Setting, fields: list[str]) -> None:
    """Draw the widgets of those of the fields that have an effect."""
    knobs_by_field = knobs.knobs_of(setting.experiment.config)
    ready = {} if setting.refused else atlas.ready_values(setting.id, setting.config)
    for field in fields:
        knob = knobs_by_field[field]
        if _has_effect(setting, knob):
            _config_widget(setting, field, knob, ready.get(field, []))


def _config_widget(setting: Setting, field: str, knob: Knob, ready: list[Any]) -> None:
    """Draw the widget of a field; a caption under a slider lists `ready`, the values whose runs
    come with the project."""
    base = getattr(setting.preset.config, field)
    stops = [*ready, *(getattr(preset.config, field) for preset in setting.experiment.presets)]
    if knob.at_most:
        # a chosen value that is refused is shown as well
        high = max(setting.chosen[field], getattr(setting.config, knob.at_most))
        stops = [stop for stop in stops if stop <= high]
        knob = replace(knob, high=high, default=min(knob.default, high))
        base = min(base, high)
    widgets.draw(setting, field, knob, setting.chosen[field], base, stops)
    if len(ready) > 1 and knob.kind == "slider":
        st.caption(f"Trained already: {', '.join(map(widgets.slider_text, ready))}")


def _has_effect(setting: Setting, knob: Knob) -> bool:
    """Return whether a field of the config changes anything, given the others; true for all fields
    while the config is refused."""
    return bool(not knob.shown_if or setting.refused or getattr(setting.config, knob.shown_if))

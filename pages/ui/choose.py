"""The sidebar of a paper's page: presets, the knobs of the config, and what differs from the preset."""

from contextlib import nullcontext
from dataclasses import replace

import streamlit as st

from icl_core import atlas, forms, knobs
from icl_core.experiment import Preset
from pages.ui import address, widgets
from pages.ui.address import Setting
from pages.ui.plain import plain


def presets(setting: Setting) -> None:
    """The presets as pills, a row for each group; choosing one leaves all other settings."""
    groups: dict[str, list[Preset]] = {}
    for preset in setting.experiment.presets:
        groups.setdefault(preset.group, []).append(preset)
    for number, (group, members) in enumerate(groups.items()):
        # the first group stands open, and so does the one that holds the preset of the page
        here = number == 0 or setting.preset in members
        heading = group[:1].upper() + group[1:]
        with nullcontext() if here else st.expander(heading):
            titles = {preset.name: preset.title for preset in members}
            key = f"{setting.id}:preset of {group}"
            widgets.pills(heading, key, titles, "preset", {"experiment": setting.name, "preset": setting.preset.name})
    if setting.preset.about:
        st.caption(setting.preset.about)


def config_knobs(setting: Setting) -> None:
    """A widget for each field of the config, by group, and a way back to the preset."""
    known = knobs.knobs(setting.experiment.config)
    groups: dict[str, list[str]] = {}
    for field, knob in known.items():
        groups.setdefault(knob.group, []).append(field)
    mapped = {} if setting.refused else atlas.ready(setting.id, setting.config)
    for number, (group, fields) in enumerate(groups.items()):
        # a long list is folded after its first group, but where something of the visitor's is in use
        given = any(known[field].kind == "document" and setting.chosen[field] for field in fields)
        with st.expander(group, expanded=number == 0 or given) if group and len(groups) > 1 else nullcontext():
            for field in (field for field in fields if _asked(setting, known[field])):
                _draw(setting, field, known[field], mapped.get(field, []))
    differing = [] if setting.refused else forms.differences(setting.config, setting.preset.config)
    if differing:
        st.caption("Differs from the preset: " + plain("; ".join(differing)))
        back = {"experiment": setting.name, "preset": setting.preset.name}
        st.button("Back to the preset", on_click=address.go, kwargs=back)


def _draw(setting: Setting, field: str, knob: knobs.Knob, mapped: list) -> None:
    """The widget of a field; under a slider the values whose runs come with the project, `mapped`."""
    base = getattr(setting.preset.config, field)
    also = [*mapped, *(getattr(preset.config, field) for preset in setting.experiment.presets)]
    if knob.at_most:
        most = max(setting.chosen[field], getattr(setting.config, knob.at_most))  # one that is refused is shown, too
        also = [each for each in also if each <= most]
        knob, base = replace(knob, high=most, default=min(knob.default, most)), min(base, most)
    widgets.draw(setting, field, knob, setting.chosen[field], base, also)
    if len(mapped) > 1 and knob.kind == "slider":
        st.caption(f"Trained already: {', '.join(map(widgets.shown, mapped))}")


def _asked(setting: Setting, knob: knobs.Knob) -> bool:
    """Whether a field of the config changes anything as the others are; all are shown while they are refused."""
    return bool(not knob.shown_if or setting.refused or getattr(setting.config, knob.shown_if))

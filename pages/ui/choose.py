"""The sidebar of a paper's page: presets, the knobs of the config, and what differs from the preset."""

from contextlib import nullcontext

import streamlit as st

from icl_core import forms, knobs
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
        with nullcontext() if here else st.expander(group):
            _pills(setting, group, members)
    if setting.preset.about:
        st.caption(setting.preset.about)


def _pills(setting: Setting, group: str, members: list[Preset]) -> None:
    key = f"{setting.id}:preset of {group}"
    titles = {preset.name: preset.title for preset in members}
    st.session_state[key] = setting.preset.name if setting.preset.name in titles else None
    choose = (key, setting.id.split(".")[1], setting.preset.name)
    st.pills(group, list(titles), format_func=titles.__getitem__, key=key, on_change=_chosen, args=choose)


def _chosen(key: str, experiment: str, before: str) -> None:
    # A click on the pill that is already chosen clears it: that means "back to this preset".
    address.go(experiment=experiment, preset=st.session_state[key] or before)


def config_knobs(setting: Setting) -> None:
    """A widget for each field of the config, by group, and a way back to the preset."""
    known = knobs.knobs(setting.experiment.config)
    groups: dict[str, list[str]] = {}
    for field, knob in known.items():
        groups.setdefault(knob.group, []).append(field)
    for number, (group, fields) in enumerate(groups.items()):
        # a long list is folded after its first group
        with st.expander(group, expanded=number == 0) if group and len(groups) > 1 else nullcontext():
            for field in fields:
                base = getattr(setting.preset.config, field)
                also = [getattr(preset.config, field) for preset in setting.experiment.presets]
                widgets.draw(setting.id, field, known[field], setting.chosen[field], base, also)
    differing = [] if setting.refused else forms.differences(setting.config, setting.preset.config)
    if differing:
        st.caption("Differs from the preset: " + plain("; ".join(differing)))
        back = {"experiment": setting.id.split(".")[1], "preset": setting.preset.name}
        st.button("Reset to preset", on_click=address.go, kwargs=back)

"""The sidebar of a paper's page: presets, the knobs of the config, and what differs from the
preset."""

from contextlib import nullcontext
from dataclasses import replace

import streamlit as st

from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Preset
from icl_core.sweeps import atlas
from pages.ui.controls import widgets
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown


def presets(setting: Setting) -> None:
    """The presets as pills, a row for each group; choosing one leaves all other settings."""
    groups: dict[str, list[Preset]] = {}
    for preset in setting.experiment.presets:
        groups.setdefault(_title(preset.group), []).append(preset)
    first, *others = groups
    here = [first, *(group for group in others if setting.preset in groups[group])]
    for group in here:
        _presets(setting, group, groups[group])
    opened = _opened("More presets", f"{setting.id}:presets", others)
    if opened and opened not in here:
        _presets(setting, opened, groups[opened])
    if setting.preset.about:
        st.caption(setting.preset.about)


def config_knobs(setting: Setting) -> None:
    """A widget for each field of the config, by group, and a way back to the preset. Behind the
    first, a group is drawn if the visitor opens it or something of theirs is in use there."""
    known = knobs.knobs_of(setting.experiment.config)
    groups: dict[str, list[str]] = {}
    for field, knob in known.items():
        groups.setdefault(knob.group, []).append(field)
    first, *others = groups
    with st.expander(first, expanded=True) if others else nullcontext():
        _group(setting, groups[first])
    opened = _opened("More settings", f"{setting.id}:group", others)
    for group in others:
        given = any(
            known[field].kind == "document" and setting.chosen[field] for field in groups[group]
        )
        if given or group == opened:
            with st.container(border=True):
                _group(setting, groups[group])
    differing = (
        [] if setting.refused else settings_io.differences(setting.config, setting.preset.config)
    )
    if differing:
        st.caption("Differs from the preset: " + escape_markdown("; ".join(differing)))
        back = {"experiment": setting.name, "preset": setting.preset.name}
        st.button("Back to the preset", on_click=address.go, kwargs=back)


def _title(group: str) -> str:
    return group[:1].upper() + group[1:]


def _presets(setting: Setting, group: str, members: list[Preset]) -> None:
    key, titles = (
        f"{setting.id}:preset of {group}",
        {preset.name: preset.title for preset in members},
    )
    widgets.link_pills(
        group, key, titles, "preset", {"experiment": setting.name, "preset": setting.preset.name}
    )


def _opened(label: str, key: str, groups: list[str]) -> str | None:
    """Which of the groups is opened, if any; what is in the others is not even sent, as all that is
    on the page takes a slider some time to answer."""
    return st.pills(label, groups, key=key) if groups else None


def _group(setting: Setting, fields: list[str]) -> None:
    """The widgets of those fields that are asked for."""
    known = knobs.knobs_of(setting.experiment.config)
    mapped = {} if setting.refused else atlas.ready_values(setting.id, setting.config)
    for field in fields:
        if _asked(setting, known[field]):
            _draw(setting, field, known[field], mapped.get(field, []))


def _draw(setting: Setting, field: str, knob: knobs.Knob, mapped: list) -> None:
    """The widget of a field; under a slider the values whose runs come with the
    project, `mapped`."""
    base = getattr(setting.preset.config, field)
    also = [*mapped, *(getattr(preset.config, field) for preset in setting.experiment.presets)]
    if knob.at_most:
        most = max(
            setting.chosen[field], getattr(setting.config, knob.at_most)
        )  # one that is refused is shown, too
        also = [each for each in also if each <= most]
        knob, base = replace(knob, high=most, default=min(knob.default, most)), min(base, most)
    widgets.draw(setting, field, knob, setting.chosen[field], base, also)
    if len(mapped) > 1 and knob.kind == "slider":
        st.caption(f"Trained already: {', '.join(map(widgets.slider_text, mapped))}")


def _asked(setting: Setting, knob: knobs.Knob) -> bool:
    """Whether a field of the config changes anything as the others are; all are shown while they
    are refused."""
    return bool(not knob.shown_if or setting.refused or getattr(setting.config, knob.shown_if))

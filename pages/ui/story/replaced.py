"""What the visitor has put in place of parts of the model on stage, and the way back."""

from dataclasses import replace
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.visitor import ReplacedPart, in_words
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.story.glossary import line

_OUTLINE = "outline: 2px dashed #D55E00; outline-offset: 2px; border-radius: .3rem;"


def replaced_parts(setting: Setting, run: Run) -> list[ReplacedPart]:
    """Return the parts in whose place the view puts something else."""
    replacements = setting.experiment.replaced
    return list(replacements.parts(run.config, setting.view)) if replacements else []


def say(setting: Setting, parts: list[ReplacedPart]) -> None:
    """Draw a sentence on what the stage shows."""
    line(
        setting,
        f"The stage shows the model with {in_words(parts)}, at every step of the clock. "
        "Drawers other than Graft show the trained model.",
    )


def way_back(setting: Setting, parts: list[ReplacedPart]) -> None:
    """Draw the button that takes all replacements back, and outline the panels of what was
    replaced."""
    if not parts:
        return
    with st.container(key="again", width="content"):
        st.button(
            "Show the trained model again", key="trained again", on_click=_undo, args=(setting,)
        )
    panels = [each.panel.replace(" ", "-") for each in parts if each.panel]
    seats = ", ".join(
        f".st-key-seat-{panel}, .st-key-seat-wide-{panel}" for panel in dict.fromkeys(panels)
    )
    if seats:
        st.html(f"<style>{seats} {{ {_OUTLINE} }}</style>")


def without_replacements(setting: Setting) -> Setting:
    """Return the setting with a view that replaces nothing."""
    return replace(setting, view=replace(setting.view, **_preset_fields(setting)))


def _undo(setting: Setting) -> None:
    if address.is_shown(setting.id):
        fields = _preset_fields(setting)
        address.write_all({field: (value, value) for field, value in fields.items()})


def _preset_fields(setting: Setting) -> dict[str, Any]:
    """Return the preset's values of the fields that replace parts."""
    replacements = setting.experiment.replaced
    base = setting.base_view
    return {field: getattr(base, field) for field in replacements.fields} if replacements else {}

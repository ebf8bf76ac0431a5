"""The field above the stage for a text of the visitor's own."""

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.experiment import Run
from icl_core.contract.visitor import TextInput
from pages.ui.link import address, lesson_rules
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments


def show(setting: Setting, run: Run) -> None:
    """Draw the field with the text that the stage shows; one that is emptied goes back to the
    example."""
    typed = setting.experiment.typed
    if typed is None:
        return
    example = typed.example(run, setting.view)
    text = getattr(setting.view, typed.field) or example
    # A field of its own for each example: one that shows another example by now would report the
    # former one as typed (see widget_events).
    key = f"{setting.id}:typed {typed.field} {example}"
    set_widget(key, text)
    is_fixed = typed.field in lesson_rules.fixed_fields(setting.lesson, setting.preset)
    with st.container(key="typed"):
        st.text_input(
            typed.label,
            text,
            max_chars=knobs.knobs_of(type(setting.view))[typed.field].max_length,
            help=typed.help or None,
            disabled=is_fixed,
            **widget_arguments(key, _changed, setting, typed, key, example),
        )


def _changed(setting: Setting, typed: TextInput, key: str, example: str) -> None:
    if not address.is_shown(setting.id):  # the visitor has gone to another experiment
        return
    text = st.session_state[key]
    base = getattr(setting.base_view, typed.field)
    address.write(typed.field, base if text in ("", example) else text, base)

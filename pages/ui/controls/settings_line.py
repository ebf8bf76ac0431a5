"""The setting as one line of text: what differs from the preset, to be read and edited."""

from typing import Any

import streamlit as st

from icl_core.contract import knobs, settings_io
from icl_core.contract.knobs import BadSetting
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown

LABEL = "Setting as text"
_REFUSED = "refused line"  # in the session: experiment, the line shown, the line typed, and why


def show(setting: Setting) -> None:
    """Draw the line; a line that cannot be read stays as it was typed, with the reason below."""
    names = knobs.knobs_of(setting.experiment.config)
    base = knobs.values(setting.preset.config)
    line = settings_io.to_line(setting.experiment.config, setting.chosen, base)
    refused_id, shown_line, typed, reason = st.session_state.get(_REFUSED, ("", "", "", ""))
    is_refused = refused_id == setting.id and shown_line == line
    value = typed if is_refused else line
    key = f"{setting.id}:line"
    set_widget(key, value)
    st.text_input(
        LABEL,
        value,
        placeholder=f"as {_example(setting)}",
        max_chars=2000,
        disabled=bool(setting.lesson),
        help=f"What differs from the preset. Type any of {', '.join(names)}; the others are as in "
        "the preset, and an empty line is the preset.",
        **widget_arguments(key, _changed, key, setting, line),
    )
    if is_refused:
        st.error(f"{escape_markdown(reason[:1].upper() + reason[1:])}.")


def _example(setting: Setting) -> str:
    """Return a line that changes nothing: the present values of the first main knobs."""
    main = knobs.main_knobs(setting.experiment.config)
    return "; ".join(f"{field}={setting.chosen[field]}" for field in main[:2])


def _changed(key: str, setting: Setting, line: str) -> None:
    """Make the typed line the setting, or keep it with the reason why it cannot be read."""
    typed = st.session_state[key]
    base = knobs.values(setting.preset.config)
    try:
        named = _values(setting.experiment.config, typed)
        values = settings_io.with_documents(setting.experiment.config, base, named)
    except BadSetting as problem:
        st.session_state[_REFUSED] = setting.id, line, typed, str(problem)
        return
    st.session_state.pop(_REFUSED, None)
    address.write_all({field: (values[field], base[field]) for field in base})


def _values(settings_class: type, typed: str) -> dict[str, Any]:
    """Return the values in a typed line. Raises `BadSetting` for one that is out of range."""
    texts = settings_io.from_line(settings_class, typed)
    values: dict[str, Any] = {}
    for field, text in texts.items():
        knob = knobs.knobs_of(settings_class)[field]
        values[field] = knob.parse(field, text)
        knob.check(field, values[field])
    return values

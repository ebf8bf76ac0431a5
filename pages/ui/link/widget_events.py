"""Tell a visitor's change of a widget from what a browser merely sends again.

Streamlit forgets a widget as soon as the page has run without it. The browser still sends the
widget's value with the next click, until it learns that the widget is gone. Streamlit then takes
the value for changed, and the callback would undo where the visitor went. `widget_arguments`
therefore calls back only if the value differs from what the widget showed.

A widget that stays, but shows another value by now, cannot be told from a change in this way. So
`set_widget` does not set a value again that it has set before: set while a visitor moves the
widget, it would come back as a change.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui.link import pending_address

_OPTIONS = "options of widgets"


def set_widget(key: str, value: Any, *options: Any) -> None:
    """Have the widget of that key show `value`.

    The value is set only if the session holds another one, or if the widget's `options` differ
    from those of the last call. The caller must pass `value` as the widget's default, too: a widget
    that a browser draws anew begins with its default.
    """
    last_options = st.session_state.setdefault(_OPTIONS, {})
    is_set = key in st.session_state and st.session_state[key] == value
    if not is_set or last_options.get(key) != options:
        st.session_state[key] = value
        last_options[key] = options


def widget_arguments(key: str, act: Callable[..., None], *arguments: Any) -> dict[str, Any]:
    """Return a widget's `key`, `on_change` and `args`: it calls `act(*arguments)` once its value
    differs from what it shows now."""
    shown = [st.session_state[key]]
    return {"key": key, "on_change": _on_change, "args": (key, shown, act, arguments)}


def _on_change(
    key: str, shown: list[Any], act: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    value = st.session_state[key]
    if value != shown[0]:
        shown[0] = value  # the value may change back before the widget is drawn again
        pending_address.apply_pending()
        act(*arguments)

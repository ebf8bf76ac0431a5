"""What a visitor has changed, told from what a browser still sends of widgets that the page has
dropped.

Streamlit forgets a widget as soon as a run of the page has gone without it; a browser sends it with
whatever is clicked on until it has heard of that. Its value then counts as changed, and what it
writes would undo where the visitor went.

What it still sends of a widget that stays, but shows something else by now, cannot be told from a
move. So a widget is not told again what it was told before: while a visitor moves it, that would
come back as a move.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui.link import pending_address

_OPTIONS = "options of widgets"


def set_widget(key: str, value: Any, *options: Any) -> None:
    """Have the widget called `key` show `value`. It is told so only if the session holds another
    value, or the widget had other `options` before. So it must have `value` as its default, too:
    one that a browser draws anew begins with that."""
    known = st.session_state.setdefault(_OPTIONS, {})
    if key not in st.session_state or st.session_state[key] != value or known.get(key) != options:
        st.session_state[key], known[key] = value, options


def widget_arguments(key: str, act: Callable[..., None], *given: Any) -> dict[str, Any]:
    """What a widget is told: its key, under which the session holds what it shows, and to do `act`
    once it changes."""
    return {"key": key, "on_change": _hear, "args": (key, [st.session_state[key]], act, given)}


def _hear(key: str, shown: list[Any], act: Callable[..., None], given: tuple[Any, ...]) -> None:
    value = st.session_state[key]
    if value != shown[0]:
        shown[0] = value  # it may change back before it is drawn again
        pending_address.apply_pending()
        act(*given)

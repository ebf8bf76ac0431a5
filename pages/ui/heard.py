"""What a visitor has changed, told from what a browser still sends of widgets that the page has dropped.

Streamlit forgets a widget as soon as a run of the page has gone without it; a browser sends it with whatever is clicked
on until it has heard of that. Its value then counts as changed, and what it writes would undo where the visitor went.

What it still sends of a widget that stays, but shows something else by now, cannot be told from a move. So a widget is
told only what it does not show: what it is told while a visitor moves it would come back as a move.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui import late

_MADE = "made of"


def shows(key: str, value: Any, *of: Any) -> None:
    """Have the widget called `key` show `value`. It is told so only if it does not, or is made `of` something else than
    before: of other options."""
    made = st.session_state.setdefault(_MADE, {})
    if key not in st.session_state or st.session_state[key] != value or made.get(key) != of:
        st.session_state[key], made[key] = value, of


def heard(key: str, act: Callable[..., None], *given: Any) -> dict[str, Any]:
    """What a widget is told: its key, under which the session holds what it shows, and to do `act` once it changes."""
    return {"key": key, "on_change": _hear, "args": (key, [st.session_state[key]], act, given)}


def _hear(key: str, shown: list[Any], act: Callable[..., None], given: tuple[Any, ...]) -> None:
    value = st.session_state[key]
    if value != shown[0]:
        shown[0] = value  # it may change back before it is drawn again
        late.catch_up()
        act(*given)

"""The bar for the room: the dark theme, the projector and the full screen, one press each."""

from pathlib import Path

import streamlit as st

from pages.ui.link import pending_address
from pages.ui.look.style import is_dark

_BROWSER = Path(__file__).parents[1] / "browser"


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


_ROOM = st.components.v2.component(
    "icl_room",
    html=_read("room.html"),
    css=_read("room.css"),
    js=_read("room.js"),
    isolate_styles=False,
)


def show(has_projector: bool) -> None:
    """Draw the bar; the projector, which shows the stage alone, where the page has a stage."""
    data = {
        "dark": is_dark(),
        "projector": "projector" in st.query_params,
        "stage": has_projector,
    }
    _ROOM(key="room", data=data, on_projector_change=_toggle_projector)


def _toggle_projector() -> None:
    """Put the projector into the address, or take it out."""
    is_on = "projector" in pending_address.current_query()
    pending_address.change({} if is_on else {"projector": "1"}, drop=["projector"])

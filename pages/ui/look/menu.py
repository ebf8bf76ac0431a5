"""The frame of every page: its settings, its style, the menu of all pages, and the bar for the room
(the dark theme, the projector and the full screen, one press each)."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from icl_core import registry
from icl_core.machine import limits
from pages.ui.link import pending_address
from pages.ui.look import style
from pages.ui.look.style import is_dark

_HOME = Path(__file__).parents[3]  # the folder of app.py and pages/
_DAY = 86400.0  # seconds


def frame(title: str, has_stage: bool = False) -> DeltaGenerator:
    """Begin a page called `title`: set it up, style it and draw the menu in one line.

    has_stage  whether the page has a stage, which a projector shows alone

    Returns the place at the line's right end, where a page puts further tools.
    """
    pending_address.note_arrival()
    st.set_page_config(page_title=f"{title} · in-context learning", layout="wide")
    style.apply(has_stage and "projector" in st.query_params)
    with st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="menu",
    ):
        with st.container(
            horizontal=True, width="content", vertical_alignment="center", gap=None, key="pages"
        ):
            st.page_link("app.py", label="Start")
            for name in _page_names():
                link(name, short_title(name).partition(" of ")[0])
            _rerun_after_reconnect()
        tools = st.container(
            horizontal=True,
            width="content",
            vertical_alignment="center",
            gap="small",
            key="tools",
        )
        with tools:
            _show_room_bar(has_stage)
    if limits.read_only():
        st.caption("Read-only: this server shows runs and trains none.")
    return tools


def _page_names() -> list[str]:
    """Return the names of the files in pages/ in the menu's order."""
    order = ["gallery", *registry.papers(), "learners", "lessons", "claims", "runs"]
    names = [path.stem for path in sorted((_HOME / "pages").glob("[!_]*.py"))]
    names.remove("compare")  # every stage and the page of runs lead there
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


@st.fragment(run_every=_DAY)
def _rerun_after_reconnect() -> None:
    """Draw nothing, but make Streamlit run the whole page once it finds a server again.

    It does so for pages with a fragment that runs again by itself. A new server does not know the
    widgets of a page that it has not run, and would miss the visitor's first change.
    """


def short_title(name: str) -> str:
    """Return a paper's title up to its colon; another page's file name in words."""
    paper = registry.papers().get(name)
    return paper.title.split(":")[0] if paper else name.replace("_", " ").capitalize()


def link(name: str, label: str, query: dict[str, str] | None = None) -> None:
    """Draw a link to the page called `name`; nothing if there is no such file in pages/."""
    path = f"pages/{name}.py"
    if (_HOME / path).exists():
        st.page_link(path, label=label, query_params=query)


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


def _show_room_bar(has_projector: bool) -> None:
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

"""The frame of every page: its settings, style and the menu, found from the pages there are."""

from pathlib import Path

import streamlit as st

from icl_core import registry
from icl_core.machine import limits
from pages.ui.link import pending_address
from pages.ui.look import style

_ROOT = Path(__file__).parents[3]
_DAY = 86400.0  # seconds


def frame(title: str, projector: bool = False) -> None:
    """Begin a page called `title`: set it up, style it and draw the menu."""
    pending_address.note_arrival()
    st.set_page_config(page_title=f"{title} · in-context learning", layout="wide")
    style.apply(projector)
    with st.sidebar.container(gap="xxsmall"):
        st.page_link("app.py", label="Start")
        papers = list(registry.papers())
        names = [path.stem for path in sorted((_ROOT / "pages").glob("[!_]*.py"))]
        for name in sorted(
            names, key=lambda name: papers.index(name) if name in papers else len(papers)
        ):
            link(name, short_title(name))
        if limits.read_only():
            st.caption("Read-only: this server shows runs and trains none.")
        _comes_back()


@st.fragment(run_every=_DAY)
def _comes_back() -> None:
    # Draws nothing. But a page with a fragment that runs again is run as a whole once it finds a
    # server again, and only what has run knows its widgets: a new server would not hear the first
    # move.
    return


def short_title(name: str) -> str:
    """A paper's title up to its colon; another page's file name in words."""
    paper = registry.papers().get(name)
    return paper.title.split(":")[0] if paper else name.replace("_", " ").capitalize()


def link(name: str, label: str, query: dict[str, str] | None = None) -> None:
    """A link to the page called `name`, a paper's for one, if there is such a page yet."""
    path = f"pages/{name}.py"
    if (_ROOT / path).exists():
        st.page_link(path, label=label, query_params=query)

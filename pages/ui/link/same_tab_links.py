"""Links to another state of the same page that do not load it anew, so that the visit's answers
are kept.

The same component holds the page still while a server that was found again runs it (back.js), says
when there is no network (offline.js), names figures by their finding (figures.js), keeps one panel
of the stage large (large_panel.js), lets points be dragged (drag.js), has the panel of experiments
searched and walked by keys (experiments.js), and answers a press on Cancel at once (cancel.js).
"""

from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from icl_core.figures import frames
from pages.ui.link import pending_address

_BROWSER = Path(__file__).parents[1] / "browser"
_JS = "".join(
    map(frames.browser_file, ("plotly_parts.js", "large_panel.js", "figures.js"))
) + "".join(
    (_BROWSER / f"{name}.js").read_text(encoding="utf-8")
    for name in ("back", "offline", "drag", "experiments", "cancel", "stays")
)
_STAYS = st.components.v2.component("icl_stays", html="<span hidden></span>", js=_JS)
_KEY = "stays"


def listen() -> None:
    """Put the component on the page; without it the links load the page as any other link does.

    It is one component for seven tasks because each component costs time at every rerun.
    """
    _STAYS(key=_KEY, on_asked_change=_go)


def link(page: str, label: str, query: dict[str, str]) -> str:
    """Return the HTML of a link to a state of `page`, on which the link itself stands."""
    return (
        f'<a href="{page}?{escape(urlencode(query))}" target="_self" '
        f"data-stays>{escape(label, quote=False)}</a>"
    )


def _go() -> None:
    query = st.session_state[_KEY].get("asked")
    if query:
        pending_address.write(dict(parse_qsl(query, keep_blank_values=True)))

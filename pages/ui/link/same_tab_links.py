"""Links to another state of the same page, without loading it anew: what was said in this visit is
kept. And a page that finds a server again holds still until that has run it; one without a network
says so."""

from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from pages.ui.link import pending_address

_BROWSER = Path(__file__).parents[1] / "browser"
_JS = "".join(
    (_BROWSER / name).read_text(encoding="utf-8") for name in ("back.js", "offline.js", "stays.js")
)
_STAYS = st.components.v2.component("icl_stays", html="<span hidden></span>", js=_JS)
_KEY = "stays"


def listen() -> None:
    """Follow the links of this page that stay on it, hold it still where a move would be lost, and
    say where none is heard. Without this they are links as any other. One component for all: each
    costs every move some time."""
    _STAYS(key=_KEY, on_asked_change=_go)


def link(page: str, label: str, query: dict[str, str]) -> str:
    """HTML of a link to a state of `page`, on which it stands."""
    return (
        f'<a href="{page}?{escape(urlencode(query))}" target="_self" '
        f"data-stays>{escape(label, quote=False)}</a>"
    )


def _go() -> None:
    asked = st.session_state[_KEY].get("asked")
    if asked:
        pending_address.write(dict(parse_qsl(asked, keep_blank_values=True)))

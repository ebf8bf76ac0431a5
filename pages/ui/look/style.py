"""The page's own CSS, all of it: what Streamlit's theme cannot say."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st


def _read(name: str) -> str:
    return (Path(__file__).parents[1] / "browser" / name).read_text(encoding="utf-8")


_CSS = _read("page.css")

_SCRIPT = _read("script.css")

# A wide figure cannot reflow: on a narrow screen it scrolls inside its panel, a row of maps sooner
# than curves. A hint stands under the title; on the stage beside it and shorter: a figure's own box
# has a fixed height there.
_SCROLLS = _read("wide_figures.css")
_PLACES = {"panel": ("1150px", "scroll the figure sideways"), "seat": ("900px", "scroll")}

_PROJECTOR = _read("projector.css")


def is_dark() -> bool:
    """Whether the visitor sees the dark theme."""
    return st.context.theme.type == "dark"


class Theme(NamedTuple):
    """For whom a figure is drawn."""

    dark: bool
    projector: bool

    @property
    def name(self) -> str:
        """The same in words."""
        return f"{'dark' if self.dark else 'light'}{' projector' if self.projector else ''}"


def theme() -> Theme:
    """The visitor's theme, and whether the page is shown on a projector."""
    return Theme(is_dark(), "projector" in st.query_params)


def apply(projector: bool = False) -> None:
    """Add the style to the page; `projector` makes all larger and hides what a lecture does not
    need."""
    # Streamlit has no CSS variable for it, and what sticks to the sidebar's end must cover what
    # scrolls under it.
    sidebar = st.get_option(f"theme.{'dark' if is_dark() else 'light'}.secondaryBackgroundColor")
    css = (_CSS + "".join(map(_scrolls, _PLACES)) + _SCRIPT).replace("SIDEBAR", sidebar)
    css = css.replace("FAINT", "#A6ADB8" if is_dark() else "#5C6470")
    css = css.replace("ON_PRIMARY", "#0E1117" if is_dark() else "#FFFFFF")
    css = css.replace("LINK", st.get_option(f"theme.{'dark' if is_dark() else 'light'}.linkColor"))
    st.html(f"<style>{css}{_PROJECTOR if projector else ''}</style>")


def _scrolls(place: str) -> str:
    narrow, hint = _PLACES[place]
    wide = f'[class*="st-key-{place}-wide-"]'
    return _SCROLLS.replace("NARROW", narrow).replace("WIDE", wide).replace("HINT", hint)

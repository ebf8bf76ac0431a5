"""The page's CSS: what Streamlit's theme cannot express. The rules are files, most of
them in `icl_core/figures/browser/`, as the site has them, too."""

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from icl_core.figures.frames import browser_file

_OWN = Path(__file__).parents[1] / "browser"  # of what the site has not
_PAGE = browser_file("page.css")
_PARTS = "".join(map(browser_file, ("script.css", "atlas_slider.css")))
_PARTS += "".join((_OWN / name).read_text("utf-8") for name in ("typed.css", "class.css"))
_PROJECTOR = browser_file("projector.css")
# A wide figure cannot reflow: on a narrow screen it scrolls inside its panel, and a hint says so.
# The hint stands under the title; on the stage, where a figure's box has a fixed height, beside it
# and in one word. A place's container key begins with its name; below the width it scrolls.
_WIDE_FIGURE = browser_file("wide_figures.css")
_WIDE_PLACES = {
    "panel": ("1150px", "scroll the figure sideways"),
    "seat": ("900px", "scroll"),
}
_SCROLLS = ":has(.heatmaplayer, .barlayer)"  # in a wide seat; curves fit a narrow screen


def is_dark() -> bool:
    """Return whether the visitor sees the dark theme."""
    return st.context.theme.type == "dark"


class Theme(NamedTuple):
    """How figures are drawn for a visitor."""

    dark: bool
    projector: bool  # larger

    @property
    def name(self) -> str:
        """The theme in words: "dark projector"."""
        return f"{'dark' if self.dark else 'light'}{' projector' if self.projector else ''}"


def theme() -> Theme:
    """Return the visitor's theme, and whether the page is shown on a projector."""
    return Theme(is_dark(), "projector" in st.query_params)


def apply(projector: bool = False) -> None:
    """Add the CSS to the page; on a `projector` all is larger, and what a lecture does not need is
    hidden."""
    css = page_css(_PAGE + "".join(_wide_figure_css(place) for place in _WIDE_PLACES) + _PARTS)
    st.html(f"<style>{css}{_PROJECTOR if projector else ''}</style>")


def page_css(css: str) -> str:
    """Return CSS with the colours of the visitor's theme in the place of their names."""
    name = "dark" if is_dark() else "light"
    # Streamlit has no CSS variable for the sidebar's colour. What sticks to the sidebar's end must
    # cover what scrolls under it.
    css = css.replace("SIDEBAR", st.get_option(f"theme.{name}.secondaryBackgroundColor"))
    css = css.replace("BACKGROUND", st.get_option(f"theme.{name}.backgroundColor"))
    css = css.replace("FAINT", "#A6ADB8" if is_dark() else "#5C6470")
    css = css.replace("ON_PRIMARY", "#0E1117" if is_dark() else "#FFFFFF")
    return css.replace("LINK", st.get_option(f"theme.{name}.linkColor"))


def _wide_figure_css(place: str) -> str:
    width, hint = _WIDE_PLACES[place]
    containers = f'[class*="st-key-{place}-wide-"]{_SCROLLS if place == "seat" else ""}'
    css = _WIDE_FIGURE.replace("NARROW", width)
    return css.replace("WIDE", containers).replace("HINT", hint)

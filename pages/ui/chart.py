"""A figure of the core, as a chart of Streamlit's; a panel in its seat on the stage."""

from collections.abc import Callable
from html import escape

import streamlit as st

from icl_core.experiment import Panel
from icl_core.figure import Figure
from icl_core.figures import CONFIG
from icl_core.figures.sent import Sent

_TITLE = """<h3{live}><span data-title="{name}">{title}</span>
<span class="caption" tabindex="0" role="note" aria-label="{caption}" data-caption="{caption}">?</span></h3>"""


def chart(figure: Figure, key: str, alt: str, fills: bool = False, clicked: Callable[[], None] | None = None) -> None:
    """Draw a figure; `alt` is what a screen reader says of it. `fills`: as high as the box that it stands in; `clicked`
    is called when a point is clicked on, which is then in the session's state under `key`."""
    more = {"on_select": clicked, "selection_mode": "points"} if clicked else {}
    height = "stretch" if fills else "content"
    st.plotly_chart(Sent(figure, fills), key=key, height=height, theme=None, config=CONFIG, alt=alt, **more)


def seated(panel: Panel, name: str, live: bool = False) -> None:
    """A panel of the stage, where the clock finds it by `name`. `live`: it is not of the run before, which is faded."""
    said = {"title": escape(panel.title, quote=False), "caption": escape(panel.caption)}
    st.html(_TITLE.format(name=name, live=" data-live" if live else "", **said))
    if panel.figure is not None:
        with st.container(key=f"chart-{name}"):
            # not the title, which may tell the snapshot: with another text Streamlit makes the chart anew
            chart(panel.figure, f"figure {name}", panel.caption, fills=True)

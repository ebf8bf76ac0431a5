"""A figure of the core, as a chart of Streamlit's; a panel in its seat on the stage."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures import CONFIG
from icl_core.figures.streamlit_figure import StreamlitFigure

_TITLE = """<h3{live}><span data-title="{name}">{title}</span>
<span class="caption" tabindex="0" role="note"
  aria-label="{caption}" data-caption="{caption}">?</span></h3>"""


@dataclass
class SeatedChart:
    """A chart that stays in its seat: the figure that it was made of, what a screen reader says of
    that, and the name of what it was drawn of; whether the browser may have `moved` it to another.
    """

    sent: StreamlitFigure
    alt: str
    name: str
    moved: bool = False


def show_chart(
    figure: Figure | StreamlitFigure,
    key: str,
    alt: str,
    fills: bool = False,
    clicked: Callable[[], None] | None = None,
) -> None:
    """Draw a figure; `alt` is what a screen reader says of it. `fills`: as high as the box that it
    stands in; `clicked` is called when a point is clicked on, which is then in the session's state
    under `key`."""
    more = {"on_select": clicked, "selection_mode": "points"} if clicked else {}
    height = "stretch" if fills else "content"
    sent = figure if isinstance(figure, StreamlitFigure) else StreamlitFigure(figure, fills)
    st.plotly_chart(sent, key=key, height=height, theme=None, config=CONFIG, alt=alt, **more)


def seat_chart(
    panel: Panel, name: str, live: bool = False, held: SeatedChart | None = None
) -> None:
    """A panel of the stage, where the clock finds it by `name`. `live`: it is not of the run
    before, which is faded; `held`: the chart that stands there and stays, as the clock moves it."""
    said = {"title": escape(panel.title, quote=False), "caption": escape(panel.caption)}
    st.html(_TITLE.format(name=name, live=" data-live" if live else "", **said))
    if panel.figure is not None:
        figure, alt = (held.sent, held.alt) if held else (panel.figure, panel.caption)
        with st.container(key=f"chart-{name}"):
            # not the title, which may tell the snapshot: with another text Streamlit makes the
            # chart anew
            show_chart(figure, f"figure {name}", alt, fills=True)

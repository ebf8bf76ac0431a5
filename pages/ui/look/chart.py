"""A figure of the core as a Streamlit chart, and a panel in its seat on the stage."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures import CONFIG
from icl_core.figures.streamlit_figure import StreamlitFigure
from pages.ui.look import room

_TITLE = """<div class="seat-title"{live}><h3><span data-title="{name}">{title}</span></h3>
<span class="caption" tabindex="0" role="note"
  aria-label="{caption}" data-caption="{caption}">?</span></div>"""


@dataclass
class SeatedChart:
    """A chart that stays in its seat on the stage.

    sent    the figure that Streamlit was given when the chart was made
    alt     what a screen reader says of that figure
    name    the cache key of the drawing that `sent` shows
    moved   whether the browser may have put another drawing's figure into the chart
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
    """Draw a figure; `alt` is what a screen reader says of it.

    If it `fills`, the chart is as high as the box that it stands in. `clicked` is called when the
    visitor clicks on a point, which the session's state then holds under `key`.
    """
    selection = {"on_select": clicked, "selection_mode": "points"} if clicked else {}
    height = "stretch" if fills else "content"
    sent = figure if isinstance(figure, StreamlitFigure) else StreamlitFigure(figure, fills)
    st.plotly_chart(sent, key=key, height=height, theme=None, config=CONFIG, alt=alt, **selection)


def seat_chart(
    panel: Panel, name: str, live: bool = False, held: SeatedChart | None = None
) -> None:
    """Draw a panel of the stage, where the clock finds it by `name`.

    A `live` panel shows a run that is still training, and does not fade with the run before.
    `held` is the chart that already stands in the seat; it stays, and the clock moves it.
    """
    title = escape(panel.title, quote=False)
    caption = escape(panel.caption)
    mark = " data-live" if live else ""
    st.html(_TITLE.format(name=name, live=mark, title=title, caption=caption))
    if panel.figure is not None:
        room.in_seat(name.replace(" ", "-"), panel.figure)
        figure, alt = (held.sent, held.alt) if held else (panel.figure, panel.caption)
        with st.container(key=f"chart-{name}"):
            # `alt` is not the title, which may name the snapshot: Streamlit makes a chart anew
            # whose text has changed.
            show_chart(figure, f"figure {name}", alt, fills=True)

"""A figure of the core as a Streamlit chart, a panel in its seat on the stage, and room for a
figure that needs more pixels than its place usually has: the place grows or scrolls sideways."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures import CONFIG
from icl_core.figures.streamlit_figure import StreamlitFigure

_TITLE = """<div class="seat-title"{live}>
<h3 aria-level="2"><span data-whose="{whose}" data-title="{name}">{title}</span></h3>
<span class="caption" tabindex="0" role="note"
  aria-label="{caption}" data-caption="{caption}">?</span>{tag}</div>"""


@dataclass
class SeatedChart:
    """A chart that stays in its seat on the stage.

    sent  the figure that Streamlit was given when the chart was made
    alt   what a screen reader says of that figure
    """

    sent: StreamlitFigure
    alt: str


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
    st.html(
        _TITLE.format(
            name=name,
            live=" data-live" if live else "",
            title=escape(panel.finding, quote=False),
            caption=escape(f"{panel.whose.capitalize()}. {panel.caption}".removeprefix(". ")),
            whose=panel.whose,
            tag=_tag(panel),
        )
    )
    if panel.figure is not None:
        _make_room_in_seat(name.replace(" ", "-"), panel.figure)
        figure, alt = (held.sent, held.alt) if held else (panel.figure, panel.caption)
        with st.container(key=f"chart-{name}"):
            # `alt` is not the title, which may name the snapshot: Streamlit makes a chart anew
            # whose text has changed.
            show_chart(figure, f"figure {name}", alt, fills=True)


def _tag(panel: Panel) -> str:
    """Return the tag that says whose numbers a panel shows: in the row of the axis title; lower
    where that has none, as names of bars or of groups stand there. The one seed that a visitor can
    choose stands beside the clock instead."""
    axis = panel.figure.layout.get("xaxis", {}) if panel.figure is not None else {}
    low = "" if axis.get("title", {}).get("text") else " low"
    one = " one" if panel.whose.startswith("seed ") else ""
    return f'<small class="whose{low}{one}">{panel.whose.removeprefix("mean of ")}</small>'


_TITLE_HEIGHT = 40  # pixels of height of a panel's title on the stage
_NARROWEST = 0.8  # of the size that a figure needs, the share below which it scrolls


def _make_room_in_seat(name: str, figure: Figure) -> None:
    """Make room for a figure in its seat on the stage: the large seat grows with it, and scrolls
    where it has less than a share of the width that it needs; a small one shows all of it."""
    width, height = figure.needed
    if not width:
        return
    seats = f":is(.st-key-seat-{name}, .st-key-seat-wide-{name})"
    charts = f"{seats} :has(> .stPlotlyChart), {seats} [class*='st-key-chart-']"
    # in a narrow window the width decides how large a map of square cells is
    map_height = f"max({int(_NARROWEST * height)}px, min({height}px, 34vw))"
    least = f"min-width: {int(_NARROWEST * width)}px;"
    st.html(
        f"<style>{seats} {{ overflow-x: auto; --needed-width: {width}px; "
        f"--needed-height: calc({map_height} + {_TITLE_HEIGHT}px); }} "
        f"@media (max-width: 900px) {{ {charts} {{ {least} }} }} "
        f"[data-large] :is({charts}) {{ {least} }}</style>"
    )


def make_room_in_panel(name: str, figure: Figure) -> None:
    """Make room for a figure in its panel of a drawer, where it scrolls sideways."""
    width, _ = figure.needed
    if not width:
        return
    panels = f":is(.st-key-panel-half-{name}, .st-key-panel-wide-{name})"
    st.html(
        f"<style>{panels} {{ overflow-x: auto; }} {panels} [data-testid='stElementContainer']"
        f":has(.stPlotlyChart) {{ min-width: {width}px; }}</style>"
    )

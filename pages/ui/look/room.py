"""Room for a figure that needs more pixels than its place usually has: the place grows or scrolls
sideways."""

import streamlit as st

from icl_core.contract.figure import Figure

_TITLE = 40  # pixels of height of a panel's title on the stage
_NARROWEST = 0.8  # of the size that a figure needs, the share below which it scrolls
_USUAL = "clamp(14rem, calc((100vh - var(--above)) / var(--rows) - .4rem), var(--most))"


def in_seat(name: str, figure: Figure) -> None:
    """Make room for a figure in its seat on the stage: the first row grows, and has fewer seats;
    below a share of its width the figure scrolls."""
    width, height = figure.needed
    if not width:
        return
    # in a narrow window the width decides how large a map of square cells is
    map_height = f"max({int(_NARROWEST * height)}px, min({height}px, 34vw))"
    row = f"max(calc({map_height} + {_TITLE}px), {_USUAL})"
    long_row = f"max({height + _TITLE}px, {_USUAL})"
    columns = f"minmax(max(30%, min(48%, {width}px)), 1fr)"
    seats = f":is(.st-key-seat-{name}, .st-key-seat-wide-{name})"
    charts = f"{seats} :has(> .stPlotlyChart), {seats} [class*='st-key-chart-']"
    stage = "[class*='st-key-stage-']"
    wide = f"grid-template-columns: repeat(auto-fit, {columns}); grid-template-rows: {row};"
    narrow = f"grid-template-rows: {long_row} {long_row};"
    st.html(
        f"<style>@media (min-width: 901px) {{ {stage} {{ {wide} }} }} "
        f"@media (max-width: 900px) {{ {stage} {{ {narrow} }} }} {seats} {{ overflow-x: auto; }} "
        f"{charts} {{ min-width: {int(_NARROWEST * width)}px; }}</style>"
    )


def in_panel(name: str, figure: Figure) -> None:
    """Make room for a figure in its panel of a drawer, where it scrolls sideways."""
    width, _ = figure.needed
    if not width:
        return
    panels = f":is(.st-key-panel-half-{name}, .st-key-panel-wide-{name})"
    st.html(
        f"<style>{panels} {{ overflow-x: auto; }} {panels} [data-testid='stElementContainer']"
        f":has(.stPlotlyChart) {{ min-width: {width}px; }}</style>"
    )

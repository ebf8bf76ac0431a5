"""A figure of the core, as a chart of Streamlit's."""

from typing import Any

import streamlit as st
from plotly.basedatatypes import BaseFigure

from icl_core.figure import Figure
from icl_core.figures import CONFIG


class _Sent(BaseFigure):
    """A figure as Streamlit wants it, which would else build plotly's objects of it: forty times slower."""

    def __init__(self, figure: Figure, fills: bool) -> None:
        self._ready = figure.to_dict()
        if fills:
            self._ready["layout"].pop("height", None)

    def to_dict(self) -> dict[str, Any]:  # type: ignore[override]
        return self._ready


def chart(figure: Figure, key: str, alt: str, fills: bool = False) -> None:
    """Draw a figure; `alt` is what a screen reader says of it. `fills`: as high as the box that it stands in."""
    height = "stretch" if fills else "content"
    st.plotly_chart(_Sent(figure, fills), key=key, height=height, theme=None, config=CONFIG, alt=alt)

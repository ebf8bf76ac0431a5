"""A figure of the core, as a chart of Streamlit's."""

from typing import Any

import streamlit as st
from plotly.basedatatypes import BaseFigure

from icl_core.figure import Figure
from icl_core.figures import CONFIG


class _Sent(BaseFigure):
    """A figure as Streamlit wants it, which would else build plotly's objects of it: forty times slower."""

    def __init__(self, figure: Figure) -> None:
        self._ready = figure.to_dict()

    def to_dict(self) -> dict[str, Any]:  # type: ignore[override]
        return self._ready


def chart(figure: Figure, key: str, alt: str) -> None:
    """Draw a figure; `alt` is what a screen reader says of it."""
    st.plotly_chart(_Sent(figure), key=key, theme=None, config=CONFIG, alt=alt)

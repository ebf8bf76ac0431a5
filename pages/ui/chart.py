"""A figure of the core, as a chart of Streamlit's."""

import streamlit as st

from icl_core.figure import Figure
from icl_core.figures import CONFIG
from icl_core.figures.sent import Sent


def chart(figure: Figure, key: str, alt: str, fills: bool = False) -> None:
    """Draw a figure; `alt` is what a screen reader says of it. `fills`: as high as the box that it stands in."""
    height = "stretch" if fills else "content"
    st.plotly_chart(Sent(figure, fills), key=key, height=height, theme=None, config=CONFIG, alt=alt)

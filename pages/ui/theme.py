"""Which of the two themes the visitor sees."""

import streamlit as st


def is_dark() -> bool:
    """Whether the visitor sees the dark theme."""
    return st.context.theme.type == "dark"

"""A sentence of the script, as it stands on the page."""

from html import escape

import streamlit as st

from pages.ui.address import Setting


def line(setting: Setting, text: str, more: str = "") -> None:
    """A sentence, and HTML of ours after it."""
    st.html(f'<p class="says">{escape(text, quote=False)} {more}</p>')

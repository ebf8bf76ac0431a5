"""The glossary on the page: symbols explain themselves wherever they stand, and the script's
sentences make them reachable by keyboard."""

import streamlit as st

from icl_core.figures.frames import browser_file
from icl_core.share.glossary import marked, meanings

_WORDS = st.components.v2.component(
    "icl_words", html="<span hidden></span>", js=browser_file("words.js"), isolate_styles=False
)


def explain(paper: str) -> None:
    """Show the meaning of each symbol of a paper's glossary under the pointer or the keyboard's
    focus."""
    rows = [[symbol, meaning] for symbol, meaning in meanings(paper).items()]
    _WORDS(key="words", data=rows)


def line(paper: str, text: str, more: str = "") -> None:
    """Draw a sentence with a paper's symbols marked; `more` is trusted HTML after it."""
    st.html(f'<p class="says">{marked(text, meanings(paper))} {more}</p>')

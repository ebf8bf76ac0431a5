"""The words of the page: a sentence of the script, and symbols that explain themselves wherever
they stand."""

import re
from functools import cache
from html import escape
from pathlib import Path

import streamlit as st

from icl_core import registry
from pages.ui.link.address import Setting

_JS = (Path(__file__).parents[1] / "browser" / "words.js").read_text(encoding="utf-8")
_WORDS = st.components.v2.component(
    "icl_words", html="<span hidden></span>", js=_JS, isolate_styles=False
)
_LISTED = re.compile(r", (?![^(]*\))")  # a comma that is not inside brackets


def explain(paper: str) -> None:
    """Have every symbol of a paper's glossary explain itself where the pointer or the keyboard
    finds it."""
    _WORDS(key="words", data=list(map(list, meanings(paper).items())))


@cache
def meanings(paper: str) -> dict[str, str]:
    """The symbols of a paper with their meanings, the longest first."""
    rows = [
        (_LISTED.split(symbol), meaning) for _, symbol, meaning in registry.papers()[paper].glossary
    ]
    found = {term.strip(): meaning for terms, meaning in rows for term in terms}
    return dict(sorted(found.items(), key=lambda row: -len(row[0])))


def line(setting: Setting, text: str, more: str = "") -> None:
    """A sentence, its symbols within reach of the keyboard; and HTML of ours after it."""
    st.html(f'<p class="says">{marked(text, meanings(setting.id.partition(".")[0]))} {more}</p>')


def marked(text: str, meanings: dict[str, str]) -> str:
    """HTML of a sentence in which each symbol, where it first stands, is one that the keyboard
    reaches."""
    if not meanings:
        return escape(text, quote=False)
    terms, seen, made, at = re.compile("|".join(map(_whole, meanings))), set(), [], 0
    for found in terms.finditer(text):
        if found[0] not in seen:
            seen.add(found[0])
            word = (
                '<span class="word" tabindex="0" role="note" '
                f'aria-label="{{}}">{escape(found[0])}</span>'
            )
            made += [escape(text[at : found.start()], quote=False)]
            made += [word.format(escape(f"{found[0]}: {meanings[found[0]]}"))]
            at = found.end()
    return "".join([*made, escape(text[at:], quote=False)])


def _whole(term: str) -> str:
    return rf"(?<![\w-]){re.escape(term)}(?![\w\u0300-\u036f-])"  # no D of 1-D, no Q under a tilde

"""A slider on which trained runs are marked, and which goes from one to the next while it is
dragged (figures/browser/atlas_slider.js)."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from icl_core.figures.frames import browser_file
from pages.ui.link import pending_address

_PART = Path(__file__).parents[1] / "browser" / "part.js"
_SLIDER = st.components.v2.component(
    "icl_atlas_slider",
    html='<div class="atlas-slider"></div>',
    js=_PART.read_text(encoding="utf-8"),
    isolate_styles=False,
)
_SLIDERS = st.components.v2.component(
    "icl_atlas_sliders", html="<span hidden></span>", js=browser_file("atlas_slider.js")
)
_ANSWERED = "moves of sliders that were answered"  # in the session: by key the browser's time


def draw(
    key: str,
    label: str,
    values: dict[str, Any],
    value: str,
    trained: Sequence[str],
    on_move: Callable[[Any], None],
    help: str | None = None,
    disabled: bool = False,
) -> None:
    """Draw a slider that shows `value`. Once for all sliders the page must `listen`.

    values   the value of each stop, by its text, in order
    trained  texts of at least two stops at which runs exist
    on_move  called with the value to which the visitor has moved it
    """
    texts = list(values)
    look = {
        "label": label,
        "help": help,
        "texts": texts,
        "marks": [texts.index(text) for text in trained],
        "disabled": disabled,
    }
    answered = st.session_state.setdefault(_ANSWERED, {})
    slider = {"at": texts.index(value), "answers": answered.get(key), "look": look}
    _SLIDER(key=key, data={"slider": slider}, on_moved_change=partial(_moved, key, values, on_move))


def listen() -> None:
    """Put the sliders' code on the page; a part of each slider, it would be sent with each."""
    _SLIDERS(key="part sliders")


def _moved(key: str, values: dict[str, Any], on_move: Callable[[Any], None]) -> None:
    match st.session_state[key].get("moved"):
        case [str(text), int(time)]:
            st.session_state[_ANSWERED][key] = time
            if text in values:  # its stops may have changed meanwhile
                pending_address.apply_pending()
                on_move(values[text])

"""A browser hears of a new address a moment after it is written. What a visitor moves until then
comes with the address of before, and would undo the move before: so what is written is remembered
for that moment."""

import time
from collections.abc import Collection, Mapping

import streamlit as st

_STREAMLITS = ("embed", "embed_options")  # which it keeps to itself
_WRITTEN, _MOMENT = "written just now", 10.0  # seconds: a run of the page may be on its way


def current_query() -> dict[str, str]:
    """The address's query, where the moves so far have led to though the browser may not have heard
    of it."""
    here = dict(st.query_params)
    return dict(st.session_state[_WRITTEN][1]) if here in _left() else here


def write(wanted: Mapping[str, str]) -> None:
    """Make it the address's query."""
    here, before, left = dict(st.query_params), current_query(), _left()
    if wanted != here or wanted != before:  # of the second the browser may be about to hear
        st.query_params.from_dict(wanted)
    if wanted != before:
        left = [each for each in (*left, before) if each != wanted]
        st.session_state[_WRITTEN] = left, dict(wanted), time.monotonic()


def change(put: Mapping[str, str], drop: Collection[str] = ()) -> None:
    """Take `drop` out of the address's query and put `put` in; the rest stays as it is."""
    write(
        {name: value for name, value in current_query().items() if name in put or name not in drop}
        | dict(put)
    )


def apply_pending() -> None:
    """Before the page is run, or a move is heard, with what may be the address of before."""
    write(current_query())


def note_arrival() -> None:
    """As a page begins: at an address of before, and without a move, the visitor has gone back to
    it."""
    if dict(st.query_params) in _left():
        st.session_state.pop(_WRITTEN)


def is_plausible(query: Mapping[str, str]) -> bool:
    """Whether a browser that says so may have that query: it is the address's, or was until a
    moment ago."""
    mine = {name: value for name, value in query.items() if name.lower() not in _STREAMLITS}
    return mine in (dict(st.query_params), *_left())


def _left() -> list[dict[str, str]]:
    """The addresses that were left in the last moment: a browser may still have one of them."""
    left, led, at = st.session_state.get(_WRITTEN, ([], {}, 0.0))
    elsewhere = dict(st.query_params) not in (*left, led)  # it has gone there since
    return [] if elsewhere or time.monotonic() - at > _MOMENT else left

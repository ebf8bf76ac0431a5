"""A browser hears of a new address a moment after it is written. What a visitor moves until then comes with the address
of before, and would undo the move before: so what is written is remembered for that moment."""

import time
from collections.abc import Mapping

import streamlit as st

_WRITTEN, _MOMENT = "written just now", 3.0  # seconds


def write(query: Mapping[str, str]) -> None:
    """Make it the address's query."""
    here, former = dict(st.query_params), _former()
    if here != query:
        st.query_params.from_dict(query)
        st.session_state[_WRITTEN] = [each for each in (*former, here) if each != query], dict(query), time.monotonic()


def catch_up() -> None:
    """Before a move is heard: the address is that which the moves before have led to."""
    if dict(st.query_params) in _former():
        st.query_params.from_dict(st.session_state[_WRITTEN][1])
    else:
        _forget()


def arrived() -> None:
    """As a page begins: with an address of before, and no move, the visitor has gone back there."""
    if dict(st.query_params) in _former():
        _forget()


def _former() -> list[dict[str, str]]:
    """The addresses that a browser may still have."""
    former, _, at = st.session_state.get(_WRITTEN, ([], {}, 0.0))
    return former if time.monotonic() - at < _MOMENT else []


def _forget() -> None:
    st.session_state.pop(_WRITTEN, None)

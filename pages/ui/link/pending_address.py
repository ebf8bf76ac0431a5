"""Addresses that were written and that the browser has not received yet.

The browser receives a new address some time after the server has written it. What the visitor
changes until then arrives with the former address, and would undo the change before it. So the
session remembers for some seconds what it has written and which addresses it has left.
"""

import time
from collections.abc import Collection, Mapping

import streamlit as st

_STREAMLIT_FIELDS = ("embed", "embed_options")  # Streamlit does not pass these on
_WRITTEN = "written just now"
_LIFETIME = 10.0  # seconds; a run of the page may be on its way as long


def current_query() -> dict[str, str]:
    """Return the address's query after all changes so far, also if the browser has not received
    the last ones."""
    query = dict(st.query_params)
    if query in _left_queries():
        return dict(st.session_state[_WRITTEN][1])
    return query


def write(query: Mapping[str, str]) -> None:
    """Make `query` the address's."""
    received = dict(st.query_params)
    current = current_query()
    left = _left_queries()
    if query != received or query != current:  # the browser may be about to receive `current`
        st.query_params.from_dict(query)
    if query != current:
        left = [former for former in (*left, current) if former != query]
        st.session_state[_WRITTEN] = left, dict(query), time.monotonic()


def change(put: Mapping[str, str], drop: Collection[str] = ()) -> None:
    """Take the fields `drop` out of the address's query, put `put` in and leave the rest."""
    query = {
        name: value for name, value in current_query().items() if name in put or name not in drop
    }
    write(query | dict(put))


def apply_pending() -> None:
    """Write the newest query again.

    Call this before the page is run, or a change is handled, that may have come with a former
    address.
    """
    write(current_query())


def note_arrival() -> None:
    """Accept the browser's address as the page begins.

    A former address without a change means that the visitor has gone back to it.
    """
    if dict(st.query_params) in _left_queries():
        st.session_state.pop(_WRITTEN)


def is_plausible(query: Mapping[str, str]) -> bool:
    """Return whether a browser may truly report `query` as its own: the address has it now, or had
    it within the last seconds."""
    own = {name: value for name, value in query.items() if name.lower() not in _STREAMLIT_FIELDS}
    return own in (dict(st.query_params), *_left_queries())


def _left_queries() -> list[dict[str, str]]:
    """Return the queries that the session has just left; the browser may still have one of them."""
    left, written, written_at = st.session_state.get(_WRITTEN, ([], {}, 0.0))
    has_moved_on = dict(st.query_params) not in (*left, written)  # the browser has gone elsewhere
    is_old = time.monotonic() - written_at > _LIFETIME
    return [] if has_moved_on or is_old else left

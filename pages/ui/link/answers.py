"""Answers that a visitor gives in a lesson, and that outlive a reload of the page.

The session holds them, and this process a copy for each visitor and lesson, bounded: the visitors
who have not answered for longest are forgotten first. Outside lessons the session alone holds them.
"""

from collections import OrderedDict
from threading import Lock

import streamlit as st

from icl_core import registry
from pages.ui.link import pending_address, visitors

VISITORS = 1000
ANSWERS = 50  # of one visitor in one lesson
_Answers = dict[str, str | int]
_kept: OrderedDict[tuple[str, str], _Answers] = OrderedDict()  # by visitor and lesson
_lock = Lock()


def store(key: str, value: str | int) -> None:
    """Put an answer into the session under `key`; in a lesson also keep it over a reload."""
    st.session_state[key] = value
    lesson = _lesson()
    if not lesson:
        return
    with _lock:
        answers = _kept.setdefault((visitors.name(), lesson), {})
        _kept.move_to_end((visitors.name(), lesson))
        if key in answers or len(answers) < ANSWERS:
            answers[key] = value
        while len(_kept) > VISITORS:
            _kept.popitem(last=False)


def restore() -> None:
    """Put the answers that the visitor gave in this lesson before a reload into the session."""
    lesson = _lesson()
    with _lock:
        answers = dict(_kept.get((visitors.name(), lesson), {})) if lesson else {}
    for key, value in answers.items():
        st.session_state.setdefault(key, value)


def forget(key: str) -> None:
    """Forget one answer."""
    st.session_state.pop(key, None)
    with _lock:
        _kept.get((visitors.name(), _lesson()), {}).pop(key, None)


def clear() -> None:
    """Forget the visitor's answers in this lesson, for whoever sits here next."""
    with _lock:
        answers = _kept.pop((visitors.name(), _lesson()), {})
    for key in answers:
        st.session_state.pop(key, None)


def _lesson() -> str:
    """Return the name of the lesson in the address; empty if there is none of that name."""
    name = pending_address.current_query().get("lesson", "")
    return name if name in registry.lessons() else ""

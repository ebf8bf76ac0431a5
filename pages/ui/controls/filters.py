"""Filters above a table, kept in the address: choices of several names and of one."""

from collections.abc import Callable, Iterable, Mapping

import streamlit as st

from icl_core.contract.knobs import unknown_name
from icl_core.contract.message import sentence
from pages.ui.link import pending_address
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown


def names(field: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names in a field of the address, separated by commas, that are known; a warning
    names one that is not."""
    known = list(known)
    requested = [name for name in st.query_params.get(field, "").split(",") if name]
    unknown = [name for name in requested if name not in known]
    if unknown:
        st.warning(escape_markdown(sentence(str(unknown_name(field, unknown[0], known)))))
    return tuple(name for name in requested if name in known)


def put(**fields: str) -> None:
    """Write fields of the address; an empty one is left out."""
    pending_address.change({name: text for name, text in fields.items() if text}, drop=fields)


def several(
    page: str,
    label: str,
    field: str,
    options: Iterable[str],
    title: Callable[[str], str],
    chosen: Iterable[str],
) -> None:
    """Draw a choice of several names, which the address separates by commas."""
    options = list(options)
    value = [name for name in chosen if name in options]
    key = f"{page}: {field}"
    set_widget(key, value, options)
    arguments = widget_arguments(key, _several_changed, key, field)
    st.multiselect(label, options, value, format_func=title, placeholder="all", **arguments)


def _several_changed(key: str, field: str) -> None:
    put(**{field: ",".join(st.session_state[key])})


def one(
    page: str, label: str, field: str, titles: Mapping[str, str], value: str, usual: str
) -> None:
    """Draw a choice of one of the titles; the address leaves the usual one out."""
    options = list(titles)
    key = f"{page}: {field}"
    set_widget(key, value, dict(titles))
    arguments = widget_arguments(key, _one_changed, key, field, usual)
    st.selectbox(label, options, options.index(value), format_func=titles.__getitem__, **arguments)


def _one_changed(key: str, field: str, usual: str) -> None:
    value = st.session_state[key]
    put(**{field: "" if value == usual else value})

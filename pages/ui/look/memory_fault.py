"""Say in a sentence that the memory of the server has run out, where a page could not be drawn for
it: otherwise every page of a server in a small container is an exception."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from icl_core.jobs import faults
from pages.ui.look.escape import escape_markdown

Arguments = ParamSpec("Arguments")


def say_if_memory_ends(show: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Return the function that draws a page or a fragment of it, with the sentence in place of an
    exception for want of memory. All others are raised. A fragment needs its own: Streamlit shows
    its exceptions itself."""

    @wraps(show)
    def drawn(*arguments: Arguments.args, **options: Arguments.kwargs) -> None:
        try:
            show(*arguments, **options)
        except Exception as problem:
            if faults.fault_kind(problem) != faults.MEMORY:
                raise
            logging.getLogger(__name__).exception("a page was not drawn")
            st.error(escape_markdown(faults.server_memory_message(problem)))

    return drawn

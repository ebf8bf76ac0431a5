"""A setting that takes seconds trains as soon as it is chosen, unless the visitor has turned that
off.

A visitor has one such training at a time: moving on gives the former one up, where nobody else
watches it.
"""

from contextlib import suppress

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, spawn
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import limits
from pages.ui.link import pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments

LONGEST = 5.0  # seconds that may be spent on a visitor who has not asked for them
_FIELD, _CHOSEN, _BEGUN = "at_once", "at once", "begun at once"


def show_switch() -> None:
    """The switch; what it was set to holds for the visit, and stands in the address where it is
    off."""
    set_widget("switch", is_on())
    help = (
        f"Settings that train in less than about {LONGEST:.0f} s start as soon as you choose them"
    )
    st.toggle("Train at once", is_on(), help=help, **widget_arguments("switch", _switched))


def is_on() -> bool:
    """Whether short trainings begin by themselves."""
    if _FIELD in st.query_params:
        st.session_state[_CHOSEN] = st.query_params[_FIELD] != "false"
    return st.session_state.get(_CHOSEN, True)


def _switched() -> None:
    st.session_state[_CHOSEN] = st.session_state["switch"]
    off = {} if st.session_state[_CHOSEN] else {_FIELD: "false"}
    pending_address.change(off, drop=[_FIELD])


def begin(setting: Setting, key: str) -> None:
    """Ask for the setting, which has no run, if that takes seconds. What somebody has asked for
    before is not tried again, whatever came of it, unless it was given up as here."""
    if limits.read_only() or not is_on():
        return
    job = queue.state(key)
    if not (job is None or job.status == "left"):
        return
    seconds = estimate_seconds(setting.id, setting.config)
    if seconds is None or seconds >= LONGEST:
        return
    st.session_state[_BEGUN] = key  # first: what follows may be cut off by the visitor's next move
    queue.watch(key, visitors.window())
    with suppress(BadSetting, OSError):  # the Run button, which is there then, says why
        queue.submit(setting.id, setting.config, visitor=visitors.name())
        spawn.ensure_workers()


def keep_job(key: str) -> None:
    """The visitor has asked for that run by hand: moving on does not give it up."""
    if st.session_state.get(_BEGUN) == key:
        del st.session_state[_BEGUN]


def drop_job(key: str) -> None:
    """Give up what was begun for this visitor, unless it is the run called `key`."""
    begun = st.session_state.get(_BEGUN, key)
    if begun != key:
        queue.unwatch(begun, visitors.window(), visitors.name())
        del st.session_state[_BEGUN]

"""Short trainings start as soon as their setting is chosen, unless the visitor has switched that
off.

A visitor has one such training at a time: choosing another setting gives the former training up if
nobody else watches it.
"""

from contextlib import suppress

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, spawn
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import limits
from icl_core.runs.request import Request
from pages.ui.link import pending_address, visitors
from pages.ui.link.widget_events import set_widget, widget_arguments

LONGEST = 5.0  # seconds that may be spent on a visitor who has not asked for them
LABEL = f"Train automatically (runs under {LONGEST:.0f} s)"
_FIELD = "at_once"  # in the address
_SWITCH = "at once"  # in the session: what the visitor chose
_STARTED = "begun at once"  # in the session: the key of the run that was started for the visitor


def show_switch() -> None:
    """Draw the switch; its position holds for the visit and is in the address while it is off."""
    set_widget("switch", is_on())
    help = (
        f"Settings that train in less than about {LONGEST:.0f} s start as soon as you choose them"
    )
    st.toggle(LABEL, is_on(), help=help, **widget_arguments("switch", _switched))


def is_on() -> bool:
    """Return whether short trainings start by themselves."""
    if _FIELD in st.query_params:
        st.session_state[_SWITCH] = st.query_params[_FIELD] != "false"
    return st.session_state.get(_SWITCH, True)


def _switched() -> None:
    st.session_state[_SWITCH] = st.session_state["switch"]
    fields = {} if st.session_state[_SWITCH] else {_FIELD: "false"}
    pending_address.change(fields, drop=[_FIELD])


def begin(request: Request) -> None:
    """Submit a request, whose run is missing, if its training is short.

    A request that has a job already is not submitted again, unless that job was given up because
    its visitor had moved on.
    """
    if limits.read_only() or not is_on():
        return
    job = queue.state(request.key)
    if job is not None and not job.left:
        return
    seconds = estimate_seconds(request)
    if seconds is None or seconds >= LONGEST:
        return
    # stored first: the visitor's next move may interrupt what follows
    st.session_state[_STARTED] = request.key
    queue.watch(request.key, visitors.window())
    with suppress(BadSetting, OSError):  # the Run button, which is there then, says why
        queue.submit(request, visitor=visitors.name())
        spawn.ensure_workers()


def keep_job(key: str) -> None:
    """Keep the run's training when the visitor moves on: they have now asked for it themselves."""
    if st.session_state.get(_STARTED) == key:
        del st.session_state[_STARTED]


def drop_job(key: str) -> None:
    """Give up the training that was started for this visitor, unless its run is `key`."""
    started = st.session_state.get(_STARTED, key)
    if started != key:
        queue.unwatch(started, visitors.window(), visitors.name())
        del st.session_state[_STARTED]

"""Trainings that start by themselves once their setting is chosen, unless the visitor has switched
that off: those of a few seconds at once, and where nobody else uses the machine those of up to a
minute as soon as the knobs have rested.

A visitor has one such training at a time: choosing another setting gives the former training up if
nobody else watches it.
"""

import math
import time
from contextlib import suppress

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, spawn
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import limits
from icl_core.runs.request import Request
from pages.ui.link import pending_address, visitors
from pages.ui.link.widget_events import set_widget, widget_arguments

SHORT = 5.0  # seconds that may be spent on a visitor who has not asked for them
LONGEST_ALONE = 60.0  # the same where nobody else uses the machine
REST = 1.0  # seconds without another setting, after which a training that is not short begins
_FIELD = "at_once"  # in the address
_SWITCH = "at once"  # in the session: what the visitor chose
_STARTED = "begun at once"  # in the session: the key of the run that was started for the visitor
_RESTING = "resting"  # in the session: the key of a run that begins after a rest, and since when


def show_switch() -> None:
    """Draw the switch; its position holds for the visit and is in the address while it is off."""
    set_widget("switch", is_on())
    length = f"{longest():.0f} s"
    st.toggle(
        f"Train automatically (runs under {length})",
        is_on(),
        help=f"Settings that train in less than about {length} start as soon as you choose them",
        **widget_arguments("switch", _switched),
    )


def watch_rest() -> None:
    """Begin the training that waits until its setting has rested, if there is one."""
    if _RESTING in st.session_state:
        st.fragment(_begin_after_rest, run_every=REST / 5)()


def longest() -> float:
    """Return below how many seconds a training starts by itself."""
    return SHORT if visitors.has_guests() else LONGEST_ALONE


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
    """Submit a request, whose run is missing, if its training may start by itself now.

    A request that has a job already is not submitted again, unless that job was given up because
    its visitor had moved on.
    """
    resting_key, since = st.session_state.pop(_RESTING, ("", 0.0))
    if limits.read_only() or not is_on():
        return
    job = queue.state(request.key)
    if job is not None and not job.left:
        return
    seconds = estimate_seconds(request)
    if seconds is None or seconds >= longest():
        return
    if resting_key != request.key:
        since = time.monotonic()
    if seconds >= SHORT and time.monotonic() - since < REST:
        st.session_state[_RESTING] = request.key, since
        return
    # stored first: the visitor's next move may interrupt what follows
    st.session_state[_STARTED] = request.key
    queue.watch(request.key, visitors.window())
    with suppress(BadSetting, OSError):  # the Run button, which is there then, says why
        queue.submit(request, visitor=visitors.name())
        spawn.ensure_workers()


def _begin_after_rest() -> None:
    """Draw the page again, which begins the training, once its setting has been chosen for long
    enough."""
    _, since = st.session_state.get(_RESTING, ("", math.inf))
    if time.monotonic() - since >= REST:
        pending_address.apply_pending()
        st.rerun()


def forget_rest() -> None:
    """Begin nothing after a rest: what is chosen now needs no training, or cannot be trained."""
    st.session_state.pop(_RESTING, None)


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

"""A drawing of a run that is still going, over the one of the run before, until it is done."""

import time
from collections.abc import Callable

import streamlit as st

from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.jobs import queue
from pages.ui.link.address import Setting
from pages.ui.look.style import theme
from pages.ui.stage import panels

# seconds between drawings: one that is drawn, here and in the browser, holds the training up
INTERVAL = 0.5
FIRST_WAIT = 0.5  # seconds in which a short training has its first curves: worth waiting for, once
_LAST = "last curves"


def show_live(
    setting: Setting,
    drawing: Drawing,
    key: str,
    put: Callable[[Panel], None],
    before: Callable[[], None],
) -> None:
    """Draw the curves of the run called `key` as far as they are, again and again, by `put`; until
    there are any, and where none grow, what was there `before`."""
    if key and drawing.live:
        return st.fragment(_grow, run_every=INTERVAL)(setting, drawing, key, put, before)
    with (
        st.container()
    ):  # a fragment has one: with the same nesting a chart takes the place of the one before
        before()


def _grow(
    setting: Setting,
    drawing: Drawing,
    key: str,
    put: Callable[[Panel], None],
    before: Callable[[], None],
) -> None:
    # the last curves stay until the page shows the whole run, whose worker has taken them away
    of, run = st.session_state.get(_LAST, ("", None))
    if (latest := queue.partial_curves(key) if of == key else _first(key)) is not None or of != key:
        run = latest
        st.session_state[_LAST] = key, run
    with panels.report_faults(setting, drawing.name):
        if run is None or not run.tensors or not drawing.applies(run.config):
            return before()
        put(panels.draw(run, drawing, setting.view, theme()))


def _first(key: str) -> Run | None:
    """The first curves of a run that may have begun just now."""
    end = time.monotonic() + FIRST_WAIT
    while (
        (run := queue.partial_curves(key)) is None or not run.info["step"]
    ) and time.monotonic() < end:
        job = queue.state(key)
        if job is None or job.ended or job.position > 1:
            break
        time.sleep(0.02)
    return run

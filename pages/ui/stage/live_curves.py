"""Curves of a run that is still training, drawn in place of the former run's until it is done."""

import time
from collections.abc import Callable

import streamlit as st

from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.jobs import queue
from pages.ui.link.address import Setting
from pages.ui.look.style import theme
from pages.ui.stage import panels

INTERVAL = 0.5  # seconds between drawings; each one delays the training
FIRST_WAIT = 0.5  # seconds: a short training has its first curves by then
_LAST_CURVES = "last curves"


def show_live(
    setting: Setting,
    drawing: Drawing,
    key: str,
    show: Callable[[Panel], None],
    show_former: Callable[[], None],
) -> None:
    """Draw the curves that the run of that key has so far, again and again, by `show`.

    `show_former` draws the former run's panel: until there are curves, and where `key` is empty or
    the drawing shows none.
    """
    if key and drawing.live:
        return st.fragment(_show_curves, run_every=INTERVAL)(
            show, show_former, setting, drawing, key
        )
    # A fragment has a container: with the same nesting a chart takes the place of the former one.
    with st.container():
        show_former()


def _show_curves(
    show: Callable[[Panel], None],
    show_former: Callable[[], None],
    setting: Setting,
    drawing: Drawing,
    key: str,
) -> None:
    # The last curves stay until the page shows the finished run, whose worker has deleted them.
    last_key, run = st.session_state.get(_LAST_CURVES, ("", None))
    latest = queue.partial_curves(key) if last_key == key else _first_curves(key)
    if latest is not None or last_key != key:
        run = latest
        st.session_state[_LAST_CURVES] = key, run
    with panels.report_faults(setting, drawing.name):
        if run is None or not run.tensors or not drawing.applies(run.config):
            return show_former()
        show(panels.draw(run, drawing, setting.view, theme()))


def _first_curves(key: str) -> Run | None:
    """Wait up to `FIRST_WAIT` for the first curves of a run that may have begun just now."""
    end = time.monotonic() + FIRST_WAIT
    while True:
        run = queue.partial_curves(key)
        has_curves = run is not None and run.info["step"]
        if has_curves or time.monotonic() >= end:
            return run
        job = queue.state(key)
        if job is None or job.ended or job.position > 1:
            return run
        time.sleep(0.02)

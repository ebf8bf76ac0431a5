"""A run that is still training, drawn in place of the former run's until it is done: its curves,
and its model from the previews of its worker."""

import time
from collections.abc import Callable

import streamlit as st

from icl_core.contract.experiment import CannotDraw, Drawing, Panel, Run
from icl_core.jobs import queue
from icl_core.share.stage_films import relevant_view
from pages.ui.controls import training
from pages.ui.link.address import Setting
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import Theme, theme
from pages.ui.stage import panels

INTERVAL = 0.75  # seconds between drawings; each one delays the training
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


@say_if_memory_ends
def _show_curves(
    show: Callable[[Panel], None],
    show_former: Callable[[], None],
    setting: Setting,
    drawing: Drawing,
    key: str,
) -> None:
    with panels.report_faults(drawing.name):
        panel = latest_panel(setting, drawing, key)
        if panel is None:
            return show_former()
        show(panel)


def latest_panel(setting: Setting, drawing: Drawing, key: str) -> Panel | None:
    """Return the panel of what the run of that key has so far: its curves, or its model; None if
    there is nothing to draw yet."""
    return _curves(setting, drawing, key) if drawing.live else _model(setting, drawing, key)


def _model(setting: Setting, drawing: Drawing, key: str) -> Panel | None:
    """Return the panel of the model as it is now; None if there is nothing to draw yet."""
    run = training.latest_model(key)
    if run is None or not drawing.applies(run.config):
        return None
    view = relevant_view(setting.experiment, drawing, setting.view)
    name = panels.drawing_key(setting.id, drawing, run, view)
    try:
        return _model_panel(name, run, drawing, view, theme())
    except CannotDraw:
        return None


# Apart from the panels of finished runs, which these would push out of their cache.
@st.cache_resource(max_entries=24, show_spinner=False)
def _model_panel(name: str, _run: Run, _drawing: Drawing, _view: object, _theme: Theme) -> Panel:
    return panels.draw(_run, _drawing, _view, _theme)


def _curves(setting: Setting, drawing: Drawing, key: str) -> Panel | None:
    """Return the panel of the curves so far; None if there is nothing to draw yet."""
    # The last curves stay until the page shows the finished run, whose worker has deleted them.
    last_key, run = st.session_state.get(_LAST_CURVES, ("", None))
    latest = queue.partial_curves(key) if last_key == key else _first_curves(key)
    if latest is not None or last_key != key:
        run = latest
        st.session_state[_LAST_CURVES] = key, run
    if run is None or not run.tensors or not drawing.applies(run.config):
        return None
    return panels.draw(run, drawing, setting.view, theme())


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

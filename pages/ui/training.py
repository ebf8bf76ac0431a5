"""The Run button with its honest time, and the job it starts: its place, progress and curves, live."""

import math
from contextlib import suppress

import streamlit as st

from icl_core.jobs import queue, start
from icl_core.jobs.folder import trouble
from icl_core.knobs import BadSetting
from pages.ui import panels
from pages.ui.address import Setting
from pages.ui.plain import plain
from pages.ui.style import look


def duration(seconds: float | None) -> str:
    """A time in words, as exact as an estimate can be: "about 9 s"."""
    if seconds is None:
        return "time unknown"
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def run_button(setting: Setting, where: str, again: bool = False) -> None:
    """The button that asks for the setting to be trained."""
    time = duration(queue.estimate(setting.id, setting.config))
    label = f"{'Run again' if again else 'Train it here'} · {time} on this machine"
    st.button(label, type="primary", key=f"run {where}", on_click=_submit, args=(setting,))


def _submit(setting: Setting) -> None:
    try:
        queue.submit(setting.id, setting.config)
        start.ensure_workers()
    except (BadSetting, OSError) as problem:
        told = trouble(problem) if isinstance(problem, OSError) else str(problem)
        st.error(f"The run cannot be asked for: {plain(told)}.")


def watch(setting: Setting, key: str) -> None:
    """Follow the job of this setting until it ends."""
    with st.container(border=True, key="progress"):
        st.fragment(_progress, run_every=0.4)(key)
        # less often: a figure that is drawn, here and in the browser, holds the training up
        st.fragment(_live, run_every=1.0)(setting, key)


def _progress(key: str) -> None:
    job = queue.state(key)
    if job is None or job.ended:
        return st.rerun()  # the page shows what came of it
    ensure_workers()  # its worker may have died
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(job.step / job.total, 1.0) if job.total else 0.0, text=plain(describe(job)))
        st.button("Cancel", key="cancel", on_click=queue.cancel, args=(key,))


def ensure_workers() -> None:
    """Start workers for what waits; where nothing can be written the job's own message says so."""
    with suppress(OSError):
        start.ensure_workers()


def describe(job: queue.JobState) -> str:
    """A job's state in one line."""
    if job.status == "queued" and not start.ready(job):
        return f"Waiting for version {job.version} of {job.experiment}, by which it was asked for"
    if job.status == "queued":
        return f"Waiting for its turn, number {job.position} in the queue" if job.position > 1 else "Starting"
    if job.status == "interrupted":
        return f"Interrupted at step {job.step}; {job.message or 'it goes on from its last checkpoint in a moment'}"
    if not job.total and not job.message:  # the worker has it and has not reported yet
        return "Starting"
    left = f" · {duration(job.seconds_left)} left" if job.seconds_left is not None else ""
    loss = f" · loss {job.loss:.3g}" if math.isfinite(job.loss) else ""
    return job.message or f"Training: step {job.step} of {job.total}{loss}{left}"


def _live(setting: Setting, key: str) -> None:
    partial = queue.partial(key)
    if partial is None or not partial.tensors:  # nothing was recorded yet
        return
    with st.container(key="live"):
        for drawing in setting.experiment.drawings:
            if drawing.live and drawing.applies(partial.config):
                with st.container(key=f"live-{drawing.name}"), panels.telling(setting, f"live-{drawing.name}"):
                    panel = panels.draw(partial, drawing, setting.view, look())
                    panels.show(panel, f"live {drawing.name}", with_data=False)


def ended(setting: Setting, job: queue.JobState) -> None:
    """Say that the last try failed or was cancelled, and offer another."""
    if job.status == "cancelled":
        st.info("You cancelled this run. What it had trained is not kept.")
    else:
        st.error(f"The run failed: {plain(job.message)}")
    run_button(setting, "again", again=True)

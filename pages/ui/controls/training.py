"""A setting without a run: the Run button with its honest time, or the job it has started, in one
line of the stage."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, spawn
from icl_core.jobs.estimate import estimate_seconds
from icl_core.jobs.folder import write_problem
from icl_core.machine import limits
from icl_core.runs import store
from pages.ui.controls import auto_train
from pages.ui.link import pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

LOOK = 0.3  # seconds between looks at a job


@dataclass(frozen=True)
class Pending:
    """A setting that has no run yet. `key` of its run to be, and what the run on screen has
    otherwise."""

    key: str
    nearest: str

    def job(self) -> queue.JobState | None:
        """Its job, if somebody has asked for it."""
        return None if limits.read_only() else queue.state(self.key)


def pending_job(pending: Pending | None) -> queue.JobState | None:
    """The job of what is pending. If its run has been made since the page looked for it, the page
    begins anew."""
    job = pending.job() if pending else None
    if job is not None and job.ended and store.default().exact(job.experiment, job.key) is not None:
        pending_address.apply_pending()
        st.rerun()
    return job


def is_active(job: queue.JobState | None) -> bool:
    """Whether something may come of the job."""
    return job is not None and not job.ended and job.status != "cancelling"


def is_over(job: queue.JobState | None) -> bool:
    """Whether the visitor knows that nothing comes of it: then the run on screen is all
    there is."""
    return job is not None and job.status in ("cancelling", "cancelled", "failed")


def run_button(setting: Setting, where: str, again: bool = False) -> str:
    """The button that asks for the setting to be trained; or why there is none, in a sentence."""
    if limits.read_only():
        return ""
    seconds = estimate_seconds(setting.id, setting.config)
    if refused := too_long(seconds):
        return refused
    label = (
        f"{'Run again' if again else 'Train it here'} · {formats.duration(seconds)} {spawn.where()}"
    )
    st.button(
        label,
        type="primary",
        key=f"run {where}",
        on_click=submit,
        args=(setting.id, setting.config),
    )
    return ""


def too_long(seconds: float | None) -> str:
    """Why a training of that length is not done here, in a sentence; empty if it is."""
    try:
        limits.check_length(seconds)
    except BadSetting as problem:
        return escape_markdown(f"{str(problem)[:1].upper()}{str(problem)[1:]}.")
    return ""


def submit(experiment_id: str, config: Any) -> None:
    """Ask for a run; say why where that cannot be."""
    try:
        auto_train.keep_job(queue.submit(experiment_id, config, visitor=visitors.name()))
        spawn.ensure_workers()
    except (BadSetting, OSError) as problem:
        told = write_problem(problem) if isinstance(problem, OSError) else str(problem)
        st.error(f"The training cannot start: {escape_markdown(told)}.")


def show_pending(setting: Setting, pending: Pending, job: queue.JobState | None) -> None:
    """In place of the headline: what is on screen instead of the setting's run, and the way to
    this."""
    if job is not None and job.status == "failed":
        st.error(f"The training failed: {escape_markdown(job.message.rstrip('.'))}.")
    refused = ""
    with st.container(horizontal=True, vertical_alignment="center", key="pending"):
        if job is not None and job.status == "cancelling":
            st.fragment(_cancelling, run_every=LOOK)(pending.key)
        elif is_active(job):
            st.empty()  # in the button's place, so that what is said stays in its own
        else:
            refused = run_button(setting, "page", again=is_over(job))
        st.markdown(f"{refused} {_said(job, pending.nearest)}".strip())


def _said(job: queue.JobState | None, nearest: str) -> str:
    if is_active(job):
        return (
            f"Until it is done you see the nearest run, faded: {nearest}."
            if nearest
            else "There is no run yet."
        )
    if is_over(job):
        cancelled = "" if job is None or job.status == "failed" else "This run was cancelled. "
        return cancelled + (f"You see the nearest run: {nearest}." if nearest else "")
    none = "There is no run of these settings." if limits.read_only() else "Not trained yet."
    if job is not None and job.status == "done":
        none = (
            "This run was made here, but is no longer kept: it was deleted, or dropped to make "
            "room."
        )
    return f"{none} You see the nearest run, faded: {nearest}." if nearest else none


def _cancelling(key: str) -> None:
    job = queue.state(key)
    if job is None or job.status != "cancelling":
        pending_address.apply_pending()
        st.rerun()
    st.markdown("**Cancelling**")


def show_progress(key: str) -> None:
    """In place of the clock: how far the job is, until it ends."""
    with st.container(key="progress"):
        st.fragment(_progress, run_every=LOOK)(key)


def _progress(key: str) -> None:
    job = queue.state(key)
    if is_active(job):
        queue.watch(key, visitors.window())
        ensure_workers()  # its worker may have died
    if job is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(
                min(job.step / job.total, 1.0) if job.total else 0.0,
                text=escape_markdown(describe(job)),
            )
            if visitors.can_end(key):
                st.button("Cancel", key="cancel", on_click=cancel, args=(key,))
            elif is_active(job):
                st.button(
                    "Ask for it too",
                    key="ask too",
                    on_click=submit,
                    args=(job.experiment, job.config),
                    help="Another visitor asked for it. Ask too, and it goes on whatever they do.",
                )
    if not is_active(job):
        pending_address.apply_pending()
        st.rerun()  # the page shows what came of it


def cancel(key: str) -> None:
    """Cancel a job in the visitor's name; say so where it goes on."""
    try:
        if not queue.cancel(key, visitor=visitors.acting_name(key)):
            st.toast("It goes on: another visitor asked for it.")
    except (BadSetting, OSError) as problem:
        st.error(f"It cannot be cancelled: {escape_markdown(problem)}.")


def ensure_workers() -> None:
    """Start workers for what waits; where nothing can be written the job's own message says so."""
    with suppress(OSError):
        spawn.ensure_workers()


def describe(job: queue.JobState) -> str:
    """A job's state in one line."""
    if job.status == "queued" and not queue.is_ready(job):
        return f"Waiting: it was asked for with version {job.version} of {job.experiment}"
    if job.status == "queued" and job.message:
        return f"Waiting: {job.message}"
    if job.status == "queued" and job.position > 1:
        return f"Number {job.position} in the queue"
    if job.status == "queued":
        busy = any(other.status == "running" for other in queue.states())
        return "Next in the queue" if busy else "Starting"
    if job.status == "interrupted":
        return (
            f"Interrupted at step {job.step}; "
            f"{job.message or 'it will go on from its last checkpoint in a moment'}"
        )
    if job.status in ("cancelling", "cancelled"):
        return "Cancelling" if job.status == "cancelling" else "Cancelled"
    if job.ended:
        return "Done" if job.status == "done" else "Failed"
    return job.message or _training(job)


def _training(job: queue.JobState) -> str:
    name = job.phase[:1].upper() + job.phase[1:]
    if name and not job.phase_steps:  # what comes after a training
        return name
    if not job.total:  # the worker has it and has not reported yet
        return "Starting"
    step, steps = (job.phase_step, job.phase_steps) if job.phase_steps else (job.step, job.total)
    left = f" · {formats.duration(job.seconds_left)} left" if job.seconds_left is not None else ""
    loss = f" · loss {job.loss:.3g}" if math.isfinite(job.loss) else ""
    return f"{name or 'Training'}: step {step} of {steps}{loss}{left}"

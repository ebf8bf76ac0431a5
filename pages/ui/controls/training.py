"""Trainings from a paper's page: the Run button with its estimated time, or the job's state, in one
line of the stage; the model as it is so far; and the menu of longer trainings of a setting."""

import math
import time
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from icl_core.contract import number_text
from icl_core.contract.experiment import LENGTH, Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.figures.svg import HEIGHT, WIDTH, sparklines
from icl_core.jobs import job_progress, phase_helper, queue, spawn
from icl_core.jobs.estimate import estimate_seconds, estimates
from icl_core.jobs.folder import write_problem
from icl_core.machine import limits
from icl_core.runs import store
from icl_core.runs.request import Request
from pages.ui.controls import auto_train
from pages.ui.link import address, pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import is_dark

INTERVAL = 0.3  # seconds between updates of a job's state
OLD_MODEL = 3.0  # seconds; an older preview says its age
_LAST_MODEL = "last preview"


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_model(key: str, stamp: int) -> Run | None:
    return job_progress.read_preview(key)


def latest_model(key: str) -> Run | None:
    """Return the model of the run of that key as it was last seen in training; None if it was not.

    The last one stays for this visitor until the page shows the finished run, whose worker has
    deleted it.
    """
    stamp = job_progress.preview_stamp(key)
    run = _read_model(key, stamp) if stamp else None
    if run is not None:
        st.session_state[_LAST_MODEL] = key, run
        return run
    last_key, last_run = st.session_state.get(_LAST_MODEL, ("", None))
    return last_run if last_key == key else None


def _step_reached(key: str, now: float | None = None) -> str:
    """Return in words at which step the model on the stage is; empty if there is none yet.

    `now` is the time in seconds since 1970; left out, it is the present.
    """
    run = latest_model(key)
    if run is None:
        return ""
    step = run.snapshot_steps[-1]
    total = getattr(run.config, "steps", run.info["total"])
    stamp = job_progress.preview_stamp(key)
    age = (time.time() if now is None else now) - stamp / 1e9
    seen = f", seen {age:.0f} s ago" if stamp and age > OLD_MODEL else ""
    return f"step {step:,} of {total:,}{seen}"


@dataclass(frozen=True)
class Pending:
    """A setting that has no run yet.

    request  for its run
    nearest  how the settings of the run on screen differ; empty if there is no run on screen
    """

    request: Request
    nearest: str

    @property
    def key(self) -> str:
        """The key of the run."""
        return self.request.key

    def job(self) -> queue.JobState | None:
        """Return the setting's job, or None if nobody has asked for it."""
        return None if limits.read_only() else queue.state(self.key)


def pending_job(pending: Pending | None) -> queue.JobState | None:
    """Return the job of the pending setting.

    If its run was stored since the page looked for it, the page is drawn again.
    """
    job = pending.job() if pending else None
    if job is not None and job.ended and store.default().exact(job.experiment, job.key) is not None:
        pending_address.apply_pending()
        st.rerun()
    return job


def is_active(job: queue.JobState | None) -> bool:
    """Return whether the job may still produce a run."""
    return job is not None and not job.ended and job.status != "cancelling"


def kept_key(job: queue.JobState | None) -> str:
    """Return the key of a cancelled job whose training can go on; empty if it is none."""
    return job.key if job is not None and job.status == "cancelled" and job.kept else ""


def is_over(job: queue.JobState | None) -> bool:
    """Return whether the job was cancelled or has failed."""
    return job is not None and job.status in ("cancelling", "cancelled", "failed")


def run_button(request: Request, where: str, job: queue.JobState | None = None) -> str:
    """Draw the button that trains the requested run, or goes on with its cancelled `job`; `where`
    becomes part of its key.

    Returns a sentence on why there is no button, or an empty string.
    """
    if limits.read_only():
        return ""
    seconds = estimate_seconds(request)
    if reason := too_long(seconds):
        return reason
    label = "Run again" if is_over(job) else "Train it here"
    if job is not None and kept_key(job) and job.step:
        label = f"Continue from step {job.step:,}"
        if seconds is not None and job.total:
            seconds *= 1 - job.step / job.total
    st.button(
        f"{label} · {formats.duration(seconds)} {spawn.where()}",
        type="primary",
        key=f"run {where}",
        on_click=submit,
        args=(request,),
    )
    return ""


def too_long(seconds: float | None) -> str:
    """Return a sentence on why a training of that length is refused here; empty if it is not."""
    try:
        limits.check_length(seconds)
    except BadSetting as problem:
        return escape_markdown(sentence(str(problem)))
    return ""


def problem_text(problem: BadSetting | OSError) -> str:
    """Return in words why something could not be started or cancelled."""
    return write_problem(problem) if isinstance(problem, OSError) else str(problem)


def submit(request: Request) -> None:
    """Submit a training, or show why it cannot start."""
    try:
        auto_train.keep_job(queue.submit(request, visitor=visitors.name()))
        spawn.ensure_workers()
    except (BadSetting, OSError) as problem:
        st.error(f"The training cannot start: {escape_markdown(problem_text(problem))}.")


def show_pending(pending: Pending, job: queue.JobState | None) -> None:
    """Draw, in place of the headline, which run is on screen and the button for the missing one;
    nothing while it is in training, as `show_progress` says it then."""
    if is_active(job):
        st.empty()  # in the sentence's place, at once
        return
    if job is not None and job.status == "failed":
        st.error(f"The training failed: {escape_markdown(job.message.rstrip('.'))}.")
    reason = ""
    with st.container(horizontal=True, vertical_alignment="center", key="pending"):
        if job is not None and job.status == "cancelling":
            st.fragment(_cancelling, run_every=INTERVAL)(pending.key)
        else:
            reason = run_button(pending.request, "page", job)
        st.markdown(f"{reason} {_nearest_text(job, pending.nearest)}".strip())


def _step_text(job: queue.JobState | None, nearest: str) -> str:
    where = _step_reached(job.key) if job is not None else ""
    if not where:
        return _nearest_text(job, nearest)
    faded = f" Faded panels show the nearest run: {nearest}." if nearest else ""
    return f"**At {where}, still training.**{faded}"


def _nearest_text(job: queue.JobState | None, nearest: str) -> str:
    """Return why the setting's run is not on screen and which run is instead."""
    if is_active(job):
        if not nearest:
            return "There is no run yet."
        return f"While it trains, you see the nearest trained run, faded: {nearest}."
    if is_over(job):
        text = "" if job is None or job.status == "failed" else "This run was cancelled. "
        if job is not None and kept_key(job) and job.step:
            text = f"Stopped at step {job.step:,}. "
        faded = "Faded panels show" if job is not None and kept_key(job) else "You see, faded,"
        return f"{text}{faded} the nearest trained run: {nearest}." if nearest else text
    if job is not None and job.status == "done":
        text = (
            "This run was made here and is no longer stored: it was deleted, or dropped to make "
            "room."
        )
    elif limits.read_only():
        text = "There is no run of these settings."
    else:
        text = "Not trained yet."
    return f"{text} Shown faded: the nearest trained run, {nearest}." if nearest else text


def _cancelling(key: str) -> None:
    """Draw that a job is being cancelled; a fragment, until it is."""
    job = queue.state(key)
    if job is None or job.status != "cancelling":
        pending_address.apply_pending()
        st.rerun()
    st.markdown("**Cancelling**")


def show_progress(pending: Pending) -> None:
    """Draw, in place of headline and clock, what the stage shows of a setting in training, and its
    progress, until it ends."""
    st.fragment(_progress, run_every=INTERVAL)(pending)


@say_if_memory_ends
def _progress(pending: Pending) -> None:
    job = queue.state(pending.key)
    if is_active(job):
        queue.watch(pending.key, visitors.window())
        ensure_workers()  # its worker may have died
    with st.container(gap=None):
        with st.container(horizontal=True, vertical_alignment="center", key="pending"):
            st.markdown(_step_text(job, pending.nearest))
        if job is not None:
            _progress_bar(job, pending.request)
    if not is_active(job):
        pending_address.apply_pending()
        st.rerun()  # the page shows the run, or why there is none


def _progress_bar(job: queue.JobState, request: Request) -> None:
    """Draw a job's progress, and the button that withdraws the visitor's request or joins it."""
    with st.container(horizontal=True, vertical_alignment="center", key="progress"):
        share = min(job.step / job.total, 1.0) if job.total else 0.0
        st.progress(share, text=escape_markdown(describe(job)))
        show_curves(job, 1)
        if visitors.can_end(job.key):
            st.button("Cancel", key="cancel", on_click=cancel, args=(job.key,))
        elif is_active(job):
            st.button(
                "Ask for it too",
                key="ask too",
                on_click=submit,
                args=(request,),
                help="Another visitor asked for it. Ask too, and it goes on whatever they do.",
            )


def show_curves(job: queue.JobState, most: int) -> None:
    """Draw the first curves, `most` of them, of a job that has some."""
    run = queue.partial_curves(job.key) if job.status == "running" else None
    if run is None:
        return
    pictures = ""
    for line in sparklines(run.tensors, most, is_dark()):
        source = b64encode(line.svg.encode()).decode()
        name = line.name.replace("_", " ")
        pictures += (
            f'<img src="data:image/svg+xml;base64,{source}" width="{WIDTH}" height="{HEIGHT}" '
            f'alt="{escape(name)} so far"> {escape(name)} {number_text.number(line.last)} '
        )
    if pictures:
        st.html(f'<span class="sparklines">{pictures}</span>')


def cancel(key: str) -> None:
    """Withdraw the visitor's request for a job; a message says if others keep it running."""
    try:
        if not queue.cancel(key, visitor=visitors.acting_name(key)):
            st.toast("It goes on: another visitor asked for it.")
    except (BadSetting, OSError) as problem:
        st.error(f"It cannot be cancelled: {escape_markdown(problem)}.")


def ensure_workers() -> None:
    """Start workers for waiting jobs; if nothing can be written, the job's own message says so."""
    with suppress(OSError):
        spawn.ensure_workers()


def describe(job: queue.JobState) -> str:
    """Return a job's state in one line."""
    if job.status == "queued" and job.message:
        return f"Waiting: {job.message}"
    if job.status == "queued" and not queue.is_ready(job):
        return f"Waiting: it was asked for with version {job.version} of {job.experiment}"
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
    if job.status == "cancelling":
        return "Cancelling"
    if job.status == "cancelled":
        return "Cancelled"
    if job.ended:
        return "Done" if job.status == "done" else "Failed"
    return job.message or _describe_running(job)


def _describe_running(job: queue.JobState) -> str:
    """Return the phase, step, loss and remaining time of a running job."""
    name = job.phase[:1].upper() + job.phase[1:]
    if name and not job.phase_steps:  # a phase after the training, without steps
        return name
    if not job.total:  # the worker has it and has not reported yet
        return "Starting"
    if job.phase_steps:
        step = job.phase_step
        steps = job.phase_steps
    else:
        step = job.step
        steps = job.total
    left = "" if job.seconds_left is None else f" · {formats.time_left(job.seconds_left)} left"
    loss = f" · loss {job.loss:.3g}" if math.isfinite(job.loss) else ""
    return f"{name or 'Training'}: step {step} of {steps}{loss}{left}"


def offer_longer(setting: Setting) -> None:
    """Draw a button for each longer training of the setting; nothing if the setting has no
    steps."""
    configs = setting.experiment.longer(setting.config)
    if not configs or limits.read_only():
        return
    has_end = phase_helper.has_end(setting.request)
    steps = getattr(setting.config, LENGTH)
    with st.popover("Continue training", help="Some claims need a longer training to be decided"):
        st.caption(_longer_start_text(setting, has_end, steps))
        seconds_of_all = estimates(setting.id, configs, alone=True)
        for config, seconds in zip(configs, seconds_of_all, strict=True):
            longer_steps = getattr(config, LENGTH)
            share = 1 - steps / longer_steps if has_end else 1.0  # of the steps still to train
            time = formats.duration(None if seconds is None else seconds * share)
            reason = too_long(seconds)
            st.button(
                f"{longer_steps:,} steps · {time}",
                key=f"train on to {longer_steps}",
                on_click=_train_longer,
                args=(setting, config),
                disabled=bool(reason),
                help=reason or None,
            )


def _longer_start_text(setting: Setting, has_end: bool, steps: int) -> str:
    """Return whether a longer training goes on from the run's end or starts anew, in a sentence."""
    if has_end:
        return (
            f"Continues from step {steps:,}; the result is the same as that of one long training."
        )
    if setting.experiment.goes_on(setting.config):
        return "Starts anew: only the latest runs trained on this machine can continue."
    return "Starts anew: here a longer training differs from its first step on."


def _train_longer(setting: Setting, config: Any) -> None:
    """Make the longer training the page's setting and submit it."""
    address.write(
        LENGTH,
        getattr(config, LENGTH),
        getattr(setting.preset.config, LENGTH),
    )
    submit(Request(setting.id, config))

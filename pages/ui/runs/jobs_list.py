"""The trainings under way, on top of the page of runs: their progress, and their curves so far."""

from base64 import b64encode
from html import escape

import streamlit as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.figures.svg import HEIGHT, WIDTH, sparklines
from icl_core.jobs import queue
from icl_core.runs import store
from pages.ui.controls import training
from pages.ui.link import address, visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import is_dark

CURVES = 2  # of a job


@st.fragment(run_every=1.0)
@say_if_memory_ends
def show(listed: set[str]) -> None:
    """Draw the trainings under way; draw the page again once other runs than those `listed` below
    were made here."""
    if store.default().keys_made_here() != listed:
        st.rerun()
    training.ensure_workers()  # for jobs that a killed worker has left
    active = [job for job in queue.states() if not job.ended]
    if not active:
        st.markdown("Nothing is training now.")
    for job in active:
        _job(job)


def _job(job: queue.JobState) -> None:
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", key=f"job-{job.key}"
    ):
        st.markdown(
            f"**{escape_markdown(_title(job))}** · {escape_markdown(training.describe(job))}"
        )
        _curves(job)
        _open(job)
        if visitors.can_end(job.key):
            st.button("Cancel", key=f"cancel {job.key}", on_click=training.cancel, args=(job.key,))


def _title(job: queue.JobState) -> str:
    """Return the title of a job's experiment; its id if there is no such experiment here."""
    try:
        return registry.experiment(job.experiment).title
    except BadSetting:
        return job.experiment


def _open(job: queue.JobState) -> None:
    if job.experiment in registry.experiment_ids():
        paper, name = job.experiment.split(".")
        fields = address.run_fields(job.experiment, job.config)
        menu.link(paper, "Open", {"experiment": name, **fields})


def _curves(job: queue.JobState) -> None:
    """Draw the first curves of a job that has some."""
    run = queue.partial_curves(job.key) if job.status == "running" else None
    if run is None:
        return
    pictures = ""
    for line in sparklines(run.tensors, CURVES, is_dark()):
        source = b64encode(line.svg.encode()).decode()
        name = line.name.replace("_", " ")
        pictures += (
            f'<img src="data:image/svg+xml;base64,{source}" width="{WIDTH}" height="{HEIGHT}" '
            f'alt="{escape(name)} so far"> {escape(name)} {formats.number(line.last)} '
        )
    if pictures:
        st.html(f'<span class="sparklines">{pictures}</span>')

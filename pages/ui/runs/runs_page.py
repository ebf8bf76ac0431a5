"""The page of runs: trainings under way with their curves so far, all runs as one table, and what
visitors gave: a run's file, and documents (counts of texts, matrices, weights)."""

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.contract.message import sentence
from icl_core.evidence import run_table
from icl_core.evidence.run_table import RunRow
from icl_core.figures.character_labels import isolated
from icl_core.jobs import queue
from icl_core.machine import limits
from icl_core.runs import documents, owners, store
from icl_core.runs.documents import Document
from icl_core.runs.request import run_fields
from icl_core.share import uploaded_run
from pages.ui.controls import filters, training
from pages.ui.link import same_tab_links, visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.runs import run_filters, run_list

CURVES = 2  # of a job
_OUTCOME = "what became of the file that was given"
_UPLOAD = "give a run"


@say_if_memory_ends
def show() -> None:
    """Draw the page of runs."""
    menu.frame("Runs")
    st.title("Runs", anchor=False)
    for message in store.default().messages():
        st.warning(escape_markdown(message))
    made_here = store.default().keys_made_here()
    rows = run_table.all_rows(store.default())
    if not limits.read_only():
        st.header("In training", anchor=False)
        if not visitors.is_at_machine():
            st.markdown("You can cancel and delete what you have asked for.")
        _jobs(made_here)
    with st.container(horizontal=True, vertical_alignment="center", key="all-runs"):
        st.header("All runs", anchor=False)
        if not limits.read_only():
            _give_run()
    choice = run_filters.read()
    run_filters.draw(choice, rows)
    run_list.show(choice, rows)
    if not limits.read_only():
        _documents([row for row in rows if row.header.origin == "local"])
    same_tab_links.listen()


@st.fragment(run_every=1.0)
@say_if_memory_ends
def _jobs(listed: set[str]) -> None:
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
            f"**{escape_markdown(_job_title(job))}** · {escape_markdown(training.describe(job))}"
        )
        training.show_curves(job, CURVES)
        _open_job(job)
        if visitors.can_end(job.key):
            st.button("Cancel", key=f"cancel {job.key}", on_click=training.cancel, args=(job.key,))


def _job_title(job: queue.JobState) -> str:
    """Return the title of a job's experiment; its id if there is no such experiment here."""
    try:
        return registry.experiment(job.experiment).title
    except BadSetting:
        return job.experiment


def _open_job(job: queue.JobState) -> None:
    if job.experiment in registry.experiment_ids():
        paper, name = job.experiment.split(".")
        fields = run_fields(job.experiment, job.config)
        menu.link(paper, "Open", {"experiment": name, **fields})


def _documents(runs: Sequence[RunRow]) -> None:
    """Draw the visitor's documents, at the machine all of them; `runs` are those made here."""
    listed = [
        document for document in documents.all_documents() if visitors.can_end(document.digest)
    ]
    st.header(f"Given by you ({len(listed)})", anchor=False)
    if not listed:
        st.markdown(
            "None yet. A text, matrices or weights that you choose in an experiment's settings are "
            "listed here."
        )
    job_configs = [job.config for job in queue.states() if not job.ended]
    for document in listed:
        users = [
            run_list.line(row) for row in runs if documents.is_used_by(row.header.config, document)
        ]
        in_training = any(documents.is_used_by(config, document) for config in job_configs)
        _document(document, users, in_training)


def _document(document: Document, users: list[str], in_training: bool) -> None:
    """Draw a document; `users` are the titles of the runs that use it."""
    date = datetime.fromtimestamp(document.given, UTC)
    title = registry.document_kinds()[document.of].title
    size = formats.exact_size(document.size)
    summary = _document_summary(document.of, document.digest, document.given)
    name = documents.name_of(document.of, document.digest)
    named = f"{title}, {isolated(escape_markdown(name))}" if name else title
    lines = [
        f"**{named}** · {escape_markdown(summary)}",
        f"{size} · {date:%Y-%m-%d %H:%M} UTC · digest {document.digest}",
        escape_markdown(_users_text(users)),
    ]
    with st.container(
        border=True,
        horizontal=True,
        vertical_alignment="center",
        key=f"given-{document.of}-{document.digest}",
    ):
        st.markdown("  \n".join(lines))
        st.button(
            "Delete",
            key=f"delete {document.of} {document.digest}",
            on_click=_delete_document,
            args=(document,),
            disabled=in_training,
            help="It is in use by a training: cancel that first" if in_training else None,
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _document_summary(of: str, digest: str, given: float) -> str:
    """Return what a document holds in a sentence; `given`, its time, is only part of the cache's
    key."""
    kind = registry.document_kinds()[of]
    try:
        return kind.describe(kind.load(digest))[0]
    except NotHere as problem:
        return f"{problem}."


def _users_text(users: list[str]) -> str:
    """Return which runs use a document and would be lost with it."""
    if not users:
        return "No run uses it."
    if len(users) == 1:
        count = "1 run"
        consequence = "that run is hidden"
    else:
        count = f"{len(users)} runs"
        consequence = "those runs are hidden"
    return (
        f"Used by {count}: {'; '.join(users)}. If you delete it, {consequence} until you upload "
        "it again."
    )


def _delete_document(document: Document) -> None:
    try:
        documents.delete(document, visitors.acting_name(document.digest))
    except (OSError, BadSetting) as problem:
        st.error(escape_markdown(f"It could not be deleted: {problem}"))


def _give_run() -> None:
    """Draw the upload of a run's file, and what became of the last one. On a server only whoever
    is at it gives runs: all visitors would see them as the runs of their settings."""
    if not visitors.is_at_machine():
        return
    with st.popover("Give a run's file", key="give"):
        st.markdown(
            "A file that “Download” has given, here or on another computer. Its digest, settings "
            "and tensors are checked, and its numbers are measured anew."
        )
        size = uploaded_run.LARGEST // 2**20
        st.file_uploader(
            "Run (safetensors)", key=_UPLOAD, max_upload_size=size, on_change=_keep_run
        )
    problem, key = st.session_state.pop(_OUTCOME, ("", ""))
    if problem:
        st.error(f"The file is not kept: {escape_markdown(sentence(problem))}")
    elif key:
        st.success("The run is kept: its numbers were measured anew, and its stage was drawn.")


def _keep_run() -> None:
    """Keep what was given, and show it alone; or say why it cannot be kept."""
    file = st.session_state[_UPLOAD]
    if file is None:
        return
    try:
        header = uploaded_run.store_upload(file.getvalue(), file.name, store.default())
        owners.add(header.key, visitors.name())
    except (BadSetting, OSError) as problem:
        st.session_state[_OUTCOME] = str(problem), ""
    else:
        st.session_state[_OUTCOME] = "", header.key
        run_filters.clear()
        filters.put(run=header.key)

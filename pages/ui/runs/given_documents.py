"""The documents that visitors gave, counts of texts, matrices and weights, on the page of runs:
which runs use them, and a button that deletes them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.figures.character_labels import isolated
from icl_core.jobs import queue
from icl_core.runs import documents
from icl_core.runs.documents import Document
from pages.ui.link import visitors
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown


def show(runs: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the visitor's documents, at the machine all of them.

    `runs` holds the settings of runs made here by their titles.
    """
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
        users = [title for title, config in runs.items() if documents.is_used_by(config, document)]
        in_training = any(documents.is_used_by(config, document) for config in job_configs)
        _document(document, users, in_training)


def _document(document: Document, users: list[str], in_training: bool) -> None:
    """Draw a document; `users` are the titles of the runs that use it."""
    date = datetime.fromtimestamp(document.given, UTC)
    title = registry.document_kinds()[document.of].title
    size = formats.exact_size(document.size)
    summary = _summary(document.of, document.digest, document.given)
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
            on_click=_delete,
            args=(document,),
            disabled=in_training,
            help="It is in use by a training: cancel that first" if in_training else None,
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _summary(of: str, digest: str, given: float) -> str:
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


def _delete(document: Document) -> None:
    try:
        documents.delete(document, visitors.acting_name(document.digest))
    except (OSError, BadSetting) as problem:
        st.error(escape_markdown(f"It could not be deleted: {problem}"))

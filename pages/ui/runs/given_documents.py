"""What visitors gave and is kept here, on the page of runs: what uses it, and its end."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.jobs import queue
from icl_core.runs import documents
from icl_core.runs.documents import Document
from pages.ui.link import visitors
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown


def show(runs: Mapping[str, Mapping[str, Any]]) -> None:
    """List what is the visitor's, at the machine all; `runs` are the settings of runs made here, by
    their titles."""
    found = [each for each in documents.all_documents() if visitors.can_end(each.digest)]
    st.header(f"Given by you ({len(found)})", anchor=False)
    if not found:
        st.markdown(
            "None yet. A text or matrices that you choose in an experiment's settings are "
            "listed here."
        )
    jobs = [job.config for job in queue.states() if not job.ended]
    for each in found:
        users = [title for title, config in runs.items() if documents.is_used_by(config, each)]
        _document(each, users, sum(documents.is_used_by(config, each) for config in jobs))


def _document(each: Document, users: list[str], training: int) -> None:
    given = datetime.fromtimestamp(each.given, UTC)
    about = f"{formats.exact_size(each.size)} · {given:%Y-%m-%d %H:%M} UTC · digest {each.digest}"
    title = registry.document_kinds()[each.of].title
    lines = [
        f"**{title}** · {escape_markdown(_told(each.of, each.digest, each.given))}",
        about,
        escape_markdown(_used(users)),
    ]
    with st.container(
        border=True,
        horizontal=True,
        vertical_alignment="center",
        key=f"given-{each.of}-{each.digest}",
    ):
        st.markdown("  \n".join(lines))
        st.button(
            "Delete",
            key=f"delete {each.of} {each.digest}",
            on_click=_delete,
            args=(each,),
            disabled=bool(training),
            help="It is in use by a training: cancel that first" if training else None,
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _told(of: str, digest: str, given: float) -> str:
    kind = registry.document_kinds()[of]
    try:
        return kind.describe(kind.load(digest))[0]
    except NotHere as problem:
        return f"{problem}."


def _used(users: list[str]) -> str:
    if not users:
        return "No run uses it."
    many, gone = (
        (f"{len(users)} runs", "those runs are") if len(users) > 1 else ("1 run", "that run is")
    )
    return (
        f"Used by {many}: {'; '.join(users)}. Delete it, and {gone} away until you give it again."
    )


def _delete(each: Document) -> None:
    try:
        documents.delete(each, visitors.acting_name(each.digest))
    except (OSError, BadSetting) as problem:
        st.error(escape_markdown(f"It could not be deleted: {problem}"))

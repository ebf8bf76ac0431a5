"""The page of runs: trainings under way, runs made here, documents that visitors gave, and the runs
that come with the project."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.figures.character_labels import isolated, shown_name
from icl_core.jobs import queue
from icl_core.machine import limits
from icl_core.runs import owners, store
from icl_core.runs.file import Damaged
from icl_core.runs.header import typed_config
from pages.ui.controls import training
from pages.ui.link import address, same_tab_links, visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.runs import given_documents


@say_if_memory_ends
def show() -> None:
    """Draw the page of runs."""
    menu.frame("Runs")
    st.title("Runs", anchor=False)
    for message in store.default().messages():
        st.warning(escape_markdown(message))
    if not limits.read_only():
        if not visitors.is_at_machine():
            st.markdown("You can cancel and delete what you have asked for.")
        st.header("In training", anchor=False)
        _jobs({header.key for header in _local_headers()})
    local_headers = _local_headers()
    _local_runs(local_headers)
    if not limits.read_only():
        given_documents.show({_title(header): header.config for header in local_headers})
    headers = store.default().headers()
    _shipped_runs([header for header in headers if header.origin == "shipped"])
    same_tab_links.listen()


def _local_headers() -> list[store.Header]:
    """Return the runs made here, the latest first."""
    headers = [header for header in store.default().headers() if header.origin == "local"]
    return sorted(headers, key=lambda header: header.info.get("date") or "", reverse=True)


def _local_runs(headers: Sequence[store.Header]) -> None:
    st.header(f"Made here ({len(headers)})", anchor=False)
    if not headers:
        st.markdown("None yet.")
    for header in headers:
        _run(header, _title(header))


def _shipped_runs(headers: Sequence[store.Header]) -> None:
    """Draw the shipped runs, an expander for each experiment, as they are too many for one list."""
    st.header(f"Included ({len(headers)})", anchor=False)
    for id in registry.experiment_ids():
        members = [header for header in headers if header.experiment == id]
        if members:
            with st.expander(f"{id} · {len(members)} run{'s' * (len(members) != 1)}"):
                for header in members:
                    _run(header, _presets(header))


@st.fragment(run_every=1.0)
@say_if_memory_ends
def _jobs(listed: set[str]) -> None:
    """Draw the trainings under way; draw the page again once other runs than those `listed` below
    were made here."""
    if {header.key for header in _local_headers()} != listed:
        st.rerun()
    training.ensure_workers()  # for jobs that a killed worker has left
    active = [job for job in queue.states() if not job.ended]
    if not active:
        st.markdown("Nothing is training now.")
    for job in active:
        with st.container(
            border=True, horizontal=True, vertical_alignment="center", key=f"job-{job.key}"
        ):
            st.markdown(
                f"**{escape_markdown(job.experiment)}** · {escape_markdown(training.describe(job))}"
            )
            _open(job.experiment, job.config)
            if visitors.can_end(job.key):
                st.button(
                    "Cancel", key=f"cancel {job.key}", on_click=training.cancel, args=(job.key,)
                )


def _run(header: store.Header, title: str) -> None:
    """Draw a run: what it is, and buttons that open, download and, if it is theirs, delete it."""
    with st.container(
        border=True,
        horizontal=True,
        vertical_alignment="center",
        key=f"run-{header.origin}-{header.key}",
    ):
        st.markdown(f"**{escape_markdown(title)}**  \n{escape_markdown(_about(header))}")
        _open(header.experiment, header.config)
        name = f"{header.experiment}-{header.digest[:8]}.safetensors"
        st.download_button(
            "Download",
            partial(store.default().content, header),
            name,
            key=f"download {header.origin} {header.key}",
            on_click="ignore",
        )
        if header.origin == "local" and visitors.can_end(header.key):
            st.button("Delete", key=f"delete {header.key}", on_click=_delete, args=(header,))


def _delete(header: store.Header) -> None:
    others = owners.owners_of(header.key) - {visitors.name()}
    try:
        store.default().delete(header, visitors.acting_name(header.key))
    except (BadSetting, OSError) as problem:
        st.error(f"It cannot be deleted: {escape_markdown(problem)}.")
    else:
        if others and store.default().exact(header.experiment, header.key):
            st.toast("It stays: another visitor asked for it.")


def _title(header: store.Header) -> str:
    return f"{header.experiment} · {_presets(header)}"


def _presets(header: store.Header) -> str:
    return isolated(", ".join(header.info.get("presets") or ())) or _differences(header)


def _differences(header: store.Header) -> str:
    """Return how the run's settings differ from the experiment's first preset."""
    experiment = registry.experiment(header.experiment)
    try:
        config = typed_config(header)
    except (Damaged, NotHere) as problem:  # the store sees it too, once the experiment is imported
        return f"this setting is no longer possible: {problem}"
    return ", ".join(settings_io.differences(config, experiment.presets[0].config)) or "as preset"


def _about(header: store.Header) -> str:
    """Return the size of a run's file, the time its training took, its device and its date."""
    info = header.info
    try:
        size = formats.file_size(header.path.stat().st_size)
    except OSError:
        size = "no longer there: deleted, or dropped to make room"
    minute = f"{info['date'][:16].replace('T', ' ')} UTC" if info.get("date") else ""
    device = shown_name(info.get("device") or "", 80)
    parts = [size, formats.duration(info.get("seconds")), device, minute]
    return " · ".join(str(part) for part in parts if part)


def _open(experiment_id: str, config: Any) -> None:
    """Draw a link to a page with these settings."""
    paper, name = experiment_id.split(".")
    fields = address.run_fields(experiment_id, config)
    menu.link(paper, "Open", {"experiment": name, **fields})

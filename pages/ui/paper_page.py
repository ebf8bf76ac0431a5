"""A paper's page, the same for every paper."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import Paper, Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.findings import findings
from icl_core.jobs import spawn
from icl_core.machine import limits
from icl_core.runs import store
from pages.ui.claims import verdicts
from pages.ui.controls import auto_train, sharing, sidebar, train_longer, training, uploads, widgets
from pages.ui.controls.training import Pending
from pages.ui.link import address, lesson_rules, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.sized_cache import keep_by_size
from pages.ui.stage import drawers, stage
from pages.ui.story import glossary, lesson

RUNS = 128 * 2**20  # bytes of the tensors of the runs seen last
_MAPPED = "Comes with the project, with few snapshots"


def show(name: str) -> None:
    """Draw the page of the paper called `name`."""
    menu.frame(menu.short_title(name), projector="projector" in st.query_params)
    paper = registry.papers().get(name)
    if paper is None:
        st.warning(f"There is no paper called {name} here.")
        return
    _get_ready()
    setting = address.read(paper)
    found = None if setting.refused else store.default().find(setting.id, setting.config)
    shown = found or store.default().nearest(setting.id, setting.config)
    run = _loaded(shown) if shown else None
    pending = _pending(setting, found, shown)
    claims = _claims(setting, shown, run)
    _header(paper, setting, shown, claims)
    _warnings(setting)
    with st.sidebar:
        _side(setting, found, pending)
    _main(setting, shown, run, claims, pending)
    glossary.explain(name)
    same_tab_links.listen()


def _side(setting: Setting, found: Any, pending: Pending | None) -> None:
    """The sidebar: presets, settings, where the run comes from; in a lesson what it
    leaves of them."""
    lesson.show_in_sidebar(setting)
    if not lesson_rules.is_hidden(setting.lesson, PRESETS):
        sidebar.presets(setting)
    if not lesson_rules.is_hidden(setting.lesson, SETTINGS):
        sidebar.config_knobs(setting)
    if not lesson_rules.is_hidden(setting.lesson, TRAIN) and not (
        found is None and limits.read_only()
    ):
        with st.container(key="run", gap="small"):
            _run_line(setting, found, pending)
            if not limits.read_only():
                auto_train.show_switch()


def _header(paper: Paper, setting: Setting, shown: Any, claims: Sequence[findings.Summary]) -> None:
    """One line: whose page it is, which experiment, how the claims fared, and the menu."""
    with st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="header",
    ):
        with st.container(
            horizontal=True, width="content", vertical_alignment="center", key="title"
        ):
            st.title(menu.short_title(paper.name), anchor=False, width="content")
            if len(paper.experiments) > 1 and not lesson_rules.is_hidden(
                setting.lesson, EXPERIMENTS
            ):
                titles = {
                    name: registry.experiment(f"{paper.name}.{name}").title
                    for name in paper.experiments
                }
                key = f"experiment of {paper.name}"
                widgets.select(
                    "Experiment", key, titles, "experiment", {"experiment": setting.name}
                )
        with st.container(
            horizontal=True, width="content", vertical_alignment="center", key="tools"
        ):
            lesson.leave_button(setting)
            if claims and not lesson_rules.is_hidden(setting.lesson, drawers.EVIDENCE):
                st.button(
                    f"{verdicts.summary_line(claims)} ▸",
                    key="verdicts",
                    type="tertiary",
                    on_click=_evidence,
                )
            # opened, it is drawn anew: what the link holds may have changed below it, where the
            # page is a fragment
            with st.popover("⋯", help="Share, export, projector", key="more", on_change="rerun"):
                sharing.tools(setting, shown)


def _claims(setting: Setting, shown: Any, run: Run | None) -> list[findings.Summary]:
    """The experiment's claims over all its runs; the one on screen is measured anew if its file is
    of an older form."""
    others = [
        each for each in findings.of_experiment(setting.id, store.default()) if each.header != shown
    ]
    return findings.summaries([*(findings.of_run(shown, run) if shown else ()), *others])


def _evidence() -> None:
    address.write("drawer", drawers.EVIDENCE, "")


def _warnings(setting: Setting) -> None:
    for message in (*setting.warnings, *store.default().messages()):
        st.warning(escape_markdown(message))
    if setting.refused:
        st.warning(
            f"{escape_markdown(setting.refused)}. You still see the last setting that could be "
            "computed."
        )
        uploads.offer(setting)


def _run_line(setting: Setting, found: Any, pending: Pending | None) -> None:
    """The Run button, or where the run on screen comes from."""
    if found is not None:
        trains = getattr(setting.config, "trains", True)  # a visitor's own matrices are not
        made = "Trained here" if trains else "Measured here, not trained"
        origin = {"shipped": "Comes with the project", "atlas": _MAPPED}.get(found.origin, made)
        time, device = (
            formats.duration(found.info.get("seconds")),
            found.info.get("device", "this machine"),
        )
        st.caption(f"{origin}: {time} on {escape_markdown(device)}.")
        if found.info.get("message"):
            st.warning(escape_markdown(found.info["message"]))
        if trains:
            train_longer.offer(setting)
    elif pending is not None and training.is_active(pending.job()):
        st.caption("In training: see its progress on the page.")
    elif pending is not None and (refused := training.run_button(setting, "sidebar")):
        st.caption(refused)


def _main(
    setting: Setting,
    shown: Any,
    run: Run | None,
    claims: Sequence[findings.Summary],
    pending: Pending | None,
) -> None:
    if run is None and pending is not None:
        job = training.pending_job(pending)
        training.show_pending(setting, pending, job)
        if training.is_active(job):
            training.show_progress(pending.key)
    if shown is None:
        told = "This experiment has no run yet."
        st.info(told if limits.read_only() else f"{told} Train it, and its figures appear here.")
    elif run is None:
        st.warning(
            "The file of this run is damaged or gone. Load the page again to see what is left."
        )
    else:
        # A refused setting keeps the last good figures, at full strength.
        stage.show(setting, run, claims, pending)


def _loaded(header: Any) -> Run | None:
    """A run, if its file is whole; if not, it is looked for anew each time: trained again, it has
    the same digest."""
    with suppress(LookupError):
        return _load(header.digest, header)
    return None


@keep_by_size(RUNS, lambda run: sum(array.nbytes for array in run.tensors.values()))
def _load(digest: str, header: Any) -> Run:
    run = store.default().load(header)
    if run is None:
        raise LookupError(f"the run {header.key} is damaged or gone")
    return run


@st.cache_resource(show_spinner=False)
def _get_ready() -> None:
    """Once a server: how fast and to which last digit a view is computed must not depend on the
    cores, and a worker is there before it is asked for."""
    from icl_core.machine import device  # imports torch

    device.set_threads(1)
    device.keep_imports()
    if st.runtime.exists():
        spawn.warm()


def _pending(setting: Setting, found: Any, shown: Any) -> Pending | None:
    """What is to be done for a setting without a run, begun if that takes seconds; what was begun
    before is not."""
    key = store.key_of(setting.id, setting.config)
    auto_train.drop_job(key)
    if found is not None or setting.refused:
        return None
    auto_train.begin(setting, key)
    training.ensure_workers()  # a server that was started again goes on with what it finds
    return Pending(key, escape_markdown(_named(setting, shown)) if shown else "")


def _named(setting: Setting, shown: Any) -> str:
    nearest = settings_io.from_stored(setting.experiment.config, shown.config)
    known = knobs.knobs_of(setting.experiment.config)
    fields = [field for field in known if getattr(nearest, field) != getattr(setting.config, field)]
    return (
        ", ".join(
            f"{known[field].label} = {known[field].said(getattr(nearest, field))}"
            for field in fields
        )
        or "other seeds"
    )

"""The page of a paper, the same for every paper."""

from collections.abc import Sequence

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import Paper, Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN
from icl_core.evidence import measurements, verdicts
from icl_core.evidence.measurements import Summary
from icl_core.figures.character_labels import shown_name
from icl_core.jobs import spawn
from icl_core.machine import device, late_imports, limits
from icl_core.runs import code, store
from icl_core.runs.header import Header, typed_config
from pages.ui.controls import (
    auto_train,
    cache,
    compare_links,
    experiments,
    sharing,
    sidebar,
    training,
    uploads,
)
from pages.ui.controls.training import Pending
from pages.ui.link import address, answers, lesson_rules, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.stage import drawers, stage
from pages.ui.story import glossary, lesson

_ORIGINS = {
    "shipped": "Shipped run",
    "atlas": "Shipped run of the atlas",
}


@say_if_memory_ends
def show(name: str) -> None:
    """Draw the page of the paper called `name`."""
    tools = menu.frame(menu.short_title(name), has_stage=True)
    paper = registry.papers().get(name)
    if paper is None:
        st.warning(f"There is no paper called {name} here.")
        return
    _prepare_server()
    _read_words()
    setting = address.read(paper)
    answers.restore()
    exact = setting.stored
    shown = exact or store.default().nearest(setting.request)
    run = cache.load_run(shown) if shown else None
    pending = _pending(setting, exact, shown)
    summaries = measurements.summaries_led_by(shown, setting.id, store.default())
    with tools:
        _tools(setting, shown)
    _header(paper, setting, summaries)
    _warnings(setting)
    with st.sidebar:
        _sidebar(setting, exact, pending, run)
    _main(setting, shown, run, summaries, pending)
    glossary.explain(name)
    same_tab_links.listen()


def _read_words() -> None:
    """Read the texts again that were changed since the page was last drawn; say which cannot be
    read."""
    for problem in registry.take_changed_words():
        st.error(escape_markdown(problem))


def _sidebar(
    setting: Setting, exact: Header | None, pending: Pending | None, run: Run | None
) -> None:
    """Draw the main knobs, the presets, where the run comes from, and the other knobs; in a lesson
    what it leaves of them."""
    lesson.show_in_sidebar(setting, run)
    has_settings = not lesson_rules.is_hidden(setting.lesson, SETTINGS)
    if has_settings:
        sidebar.main_knobs(setting)
    if not lesson_rules.is_hidden(setting.lesson, PRESETS):
        sidebar.preset_menu(setting)
    if has_settings:
        sidebar.way_back(setting)
    has_no_line = exact is None and limits.read_only()
    can_train = not lesson_rules.is_hidden(setting.lesson, TRAIN)
    if can_train and not has_no_line:
        with st.container(key="run", gap="xsmall"):
            _run_line(setting, exact, pending)
    has_switch = can_train and not limits.read_only()
    if has_settings:
        sidebar.more_settings(setting, has_switch)
    elif has_switch:
        auto_train.show_switch()
    if has_switch:
        auto_train.watch_rest()


def _tools(setting: Setting, shown: Header | None) -> None:
    """Draw, at the right of the menu's line, the menu of links and exports."""
    lesson.leave_button(setting)
    # The menu is drawn anew when it is opened: below it the page is a fragment, and what the link
    # holds may have changed there since.
    if shown is not None and setting.lesson is None:
        compare_links.offer(shown)
    with st.popover("Link ⋯", help="Share and export", key="more", on_change="rerun"):
        sharing.tools(setting, shown)


def _header(paper: Paper, setting: Setting, summaries: Sequence[Summary]) -> None:
    """Draw the paper's title, the choice of its experiments, and how the claims fared, in one
    line."""
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
            is_fixed = lesson_rules.is_hidden(setting.lesson, EXPERIMENTS)
            if len(paper.experiments) > 1 and not is_fixed:
                experiments.choose(paper, setting.name)
        if summaries and not lesson_rules.is_hidden(setting.lesson, drawers.EVIDENCE):
            st.button(
                f"{verdicts.short_line(summaries)} ▸",
                key="verdicts",
                type="tertiary",
                on_click=_open_evidence,
            )


def _open_evidence() -> None:
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


def _run_line(setting: Setting, exact: Header | None, pending: Pending | None) -> None:
    """Draw where the run on screen comes from or, if there is none, the Run button."""
    if exact is not None:
        trains = getattr(setting.config, "trains", True)  # a visitor's own matrices are not trained
        made_here = "Trained here" if trains else "Measured here, not trained"
        origin = _ORIGINS.get(exact.origin, made_here)
        time = formats.duration(exact.waited)
        device = exact.info.get("device", "this machine")
        line = origin if exact.origin in _ORIGINS else f"{origin}: {time}. {code.note(exact)}"
        help = f"Made in {time} on {escape_markdown(shown_name(device, 80))}."
        st.caption(escape_markdown(line), help=help)
        if exact.info.get("message"):
            st.warning(escape_markdown(exact.info["message"]))
        if trains:
            training.offer_longer(setting)
    elif pending is not None and training.is_active(pending.job()):
        st.caption("In training: see its progress on the page.")
    elif pending is not None:
        refused = training.run_button(pending.request, "sidebar", pending.job())
        if refused:
            st.caption(refused)


def _main(
    setting: Setting,
    shown: Header | None,
    run: Run | None,
    summaries: Sequence[Summary],
    pending: Pending | None,
) -> None:
    """Draw the stage; without a run what stands in its place."""
    if run is None and pending is not None:
        job = training.pending_job(pending)
        training.show_pending(pending, job)
        if training.is_active(job):
            training.show_progress(pending)
    if shown is None:
        message = "This experiment has no run yet."
        if not limits.read_only():
            message += " Train it, and its figures appear here."
        st.info(message)
    elif run is None:
        st.warning(
            "The file of this run is damaged or gone. Load the page again to see what is left."
        )
    else:
        # If the setting is refused, the last valid one is shown, and not faded.
        stage.show(setting, run, summaries, pending)


@st.cache_resource(show_spinner=False)
def _prepare_server() -> None:
    """Set torch's threads, as soon as it is imported, and start a worker, once for a server.

    The time and the last digit of what a view computes must not depend on the number of cores.
    """
    device.wanted_precision()  # refused here and now, if it is none
    device.keep_imports()
    late_imports.once_imported("torch", device.set_threads)
    late_imports.once_imported("torch", device.keep_imports)
    if st.runtime.exists():
        spawn.warm()


def _pending(setting: Setting, exact: Header | None, shown: Header | None) -> Pending | None:
    """Return what is missing if the setting has no run; a short training of it begins at once.

    A training that began by itself for a former setting is cancelled.
    """
    auto_train.drop_job(setting.request.key)
    if exact is not None or setting.refused:
        auto_train.forget_rest()
        return None
    auto_train.begin(setting.request)
    training.ensure_workers()  # a restarted server goes on with the jobs that it finds
    return Pending(setting.request, escape_markdown(_differences(setting, shown)) if shown else "")


def _differences(setting: Setting, shown: Header) -> str:
    """Return, in words, the settings of the run on screen that are not the address's."""
    nearest = typed_config(shown)
    differences = []
    for field, knob in knobs.knobs_of(setting.experiment.config).items():
        value = getattr(nearest, field)
        if value != getattr(setting.config, field):
            differences.append(f"{knob.symbol} = {knob.said(value)}")
    return ", ".join(differences) or "other seeds"

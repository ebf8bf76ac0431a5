"""What the address asks the page to compare, and the widgets that write it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from icl_core import registry
from icl_core.comparison import chosen_runs
from icl_core.comparison.chosen_runs import MOST
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.runs import store
from icl_core.runs.header import Header
from icl_core.share import gallery
from pages.ui.controls import filters
from pages.ui.link import pending_address
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown

EXPERIMENT = "experiment"
RUNS = "runs"
BY = "by"
STEP = "step"
_PAGE = "compare"  # what the keys of the widgets begin with


def read() -> tuple[str, tuple[Header, ...]]:
    """Return the experiment and the runs that the address asks for; warnings name what of it is not
    here. Empty if there is no such experiment."""
    experiment_id = st.query_params.get(EXPERIMENT, "")
    if not experiment_id:
        return "", ()
    try:
        registry.experiment(experiment_id)
        choice = chosen_runs.read(store.default(), experiment_id, st.query_params.get(RUNS, ""))
    except BadSetting as problem:
        st.warning(escape_markdown(sentence(str(problem))))
        return "", ()
    for warning in choice.warnings:
        st.warning(escape_markdown(warning))
    return experiment_id, choice.headers


def draw(experiment_id: str, headers: Sequence[Header]) -> None:
    """Draw the choice of the experiment and of its runs, those nearest to the first one first."""
    titles = {"": "choose one"} | {
        each: f"{menu.short_title(each.partition('.')[0])}: {gallery.title(each)}"
        for each in registry.experiment_ids()
    }
    with st.container(horizontal=True, key="compare-choice"):
        with st.container(width=340):
            filters.one(_PAGE, "Experiment", EXPERIMENT, titles, experiment_id, "")
        if experiment_id:
            with st.container():
                _runs(experiment_id, headers)


def _runs(experiment_id: str, headers: Sequence[Header]) -> None:
    if headers:
        neighbours = chosen_runs.nearest(store.default(), headers[0])
        others = [neighbour.header for neighbour in neighbours]
    else:
        others = store.default().every(experiment_id)
    # the chosen ones too, in their order
    offered = {chosen_runs.name_of(each): each for each in (*headers, *others)}
    titles = {name: chosen_runs.title_of(header) for name, header in offered.items()}
    value = [chosen_runs.name_of(header) for header in headers]
    key = f"{_PAGE}: runs of {experiment_id}"
    set_widget(key, value, titles)
    st.multiselect(
        f"Runs, at most {MOST}",
        list(titles),
        value,
        format_func=lambda name: titles.get(name, name),
        max_selections=MOST,
        placeholder="choose runs",
        **widget_arguments(key, _runs_changed, key),
    )


def _runs_changed(key: str) -> None:
    text = chosen_runs.BETWEEN.join(st.session_state[key])
    pending_address.change({RUNS: text} if text else {}, drop=(RUNS, STEP))


def milestone(names: Mapping[str, object], unit: str) -> str:
    """Draw the choice of the clock and return it: one of the milestones' `names`, or "" for what
    the experiment's clock counts, its `unit`."""
    requested = st.query_params.get(BY, "")
    if requested and requested not in names:
        st.warning(
            f"These runs have no milestone {escape_markdown(repr(requested)[:80])} in common. The "
            f"clock goes by {unit}."
        )
    value = requested if requested in names else ""
    if not names:
        return ""
    key = f"{_PAGE}: clock"
    options = ["", *names]
    set_widget(key, value, options)
    st.segmented_control(
        "Clock",
        options,
        default=value,
        format_func=lambda name: f"by {name or unit}",
        required=True,
        help="A milestone is a mark of an experiment's own clock: the step at which a part of the "
        "mechanism first appears, such as half of a memory's pairs being right. By a milestone "
        "all runs reach it at the same time.",
        **widget_arguments(key, _clock_changed, key),
    )
    return value


def _clock_changed(key: str) -> None:
    name = st.session_state[key]
    pending_address.change({BY: name} if name else {}, drop=(BY, STEP))

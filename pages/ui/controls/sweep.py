"""The drawer of sweeps: the choice of a sweep at the left; its cost, its progress and its map at
the right."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.figures import axis_scale
from icl_core.jobs import spawn
from icl_core.machine import limits
from icl_core.runs.header import key_of
from icl_core.sweeps import map as maps
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, RUNNING, Sweep, SweepStatus
from pages.ui.controls import sweep_choice, training
from pages.ui.link import address, pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

SWEEP = "Sweep"  # the drawer
METRIC = "metric"  # in the address
INTERVAL = 2.0  # seconds between updates, each of which draws the map anew
_CELL_OPENED = "opened from a sweep"  # in the session
_CHART = "chart of a sweep"  # in the session: the key of the map on screen


# Draws the panel that its first argument makes, under a widget key, and calls the last one once a
# point of it is clicked on. The drawers hand it in: panels stand above the controls.
ShowPanel = Callable[[Callable[[], Panel], str, Callable[[], None]], None]


def show(setting: Setting, show_panel: ShowPanel) -> None:
    """Draw the drawer; `show_panel` draws the map."""
    left, right = st.columns([1, 3])
    with left, st.container(key="knobs"):
        grid = sweep_choice.chosen(setting)
    if grid is None:
        return
    running = not Sweep(grid).look().ended
    with right, st.container(key="panel-half-sweep"):
        # without this mark the map would fade with the stage while another run is awaited
        st.html("<i data-live></i>")
        result = st.fragment(_result, run_every=INTERVAL if running else None)
        result(setting, grid, running, show_panel)


@say_if_memory_ends
def _result(setting: Setting, grid: Grid, running: bool, show_panel: ShowPanel) -> None:
    """Draw the right half; a fragment, which runs repeatedly only if the sweep was `running` when
    the page was drawn."""
    if st.session_state.pop(_CELL_OPENED, False):
        st.rerun()  # the whole page: it has another setting
    sweep = Sweep(grid)
    status = sweep.look(spawn.trainings())
    if status.ended == running:
        pending_address.apply_pending()
        st.rerun()  # with the fragment repeated from now on, or no longer
    if running:
        training.ensure_workers()
        _progress(sweep, status)
    else:
        _offer(sweep, status, spawn.trainings())
    _map(setting, grid, status, show_panel)


def _progress(sweep: Sweep, status: SweepStatus) -> None:
    """Draw how many runs are done and the button that cancels the others."""
    counts = status.counts
    cells = len(status.outcomes)
    parts = [f"{counts[DONE]} of {cells} runs"]
    parts += [f"{counts[name]} {name}" for name in (RUNNING, FAILED) if counts[name]]
    if status.seconds_left is not None:
        parts.append(f"{formats.duration(status.seconds_left)} left")
    visitor = None if visitors.is_at_machine() else visitors.name()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress((counts[DONE] + counts[FAILED]) / cells, text=" · ".join(parts))
        if not limits.read_only() and sweep.may_cancel(visitor):
            st.button("Cancel", key="cancel sweep", on_click=_cancel, args=(sweep, visitor))


def _cancel(sweep: Sweep, visitor: str | None) -> None:
    try:
        sweep.cancel(visitor)
    except (BadSetting, OSError) as problem:
        reason = escape_markdown(training.problem_text(problem))
        st.error(f"Not all of it can be cancelled: {reason}.")


def _offer(sweep: Sweep, status: SweepStatus, workers: int) -> None:
    """Draw how many runs there are, and the button that trains the missing ones, with their
    cost."""
    counts = status.counts
    cells = len(status.outcomes)
    failed = f", {counts[FAILED]} failed" if counts[FAILED] else ""
    if not counts[MISSING]:
        st.markdown(f"{counts[DONE] if failed else f'All {cells}'} runs are ready{failed}.")
        return
    if limits.read_only():
        st.markdown(f"{counts[DONE]} of {cells} runs are ready{failed}.")
        return
    missing, seconds = sweep.cost()
    if seconds is not None:
        seconds /= max(1, min(workers, missing))
    with st.container(horizontal=True, vertical_alignment="center"):
        label = (
            f"Train {missing} run{'s' * (missing > 1)} · {formats.duration(seconds)} "
            f"{spawn.where()}"
        )
        st.button(label, key="start sweep", type="primary", on_click=_start, args=(sweep,))
        st.markdown(f"{counts[DONE]} of {cells} runs made{failed}.")


def _start(sweep: Sweep) -> None:
    try:
        sweep.ask(visitors.name())
        spawn.ensure_workers()
    except (BadSetting, OSError) as problem:
        st.error(f"The sweep cannot start: {escape_markdown(training.problem_text(problem))}.")
    for reason in sweep.refused:
        st.warning(f"Not all runs can be trained: {escape_markdown(reason)}.")


def _map(setting: Setting, grid: Grid, status: SweepStatus, show_panel: ShowPanel) -> None:
    """Draw one metric against the first knob, or the first two; each further knob has a list for
    its one value."""
    metric = _metric(setting, status)
    fields = [axis.field for axis in grid.axes]
    fixed = {
        axis.field: st.selectbox(
            axis.knob.label,
            axis.values,
            format_func=axis_scale.value_text,
            key=f"{setting.id}:sweep at {axis.field}",
        )
        for axis in grid.axes[2:]
    }
    choice = maps.MapChoice(
        metric, fields[0], fields[1] if len(fields) > 1 else "", fixed, setting.config
    )
    # another setting is another chart: what was clicked on is not to stay marked
    key = f"sweep {key_of(setting.id, setting.config)[:8]}"
    st.session_state[_CHART] = key
    show_panel(
        lambda: maps.draw_map(grid, status, choice), key, lambda: _clicked(key, setting, grid)
    )
    _cell_list(setting, grid, status)


def _metric(setting: Setting, status: SweepStatus) -> str:
    """Draw the list of metrics and return the chosen one by its claim's id.

    The list has the claims that some run has measured, or all claims while none is measured.
    """
    labels = {claim.id: claim.label for claim in setting.experiment.claims}
    titles = {name: labels[name] for name in status.metrics if name in labels} or labels
    value = st.query_params.get(METRIC, "")
    if value not in titles:
        value = next(iter(titles))
    key = f"{setting.id}:sweep metric"
    set_widget(key, value, titles)
    return st.selectbox(
        "Number shown",
        list(titles),
        index=list(titles).index(value),
        format_func=titles.__getitem__,
        **widget_arguments(key, _metric_changed, key),
    )


def _metric_changed(key: str) -> None:
    address.write(METRIC, st.session_state[key], "")


def _clicked(key: str, setting: Setting, grid: Grid) -> None:
    """Open the clicked cell, if the chart `key` is still on screen: see
    `pages.ui.link.widget_events`."""
    if st.session_state[_CHART] != key:
        return
    for point in st.session_state[f"figure {key}"]["selection"]["points"]:
        index = point.get("customdata")
        if index is not None:
            _open_cell(setting, grid, int(index[0] if isinstance(index, list) else index))
            return


def _cell_list(setting: Setting, grid: Grid, status: SweepStatus) -> None:
    """Draw the list of cells, which opens one without the pointer."""
    titles = {
        index: _cell_title(outcome.cell.at, grid)
        for index, outcome in enumerate(status.outcomes)
        if outcome.cell.config
    }
    key = f"{setting.id}:sweep cell"
    current = (index for index in titles if grid.cells[index].config == setting.config)
    # set in every run of the page: a list with a default could not be emptied
    st.session_state[key] = next(current, None)
    st.selectbox(
        "Show this run above",
        list(titles),
        index=None,
        placeholder="choose one, or click on it",
        format_func=titles.__getitem__,
        **widget_arguments(key, _cell_chosen, key, setting, grid),
    )


def _cell_title(values: Mapping[str, Any], grid: Grid) -> str:
    """Return a cell's values with their symbols: "d = 64, K = 3"."""
    return ", ".join(
        f"{grid.axis(field).knob.symbol} = {axis_scale.value_text(value)}"
        for field, value in values.items()
    )


def _cell_chosen(key: str, setting: Setting, grid: Grid) -> None:
    if st.session_state[key] is not None:
        _open_cell(setting, grid, st.session_state[key])


def _open_cell(setting: Setting, grid: Grid, index: int) -> None:
    """Make a cell's settings those of the page, unless the experiment refuses them."""
    cell = grid.cells[index]
    if cell.config is None:
        return
    fields = (*cell.at, *({"seeds"} & knobs_of(type(cell.config)).keys()))
    preset = setting.preset.config
    address.write_all(
        {field: (getattr(cell.config, field), getattr(preset, field)) for field in fields}
    )
    st.session_state[_CELL_OPENED] = True

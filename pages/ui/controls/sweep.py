"""The drawer of sweeps: what is to be swept at the left; what it costs, how far it is and its map
at the right."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.figures import axis_scale
from icl_core.jobs import spawn
from icl_core.jobs.folder import write_problem
from icl_core.machine import limits
from icl_core.runs import store
from icl_core.sweeps import map as maps
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, RUNNING, Sweep, SweepStatus
from pages.ui.controls import sweep_choice, training
from pages.ui.link import address, pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

SWEEP, METRIC = "Sweep", "metric"  # the drawer; a field of the address
LOOK = 2.0  # seconds between looks, each of which draws the map anew
_OPENED, _CHART = "opened from a sweep", "chart of a sweep"


# Draws the panel that its first argument makes, under a widget key, and calls the last one once a
# point of it is clicked on. The drawers hand it in: panels stand above the controls.
ShowPanel = Callable[[Callable[[], Panel], str, Callable[[], None]], None]


def show(setting: Setting, show_panel: ShowPanel) -> None:
    """Choose a sweep, see what it costs, start it, watch its map, which `show_panel` draws."""
    left, right = st.columns([1, 3])
    with left, st.container(key="knobs"):
        grid = sweep_choice.chosen(setting)
    if grid is None:
        return
    moves = not Sweep(grid).look().ended
    with right, st.container(key="panel-half-sweep"):
        st.html("<i data-live></i>")  # it does not fade with a run that is not the one asked for
        st.fragment(_result, run_every=LOOK if moves else None)(setting, grid, moves, show_panel)


def _result(setting: Setting, grid: Grid, moves: bool, show_panel: ShowPanel) -> None:
    if st.session_state.pop(_OPENED, False):
        st.rerun()  # the whole page: it has another setting
    sweep = Sweep(grid)
    look = sweep.look(spawn.trainings())
    if look.ended == moves:
        pending_address.apply_pending()
        st.rerun()  # from now on it is looked at again and again, or no more
    if moves:
        training.ensure_workers()
        _progress(sweep, look)
    else:
        _offer(sweep, look, spawn.trainings())
    _map(setting, grid, look, show_panel)


def _progress(sweep: Sweep, look: SweepStatus) -> None:
    counts, cells = look.counts, len(look.outcomes)
    others = [f"{counts[name]} {name}" for name in (RUNNING, FAILED) if counts[name]]
    told = [f"{counts[DONE]} of {cells} runs", *others]
    left = f" · {formats.duration(look.seconds_left)} left" if look.seconds_left is not None else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress((counts[DONE] + counts[FAILED]) / cells, text=" · ".join(told) + left)
        if not limits.read_only() and sweep.may_cancel(
            me := None if visitors.is_at_machine() else visitors.name()
        ):
            st.button("Cancel", key="cancel sweep", on_click=_cancel, args=(sweep, me))


def _cancel(sweep: Sweep, visitor: str | None) -> None:
    try:
        sweep.cancel(visitor)
    except (BadSetting, OSError) as problem:
        told = write_problem(problem) if isinstance(problem, OSError) else str(problem)
        st.error(f"Not all of it can be cancelled: {escape_markdown(told)}.")


def _offer(sweep: Sweep, look: SweepStatus, workers: int) -> None:
    """What is there, what is missing, and the button that asks for it, with what it costs."""
    counts, cells = look.counts, len(look.outcomes)
    failed = f", {counts[FAILED]} failed" if counts[FAILED] else ""
    if not counts[MISSING]:
        st.markdown(f"{counts[DONE] if failed else f'All {cells}'} runs are there{failed}.")
        return
    if limits.read_only():
        st.markdown(f"{counts[DONE]} of {cells} runs are there{failed}.")
        return
    missing, seconds = sweep.cost()
    time = formats.duration(None if seconds is None else seconds / max(1, min(workers, missing)))
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Train {missing} run{'s' * (missing > 1)} · {time} {spawn.where()}"
        st.button(label, key="start sweep", type="primary", on_click=_ask, args=(sweep,))
        st.markdown(f"{counts[DONE]} of {cells} runs made{failed}.")


def _ask(sweep: Sweep) -> None:
    try:
        sweep.ask(visitors.name())
        spawn.ensure_workers()
    except (BadSetting, OSError) as problem:
        told = write_problem(problem) if isinstance(problem, OSError) else str(problem)
        st.error(f"The sweep cannot start: {escape_markdown(told)}.")
    for told in sweep.refused:
        st.warning(f"Not all runs can be trained: {escape_markdown(told)}.")


def _map(setting: Setting, grid: Grid, look: SweepStatus, show_panel: ShowPanel) -> None:
    """One metric against the first knob, or the first two; the others stand still."""
    metric = _metric(setting, look)
    fields = [axis.field for axis in grid.axes]
    fixed = {
        axis.field: _fixed(setting, axis.field, axis.values, axis.knob.label)
        for axis in grid.axes[2:]
    }
    shown = maps.MapChoice(
        metric, fields[0], fields[1] if len(fields) > 1 else "", fixed, setting.config
    )
    # another setting is another chart: what was clicked on is not to stay marked
    key = st.session_state[_CHART] = f"sweep {store.key_of(setting.id, setting.config)[:8]}"
    show_panel(lambda: maps.draw_map(grid, look, shown), key, lambda: _clicked(key, setting, grid))
    _open(setting, grid, look)


def _metric(setting: Setting, look: SweepStatus) -> str:
    """The claim whose numbers are shown: of those that some run has measured, or of all."""
    claims = {claim.id: claim.label for claim in setting.experiment.claims}
    titles = {name: claims[name] for name in look.metrics if name in claims} or claims
    asked, first = st.query_params.get(METRIC, ""), next(iter(titles))
    key = f"{setting.id}:sweep metric"
    value = asked if asked in titles else first
    set_widget(key, value, titles)
    told = {"index": list(titles).index(value), "format_func": titles.__getitem__}
    return st.selectbox(
        "Number shown", list(titles), **told, **widget_arguments(key, _measured, key)
    )


def _measured(key: str) -> None:
    address.write(METRIC, st.session_state[key], "")


def _fixed(setting: Setting, field: str, values: tuple[Any, ...], label: str) -> Any:
    return st.selectbox(
        label, values, format_func=axis_scale.value_text, key=f"{setting.id}:sweep at {field}"
    )


def _clicked(key: str, setting: Setting, grid: Grid) -> None:
    """Open the cell that was clicked on, on the chart that is there: see
    `pages.ui.link.widget_events`."""
    if st.session_state[_CHART] != key:
        return
    points = st.session_state[f"figure {key}"]["selection"]["points"]
    index = next(
        (point["customdata"] for point in points if point.get("customdata") is not None), None
    )
    if index is not None:
        _go(setting, grid, int(index[0] if isinstance(index, list) else index))


def _open(setting: Setting, grid: Grid, look: SweepStatus) -> None:
    """The keyboard's way to a cell."""
    titles = {
        index: _named(each.cell.at, grid)
        for index, each in enumerate(look.outcomes)
        if each.cell.config
    }
    key = f"{setting.id}:sweep cell"
    # told again and again: with a default it could not be emptied
    st.session_state[key] = next(
        (i for i in titles if grid.cells[i].config == setting.config), None
    )
    told = {
        "index": None,
        "placeholder": "choose one, or click on it",
        "format_func": titles.__getitem__,
    }
    st.selectbox(
        "Run on the stage",
        list(titles),
        **widget_arguments(key, _chosen, key, setting, grid),
        **told,
    )


def _named(at: Mapping[str, Any], grid: Grid) -> str:
    return ", ".join(
        f"{grid.axis(field).knob.symbol} = {axis_scale.value_text(value)}"
        for field, value in at.items()
    )


def _chosen(key: str, setting: Setting, grid: Grid) -> None:
    if st.session_state[key] is not None:
        _go(setting, grid, st.session_state[key])


def _go(setting: Setting, grid: Grid, index: int) -> None:
    """Make a cell's settings those of the page."""
    config = grid.cells[index].config
    if config is None:  # the experiment refuses it
        return
    fields = (*grid.cells[index].at, *({"seeds"} & knobs_of(type(config)).keys()))
    preset = setting.preset.config
    address.write_all({field: (getattr(config, field), getattr(preset, field)) for field in fields})
    st.session_state[_OPENED] = True

"""The drawer of sweeps: at the left the choice of a sweep, one knob or two with their values, and
seeds, which the address keeps; its cost, its progress and its map at the right."""

import re
from collections.abc import Callable
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.contract.knobs import BadSetting, Knob, knobs_of
from icl_core.figures import axis_scale
from icl_core.jobs import spawn
from icl_core.machine import limits
from icl_core.runs.header import key_of
from icl_core.sweeps import atlas, setting_grid
from icl_core.sweeps import map as maps
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, RUNNING, Sweep, SweepStatus
from pages.ui.classroom import lecturer, lots
from pages.ui.controls import training, widgets
from pages.ui.link import address, pending_address, visitors
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

SWEEP = "Sweep"  # the drawer
AXES = "sweep"  # in the address: axes like "d=32,64", with _SEPARATOR between them
SEEDS = "sweep_seeds"  # in the address
MOST = 100  # runs that a visitor may ask for at once
_SEPARATOR = ";"
_OFFERED_VALUES = 5  # of a knob that the visitor has just chosen
_OFFERED_KNOBS = 2  # lists of knobs on the page; a link may name more knobs
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
        grid = _chosen_grid(setting)
    if grid is None:
        return
    running = _goes_on(grid, Sweep(grid).look())
    with right, st.container(key="panel-half-sweep"):
        # without this mark the map would fade with the stage while another run is awaited
        st.html("<i data-live></i>")
        result = st.fragment(_result, run_every=INTERVAL if running else None)
        result(setting, grid, running, show_panel)


def _goes_on(grid: Grid, status: SweepStatus) -> bool:
    """Return whether the map can change by itself."""
    return not status.ended or lots.is_drawn_from(grid)


@say_if_memory_ends
def _result(setting: Setting, grid: Grid, running: bool, show_panel: ShowPanel) -> None:
    """Draw the right half; a fragment, which runs repeatedly only if the sweep was `running` when
    the page was drawn."""
    if st.session_state.pop(_CELL_OPENED, False) or lecturer.has_begun():
        st.rerun()  # the whole page: it has another setting, or a class
    sweep = Sweep(grid)
    status = sweep.look(spawn.trainings())
    if _goes_on(grid, status) != running:
        pending_address.apply_pending()
        st.rerun()  # with the fragment repeated from now on, or no longer
    if not status.ended:
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
        lecturer.offer_lots(sweep.grid)


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
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{counts[DONE] if failed else f'All {cells}'} runs are ready{failed}.")
            lecturer.offer_lots(sweep.grid)
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
        lecturer.offer_lots(sweep.grid)
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
        metric,
        fields[0],
        fields[1] if len(fields) > 1 else "",
        fixed,
        setting.config,
        lots.drawn(grid),
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
    value = st.query_params.get(lots.METRIC, "")
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
    address.write(lots.METRIC, st.session_state[key], "")


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
        index: grid.title(outcome.cell)
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


def _chosen_grid(setting: Setting) -> Grid | None:
    """Draw the widgets and return the grid that they describe, over the setting on screen.

    Returns None, with a warning, if there is no such grid.
    """
    sweepable = _sweepable_knobs(setting)
    words = [word for word in st.query_params.get(AXES, "").split(_SEPARATOR) if word]
    if not words:
        words = _first_axes(setting, sweepable)
    for number in range(max(min(len(words), setting_grid.MOST_AXES), _OFFERED_KNOBS)):
        _axis(setting, sweepable, words, number)
    seeds = _seeds(setting)
    try:
        grid = setting_grid.parse(setting.id, words, setting.config, seeds)
        if len(grid.cells) > MOST:
            raise BadSetting(
                f"a sweep on a page must have at most {MOST} runs, got {len(grid.cells)}"
            )
    except BadSetting as problem:
        st.warning(f"{escape_markdown(problem)}.")
        return None
    return grid


def _sweepable_knobs(setting: Setting) -> dict[str, Knob]:
    """Return the knobs that can be an axis and have an effect in the setting on screen."""
    knobs = knobs_of(setting.experiment.config)
    fields = set(setting_grid.can_sweep(knobs))
    return {
        field: knob
        for field, knob in knobs.items()
        if field in fields and (not knob.shown_if or getattr(setting.config, knob.shown_if))
    }


def _first_axes(setting: Setting, sweepable: dict[str, Knob]) -> list[str]:
    """Return the axes that are shown first: two knobs at values that have runs, else one knob."""
    ready = {
        field: values
        for field, values in atlas.ready_values(setting.id, setting.config).items()
        if len(values) > 1
    }
    if len(ready) > 1:
        return [
            f"{field}={','.join(map(widgets.value_text, values))}"
            for field, values in list(ready.items())[:_OFFERED_KNOBS]
        ]
    sliders = [field for field, knob in sweepable.items() if knob.kind == "slider"]
    return [_axis_word(setting, [*sliders, *sweepable][0])]


def _axis(setting: Setting, sweepable: dict[str, Knob], words: list[str], number: int) -> None:
    """Draw the widgets of one axis: its knob, which may be none after the first, and its values."""
    word = words[number] if number < len(words) else ""
    field, _, text = word.partition("=")
    knob_key = f"{setting.id}:sweep knob {number}"
    values_key = f"{setting.id}:sweep values {number}"
    titles = {name: knob.label for name, knob in sweepable.items()}
    # set in every run of the page: a list with a default could not be emptied
    st.session_state[knob_key] = field if field in sweepable else None
    optional = {"index": None, "placeholder": "nothing else"} if number else {}
    st.selectbox(
        "Sweep over" if number == 0 else "and over",
        list(titles),
        format_func=titles.__getitem__,
        **optional,
        **widget_arguments(knob_key, _knob_changed, setting, words, number, knob_key),
    )
    if field not in sweepable:
        return
    knob = sweepable[field]
    if knob.kind == "slider":
        label = f"Values, from {knob.low:g} to {knob.high:g}"
        value = text.replace(",", ", ")
        set_widget(values_key, value, knob)
        arguments = widget_arguments(values_key, _values_changed, words, number, field, values_key)
        st.text_input(label, value, max_chars=200, **arguments)
    else:
        options = dict(knob.options) if knob.kind == "choice" else {"false": "off", "true": "on"}
        values = [value for value in text.split(",") if value in options]
        set_widget(values_key, values, knob)
        arguments = widget_arguments(values_key, _values_changed, words, number, field, values_key)
        st.pills(
            "Values",
            list(options),
            default=values,
            format_func=options.__getitem__,
            selection_mode="multi",
            **arguments,
        )


def _knob_changed(setting: Setting, words: list[str], number: int, key: str) -> None:
    """Put another knob in the place of an axis, or none; an axis of the same knob is dropped."""
    field = st.session_state[key]
    others = [
        word
        for index, word in enumerate(words)
        if index != number and word.partition("=")[0] != field
    ]
    changed = [_axis_word(setting, field)] if field else []
    _write([*others[:number], *changed, *others[number:]])


def _values_changed(words: list[str], number: int, field: str, key: str) -> None:
    values = st.session_state[key]
    text = values.replace(" ", "") if isinstance(values, str) else ",".join(values)
    _write([*words[:number], f"{field}={text}", *words[number + 1 :]])


def _write(words: list[str]) -> None:
    address.write(AXES, _SEPARATOR.join(words), "")


def _axis_word(setting: Setting, field: str) -> str:
    """Return an axis of a knob with its first values: all options, or a few of its slider's stops
    with the value on screen among them."""
    knob = knobs_of(setting.experiment.config)[field]
    if knob.kind == "choice":
        return f"{field}={','.join(knob.options)}"
    if knob.kind != "slider":
        return f"{field}=false,true"
    current = getattr(setting.config, field)
    stops = widgets.slider_values(knob, [current]) or [knob.low, current, knob.high]
    stride = max(1, -(-len(stops) // _OFFERED_VALUES))
    offered = stops[stops.index(current) % stride :: stride]
    return f"{field}={','.join(map(widgets.value_text, offered))}"


def _seeds(setting: Setting) -> int | None:
    """Draw the number of seeds of each run and return it; None if the runs have no seeds."""
    knob = knobs_of(setting.experiment.config).get("seeds")
    if knob is None:
        return None
    key = f"{setting.id}:sweep seeds"
    base = setting.config.seeds
    text = st.query_params.get(SEEDS, "")
    low, high = int(knob.low or 0), int(knob.high or 0)
    is_valid = re.fullmatch("[0-9]{1,9}", text) and low <= int(text) <= high
    value = int(text) if is_valid else base
    set_widget(key, value, knob)
    arguments = widget_arguments(key, _seeds_changed, key, base)
    st.number_input("Seeds of each run", low, high, value, **arguments)
    return st.session_state[key]


def _seeds_changed(key: str, base: Any) -> None:
    address.write(SEEDS, st.session_state[key], base)

"""The stage's panels in their seats, and their films: a panel's frames for every snapshot of a run,
which the browser plays.

A chart stays on the page from run to run: Streamlit is given the same figure again and so leaves it
alone, and the browser is sent the figure that it is to show. That takes a fraction of the time of a
new chart.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from icl_core.contract import words
from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.figures.frames import round_maps, tag_figure
from icl_core.figures.streamlit_figure import StreamlitFigure
from icl_core.share.stage_films import (
    figure_message,
    film_id,
    moves,
    packed,
    relevant_view,
    seating,
    states_message,
    steps_of,
    view_at,
)
from pages.ui.controls.cache import keep_by_size
from pages.ui.link.address import Setting
from pages.ui.look.chart import SeatedChart, seat_chart
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import Theme, theme
from pages.ui.stage import live_curves, panels, playback

FILM_BYTES = 128 * 2**20  # of the frames kept for all visitors
FIGURE_BYTES = 32 * 2**20  # of the whole figures kept for all visitors
_CHARTS = "charts held"
_CHART_NUMBERS = count()


def run_name(run: Run) -> str:
    """Return the browser's name for a run as it is drawn for this visitor."""
    return f"{run.digest[:16]} {theme().name}"


def seat_panels(
    setting: Setting, run: Run, drawings: Sequence[Drawing], training_key: str, goes_on: bool
) -> None:
    """Draw the stage's panels, and send the browser the frames by which the clock moves them.

    Of the run of `training_key`, if there is one, you see what has been trained so far.

    The frames come after the panels if the last snapshot is shown, which is in the panels already:
    the page is then seen sooner.
    """
    moved = []  # the panels that the clock moves
    if not playback.is_unavailable(playback.stage_clock(setting.id)):
        moved = [drawing for drawing in drawings if not (training_key and drawing.live)]
    _keep_charts(setting.id, moved)
    place = st.container(key="films")
    is_last = getattr(setting.view, "snapshot", 0) == len(run.snapshot_steps) - 1
    if not is_last:
        _send_films(setting, moved, run, place)
    grid = seating(drawings)
    is_seen = bool(training_key) and goes_on
    # A fragment has a container: with the same nesting a chart takes the place of the former one.
    with nullcontext() if is_seen else st.container():
        draw = st.fragment(_seats, run_every=live_curves.INTERVAL) if is_seen else _seats
        draw(setting, drawings, grid, run, training_key)
    if is_last:
        _send_films(setting, moved, run, place)


@say_if_memory_ends
def _seats(
    setting: Setting, drawings: Sequence[Drawing], grid: str, run: Run, training_key: str
) -> None:
    """Draw the panels in their seats: of the run in training, if there is one, what it has so far,
    else of `run`."""
    with st.container(key=grid):
        for drawing in drawings:
            seat = f"seat-{'wide-' if drawing.wide else ''}{drawing.name}"
            with (
                st.container(key=seat),
                st.container(),
                panels.report_faults(drawing.name),
            ):
                latest = None
                if training_key:
                    latest = live_curves.latest_panel(setting, drawing, training_key)
                if latest is None:
                    _seat_panel(setting, drawing, run)
                else:
                    _seat_live(setting, drawing, latest)


def _seat_panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """Draw a panel for the browser to move; where it cannot, at the view's snapshot."""
    if playback.is_unavailable(playback.stage_clock(setting.id)):
        return seat_chart(panels.cached_panel(setting, drawing, run), drawing.name)
    _seat_film(setting, drawing, run)


def _seat_live(setting: Setting, drawing: Drawing, panel: Panel) -> None:
    """Draw a panel of a run that is still training."""
    _release_seat(setting.id, drawing)
    seat_chart(panel, drawing.name, live=True)


def _send_films(
    setting: Setting, drawings: Sequence[Drawing], run: Run, place: DeltaGenerator
) -> None:
    if not steps_of(run, setting.view):
        return
    with place:
        for drawing in drawings:
            if drawing.moving:
                # what cannot be drawn at all is said in the panel's seat, too
                with panels.report_faults(f"film of {drawing.name}"):
                    _, states = _states(*_film_arguments(setting, drawing, run))
                    playback.send_states(drawing.name, states)


def _seat_film(setting: Setting, drawing: Drawing, run: Run) -> None:
    """Draw a panel in its seat, for the browser to move; see the module for why its chart stays."""
    film = _film_arguments(setting, drawing, run)
    panel = _titled_panel(setting.view, *film)
    if panel.figure is None:
        _release_seat(setting.id, drawing)
        return seat_chart(panel, drawing.name)
    key = _seat_key(setting.id, drawing)
    seat_chart(panel, drawing.name, held=_charts().get(key) or _new_chart(key, panel))
    playback.send_figure(drawing.name, _whole_figure(*film))


def _titled_panel(view: Any, *film: Any) -> Panel:
    """Return a panel at the last snapshot, with the title of the view's snapshot; the clock moves
    its figure there."""
    _, run, *_, moving = film
    panel = _last_panel(*film)
    if not moving or view.snapshot >= len(run.snapshot_steps) - 1:
        return panel
    titles, _ = _states(*film)
    return replace(panel, title=titles[view.snapshot])


def _new_chart(key: str, panel: Panel) -> SeatedChart:
    """Keep a new chart under `key` and return it.

    A number makes its figure differ from an equal one that may stand there, which the browser has
    moved: Streamlit would leave that one alone.
    """
    assert panel.figure is not None
    sent = StreamlitFigure(panel.figure, fills=True)
    sent.to_dict()["layout"]["meta"]["made"] = next(_CHART_NUMBERS)
    return _charts().setdefault(key, SeatedChart(sent, panel.caption))


def _keep_charts(experiment_id: str, drawings: Sequence[Drawing]) -> None:
    """Forget the charts of all drawings but these: the others are not on the stage, or show a run
    that is still training."""
    keys = {_seat_key(experiment_id, drawing) for drawing in drawings}
    for key in set(_charts()) - keys:
        del _charts()[key]


def _release_seat(experiment_id: str, drawing: Drawing) -> None:
    """Forget a drawing's chart, as something else stands in its seat."""
    _charts().pop(_seat_key(experiment_id, drawing), None)


def _seat_key(experiment_id: str, drawing: Drawing) -> str:
    return f"{experiment_id} {drawing.name} {theme().name} {words.stamp()}"


def _charts() -> dict[str, SeatedChart]:
    return st.session_state.setdefault(_CHARTS, {})


def _film_arguments(setting: Setting, drawing: Drawing, run: Run) -> tuple:
    """Return the arguments of the cached functions below: the name under which a film is cached,
    the run, the drawing, the view of the first snapshot, the theme, and whether the panel moves."""
    moving = moves(drawing, run, setting.view)
    # what does not move may say so where the clock is not at the end
    is_still = drawing.moving and drawing.is_still(run, setting.view)
    view = setting.view if is_still else view_at(setting.view, 0)
    view = relevant_view(setting.experiment, drawing, view)
    return panels.drawing_key(setting.id, drawing, run, view), run, drawing, view, theme(), moving


@st.cache_resource(max_entries=200, show_spinner=False)
def _last_panel(
    name: str, _run: Run, _drawing: Drawing, _view: Any, _theme: Theme, _moving: bool
) -> Panel:
    """Return a panel at the last snapshot."""
    last = len(_run.snapshot_steps) - 1
    panel = panels.draw(_run, _drawing, view_at(_view, last) if _moving else _view, _theme)
    return tag_figure(round_maps(panel), film_id(name), last if _moving else None)


@keep_by_size(FIGURE_BYTES, len)
def _whole_figure(
    name: str, run: Run, drawing: Drawing, view: Any, theme: Theme, moving: bool
) -> bytes:
    """Return a panel's figure at the last snapshot, packed for the browser."""
    panel = _last_panel(name, run, drawing, view, theme, moving)
    return packed(figure_message(drawing.name, run_name(run), film_id(name), panel))


@keep_by_size(FILM_BYTES, lambda states: len(states[1]))
def _states(
    name: str, run: Run, drawing: Drawing, view: Any, theme: Theme, moving: bool
) -> tuple[list[str], bytes]:
    """Return a panel's titles at all snapshots, and its frames, packed for the browser."""
    shown = []
    for index in range(len(run.snapshot_steps) - 1 if moving else 0):
        panel = panels.draw(run, drawing, view_at(view, index), theme)
        shown.append(tag_figure(round_maps(panel), film_id(name), index))
    shown.append(_last_panel(name, run, drawing, view, theme, moving))
    titles = [panel.finding for panel in shown]
    named = drawing.name, run_name(run), film_id(name)
    return titles, packed(states_message(*named, shown, without_last=moving))

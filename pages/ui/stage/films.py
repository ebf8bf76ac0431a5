"""Films: a stage panel's frames for every snapshot of a run, which the browser plays.

A chart stays on the page from run to run: Streamlit is given the same figure again and so leaves it
alone, and the browser is sent the figure that it is to show. That takes a fraction of the time of a
new chart.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from typing import Any

import streamlit as st

from icl_core.contract import knobs, words
from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.figures.frames import tag_figure
from icl_core.figures.streamlit_figure import StreamlitFigure
from pages.ui.link.address import Setting
from pages.ui.look.chart import SeatedChart, seat_chart
from pages.ui.look.sized_cache import keep_by_size
from pages.ui.look.style import Theme, theme
from pages.ui.stage import panels, playback

FILM_BYTES = 128 * 2**20  # of the frames kept for all visitors
FIGURE_BYTES = 32 * 2**20  # of the whole figures kept for all visitors
_CHARTS = "charts held"
_CHART_NUMBERS = count()


def run_name(run: Run) -> str:
    """Return the browser's name for a run as it is drawn for this visitor."""
    return f"{run.digest[:16]} {theme().name}"


def has_training(setting: Setting, run: Run) -> bool:
    """Return whether a run has snapshots that the clock can play."""
    return bool(run.snapshot_steps) and "snapshot" in knobs.knobs_of(setting.experiment.view)


def view_at(view: Any, index: int) -> Any:
    """Return the view of the snapshot `index`; `view` itself if it has no snapshots."""
    return replace(view, snapshot=index) if "snapshot" in knobs.knobs_of(type(view)) else view


def send_film(setting: Setting, drawing: Drawing, run: Run) -> None:
    """Send the browser the frames of a drawing."""
    _, states = _states(*_film_arguments(setting, drawing, run))
    playback.send_states(drawing.name, states)


def seat_panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """Draw a panel in its seat, for the browser to move; see the module for why its chart stays."""
    film = _film_arguments(setting, drawing, run)
    panel = _titled_panel(setting.view, *film)
    if panel.figure is None:
        release_seat(setting, drawing)
        return seat_chart(panel, drawing.name)
    name = film[0]
    key = _seat_key(setting, drawing)
    chart = _charts().get(key) or _new_chart(key, panel, name)
    chart.moved |= chart.name != name
    seat_chart(panel, drawing.name, held=chart)
    if chart.moved:
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


def _new_chart(key: str, panel: Panel, name: str) -> SeatedChart:
    """Keep a new chart under `key` and return it.

    A number makes its figure differ from an equal one that may stand there, which the browser has
    moved: Streamlit would leave that one alone.
    """
    assert panel.figure is not None
    sent = StreamlitFigure(panel.figure, fills=True)
    sent.to_dict()["layout"]["meta"]["made"] = next(_CHART_NUMBERS)
    return _charts().setdefault(key, SeatedChart(sent, panel.caption, name))


def keep_charts(setting: Setting, drawings: Sequence[Drawing]) -> None:
    """Forget the charts of all drawings but these: the others are not on the stage, or show a run
    that is still training."""
    keys = {_seat_key(setting, drawing) for drawing in drawings}
    for key in set(_charts()) - keys:
        del _charts()[key]


def release_seat(setting: Setting, drawing: Drawing) -> None:
    """Forget a drawing's chart, as something else stands in its seat."""
    _charts().pop(_seat_key(setting, drawing), None)


def _seat_key(setting: Setting, drawing: Drawing) -> str:
    return f"{setting.id} {drawing.name} {theme().name} {words.stamp()}"


def _charts() -> dict[str, SeatedChart]:
    return st.session_state.setdefault(_CHARTS, {})


def _film_arguments(setting: Setting, drawing: Drawing, run: Run) -> tuple:
    """Return the arguments of the cached functions below: the name under which a film is cached,
    the run, the drawing, the view of the first snapshot, the theme, and whether the panel moves."""
    moves = drawing.moving and not drawing.is_still(run, setting.view)
    # what does not move may say so where the clock is not at the end
    view = setting.view if drawing.moving and not moves else view_at(setting.view, 0)
    view = panels.relevant_view(setting.experiment, drawing, view)
    moving = moves and has_training(setting, run)
    return panels.drawing_key(setting, drawing, run, view), run, drawing, view, theme(), moving


@st.cache_resource(max_entries=200, show_spinner=False)
def _last_panel(
    name: str, _run: Run, _drawing: Drawing, _view: Any, _theme: Theme, _moving: bool
) -> Panel:
    """Return a panel at the last snapshot."""
    last = len(_run.snapshot_steps) - 1
    panel = panels.draw(_run, _drawing, view_at(_view, last) if _moving else _view, _theme)
    return tag_figure(panel, _film_id(name), last if _moving else None)


@keep_by_size(FIGURE_BYTES, len)
def _whole_figure(
    name: str, run: Run, drawing: Drawing, view: Any, theme: Theme, moving: bool
) -> bytes:
    """Return a panel's figure at the last snapshot, packed for the browser."""
    panel = _last_panel(name, run, drawing, view, theme, moving)
    return playback.pack_figure(drawing.name, run_name(run), _film_id(name), panel)


def _film_id(name: str) -> str:
    """Return a short id of a film, as every frame holds it."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


@keep_by_size(FILM_BYTES, lambda states: len(states[1]))
def _states(
    name: str, run: Run, drawing: Drawing, view: Any, theme: Theme, moving: bool
) -> tuple[list[str], bytes]:
    """Return a panel's titles at all snapshots, and its frames, packed for the browser."""
    shown = []
    for index in range(len(run.snapshot_steps) - 1 if moving else 0):
        panel = panels.draw(run, drawing, view_at(view, index), theme)
        shown.append(tag_figure(panel, _film_id(name), index))
    shown.append(_last_panel(name, run, drawing, view, theme, moving))
    titles = [panel.title for panel in shown]
    return titles, playback.pack_states(drawing.name, run_name(run), _film_id(name), shown)

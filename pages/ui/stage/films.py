"""What the browser moves the charts of a stage by, from snapshot to snapshot and from
run to run."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from typing import Any

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.figures.streamlit_figure import StreamlitFigure
from pages.ui.link.address import Setting
from pages.ui.look.chart import SeatedChart, seat_chart
from pages.ui.look.sized_cache import keep_by_size
from pages.ui.look.style import Theme, theme
from pages.ui.stage import panels, playback

FILM_BYTES = 128 * 2**20  # bytes of all that the clocks of the pages seen last play
FIGURE_BYTES = 32 * 2**20  # bytes of the figures that take the place of others
_HELD = "charts held"
_COUNT = count()


def run_name(run: Run) -> str:
    """What the browser knows a run by, as it is drawn for this visitor."""
    return f"{run.digest[:16]} {theme().name}"


def has_training(setting: Setting, run: Run) -> bool:
    """Whether there is a training to be played."""
    return bool(run.snapshot_steps) and "snapshot" in knobs.knobs_of(setting.experiment.view)


def view_at(view: Any, index: int) -> Any:
    """The view of one snapshot."""
    return replace(view, snapshot=index) if "snapshot" in knobs.knobs_of(type(view)) else view


def send_film(setting: Setting, drawing: Drawing, run: Run) -> None:
    """Give the browser what moves a panel."""
    playback.send_states(drawing.name, _states(*_of(setting, drawing, run))[1])


def seat_panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """A panel, for the browser to move. A chart of which Streamlit is told nothing new stays: it is
    told the figure that was first drawn there, and the browser the one to show, which takes a
    fraction of the time of a new chart."""
    of, key = _of(setting, drawing, run), _key(setting, drawing)
    shown, name = _titled(setting.view, *of), of[0]
    if shown.figure is None:
        release_seat(setting, drawing)
        return seat_chart(shown, drawing.name)
    held = _charts().get(key) or _made(key, shown, name)
    held.moved |= held.name != name
    seat_chart(shown, drawing.name, held=held)
    if held.moved:
        playback.send_figure(drawing.name, _whole(*of))


def _titled(view: Any, *of: Any) -> Panel:
    """A panel as it is in the end, under the title of the snapshot shown; the clock brings it to
    where it stands."""
    shown, (_, run, *_, moving) = _last(*of), of
    if not moving or view.snapshot >= len(run.snapshot_steps) - 1:
        return shown
    return replace(shown, title=_states(*of)[0][view.snapshot])


def _made(key: str, shown: Panel, name: str) -> SeatedChart:
    """A new chart, also where one of the same figure may stand that the browser has moved."""
    assert shown.figure is not None
    sent = StreamlitFigure(shown.figure, fills=True)
    sent.to_dict()["layout"]["meta"]["made"] = next(_COUNT)
    return _charts().setdefault(key, SeatedChart(sent, shown.caption, name))


def keep_charts(setting: Setting, drawings: Sequence[Drawing]) -> None:
    """Only the charts of these stay: others are not on the stage, or grow."""
    keys = [_key(setting, each) for each in drawings]
    for key in set(_charts()) - set(keys):
        del _charts()[key]


def release_seat(setting: Setting, drawing: Drawing) -> None:
    """Another chart has taken this one's seat."""
    _charts().pop(_key(setting, drawing), None)


def _key(setting: Setting, drawing: Drawing) -> str:
    return f"{setting.id} {drawing.name} {theme().name}"


def _charts() -> dict[str, SeatedChart]:
    return st.session_state.setdefault(_HELD, {})


def _of(setting: Setting, drawing: Drawing, run: Run) -> tuple:
    """What the snapshots of a panel depend on: the name by which they are kept, then what they are
    drawn of."""
    view = panels.relevant_view(setting.experiment, drawing, view_at(setting.view, 0))
    moving = drawing.moving and has_training(setting, run)
    return panels.drawing_key(setting, drawing, run, view), run, drawing, view, theme(), moving


@st.cache_resource(max_entries=200, show_spinner=False)
def _last(
    name: str, _run: Run, _drawing: Drawing, _view: Any, _seen: Theme, _moving: bool
) -> Panel:
    """A panel at the last snapshot."""
    last = len(_run.snapshot_steps) - 1
    shown = panels.draw(_run, _drawing, view_at(_view, last) if _moving else _view, _seen)
    return playback.tag_figure(shown, _film(name), last if _moving else None)


@keep_by_size(FIGURE_BYTES, len)
def _whole(name: str, run: Run, drawing: Drawing, view: Any, seen: Theme, moving: bool) -> bytes:
    """A panel at the last snapshot, as the browser reads it."""
    return playback.pack_figure(
        drawing.name, run_name(run), _film(name), _last(name, run, drawing, view, seen, moving)
    )


def _film(name: str) -> str:
    """A short name, as it stands in every frame."""
    return blake2b(name.encode(), digest_size=8).hexdigest()


@keep_by_size(FILM_BYTES, lambda states: len(states[1]))
def _states(
    name: str, run: Run, drawing: Drawing, view: Any, seen: Theme, moving: bool
) -> tuple[list[str], bytes]:
    """The titles, and what changes in a panel from snapshot to snapshot."""
    before = range(len(run.snapshot_steps) - 1 if moving else 0)
    shown = [
        playback.tag_figure(
            panels.draw(run, drawing, view_at(view, index), seen), _film(name), index
        )
        for index in before
    ]
    shown.append(_last(name, run, drawing, view, seen, moving))
    return [each.title for each in shown], playback.pack_states(
        drawing.name, run_name(run), _film(name), shown
    )

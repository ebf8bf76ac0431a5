"""What is on stage: the headline, the clock, and the panels that it moves; the drawers follow where it rests."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from icl_core import knobs
from icl_core.experiment import Drawing, Panel, Run
from icl_core.findings import Summary
from icl_core.script import Beat
from pages.ui import address, asked, cells, clock, drawers, growing, outline, panels, script, training
from pages.ui.address import Setting
from pages.ui.chart import seated
from pages.ui.kept import kept
from pages.ui.style import Look, look
from pages.ui.training import Pending

FILMS = 128 * 2**20  # bytes of all that the clocks of the pages seen last play


@st.fragment
def show(setting: Setting, run: Run, found: Sequence[Summary], pending: Pending | None = None) -> None:
    """Draw a run with what it measured. `pending`: it is not the one asked for, of which curves may be growing."""
    setting = replace(setting, view=address.refreshed(setting, knobs.knobs(setting.experiment.view)))
    told: list[Beat] = []
    with panels.telling(setting, "script"):
        told = script.beats(setting, run, pending is not None)
    beat = script.current(setting, run, told)
    at, job = snapshot(setting, run, told), pending.job() if pending else None
    grows = pending.key if pending and training.growing(job) else ""
    _head(setting, run, at, pending, grows, beat)
    with panels.telling(setting, "script"):
        script.show(replace(setting, view=_at(setting.view, at)), run, told)
    here = replace(setting, view=_at(setting.view, at))
    with st.container(key="faded" if pending and not training.given_up(job) else "current"):
        cell = None
        with panels.telling(setting, "cell"):
            cell = cells.pinned(here, run)
        _panels(here, run, grows)
        drawers.show(here, run, found, cell, grows)
        cells.link(here, run, cell, drawers.opened() == drawers.NUMBERS)


def _head(setting: Setting, run: Run, at: int, pending: Pending | None, grows: str, beat: Beat | None) -> None:
    """The headline, or what is said of a setting without run; the clock, or how far its training is."""
    played = beat.name if beat is not None and asked.open_question(run, beat) is None else ""
    with st.container(key="head", gap=None), panels.telling(setting, "headline"):
        with st.container(key="said"):
            if pending is not None:
                training.say(setting, pending)
        _clock(setting, run, at, pending is None, bool(grows), played, outline.marks(setting, run, beat))
        with st.container(key="line"):
            if grows:
                training.line(grows)


def snapshot(setting: Setting, run: Run, told: Sequence[Beat] = ()) -> int:
    """The index of the snapshot that the address asks for: the last one not beyond its step, else the beat's."""
    steps, wanted = run.snapshot_steps, st.query_params.get("step", "")
    if not moves(setting, run):
        return 0
    if wanted.isdecimal() and len(wanted) < address.DIGITS:
        return max(0, bisect_right(steps, int(wanted)) - 1)
    played = asked.place(run, told, script.current(setting, run, told))
    return run.snapshot_at(setting.view) if played is None else played


def moves(setting: Setting, run: Run) -> bool:
    """Whether there is a training to be played."""
    return bool(run.snapshot_steps) and "snapshot" in knobs.knobs(setting.experiment.view)


def _at(view: Any, index: int) -> Any:
    return replace(view, snapshot=index) if "snapshot" in knobs.knobs(type(view)) else view


def _clock(setting: Setting, run: Run, at: int, headline: bool, still: bool, beat: str, marks: tuple[str, ...]) -> None:
    steps = run.snapshot_steps if moves(setting, run) else [0]
    said = [setting.experiment.headline(run, _at(setting.view, index)) for index in range(len(steps))]
    projector = "projector" in st.query_params
    shown = clock.Shown(headline, still, projector, beat=beat, marks=marks)
    milestones = setting.experiment.milestones(run)
    clock.clock(_key(setting), _name(run), steps, said, at, lambda: _rested(setting, steps), shown, milestones)


def _key(setting: Setting) -> str:
    return f"clock of {setting.id}"


def _rested(setting: Setting, steps: Sequence[int]) -> None:
    step = clock.step(_key(setting))
    base = address.base_view(setting.experiment, setting.preset)
    address.write("snapshot", base.snapshot, base.snapshot)  # a link's former way to say it
    address.write("step", step, steps[min(base.snapshot, len(steps) - 1)])


def _name(run: Run) -> str:
    return f"{run.digest[:16]} {look().name}"


def _panels(setting: Setting, run: Run, grows: str) -> None:
    """The panels, and what the clock moves them by: at the end of a training that follows them, as it is not missed."""
    shown = panels.on_stage(setting, run)
    seats = sum(2 if each.wide else 1 for each in shown)  # a wide panel takes two
    rows = 1 if seats <= 3 else 2
    filmed = [each for each in shown if _filmed(setting, each, run) and not (grows and each.live)]
    films, at_end = st.container(key="films"), getattr(setting.view, "snapshot", 0) == len(run.snapshot_steps) - 1
    if not at_end:
        _films(setting, filmed, run, films)
    with st.container(key=f"stage-{rows}x{-(-seats // rows)}"):
        for drawing in shown:
            seat = f"seat-{'wide-' if drawing.wide else ''}{drawing.name}"
            with st.container(key=seat), panels.telling(setting, drawing.name):
                before = partial(_panel, setting, drawing, run)
                growing.grow(setting, drawing, grows, partial(_put, drawing), before)
    if at_end:
        _films(setting, filmed, run, films)


def _filmed(setting: Setting, drawing: Drawing, run: Run) -> bool:
    """Whether the clock moves a panel in the browser."""
    return drawing.moving and moves(setting, run) and not clock.plain(_key(setting))


def _panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """A panel as it is in the end; the clock brings it to where it stands."""
    if not _filmed(setting, drawing, run):
        return seated(panels.drawn(setting, drawing, run), drawing.name)
    of = _of(setting, drawing, run)
    panel, at = _last(*of), setting.view.snapshot
    title = panel.title if at == len(run.snapshot_steps) - 1 else _states(*of)[0][at]
    seated(replace(panel, title=title), drawing.name)


def _films(setting: Setting, drawings: Sequence[Drawing], run: Run, place: Any) -> None:
    with place:
        for drawing in drawings:
            with panels.telling(setting, f"film of {drawing.name}"):  # its seat says what cannot be drawn at all
                clock.send(drawing.name, _states(*_of(setting, drawing, run))[1])


def _put(drawing: Drawing, panel: Panel) -> None:
    """Seat a panel of a run that is still going."""
    seated(panel, drawing.name, live=True)


def _of(setting: Setting, drawing: Drawing, run: Run) -> tuple:
    """What the snapshots of a panel depend on: the name by which they are kept, then what they are drawn of."""
    view = panels.seen_by(setting.experiment, drawing, _at(setting.view, 0))
    return panels.name_of(setting, drawing, run, view), run, drawing, view, look()


@st.cache_resource(max_entries=200, show_spinner=False)
def _last(name: str, _run: Run, _drawing: Drawing, _view: Any, _seen: Look) -> Panel:
    """A panel at the last snapshot."""
    last = len(_run.snapshot_steps) - 1
    return clock.told(panels.draw(_run, _drawing, _at(_view, last), _seen), last)


@kept(FILMS, lambda states: len(states[1]))
def _states(name: str, run: Run, drawing: Drawing, view: Any, seen: Look) -> tuple[list[str], bytes]:
    """The titles, and what changes in a panel from snapshot to snapshot."""
    before = range(len(run.snapshot_steps) - 1)
    shown = [clock.told(panels.draw(run, drawing, _at(view, index), seen), index) for index in before]
    shown.append(_last(name, run, drawing, view, seen))
    return [each.title for each in shown], clock.packed(drawing.name, _name(run), shown)

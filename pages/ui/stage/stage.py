"""What is on stage: the headline, the clock, and the panels that it moves; the drawers follow where
it rests."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.contract.story import Beat
from icl_core.findings.findings import Summary
from icl_core.jobs.queue import JobState
from pages.ui.controls import training
from pages.ui.controls.training import Pending
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.look.chart import seat_chart
from pages.ui.stage import drawers, films, live_curves, one_number, panels, playback
from pages.ui.story import beats, highlight, prediction


@st.fragment
def show(
    setting: Setting, run: Run, found: Sequence[Summary], pending: Pending | None = None
) -> None:
    """Draw a run with what it measured. `pending`: it is not the one asked for, of which curves may
    be growing."""
    setting = replace(
        setting, view=address.refresh_view(setting, knobs.knobs_of(setting.experiment.view))
    )
    told: list[Beat] = []
    with panels.report_faults(setting, "script"):
        told = beats.playable_beats(setting, run, pending is not None)
    beat = beats.current(setting, run, told)
    at, job = snapshot_index(setting, run, told), training.pending_job(pending)
    grows = pending.key if pending and training.is_active(job) else ""
    _head(setting, run, at, pending, job, beat)
    with panels.report_faults(setting, "script"):
        beats.show(replace(setting, view=films.view_at(setting.view, at)), run, told)
    here = replace(setting, view=films.view_at(setting.view, at))
    with st.container(key="faded" if pending and not training.is_over(job) else "current"):
        cell = None
        with panels.report_faults(setting, "cell"):
            cell = one_number.requested_cell(here, run)
        _panels(here, run, grows)
        drawers.show(here, run, found, cell, grows)
        one_number.link_maps(here, run, cell, drawers.requested_drawer() == drawers.NUMBERS)


def _head(
    setting: Setting,
    run: Run,
    at: int,
    pending: Pending | None,
    job: JobState | None,
    beat: Beat | None,
) -> None:
    """The headline, or what is said of a setting without run; the clock, or how far its training
    is."""
    grows = job if training.is_active(job) else None
    played = beat.name if beat is not None and prediction.open_question(run, beat) is None else ""
    with st.container(key="head", gap=None), panels.report_faults(setting, "headline"):
        with st.container(key="said"):
            if pending is not None:
                training.show_pending(setting, pending, job)
        _clock(
            setting,
            run,
            at,
            pending is None,
            grows is not None,
            played,
            highlight.marks(setting, run, beat),
        )
        with st.container(key="line"):
            if grows is not None:
                training.show_progress(grows.key)


def snapshot_index(setting: Setting, run: Run, told: Sequence[Beat] = ()) -> int:
    """The index of the snapshot that the address asks for: the last one not beyond its step, else
    the beat's."""
    steps, wanted = run.snapshot_steps, st.query_params.get("step", "")
    if not films.has_training(setting, run):
        return 0
    if wanted.isdecimal() and len(wanted) < address.STEP_DIGITS:
        return max(0, bisect_right(steps, int(wanted)) - 1)
    played = prediction.beat_snapshot(run, told, beats.current(setting, run, told))
    return run.snapshot_at(setting.view) if played is None else played


def _clock(
    setting: Setting,
    run: Run,
    at: int,
    headline: bool,
    still: bool,
    beat: str,
    marks: tuple[str, ...],
) -> None:
    steps = run.snapshot_steps if films.has_training(setting, run) else [0]
    said = [
        setting.experiment.headline(run, films.view_at(setting.view, index))
        for index in range(len(steps))
    ]
    projector = "projector" in st.query_params
    shown = playback.ClockOptions(headline, still, projector, beat=beat, marks=marks)
    milestones = setting.experiment.milestones(run)
    playback.show_clock(
        _key(setting),
        films.run_name(run),
        steps,
        said,
        at,
        lambda: _rested(setting, steps),
        shown,
        milestones,
    )


def _key(setting: Setting) -> str:
    return f"clock of {setting.id}"


def _rested(setting: Setting, steps: Sequence[int]) -> None:
    if not address.is_shown(
        setting.id
    ):  # the clock of where the visitor was before: see `pages.ui.link.widget_events`
        return
    if (step := playback.resting_step(_key(setting))) is None:
        return
    base = address.base_view(setting.experiment, setting.preset)
    former = {"snapshot": (base.snapshot, base.snapshot)}  # a link's former way to say it
    own = steps[min(base.snapshot, len(steps) - 1)]
    left_out = (
        "" if "beat" in pending_address.current_query() else own
    )  # a beat has a place of its own
    address.write_all({**former, "step": (step, left_out)})


def _panels(setting: Setting, run: Run, grows: str) -> None:
    """The panels, and what the clock moves them by: at the end of a training that follows them, as
    it is not missed."""
    shown = panels.stage_drawings(setting, run)
    seats = sum(2 if each.wide else 1 for each in shown)  # a wide panel takes two
    rows = 1 if seats <= 3 else 2
    moved = (
        []
        if playback.is_unavailable(_key(setting))
        else [each for each in shown if not (grows and each.live)]
    )
    films.keep_charts(setting, moved)
    place, at_end = (
        st.container(key="films"),
        getattr(setting.view, "snapshot", 0) == len(run.snapshot_steps) - 1,
    )
    if not at_end:
        _films(setting, moved, run, place)
    with st.container(key=f"stage-{rows}x{-(-seats // rows)}"):
        for drawing in shown:
            seat = f"seat-{'wide-' if drawing.wide else ''}{drawing.name}"
            with st.container(key=seat), panels.report_faults(setting, drawing.name):
                before = partial(_panel, setting, drawing, run)
                live_curves.show_live(
                    setting, drawing, grows, partial(_put, setting, drawing), before
                )
    if at_end:
        _films(setting, moved, run, place)


def _panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """A panel, for the browser to move; where it cannot, as it is."""
    if playback.is_unavailable(_key(setting)):
        return seat_chart(panels.cached_panel(setting, drawing, run), drawing.name)
    films.seat_panel(setting, drawing, run)


def _films(setting: Setting, drawings: Sequence[Drawing], run: Run, place: Any) -> None:
    with place:
        for drawing in (
            each for each in drawings if each.moving and films.has_training(setting, run)
        ):
            with panels.report_faults(
                setting, f"film of {drawing.name}"
            ):  # its seat says what cannot be drawn at all
                films.send_film(setting, drawing, run)


def _put(setting: Setting, drawing: Drawing, panel: Panel) -> None:
    """Seat a panel of a run that is still going."""
    films.release_seat(setting, drawing)
    seat_chart(panel, drawing.name, live=True)

"""The stage: the headline, the clock and the panels that it moves; and the drawers, which show the
snapshot where the clock rests."""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from icl_core.contract import knobs
from icl_core.contract.experiment import Drawing, Panel, Run
from icl_core.contract.seeds import FIELD
from icl_core.contract.story import Beat
from icl_core.evidence.measurements import Summary
from icl_core.jobs.queue import JobState
from pages.ui.controls import training, widgets
from pages.ui.controls.training import Pending
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.look.chart import seat_chart
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.stage import (
    drawers,
    films,
    live_curves,
    model_diagram,
    one_number,
    panels,
    pictures,
    playback,
    typed_text,
)
from pages.ui.stage.playback import ClockOptions
from pages.ui.story import beats, highlight, prediction, replaced

SEEDS_WIDTH = 96  # pixels of the choice of a seed


@st.fragment
@say_if_memory_ends
def show(
    setting: Setting, run: Run, summaries: Sequence[Summary], pending: Pending | None = None
) -> None:
    """Draw a run and the claims that it was measured for.

    `pending` is given if `run` is not the run of the setting, but the nearest one; the setting's
    own may be in training, and its first curves are then drawn.
    """
    view_fields = knobs.knobs_of(setting.experiment.view)
    setting = replace(setting, view=address.refresh_view(setting, view_fields))
    playable: list[Beat] = []
    with panels.report_faults(setting, "story"):
        playable = beats.playable_beats(setting, run, pending is not None)
    beat = beats.current(setting, run, playable)
    if prediction.open_question(run, beat) is not None:
        # the stage would tell what comes of a replacement that the question asks about
        setting = replaced.without_replacements(setting)
    index = snapshot_index(setting, run, playable)
    job = training.pending_job(pending)
    training_key = pending.key if pending and training.is_active(job) else ""
    _head(setting, run, index, pending, job, beat)
    setting = replace(setting, view=films.view_at(setting.view, index))
    with panels.report_faults(setting, "story"):
        beats.show(setting, run, playable)
    with st.container(key="faded" if pending else "current"):
        cell = None
        with panels.report_faults(setting, "cell"):
            cell = one_number.requested_cell(setting, run)
        _panels(setting, run, training_key or training.kept_key(job), bool(training_key))
        drawers.show(setting, run, summaries, cell, training_key)
        numbers_open = drawers.requested_drawer() == drawers.NUMBERS
        one_number.link_maps(setting, run, cell, numbers_open)
        pictures.offer(setting, run)


def _head(
    setting: Setting,
    run: Run,
    index: int,
    pending: Pending | None,
    job: JobState | None,
    beat: Beat | None,
) -> None:
    """Draw the headline or, for a setting without a run, its sentence; and the clock or, while the
    setting is in training, its progress."""
    active_job = job if training.is_active(job) else None
    has_question = beat is not None and prediction.open_question(run, beat) is not None
    with st.container(key="head", gap=None), panels.report_faults(setting, "headline"):
        with st.container(key="said"):
            if pending is not None:
                training.show_pending(setting, pending, job)
        options = ClockOptions(
            headline=pending is None,
            still=active_job is not None,
            projector="projector" in st.query_params,
            beat="" if beat is None or has_question else beat.name,
            marks=highlight.marks(setting, run, beat),
            # a question about the diagram is asked with the diagram in sight
            reveal=has_question and beat is not None and beat.drawer == model_diagram.MODEL,
        )
        if active_job is None and has_seeds(setting, run):
            with st.container(horizontal=True, vertical_alignment="bottom", key="clock row"):
                _clock(setting, run, index, options)
                with st.container(width=SEEDS_WIDTH, key="seeds"):
                    widgets.draw_seed(setting, setting.view.seed_shown, run)
        else:
            _clock(setting, run, index, options)
        typed_text.show(setting, run)
        with st.container(key="line"):
            if pending is not None and active_job is not None:
                training.show_progress(pending)


def has_seeds(setting: Setting, run: Run) -> bool:
    """Return whether the visitor may choose whose model the stage shows: the run holds several
    seeds, and a drawing on the stage shows one of them."""
    return panels.shows_one_seed(setting, run) and widgets.can_move(setting, FIELD, run)


def snapshot_index(setting: Setting, run: Run, playable: Sequence[Beat] = ()) -> int:
    """Return the index of the snapshot that the address asks for: the last one not beyond its step,
    else the beat's, else the view's."""
    if not films.has_training(setting, run):
        return 0
    step = st.query_params.get("step", "")
    if step.isdecimal() and len(step) < address.STEP_DIGITS:
        return max(0, bisect_right(run.snapshot_steps, int(step)) - 1)
    beat = beats.current(setting, run, playable)
    index = prediction.beat_snapshot(run, playable, beat)
    return run.snapshot_at(setting.view) if index is None else index


def _clock(setting: Setting, run: Run, index: int, options: ClockOptions) -> None:
    steps = run.snapshot_steps if films.has_training(setting, run) else [0]
    headlines = [
        setting.experiment.headline(run, films.view_at(setting.view, snapshot))
        for snapshot in range(len(steps))
    ]
    playback.show_clock(
        _clock_key(setting),
        films.run_name(run),
        steps,
        headlines,
        index,
        partial(_on_rest, setting, steps),
        options,
        setting.experiment.milestones(run),
    )


def _clock_key(setting: Setting) -> str:
    return f"clock of {setting.id}"


def _on_rest(setting: Setting, steps: Sequence[int]) -> None:
    """Write the step at which the clock has come to rest into the address."""
    if not address.is_shown(setting.id):
        return  # the clock of an experiment that the visitor has left; see widget_events
    step = playback.resting_step(_clock_key(setting))
    if step is None:
        return
    base = setting.base_view
    # The address leaves out the step of the preset; a beat has its own step, so there it is said.
    has_beat = "beat" in pending_address.current_query()
    left_out = "" if has_beat else steps[min(base.snapshot, len(steps) - 1)]
    # `snapshot` is what links said before there was `step`: it is taken out
    fields = {"snapshot": (base.snapshot, base.snapshot), "step": (step, left_out)}
    address.write_all(fields)


def _panels(setting: Setting, run: Run, training_key: str, goes_on: bool) -> None:
    """Draw the stage's panels, and send the browser the frames by which the clock moves them.

    Of the run of `training_key`, if there is one, you see what has been trained so far.

    The frames come after the panels if the last snapshot is shown, which is in the panels already:
    the page is then seen sooner.
    """
    drawings = panels.stage_drawings(setting, run)
    seats = sum(2 if drawing.wide else 1 for drawing in drawings)  # a wide panel takes two
    rows = 1 if seats <= 3 else 2
    moved = []  # the panels that the clock moves
    if not playback.is_unavailable(_clock_key(setting)):
        moved = [drawing for drawing in drawings if not (training_key and drawing.live)]
    films.keep_charts(setting, moved)
    place = st.container(key="films")
    is_last = getattr(setting.view, "snapshot", 0) == len(run.snapshot_steps) - 1
    if not is_last:
        _send_films(setting, moved, run, place)
    grid = f"stage-{rows}x{-(-seats // rows)}"
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
                panels.report_faults(setting, drawing.name),
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
    if playback.is_unavailable(_clock_key(setting)):
        return seat_chart(panels.cached_panel(setting, drawing, run), drawing.name)
    films.seat_panel(setting, drawing, run)


def _seat_live(setting: Setting, drawing: Drawing, panel: Panel) -> None:
    """Draw a panel of a run that is still training."""
    films.release_seat(setting, drawing)
    seat_chart(panel, drawing.name, live=True)


def _send_films(
    setting: Setting, drawings: Sequence[Drawing], run: Run, place: DeltaGenerator
) -> None:
    if not films.has_training(setting, run):
        return
    with place:
        for drawing in drawings:
            if drawing.moving:
                # what cannot be drawn at all is said in the panel's seat, too
                with panels.report_faults(setting, f"film of {drawing.name}"):
                    films.send_film(setting, drawing, run)

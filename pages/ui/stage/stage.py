"""The stage: the headline, the clock and the panels that it moves; and the drawers, which show the
snapshot where the clock rests.

The browser saves its charts as pictures, PNG, SVG and PDF with their title, the setting and a file
name (browser/pictures.js), and shows them full screen (browser/full_screen.js).
"""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.seeds import FIELD
from icl_core.contract.settings_io import file_stem, setting_line
from icl_core.contract.story import Beat
from icl_core.contract.visitor import TextInput
from icl_core.evidence.measurements import Summary
from icl_core.figures import frames
from icl_core.jobs.queue import JobState
from icl_core.share.stage_films import stage_drawings, steps_of, view_at
from pages.ui.classroom import lecturer
from pages.ui.controls import training, widgets
from pages.ui.controls.training import Pending
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.stage import class_stage, drawers, films, one_number, panels, playback
from pages.ui.stage.playback import ClockOptions
from pages.ui.story import places, script
from pages.ui.story.places import Place

_BROWSER = Path(__file__).parents[1] / "browser"
_PICTURES_JS = "".join(
    (_BROWSER / name).read_text(encoding="utf-8") for name in ("full_screen.js", "pictures.js")
)
_PICTURES = st.components.v2.component(
    "icl_pictures",
    html="<span hidden></span>",
    js="".join(map(frames.browser_file, ("plotly_parts.js", "picture_parts.js"))) + _PICTURES_JS,
)
_LIVE_CSS = (_BROWSER / "live.css").read_text(encoding="utf-8")
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
    setting = address.with_current_view(setting)
    beats: list[Beat] = []
    with panels.report_faults("story"):
        beats = places.playable_beats(setting, run, pending is not None)
    place = places.read(setting, run, beats)
    if place.question is not None:
        # the stage would tell what comes of a replacement that the question asks about
        setting = replace(setting, view=replace(setting.view, **setting.trained_fields))
    drawings = stage_drawings(setting.experiment, run)
    shows_one_seed = panels.shows_one_seed(setting.view_knobs, drawings)
    steps = steps_of(run, setting.view)
    index = _snapshot_index(run, setting.view, steps, place.snapshot)
    job = training.pending_job(pending)
    training_key = pending.key if pending and training.is_active(job) else ""
    _head(setting, run, place, shows_one_seed, steps, index, pending, job)
    setting = replace(setting, view=view_at(setting.view, index))
    with panels.report_faults("story"):
        script.show(setting, run, place)
        lecturer.show()
    with st.container(key="faded" if pending else "current"):
        explained = [drawing for drawing in drawings if drawing.explanations is not None]
        cell = None
        with panels.report_faults("cell"):
            cell = one_number.requested_cell(setting, run, explained)
        kept_key = training_key or training.kept_key(job)
        films.seat_panels(setting, run, drawings, kept_key, goes_on=bool(training_key))
        with panels.report_faults("stage on phones"):
            class_stage.draw(setting, run, place)
        drawers.show(setting, run, summaries, place.hidden, cell, training_key)
        is_cell_shown = drawers.requested_drawer() == drawers.NUMBERS
        one_number.link_maps(setting, run, explained, cell if is_cell_shown else None)
        _offer_pictures(setting, run, steps)


def _head(
    setting: Setting,
    run: Run,
    place: Place,
    shows_one_seed: bool,
    steps: Sequence[int],
    index: int,
    pending: Pending | None,
    job: JobState | None,
) -> None:
    """Draw the headline or, for a setting without a run, its sentence; and the clock or, while the
    setting is in training, its progress."""
    active_job = job if training.is_active(job) else None
    beat = place.beat
    has_question = place.question is not None
    with st.container(key="head", gap=None), panels.report_faults("headline"):
        with st.container(key="said"):
            if pending is not None:
                training.show_pending(pending, job)
                st.html(f"<style>{_LIVE_CSS}</style>")
        options = ClockOptions(
            headline=pending is None,
            still=active_job is not None,
            projector="projector" in st.query_params,
            play=pending is None and not _names_a_place(setting, beat),
            beat="" if beat is None or has_question else beat.name,
            marks=place.outlined,
            # a question about the diagram is asked with the diagram in sight
            reveal=has_question and beat is not None and beat.drawer == drawers.MODEL,
        )
        has_seeds = active_job is None and shows_one_seed and widgets.can_move(setting, FIELD, run)
        row = nullcontext()
        if has_seeds:
            row = st.container(horizontal=True, vertical_alignment="bottom", key="clock row")
        with row:
            _clock(setting, run, steps, index, options)
            if has_seeds:
                with st.container(width=SEEDS_WIDTH, key="seeds"):
                    widgets.draw_seed(setting, setting.view.seed_shown, run)
        if setting.experiment.typed is not None:
            _typed_text(setting, setting.experiment.typed, run)
        with st.container(key="line"):
            if pending is not None and active_job is not None:
                training.show_progress(pending)


def _names_a_place(setting: Setting, beat: Beat | None) -> bool:
    """Return whether the address says where the clock stands, or a lesson does."""
    names_step = not {"step", "snapshot"}.isdisjoint(st.query_params)
    return beat is not None or setting.lesson is not None or names_step


def _snapshot_index(run: Run, view: Any, steps: Sequence[int], beat_snapshot: int | None) -> int:
    """Return the index of the snapshot that the address asks for: the last one not beyond its step,
    else the beat's, else the view's."""
    if not steps:
        return 0
    step = st.query_params.get("step", "")
    if step.isdecimal() and len(step) < address.STEP_DIGITS:
        return max(0, bisect_right(steps, int(step)) - 1)
    return run.snapshot_at(view) if beat_snapshot is None else beat_snapshot


def _clock(
    setting: Setting, run: Run, steps: Sequence[int], index: int, options: ClockOptions
) -> None:
    steps = steps or [0]
    headlines = [
        setting.experiment.headline(run, view_at(setting.view, snapshot))
        for snapshot in range(len(steps))
    ]
    playback.show_clock(
        playback.stage_clock(setting.id),
        films.run_name(run),
        steps,
        headlines,
        index,
        partial(_on_rest, setting, steps),
        options,
        setting.experiment.milestones(run),
    )


def _on_rest(setting: Setting, steps: Sequence[int]) -> None:
    """Write the step at which the clock has come to rest into the address."""
    if not address.is_shown(setting.id):
        return  # the clock of an experiment that the visitor has left; see widget_events
    step = playback.resting_step(playback.stage_clock(setting.id))
    if step is None:
        return
    base = setting.base_view
    # The address leaves out the step of the preset; a beat has its own step, so there it is said.
    has_beat = "beat" in pending_address.current_query()
    left_out = "" if has_beat else steps[min(base.snapshot, len(steps) - 1)]
    # `snapshot` is what links said before there was `step`: it is taken out
    fields = {"snapshot": (base.snapshot, base.snapshot), "step": (step, left_out)}
    address.write_all(fields)


def _typed_text(setting: Setting, typed: TextInput, run: Run) -> None:
    """Draw the field for a text of the visitor's own, with the text that the stage shows; one that
    is emptied goes back to the example."""
    example = typed.example(run, setting.view)
    text = getattr(setting.view, typed.field) or example
    # A field of its own for each example: one that shows another example by now would report the
    # former one as typed (see widget_events).
    key = f"{setting.id}:typed {typed.field} {example}"
    set_widget(key, text)
    with st.container(key="typed"):
        st.text_input(
            typed.label,
            text,
            max_chars=setting.view_knobs[typed.field].max_length,
            help=typed.help or None,
            disabled=typed.field in setting.fixed,
            **widget_arguments(key, _text_changed, setting, typed, key, example),
        )


def _text_changed(setting: Setting, typed: TextInput, key: str, example: str) -> None:
    if not address.is_shown(setting.id):  # the visitor has gone to another experiment
        return
    text = st.session_state[key]
    base = getattr(setting.base_view, typed.field)
    address.write(typed.field, base if text in ("", example) else text, base)


def _offer_pictures(setting: Setting, run: Run, steps: Sequence[int]) -> None:
    """Have the browser save the page's charts with their titles and the setting of `run`."""
    id = setting.id.replace(".", "-")
    data = {
        "id": id,
        "title": setting.experiment.title,
        "line": setting_line(run.config, setting.preset.config),
        "fields": file_stem(id, run.config, setting.preset.config).removeprefix(id).strip("-"),
        "steps": list(steps),
        "step": run.step(setting.view) if steps else None,
    }
    _PICTURES(key="pictures")
    playback.send_part("pictures", {"pictures": data})

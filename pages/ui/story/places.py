"""Where the visitor stands in an experiment's story: the beat on screen, its open question, and
which panels are outlined and hidden for it.

The session knows, for the visit, which questions have been answered or passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from icl_core.contract import story
from icl_core.contract.experiment import Preset, Run
from icl_core.contract.story import HEADLINE, MARKS, Beat, Question, snapshot_of
from pages.ui.link.address import Setting

# beginnings of the keys of panels' containers, on the stage and in a drawer
_STAGE_KEYS = ("seat-", "seat-wide-")
_DRAWER_KEYS = ("panel-half-", "panel-wide-")
_PLACEHOLDER = (
    'content: "Shown once you have made a prediction"; position: absolute; '
    "inset: 40% 1rem auto; z-index: 2; text-align: center; font-size: .95rem;"
)
_OUTLINE = "outline: 2px solid #E69F00; outline-offset: 3px; border-radius: .3rem;"


@dataclass(frozen=True)
class Place:
    """A place in an experiment's story.

    beats     the beats that can be played on the run on screen
    beat      the one on screen; None off the script
    question  its question, while it is open
    withheld  whether a lesson asks for a prediction before the script goes on
    outlined  the names of the panels that are outlined
    hidden    the names of panels, and HEADLINE and MARKS, that open questions hide
    snapshot  the index of the snapshot at which the beat is seen; None where the clock stays
    """

    beats: Sequence[Beat]
    beat: Beat | None
    question: Question | None
    withheld: bool
    outlined: tuple[str, ...]
    hidden: Sequence[str]
    snapshot: int | None


def read(setting: Setting, run: Run, beats: Sequence[Beat]) -> Place:
    """Return the place that the address names; `beats` are those that can be played.

    It is that of an earlier beat than the address's if a lesson still asks for its prediction.
    """
    beat_name = st.query_params.get("beat")
    named_beat = next((beat for beat in beats if beat.name == beat_name), None)
    required = setting.lesson.predict if setting.lesson else ()
    withheld_beat = _first_open(run, beats, named_beat, required)
    beat = withheld_beat or named_beat
    question = open_question(run, beat)
    outlined = ()  # none while a question is open
    if question is None:
        panels = [drawing.name for drawing in setting.experiment.drawings]
        requested = tuple(name for name in requested_marks() if name in panels)
        outlined = requested or (beat.marks if beat else ())
    return Place(
        beats,
        beat,
        question,
        withheld_beat is not None,
        outlined,
        _hidden_parts(setting, run, beat),
        beat_snapshot(run, beats, beat),
    )


def story_preset(setting: Setting) -> Preset:
    """Return the preset whose run the story is told of: the first, or the lesson's."""
    presets = setting.experiment.presets
    if setting.lesson is None:
        return presets[0]
    return next(preset for preset in presets if preset.name == setting.lesson.preset)


def playable_beats(setting: Setting, run: Run, pending: bool) -> list[Beat]:
    """Return the beats that can be played: those of the first preset or of the lesson's, if its run
    is on screen."""
    preset = story_preset(setting)
    if pending or setting.preset.name != preset.name or setting.config != preset.config:
        return []
    return story.resolve_beats(setting.experiment.story, run)


def answer_key(run: Run, beat: Beat) -> str:
    """Return the session's key for the answer to a beat's question."""
    return f"answer {run.digest[:16]} {beat.name}"


def open_question(run: Run, beat: Beat | None) -> Question | None:
    """Return the beat's question, or None if it has none or it was answered or passed over."""
    if beat is None or answer_key(run, beat) in st.session_state:
        return None
    return beat.ask


def beat_snapshot(run: Run, beats: Sequence[Beat], beat: Beat | None) -> int | None:
    """Return the index of the snapshot at which a beat is seen; None where the clock stays.

    While its question is open, it is the snapshot of the last beat before it that has one, unless
    the question is asked at the beat's own snapshot (`there`).
    """
    if beat is None:
        return None
    question = open_question(run, beat)
    if question is None or question.there:
        return snapshot_of(beat, run)
    for earlier in reversed(beats[: beats.index(beat)]):
        snapshot = snapshot_of(earlier, run)
        if snapshot is not None:
            return snapshot
    return 0


def play_query(run: Run, beats: Sequence[Beat], beat: Beat) -> dict[str, tuple[Any, Any]]:
    """Return the fields for `address.write_all` that make the clock play to the beat's snapshot.

    They are empty where the clock stays: an open question is asked at the step the clock shows.
    """
    snapshot = beat_snapshot(run, beats, beat)
    if snapshot is None or not run.snapshot_steps:
        return {}
    question = open_question(run, beat)
    if question is not None and not question.there and "step" in st.query_params:
        return {}
    return {"step": (run.snapshot_steps[snapshot], "")}


def requested_marks() -> list[str]:
    """Return the panels that the address outlines."""
    return [name for name in st.query_params.get("marks", "").split(",") if name]


def style(place: Place) -> str:
    """Return the CSS that outlines panels, dims the others, and hides what questions ask about."""
    hidden = " ".join(_hide(part) for part in dict.fromkeys(place.hidden))
    if not place.outlined:
        return hidden
    seats = _selectors(place.outlined, _STAGE_KEYS)
    stage = f"[class*='st-key-stage-']:has({seats})"
    # titles stay legible: only the charts fade
    dimmed = (
        f"{stage} [class*='st-key-seat-']:not({seats}) [class*='st-key-chart-'] {{ opacity: .35; }}"
    )
    return f"{seats}, {_selectors(place.outlined, _DRAWER_KEYS)} {{ {_OUTLINE} }} {dimmed} {hidden}"


def _first_open(
    run: Run, beats: Sequence[Beat], beat: Beat | None, required: Sequence[str]
) -> Beat | None:
    """Return the first beat up to `beat` whose prediction is `required` and still open."""
    if beat is None:
        return None
    for earlier in beats[: beats.index(beat) + 1]:
        if earlier.name in required and open_question(run, earlier):
            return earlier
    return None


def _hidden_parts(setting: Setting, run: Run, beat: Beat | None) -> list[str]:
    """Return the names of panels, and HEADLINE and MARKS, that open questions hide now.

    These are all that the beat's own question hides; for the questions of later beats the clock's
    marks (without a clock the headline too, which then speaks of the end). In a lesson, at its own
    setting, everything that the required predictions hide is added, except panels that a beat up to
    here has shown.
    """
    question = open_question(run, beat)
    hidden = list(question.hides) if question else []
    if setting.experiment.story is None:
        return hidden
    beats = setting.experiment.story.beats
    count = beats.index(beat) + 1 if beat else 0  # beats up to here
    if beat is not None:
        hidden_early = {MARKS} if run.snapshot_steps else {MARKS, HEADLINE}
        for later in beats[count:]:
            if later_question := open_question(run, later):
                hidden += [name for name in later_question.hides if name in hidden_early]
    if setting.lesson is None or setting.config != setting.preset.config:
        return hidden
    shown: set[str] = set()
    for earlier in beats[:count]:
        shown.update(earlier.marks)
    for required in beats:
        required_question = open_question(run, required)
        if required_question and required.name in setting.lesson.predict:
            hidden += [name for name in required_question.hides if name not in shown]
    return hidden


def _hide(name: str) -> str:
    """Return the CSS that hides a panel, HEADLINE or MARKS."""
    if name == HEADLINE:
        return ".headline { visibility: hidden; }"
    if name == MARKS:
        return ".clock .ticks { visibility: hidden; }"
    panel = _selectors([name], (*_STAGE_KEYS, *_DRAWER_KEYS))
    # hidden, not blurred: a blur would still show shapes
    empty = f":is({panel}) > *, .st-key-one-number {{ visibility: hidden; }}"
    return f"{empty} :is({panel})::before {{ {_PLACEHOLDER} }}"


def _selectors(names: Sequence[str], key_beginnings: Sequence[str]) -> str:
    """Return CSS selectors for the containers of panels."""
    selectors: list[str] = []
    for name in names:
        for beginning in key_beginnings:
            selectors.append(f".st-key-{beginning}{name.replace(' ', '-')}")
    return ", ".join(selectors)

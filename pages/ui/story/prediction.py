"""Predictions: a beat may ask for one before it shows what came out.

A prediction is never graded and is optional unless a lesson asks for it. The session keeps it for
the visit; made in a lesson, it outlives a reload.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.story import (
    HEADLINE,
    MARKS,
    Beat,
    Question,
    seen_at,
    sentence_of,
    snapshot_of,
)
from pages.ui.link import address, kept_answers
from pages.ui.link.address import Setting
from pages.ui.story.glossary import line

PASSED = -1  # stored in place of a choice: the visitor pressed "Show me"


def open_question(run: Run, beat: Beat | None) -> Question | None:
    """Return the beat's question, or None if it has none or it was answered or passed over."""
    if beat is None or _key(run, beat) in st.session_state:
        return None
    return beat.ask


def held_beat(setting: Setting, run: Run, beats: Sequence[Beat], beat: Beat | None) -> Beat | None:
    """Return the first beat up to `beat` whose prediction the lesson still asks for; None if there
    is none."""
    if setting.lesson is None or beat is None:
        return None
    for earlier in beats[: beats.index(beat) + 1]:
        if earlier.name in setting.lesson.predict and open_question(run, earlier):
            return earlier
    return None


def hidden_parts(setting: Setting, run: Run, beat: Beat | None) -> list[str]:
    """Return the names of panels, and HEADLINE and MARKS, that open questions hide now.

    These are all that the beat's own question hides; for the questions of later beats the marks
    (without a clock the headline too, which then speaks of the end). In a lesson, at its own
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


def ask(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """Draw the choices as buttons, with "Show me" beside them unless a lesson asks for a
    prediction."""
    with st.container(key="choices", horizontal=True, gap="small"):
        for index, choice in enumerate(question.choices):
            st.button(
                choice, key=f"choice {index}", on_click=_store_answer, args=(run, beat, index)
            )
        if setting.lesson is None or beat.name not in setting.lesson.predict:
            st.button("Show me", key="pass", type="tertiary", on_click=pass_over, args=(run, beat))


def answer(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """Draw the visitor's answer, what came out, and a popover that asks why."""
    chosen = st.session_state[_key(run, beat)]
    # the answer speaks of the beat's own view, whatever the visitor has moved since
    base = setting.base_view
    view = seen_at(beat, run, base)
    right = question.right(run, view)
    outcome = _outcome(question, chosen, right)
    _outcomes()[setting.id, beat.name] = outcome
    with st.container(key="answered", horizontal=True, vertical_alignment="center", gap="small"):
        line(setting, f"{outcome} {sentence_of(question.answer, run, view)}")
        with st.popover("Why?", type="tertiary", width="content"):
            reason = st.text_input(
                "Why, do you think?", key=f"why {_key(run, beat)}", max_chars=300
            )
            if reason or st.button("Show our explanation", key="ours"):
                line(setting, question.why)


def _outcome(question: Question, chosen: int, right: int) -> str:
    """Return the visitor's choice and the answer; what a choice has in brackets is left out."""
    choices = [choice.partition(" (")[0] for choice in question.choices]
    if chosen == PASSED:
        return f"The answer: {choices[right]}."
    if chosen == right:
        return f"Right, as you chose: {choices[right]}."
    return f"The answer: {choices[right]}. You chose: {choices[chosen]}."


def _outcomes() -> dict[tuple[str, str], str]:
    return st.session_state.setdefault("outcomes", {})


def outcomes(experiment_id: str) -> list[str]:
    """Return the visitor's answers in an experiment, with the right ones, in this visit."""
    return [text for (id, _), text in _outcomes().items() if id == experiment_id]


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


def pass_over(run: Run, beat: Beat) -> None:
    """Show what a question asks about, without a prediction."""
    _store_answer(run, beat, PASSED)


def _store_answer(run: Run, beat: Beat, index: int) -> None:
    kept_answers.store(_key(run, beat), index)
    address.write_all(play_query(run, (), beat))


def _key(run: Run, beat: Beat) -> str:
    return f"answer {run.digest[:16]} {beat.name}"

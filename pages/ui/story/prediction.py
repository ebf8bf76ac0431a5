"""A prediction, made before it is seen: never graded, optional unless a lesson asks for it, kept
for the visit."""

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
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.story.glossary import line

PASSED = -1  # the visitor wanted to see it without saying


def open_question(run: Run, beat: Beat | None) -> Question | None:
    """The question of a beat, until it is answered or passed over."""
    return (
        beat.ask
        if beat is not None and beat.ask is not None and _key(run, beat) not in st.session_state
        else None
    )


def held_beat(setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None) -> Beat | None:
    """The beat at which a lesson waits for a prediction: `beat`, or the first one before it that is
    not answered."""
    if setting.lesson is None or beat is None:
        return None
    so_far = found[: found.index(beat) + 1]
    return next(
        (
            each
            for each in so_far
            if each.name in setting.lesson.predict and open_question(run, each)
        ),
        None,
    )


def hidden_parts(setting: Setting, run: Run, beat: Beat | None) -> list[str]:
    """What questions hide now: the beat's own while it is open, for those ahead the clock's marks,
    or the headline if there is no clock; in a lesson all that is still to be predicted, but for
    what has been spoken of up to here."""
    own, script, lesson = open_question(run, beat), setting.experiment.story, setting.lesson
    mine = list(own.hides) if own else []
    if script is None:
        return mine
    at = script.beats.index(beat) + 1 if beat else 0
    ahead = [open_question(run, each) for each in script.beats[at:]] if beat else []
    early = (
        {MARKS} if run.snapshot_steps else {MARKS, HEADLINE}
    )  # without a clock the headline tells of the end
    mine += [name for question in ahead if question for name in question.hides if name in early]
    if lesson is None or setting.config != setting.preset.config:
        return mine
    asked = [open_question(run, each) for each in script.beats if each.name in lesson.predict]
    shown = {name for each in script.beats[:at] for name in each.marks}
    return [
        *mine,
        *(name for question in asked if question for name in question.hides if name not in shown),
    ]


def ask(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """The choices, as buttons, and a way past them unless a lesson wants a prediction."""
    with st.container(key="choices", horizontal=True, gap="small"):
        for index, choice in enumerate(question.choices):
            st.button(choice, key=f"choice {index}", on_click=_answer, args=(run, beat, index))
        if setting.lesson is None or beat.name not in setting.lesson.predict:
            st.button("Show me", key="pass", type="tertiary", on_click=pass_over, args=(run, beat))


def answer(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """What the visitor said, what came out, and why."""
    chosen = st.session_state[_key(run, beat)]
    own = seen_at(
        beat, run, address.base_view(setting.experiment, setting.preset)
    )  # whatever is moved since
    right, seen = question.right(run, own), sentence_of(question.answer, run, own)
    said_so = {
        PASSED: f"It is: {question.choices[right]}.",
        right: f"You said: {question.choices[right]}. So it is.",
    }
    both = f"You said: {question.choices[chosen]}. It is: {question.choices[right]}."
    with st.container(key="answered", horizontal=True, vertical_alignment="center", gap="small"):
        line(setting, f"{said_so.get(chosen, both)} {seen}")
        with st.popover("Why?", type="tertiary", width="content"):
            mine = st.text_input("Why, do you think?", key=f"why {_key(run, beat)}", max_chars=300)
            if mine or st.button("Ours", key="ours"):
                line(setting, question.why)


def beat_snapshot(run: Run, found: Sequence[Beat], beat: Beat | None) -> int | None:
    """The index of the snapshot at which a beat is seen; while its question is open, of the last
    beat before, unless it is asked there."""
    if beat is None or (question := open_question(run, beat)) is None or question.there:
        return snapshot_of(beat, run) if beat else None
    before = (snapshot_of(each, run) for each in reversed(found[: found.index(beat)]))
    return next((at for at in before if at is not None), 0)


def play_query(run: Run, found: Sequence[Beat], beat: Beat) -> dict[str, tuple[Any, Any]]:
    """What has the clock play to where a beat is seen, for `address.write_all`: nothing where it
    stays, as a question is answered first, where the clock stands."""
    at, question = beat_snapshot(run, found, beat), open_question(run, beat)
    stays = question is not None and not question.there and "step" in st.query_params
    return (
        {"step": (run.snapshot_steps[at], "")}
        if at is not None and run.snapshot_steps and not stays
        else {}
    )


def pass_over(run: Run, beat: Beat) -> None:
    """Show what a question asks about, without a prediction."""
    _answer(run, beat, PASSED)


def _answer(run: Run, beat: Beat, index: int) -> None:
    st.session_state[_key(run, beat)] = index
    address.write_all(play_query(run, (), beat))


def _key(run: Run, beat: Beat) -> str:
    return f"answer {run.digest[:16]} {beat.name}"

"""The script's line under the clock: the task, then one beat at a time. It plays,
outlines, asks."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from icl_core.contract import settings_io, story
from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown
from pages.ui.story import highlight, navigation, prediction, tour, tries
from pages.ui.story.glossary import line


def playable_beats(setting: Setting, run: Run, pending: bool) -> list[Beat]:
    """The beats that can be played here: those of the first preset, on its run."""
    first = setting.experiment.presets[0]
    mine = setting.preset.name == first.name and setting.config == first.config and not pending
    return story.resolve_beats(setting.experiment.story, run) if mine else []


def current(setting: Setting, run: Run, found: Sequence[Beat]) -> Beat | None:
    """The beat that the address names, or one before it at which a lesson waits for a
    prediction."""
    named = next((beat for beat in found if beat.name == st.query_params.get("beat")), None)
    return prediction.held_beat(setting, run, found, named) or named


def show(setting: Setting, run: Run, found: Sequence[Beat]) -> None:
    """Draw the line, for the beats that can be played here."""
    if setting.experiment.story is None:
        return
    beat = current(setting, run, found)
    names = [each.name for each in setting.experiment.story.beats]
    if (named := st.query_params.get("beat", names[0])) not in names:
        st.warning(
            f"There is no beat {escape_markdown(named)!s:.80} here; there are {', '.join(names)}."
        )
    if unknown := tour.unknown():
        st.warning(escape_markdown(unknown))
    if beat is not None and beat.name != st.query_params["beat"]:
        st.warning("This lesson asks for your prediction first.")
    if problem := highlight.refusal(setting):
        st.warning(escape_markdown(problem))
    navigation.keep(setting, beat)
    with st.container(key="script", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(
            key="turns", horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            navigation.show(setting, run, found, beat)
        with st.container(key="says", gap=None):
            if beat is None:
                _task(setting)
            else:
                _beat(setting, run, beat)
        with st.container(key="tries", width="content"):
            tries.offer(setting)
    st.html(f"<style>/* what is outlined */{highlight.style(setting, run, beat)}</style>")


def _beat(setting: Setting, run: Run, beat: Beat) -> None:
    question, here = prediction.open_question(run, beat), tour.stop_of(setting, beat)
    if tour.is_first(tour.requested_tour(setting), here):
        if bridge := tour.transition_text(tour.requested_tour(setting), here)[0]:
            line(setting, bridge)
        _task(setting)
    if question is not None:
        line(setting, question.ask)
        prediction.ask(setting, run, beat, question)
        return
    if beat.ask is not None:
        prediction.answer(setting, run, beat, beat.ask)
    done = beat.done is not None and beat.done(setting.view)
    own = story.seen_at(
        beat, run, address.base_view(setting.experiment, setting.preset)
    )  # whatever is moved since
    words = [story.sentence_of(beat.say, run, own), *([beat.do] if beat.do and not done else [])]
    line(
        setting,
        " ".join(
            words if not done else [story.sentence_of(beat.then or beat.say, run, setting.view)]
        ),
    )
    if end := tour.transition_text(tour.requested_tour(setting), here)[1]:
        line(setting, end)


def _task(setting: Setting) -> None:
    task = setting.experiment.story.task if setting.experiment.story else None
    if task is not None:
        pieces = "".join(
            f'<span class="piece {kind}">{escape(text)}</span>'
            for text, kind in task.example.pieces
        )
        answer = (
            f' → <span class="piece answer">{escape(task.example.answer)}</span>'
            if task.example.answer
            else ""
        )
        changed = (
            []
            if setting.refused
            else settings_io.differences(setting.config, setting.preset.config)
        )
        if changed:
            line(setting, f"Changed: {'; '.join(changed)}.")
        if setting.lesson and setting.lesson.predict and "beat" not in st.query_params:
            line(
                setting,
                "Press Start. The lesson asks for a prediction before it shows what comes of it.",
            )
        line(
            setting,
            story.task_of(task, setting.config),
            f'<span class="example">{pieces}{answer}</span>',
        )

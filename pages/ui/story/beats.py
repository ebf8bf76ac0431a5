"""The script's line under the clock: the task or the current beat, the buttons from beat to beat,
and the menu of things to try."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs, story
from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Try
from pages.ui.link import address, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown
from pages.ui.story import highlight, lesson, navigation, prediction, replaced, tour
from pages.ui.story.glossary import line


def playable_beats(setting: Setting, run: Run, pending: bool) -> list[Beat]:
    """Return the beats that can be played: those of the first preset, if its run is on screen."""
    first = setting.experiment.presets[0]
    is_first = setting.preset.name == first.name and setting.config == first.config
    if pending or not is_first:
        return []
    return story.resolve_beats(setting.experiment.story, run)


def current(setting: Setting, run: Run, beats: Sequence[Beat]) -> Beat | None:
    """Return the beat that the address names, or an earlier one whose prediction a lesson still
    asks for; None if the address names none."""
    beat_name = st.query_params.get("beat")
    beat = next((beat for beat in beats if beat.name == beat_name), None)
    return prediction.held_beat(setting, run, beats, beat) or beat


def show(setting: Setting, run: Run, beats: Sequence[Beat]) -> None:
    """Draw the script's line; `beats` are those that can be played."""
    if setting.experiment.story is None:
        return
    beat = current(setting, run, beats)
    _show_warnings(setting, beat)
    navigation.remember_beat(setting, beat)
    with st.container(key="script", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(
            key="turns", horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            navigation.show(setting, run, beats, beat)
        parts = replaced.replaced_parts(setting, run)
        with st.container(key="says", gap=None):
            if beat is not None:
                _show_beat(setting, run, beat)
            elif parts:
                replaced.say(setting, parts)
            else:
                _show_task(setting)
        replaced.way_back(setting, parts)
        with st.container(key="tries", width="content"):
            _show_tries(setting)
    st.html(f"<style>/* what is outlined */{highlight.style(setting, run, beat)}</style>")


def _show_warnings(setting: Setting, beat: Beat | None) -> None:
    """Warn of a beat, a tour or panels in the address that do not exist, and of a beat that a
    lesson withholds."""
    names = [member.name for member in setting.experiment.story.beats]
    beat_name = st.query_params.get("beat", names[0])
    if beat_name not in names:
        st.warning(
            f"There is no beat {escape_markdown(beat_name)!s:.80} here; there are "
            f"{', '.join(names)}."
        )
    if problem := tour.unknown():
        st.warning(escape_markdown(problem))
    if beat is not None and beat.name != st.query_params["beat"]:
        st.warning("This lesson asks for your prediction first.")
    if problem := highlight.refusal(setting):
        st.warning(escape_markdown(problem))


def _show_beat(setting: Setting, run: Run, beat: Beat) -> None:
    """Draw a beat: its open question, or its sentence with the answer before it."""
    question = prediction.open_question(run, beat)
    stop = tour.stop_of(setting, beat)
    tour_name = tour.requested_tour(setting)
    if tour.is_first(tour_name, stop) and (question is not None or beat.ask is None):
        if bridge := tour.bridge(tour_name, stop):
            line(setting, bridge)
        _show_task(setting, brief=True)
    if question is not None:
        line(setting, question.ask)
        prediction.ask(setting, run, beat, question)
        return
    if beat.ask is not None:
        prediction.answer(setting, run, beat, beat.ask)
    if beat.done is not None and beat.done(setting.view):
        text = story.sentence_of(beat.then or beat.say, run, setting.view)
    else:
        # the sentence speaks of the beat's own view, whatever the visitor has moved since
        base = setting.base_view
        text = story.sentence_of(beat.say, run, story.seen_at(beat, run, base))
        if beat.do:
            text = f"{text} {beat.do}"
    line(setting, text)


def _show_task(setting: Setting, brief: bool = False) -> None:
    """Draw the experiment's task with its example; `brief` where a tour begins."""
    task = setting.experiment.story.task if setting.experiment.story else None
    if task is None:
        return
    if "beat" not in st.query_params:
        _show_result(setting)
    prompt = story.example_of(task, setting.config)
    say = story.task_of(task, setting.config)
    if brief:
        say = story.brief_of(setting.experiment.story, setting.config)
    example = "".join(
        f'<span class="piece {kind}">{escape(text)}</span>' for text, kind in prompt.pieces
    )
    if prompt.answer:
        example += f' → <span class="piece answer">{escape(prompt.answer)}</span>'
    line(
        setting,
        say,
        f'<span class="example">{example}</span>',
    )


def _show_result(setting: Setting) -> None:
    """Draw what a lesson asks for next or, after the script's end, what there is to do now."""
    if setting.lesson is not None:
        text = lesson.result_text(setting.lesson)
        if navigation.is_finished(setting):
            line(setting, f"You have seen this lesson's story to its end. {text}")
        elif setting.lesson.predict:
            line(setting, f"Press Start. The lesson asks for your predictions. {text}")
        return
    names = list(registry.papers()[setting.paper].experiments)
    following = names[names.index(setting.name) + 1 :]
    if navigation.is_finished(setting) and following:
        paper = setting.paper
        title = registry.experiment(f"{paper}.{following[0]}").title
        link = same_tab_links.link(paper, title, {"experiment": following[0]})
        st.html(f'<p class="says">You have seen this story to its end. Next: {link}</p>')


def _show_tries(setting: Setting) -> None:
    """Draw the menu of links to things to try and of tours; a lesson has none, as it would end."""
    if setting.lesson is not None:
        return
    tries = setting.experiment.story.tries if setting.experiment.story else ()
    with st.popover("Try", type="tertiary", width="content"):
        paper = setting.paper
        items = "".join(
            f"<li>{same_tab_links.link(paper, item.say, _try_query(setting, item))}</li>"
            for item in tries
        )
        st.html(f'<ul class="tries">{items}</ul>')
        for name in (paper, tour.ALL):
            tour.offer(name)


def _try_query(setting: Setting, item: Try) -> dict[str, str]:
    """Return the address of something to try, without the fields that equal the preset's."""
    first = setting.experiment.presets[0]
    presets = {preset.name: preset for preset in setting.experiment.presets}
    preset = presets[item.preset] if item.preset else first
    base = {
        **knobs.values(preset.config),
        **knobs.values(address.base_view(setting.experiment, preset)),
    }
    query = address.lasting_query() | {"experiment": setting.name}
    if preset != first:
        query["preset"] = preset.name
    query |= place_query(item)
    for field, value in item.fields.items():
        if value != base[field]:
            query[field] = address.value_text(value)
    return query


def place_query(item: Try) -> dict[str, str]:
    """Return the part of an address that says where to look: the step, the drawer, the panels."""
    query = {}
    if item.step is not None:
        query["step"] = str(item.step)
    if item.drawer:
        query["drawer"] = item.drawer
    if item.marks:
        query["marks"] = ",".join(item.marks)
    return query

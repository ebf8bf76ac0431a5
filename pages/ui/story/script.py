"""The script's line under the clock: the buttons from beat to beat, the task or the current beat,
what the visitor has put in place of parts of the model, and the menu of things to try."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any, Literal

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.story import (
    Beat,
    Story,
    brief_of,
    example_of,
    seen_at,
    sentence_of,
    task_of,
)
from icl_core.contract.visitor import ReplacedPart, in_words
from pages.ui.classroom import lecturer
from pages.ui.link import address, answers, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown
from pages.ui.story import lesson, places, prediction, tour
from pages.ui.story.glossary import line
from pages.ui.story.places import Place
from pages.ui.story.tour import Stop, Way

_BUTTON_TYPES: dict[str, Literal["primary", "secondary"]] = {
    "next": "primary",
    "before": "secondary",
    "back": "secondary",
}
_LAST_BEAT = "beat that was left"  # in the session: (stop, name of the tour)
_REPLACED_OUTLINE = "outline: 2px dashed #D55E00; outline-offset: 2px; border-radius: .3rem;"


def show(setting: Setting, run: Run, place: Place) -> None:
    """Draw the script's line at a place of the story."""
    story = setting.experiment.story
    if story is None:
        return
    way = tour.way(setting.id, place.beat)
    _show_warnings(setting, story, place.beat)
    if way.here is not None:  # for the way back, once the visitor has left the script
        st.session_state[_LAST_BEAT] = way.here, way.name
    with st.container(key="script", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(
            key="turns", horizontal=True, vertical_alignment="center", gap="small", width="content"
        ):
            _show_turns(setting, run, story, place, way)
        replacements = setting.experiment.replaced
        replaced = replacements.parts(run.config, setting.view) if replacements else ()
        with st.container(key="says", gap=None):
            if place.beat is not None:
                _show_beat(setting, run, story, place, place.beat, way)
            elif replaced:
                line(
                    setting.paper,
                    f"The stage shows the model with {in_words(replaced)}, at every step of the "
                    "clock. Drawers other than Graft show the trained model.",
                )
            else:
                _show_task(setting, story, leaves=not place.beats)
        if replaced:
            _show_way_back(setting, replaced)
        with st.container(key="tries", width="content"):
            if place.beat is not None and place.beat.ask is not None:
                prediction.offer_class(setting, run, place.beat, place.beat.ask)
            if setting.lesson is None:  # a lesson would end
                tour.show_tries(setting)
    st.html(f"<style>/* what is outlined */{places.style(place)}</style>")


def _show_warnings(setting: Setting, story: Story, beat: Beat | None) -> None:
    """Warn of a beat, a tour or panels in the address that do not exist, and of a beat that a
    lesson withholds."""
    names = [member.name for member in story.beats]
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
    panels = [drawing.name for drawing in setting.experiment.drawings]
    unknown = [name for name in places.requested_marks() if name not in panels]
    if unknown:
        problem = f"There is no panel {', '.join(unknown)!s:.80} here; there are "
        st.warning(escape_markdown(f"{problem}{', '.join(panels)}."))


def _show_beat(
    setting: Setting, run: Run, story: Story, place: Place, beat: Beat, way: Way
) -> None:
    """Draw a beat: its open question, or its sentence with the answer before it."""
    if way.begins and (place.question is not None or beat.ask is None):
        if way.bridge:
            line(setting.paper, way.bridge)
        _show_task(setting, story, brief=True)
    if place.question is not None:
        line(setting.paper, place.question.ask)
        prediction.ask(run, beat, place.question, required=place.withheld)
        return
    # answer and sentence speak of the beat's own view, whatever the visitor has moved since
    own_view = seen_at(beat, run, setting.base_view)
    if beat.ask is not None:
        prediction.answer(setting.id, run, beat, beat.ask, own_view)
        lecturer.reveal(prediction.class_key(setting.id, beat))
    if beat.done is not None and beat.done(setting.view):
        text = sentence_of(beat.then or beat.say, run, setting.view)
    else:
        text = sentence_of(beat.say, run, own_view)
        if beat.do:
            text = f"{text} {beat.do}"
    line(setting.paper, text)


def _show_task(setting: Setting, story: Story, brief: bool = False, leaves: bool = False) -> None:
    """Draw the experiment's task with its example; `brief` where a tour begins. If Start `leaves`
    these settings it says for which preset."""
    if "beat" not in st.query_params:
        _show_result(setting)
    prompt = example_of(story.task, setting.config)
    say = task_of(story.task, setting.config)
    if brief:
        say = brief_of(story, setting.config)
    if leaves:
        say = f"Start goes to the preset “{places.story_preset(setting).full_title}”. {say}"
    example = "".join(
        f'<span class="piece {kind}">{escape(text)}</span>' for text, kind in prompt.pieces
    )
    if prompt.answer:
        example += f' → <span class="piece answer">{escape(prompt.answer)}</span>'
    line(setting.paper, say, f'<span class="example">{example}</span>')


def _show_result(setting: Setting) -> None:
    """Draw what a lesson asks for next or, after the script's end, what there is to do now."""
    is_finished = _finished_key(setting.id) in st.session_state
    paper = setting.paper
    if setting.lesson is not None:
        text = lesson.result_text(setting.lesson)
        if is_finished:
            line(paper, f"You have seen this lesson's story to its end. {text}")
        elif setting.lesson.predict:
            line(paper, f"Press Start. The lesson asks for your predictions. {text}")
        return
    names = list(registry.papers()[paper].experiments)
    following = names[names.index(setting.name) + 1 :]
    if is_finished and following:
        title = registry.experiment(f"{paper}.{following[0]}").title
        link = same_tab_links.link(paper, title, {"experiment": following[0]})
        st.html(f'<p class="says">You have seen this story to its end. Next: {link}</p>')


def _show_way_back(setting: Setting, replaced: Sequence[ReplacedPart]) -> None:
    """Draw the button that takes all replacements back, and outline the panels of what was
    replaced."""
    with st.container(key="again", width="content"):
        st.button(
            "Show the trained model again", key="trained again", on_click=_undo, args=(setting,)
        )
    panels = dict.fromkeys(part.panel.replace(" ", "-") for part in replaced if part.panel)
    seats = ", ".join(f".st-key-seat-{panel}, .st-key-seat-wide-{panel}" for panel in panels)
    if seats:
        st.html(f"<style>{seats} {{ {_REPLACED_OUTLINE} }}</style>")


def _undo(setting: Setting) -> None:
    if address.is_shown(setting.id):
        fields = setting.trained_fields
        address.write_all({field: (value, value) for field, value in fields.items()})


def _show_turns(setting: Setting, run: Run, story: Story, place: Place, way: Way) -> None:
    """Draw the buttons around the beat; without one, those that begin the script (on the first
    preset's run, if no beat can be played here) or return to it."""
    if place.beat is None or way.here is None:
        _back_button()
        if place.beats:
            _start_button(setting, run, place.beats)
        else:
            first = Stop(setting.paper, setting.name, story.beats[0].name)
            title = places.story_preset(setting).title
            help = f"Leaves these settings and goes to “{title}”"
            _stop_button("Start ▶", "next", first, way.name, help)
        return
    index = place.beats.index(place.beat)
    before, after = _neighbours(place.beats, index, way.stops, way.here)
    if isinstance(before, Stop):
        _stop_button("◀", "before", before, way.name)
    else:
        go_back = partial(_go_to_beat, setting, run, place.beats, before)
        _beat_button("◀", "before", go_back, disabled=before is None)
    _show_number(index, len(place.beats), tour.number(way.stops, way.here))
    if place.question is not None:
        # the first press answers the question with "Show me", the next one goes on
        pass_over = partial(prediction.pass_over, run, place.beat)
        _beat_button("Next ▶", "next", pass_over, disabled=place.withheld)
    elif isinstance(after, Stop):
        _stop_button("Next ▶", "next", after, way.name)
    elif after is None and way.here in way.stops:
        with st.container(key="next", width="content"):
            if st.button("Done ✓", key="next end", type="primary", disabled=place.withheld):
                st.session_state.pop(_LAST_BEAT, None)
                tour.go_to_end(way.name)
    else:
        go_on = partial(_go_to_beat, setting, run, place.beats, after)
        _beat_button("Next ▶" if after else "Done ✓", "next", go_on, disabled=place.withheld)


def _back_button() -> None:
    """Draw the button that returns to the beat that the visitor has left, if there is one."""
    stop, tour_name = st.session_state.get(_LAST_BEAT, (None, ""))
    if stop is not None:
        number = tour.number(tour.stops(tour_name), stop)
        _stop_button(f"◀ Back to {number}" if number else "◀ Back", "back", stop, tour_name)


def _start_button(setting: Setting, run: Run, beats: Sequence[Beat]) -> None:
    """Draw the button that begins the script. To a visitor who has reached its end, Page Down does
    not begin it again."""
    begin = partial(_go_to_beat, setting, run, beats, beats[0])
    if _finished_key(setting.id) in st.session_state:
        with st.container(key="again", width="content"):
            st.button("Start again", key="again here", on_click=begin)
    else:
        _beat_button("Start ▶", "next", begin)


def _show_number(index: int, count: int, number: str) -> None:
    """Draw a beat's `number` on the tour or, off the tour, a dot for each beat."""
    if number:
        st.html(f'<span class="part">{number}</span>')
        return
    dots = "".join(f'<i class="{"here" if i == index else ""}"></i>' for i in range(count))
    label = f"Beat {index + 1} of {count}"
    st.html(f'<span class="dots" role="img" aria-label="{label}">{dots}</span>')


def _neighbours(
    beats: Sequence[Beat], index: int, stops: Sequence[Stop], here: Stop
) -> tuple[Beat | Stop | None, Beat | Stop | None]:
    """Return what comes before and after a beat: another beat here, a stop elsewhere on the tour,
    or None."""
    if here not in stops:  # no tour, or the visitor has left it within the experiment
        before = beats[index - 1] if index else None
        after = beats[index + 1] if index + 1 < len(beats) else None
        return before, after
    number = stops.index(here)
    stop_before = stops[number - 1] if number else None
    stop_after = stops[number + 1] if number + 1 < len(stops) else None
    return _beat_or_stop(stop_before, here, beats), _beat_or_stop(stop_after, here, beats)


def _beat_or_stop(stop: Stop | None, here: Stop, beats: Sequence[Beat]) -> Beat | Stop | None:
    """Return the beat of a stop if it can be played in the experiment of `here`, else the stop."""
    if stop is None or stop[:2] != here[:2]:
        return stop
    return next((beat for beat in beats if beat.name == stop.beat), stop)


def _beat_button(
    label: str, key: str, on_click: Callable[[], None], disabled: bool = False
) -> None:
    with st.container(key=key, width="content"):
        st.button(
            label, key=f"{key} here", on_click=on_click, disabled=disabled, type=_BUTTON_TYPES[key]
        )


def _stop_button(label: str, key: str, stop: Stop, tour_name: str, help: str | None = None) -> None:
    # a key of its own: the click that led to this button must not count as one on it
    with st.container(key=key, width="content"):
        if st.button(label, key=f"{key} away", type=_BUTTON_TYPES[key], help=help):
            tour.go(stop, tour_name)


def _go_to_beat(setting: Setting, run: Run, beats: Sequence[Beat], beat: Beat | None) -> None:
    """Put a beat and all that it sets into the address; None leaves the script and undoes what it
    set."""
    base = setting.base_view
    fields: dict[str, tuple[Any, Any]] = {}  # by name: the value and the preset's
    for some_beat in beats:
        for field in some_beat.view:
            preset_value = getattr(base, field)
            value = beat.view.get(field, preset_value) if beat else preset_value
            fields[field] = value, preset_value
    fields["drawer"] = (beat.drawer if beat else "", "")
    fields["marks"] = ("", "")
    fields["beat"] = (beat.name if beat else "", "")
    if beat is None:
        st.session_state.pop(_LAST_BEAT, None)
        answers.store(_finished_key(setting.id), 1)
        fields["tour"] = ("", "")
    else:
        fields |= places.play_query(run, beats, beat)
    address.write_all(fields)


def _finished_key(experiment_id: str) -> str:
    """Return the session's key for having reached the end of an experiment's script."""
    return f"finished {experiment_id}"

"""The script's line under the clock: the task, then one beat at a time. It plays, outlines, asks."""

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Literal

import streamlit as st

from icl_core import script
from icl_core.experiment import Run
from icl_core.script import Beat
from pages.ui import address, asked, outline, tour, tries
from pages.ui.address import Setting
from pages.ui.plain import plain
from pages.ui.tour import Stop
from pages.ui.words import line

_LOOKS: dict[str, Literal["primary", "secondary"]] = {"next": "primary", "before": "secondary"}


def beats(setting: Setting, run: Run, pending: bool) -> list[Beat]:
    """The beats that can be played here: those of the first preset, on its run."""
    first = setting.experiment.presets[0]
    mine = setting.preset.name == first.name and setting.config == first.config and not pending
    return script.told(setting.experiment.script, run) if mine else []


def current(setting: Setting, run: Run, found: Sequence[Beat]) -> Beat | None:
    """The beat that the address names, or one before it at which a lesson waits for a prediction."""
    named = next((beat for beat in found if beat.name == st.query_params.get("beat")), None)
    return asked.held(setting, run, found, named) or named


def show(setting: Setting, run: Run, found: Sequence[Beat]) -> None:
    """Draw the line, for the beats that can be played here."""
    if setting.experiment.script is None:
        return
    beat = current(setting, run, found)
    if beat is None and "beat" in st.query_params and found:
        names = ", ".join(each.name for each in found)
        st.warning(f"There is no beat {plain(st.query_params['beat'])!s:.80} here; there are {names}.")
    if beat is not None and beat.name != st.query_params["beat"]:
        st.warning("This lesson asks for your prediction first.")
    if problem := outline.refusal(setting):
        st.warning(plain(problem))
    with st.container(key="script", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="turns", horizontal=True, vertical_alignment="center", gap="small", width="content"):
            _turns(setting, run, found, beat)
        with st.container(key="says", gap=None):
            if beat is None:
                _task(setting)
            else:
                _beat(setting, run, beat)
        with st.container(key="tries", width="content"):
            tries.offer(setting)
    st.html(f"<style>/* what is outlined */{outline.style(setting, run, beat)}</style>")


def _beat(setting: Setting, run: Run, beat: Beat) -> None:
    question = asked.open_question(run, beat)
    if question is not None:
        line(setting, question.ask)
        asked.ask(setting, run, beat, question)
        return
    if beat.ask is not None:
        asked.answer(setting, run, beat, beat.ask)
    done = beat.done is not None and beat.done(setting.view)
    words = [script.said(beat.say, run, setting.view), *([beat.do] if beat.do and not done else [])]
    here = Stop(setting.id.partition(".")[0], setting.name, beat.name)
    before, after = tour.between(tour.asked(setting), here)
    if before:
        line(setting, before)
    line(setting, " ".join(words if not done else [script.said(beat.then or beat.say, run, setting.view)]))
    if after:
        line(setting, after)


def _task(setting: Setting) -> None:
    task = setting.experiment.script.task if setting.experiment.script else None
    if task is not None:
        pieces = "".join(f'<span class="piece {kind}">{escape(text)}</span>' for text, kind in task.example.pieces)
        answer = f' → <span class="piece answer">{escape(task.example.answer)}</span>' if task.example.answer else ""
        line(setting, script.task_of(task, setting.config), f'<span class="example">{pieces}{answer}</span>')


def _turns(setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None) -> None:
    """Back, where we are, and on: to the next beat, or to the tour's next experiment."""
    on_tour = tour.asked(setting)
    if beat is None:
        if found:
            _button("Start ▶", "next", setting, run, found, found[0])
        else:
            first = Stop(setting.id.partition(".")[0], setting.name, setting.experiment.script.beats[0].name)
            _away("Start ▶", "next", first, on_tour)
        return
    at = found.index(beat)
    before, after = _around(setting, found, at, on_tour)
    if isinstance(before, Stop):
        _away("◀", "before", before, on_tour)
    else:
        _button("◀", "before", setting, run, found, before)
    place = tour.place(tour.stops(on_tour), Stop(setting.id.partition(".")[0], setting.name, beat.name))
    dots = "".join(f'<i class="{"here" if index == at else ""}"></i>' for index in range(len(found)))
    told = f'<span class="dots" role="img" aria-label="Beat {at + 1} of {len(found)}">{dots}</span>'
    st.html(f'<span class="part">{place}</span>' if place else told)
    if isinstance(after, Stop):
        _away("Next ▶", "next", after, on_tour)
    else:
        waits = asked.held(setting, run, found, beat) is not None
        _button("Next ▶" if after else "Done ✓", "next", setting, run, found, after, waits)


def _around(
    setting: Setting, found: Sequence[Beat], at: int, on_tour: str
) -> tuple[Beat | Stop | None, Beat | Stop | None]:
    """What comes before and after a beat: here, elsewhere on the tour, or nothing."""
    if not on_tour:
        return (found[at - 1] if at else None), (found[at + 1] if at + 1 < len(found) else None)
    stops, paper = tour.stops(on_tour), setting.id.partition(".")[0]
    here = Stop(paper, setting.name, found[at].name)
    if here not in stops:  # the visitor has left it within the experiment
        return _around(setting, found, at, "")
    index, known = stops.index(here), {beat.name: beat for beat in found}
    ends = [stops[index - 1] if index else None, stops[index + 1] if index + 1 < len(stops) else None]
    before, after = (known.get(end.beat, end) if end and end[:2] == here[:2] else end for end in ends)
    return before, after


def _button(
    label: str, key: str, setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None, waits: bool = False
) -> None:
    off = waits or (beat is None and key == "before")
    turn = partial(_turn, setting, run, found, beat)
    with st.container(key=key, width="content"):
        st.button(label, key=f"{key} here", on_click=turn, disabled=off, type=_LOOKS[key])


def _away(label: str, key: str, stop: Stop, on_tour: str) -> None:
    # a key of its own: the click that led to this button must not count as one on it
    with st.container(key=key, width="content"):
        if st.button(label, key=f"{key} away", type=_LOOKS[key]):
            tour.go(stop, on_tour)


def _turn(setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None) -> None:
    """Put a beat into the address, with all that it sets; without one, leave the script and what it set."""
    base = address.base_view(setting.experiment, setting.preset)
    for field in dict.fromkeys(field for each in found for field in each.view):
        value = getattr(base, field)
        address.write(field, beat.view.get(field, value) if beat else value, value)
    address.write("drawer", beat.drawer if beat else "", "")
    address.write("marks", "", "")
    address.write("beat", beat.name if beat else "", "")
    if beat is None:
        address.write("tour", "", "")
    else:
        asked.play(run, found, beat)

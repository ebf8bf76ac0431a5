"""The script's buttons: to the beat before and after, to the tour's stops in other experiments, and
back to a beat that the visitor has left."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat
from pages.ui.link import address, kept_answers
from pages.ui.link.address import Setting
from pages.ui.story import prediction, tour
from pages.ui.story.tour import Stop

_BUTTON_TYPES: dict[str, Literal["primary", "secondary"]] = {
    "next": "primary",
    "before": "secondary",
    "back": "secondary",
}
_LAST_BEAT = "beat that was left"  # in the session: (stop, name of the tour)


def remember_beat(setting: Setting, beat: Beat | None) -> None:
    """Remember the beat on screen, for the way back to it after the visitor has left the script."""
    if beat is not None:
        stop = tour.stop_of(setting, beat)
        st.session_state[_LAST_BEAT] = stop, tour.requested_tour(setting)


def show(setting: Setting, run: Run, beats: Sequence[Beat], beat: Beat | None) -> None:
    """Draw the buttons around `beat`; without one, those that begin the script or return to it."""
    if beat is None:
        _back_button()
        _start_button(setting, run, beats)
        return
    tour_name = tour.requested_tour(setting)
    index = beats.index(beat)
    before, after = _neighbours(setting, beats, index, tour_name)
    if isinstance(before, Stop):
        _stop_button("◀", "before", before, tour_name)
    else:
        _beat_button(
            "◀", "before", partial(_go_to_beat, setting, run, beats, before), before is None
        )
    _show_place(setting, beats, index, tour_name)
    withheld = prediction.held_beat(setting, run, beats, beat) is not None
    if prediction.open_question(run, beat) is not None:
        # the first press answers the question with "Show me", the next one goes on
        _beat_button("Next ▶", "next", partial(prediction.pass_over, run, beat), withheld)
    elif isinstance(after, Stop):
        _stop_button("Next ▶", "next", after, tour_name)
    elif after is None and tour.stop_of(setting, beat) in tour.stops(tour_name):
        with st.container(key="next", width="content"):
            if st.button("Done ✓", key="next end", type="primary", disabled=withheld):
                st.session_state.pop(_LAST_BEAT, None)
                tour.go_to_end(tour_name)
    else:
        _beat_button(
            "Next ▶" if after else "Done ✓",
            "next",
            partial(_go_to_beat, setting, run, beats, after),
            withheld,
        )


def is_finished(setting: Setting) -> bool:
    """Return whether the visitor has reached the end of the experiment's script."""
    return _finished_key(setting) in st.session_state


def _finished_key(setting: Setting) -> str:
    return f"finished {setting.id}"


def _back_button() -> None:
    """Draw the button that returns to the remembered beat, if there is one."""
    stop, tour_name = st.session_state.get(_LAST_BEAT, (None, ""))
    if stop is not None:
        place = tour.place(tour.stops(tour_name), stop)
        _stop_button(f"◀ Back to {place}" if place else "◀ Back", "back", stop, tour_name)


def _start_button(setting: Setting, run: Run, beats: Sequence[Beat]) -> None:
    """Draw the button that begins the script; if no beat can be played here, on the first preset's
    run. To a visitor who has reached the script's end, Page Down does not begin it again."""
    if beats and is_finished(setting):
        begin = partial(_go_to_beat, setting, run, beats, beats[0])
        with st.container(key="again", width="content"):
            st.button("Start again", key="again here", on_click=begin)
        return
    if beats:
        _beat_button("Start ▶", "next", partial(_go_to_beat, setting, run, beats, beats[0]))
        return
    first = tour.stop_of(setting, setting.experiment.story.beats[0])
    title = setting.experiment.presets[0].title
    help = f"Leaves these settings and goes to “{title}”"
    _stop_button("Start ▶", "next", first, tour.requested_tour(setting), help)


def _show_place(setting: Setting, beats: Sequence[Beat], index: int, tour_name: str) -> None:
    """Draw where the beat stands: its number on the tour, else a dot for each beat."""
    place = tour.place(tour.stops(tour_name), tour.stop_of(setting, beats[index]))
    if place:
        st.html(f'<span class="part">{place}</span>')
        return
    dots = "".join(f'<i class="{"here" if i == index else ""}"></i>' for i in range(len(beats)))
    label = f"Beat {index + 1} of {len(beats)}"
    st.html(f'<span class="dots" role="img" aria-label="{label}">{dots}</span>')


def _neighbours(
    setting: Setting, beats: Sequence[Beat], index: int, tour_name: str
) -> tuple[Beat | Stop | None, Beat | Stop | None]:
    """Return what comes before and after a beat: another beat here, a stop elsewhere on the tour,
    or None."""
    stops = tour.stops(tour_name) if tour_name else []
    here = tour.stop_of(setting, beats[index])
    if here not in stops:  # no tour, or the visitor has left it within the experiment
        before = beats[index - 1] if index else None
        after = beats[index + 1] if index + 1 < len(beats) else None
        return before, after
    place = stops.index(here)
    stop_before = stops[place - 1] if place else None
    stop_after = stops[place + 1] if place + 1 < len(stops) else None
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
        kept_answers.store(_finished_key(setting), 1)
        fields["tour"] = ("", "")
    else:
        fields |= prediction.play_query(run, beats, beat)
    address.write_all(fields)

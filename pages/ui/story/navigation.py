"""Back and on: from beat to beat, to the tour's next experiment, and back to a beat
that was left."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.story import prediction, tour
from pages.ui.story.tour import Stop

_LOOKS: dict[str, Literal["primary", "secondary"]] = {
    "next": "primary",
    "before": "secondary",
    "back": "secondary",
}
_LEFT = "beat that was left"  # in the session: its stop, the tour


def keep(setting: Setting, beat: Beat | None) -> None:
    """Keep where the visitor is told of something, for the way back from where a question of theirs
    leads."""
    if beat is not None:
        here = tour.stop_of(setting, beat)
        st.session_state[_LEFT] = here, tour.requested_tour(setting)


def _back() -> None:
    """The way back to the beat that was left, until that is done with."""
    stop, on_tour = st.session_state.get(_LEFT, (None, ""))
    if stop is not None:
        place = tour.place(tour.stops(on_tour), stop)
        _away(f"◀ Back to {place}" if place else "◀ Back", "back", stop, on_tour)


def show(setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None) -> None:
    """Back, where we are, and on: to the next beat, or to the tour's next experiment."""
    on_tour = tour.requested_tour(setting)
    if beat is None:
        _back()
        if found:
            _button("Start ▶", "next", partial(_turn, setting, run, found, found[0]))
        else:
            first = Stop(
                setting.id.partition(".")[0], setting.name, setting.experiment.story.beats[0].name
            )
            title = setting.experiment.presets[0].title
            _away(
                "Start ▶", "next", first, on_tour, f"Leaves these settings, and tells of “{title}”"
            )
        return
    at, question = found.index(beat), prediction.open_question(run, beat)
    before, after = _around(setting, found, at, on_tour)
    if isinstance(before, Stop):
        _away("◀", "before", before, on_tour)
    else:
        _button("◀", "before", partial(_turn, setting, run, found, before), before is None)
    place = tour.place(tour.stops(on_tour), tour.stop_of(setting, beat))
    dots = "".join(
        f'<i class="{"here" if index == at else ""}"></i>' for index in range(len(found))
    )
    told = f'<span class="dots" role="img" aria-label="Beat {at + 1} of {len(found)}">{dots}</span>'
    st.html(f'<span class="part">{place}</span>' if place else told)
    waits = prediction.held_beat(setting, run, found, beat) is not None
    if question is not None:  # what it asks is shown first, and then gone on from
        _button("Next ▶", "next", partial(prediction.pass_over, run, beat), waits)
    elif isinstance(after, Stop):
        _away("Next ▶", "next", after, on_tour)
    else:
        _button(
            "Next ▶" if after else "Done ✓",
            "next",
            partial(_turn, setting, run, found, after),
            waits,
        )


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
    ends = [
        stops[index - 1] if index else None,
        stops[index + 1] if index + 1 < len(stops) else None,
    ]
    before, after = (
        known.get(end.beat, end) if end and end[:2] == here[:2] else end for end in ends
    )
    return before, after


def _button(label: str, key: str, turn: Callable[[], None], off: bool = False) -> None:
    with st.container(key=key, width="content"):
        st.button(label, key=f"{key} here", on_click=turn, disabled=off, type=_LOOKS[key])


def _away(label: str, key: str, stop: Stop, on_tour: str, help: str | None = None) -> None:
    # a key of its own: the click that led to this button must not count as one on it
    with st.container(key=key, width="content"):
        if st.button(label, key=f"{key} away", type=_LOOKS[key], help=help):
            tour.go(stop, on_tour)


def _turn(setting: Setting, run: Run, found: Sequence[Beat], beat: Beat | None) -> None:
    """Put a beat into the address, with all that it sets; without one, leave the script and what it
    set."""
    base = address.base_view(setting.experiment, setting.preset)
    wanted: dict[str, tuple[Any, Any]] = {}
    for field in dict.fromkeys(field for each in found for field in each.view):
        value = getattr(base, field)
        wanted[field] = beat.view.get(field, value) if beat else value, value
    wanted |= {
        "drawer": (beat.drawer if beat else "", ""),
        "marks": ("", ""),
        "beat": (beat.name if beat else "", ""),
    }
    if beat is None:
        st.session_state.pop(_LEFT, None)
        wanted["tour"] = "", ""
    address.write_all(wanted | (prediction.play_query(run, found, beat) if beat else {}))

"""The page's clock and the frames that it plays.

There is one clock, in the browser (browser/clock.js). It moves every panel of the stage without the
server, and tells the server the step at which it comes to rest. What it shows comes in parts, which
Streamlit sends once: of a message that the browser has already it sends the digest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from icl_core.figures import frames
from icl_core.figures.frames import browser_file
from pages.ui.link import pending_address

_PART_JS = (Path(__file__).parents[1] / "browser" / "part.js").read_text(encoding="utf-8")
_CLOCK = st.components.v2.component(
    "icl_clock",
    html=browser_file("clock.html"),
    css="".join(map(browser_file, ("transport.css", "clock.css"))),
    js=frames.clock_script(),
    isolate_styles=False,
)
_PART = st.components.v2.component("icl_part", html="<span hidden></span>", js=_PART_JS)


@dataclass(frozen=True)
class ClockOptions:
    """What the clock shows and does beside moving the panels.

    headline    whether it shows the snapshot's headline
    still       whether its bar is hidden, as a training is under way
    projector   whether the projector's keys work
    play        whether it opens at the first snapshot and plays by itself, once
    beat        the beat that it plays to its step, once
    marks       names of the panels that are outlined; the first one is scrolled into sight
    reveal      whether the open drawer is scrolled into sight, once
    labels      what it says of each snapshot, where that is not its step
    """

    headline: bool = True
    still: bool = False
    projector: bool = False
    play: bool = False
    beat: str = ""
    marks: tuple[str, ...] = ()
    reveal: bool = False
    labels: tuple[str, ...] = ()


def show_clock(
    key: str,
    run: str,
    steps: Sequence[int],
    headlines: Sequence[str],
    index: int,
    on_rest: Callable[[], None],
    options: ClockOptions,
    milestones: Mapping[str, float] | None = None,
) -> None:
    """Draw the clock of the run named `run`, at the snapshot `index` of `steps`.

    headlines   one for each snapshot
    on_rest     called when the clock has come to rest; `resting_step(key)` then returns the step
    milestones  names of training steps that the clock's bar marks
    """
    data = {
        "clock": key,
        "run": run,
        "steps": list(steps),
        "headlines": list(headlines),
        "at": index,
        "ticks": [(step, name) for name, step in (milestones or {}).items()],
        "answers": _rest(key)[1],  # the time of the last rest that `index` takes into account
    }
    # Where the browser cannot move the charts it sets `plain`; the server then draws them at the
    # snapshot where the clock rests.
    _CLOCK(
        key=key,
        data={"key": key},
        on_step_change=on_rest,
        on_plain_change=lambda: None,
    )
    send_part(key, data | asdict(options))


def stage_clock(experiment_id: str) -> str:
    """Return the key of the clock of an experiment's stage."""
    return f"clock of {experiment_id}"


def resting_step(key: str) -> int | None:
    """Return the training step at which the clock has come to rest.

    None if it has not, or if it has at another address: Streamlit sends a rest again, with the next
    click, that was lost as the visitor went back.
    """
    step, _, query = _rest(key)
    fields = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    return step if pending_address.is_plausible(fields) else None


def is_unavailable(key: str) -> bool:
    """Return whether the browser cannot move the charts itself."""
    return bool(_clock_state(key).get("plain"))


def _rest(key: str) -> tuple[int | None, int | None, str]:
    """Return the step of the last rest, its time by the browser's clock, and the query of the
    address at that time."""
    match _clock_state(key).get("step"):
        case [int(step), int(time), str(query)]:
            return step, time, query
    return None, None, ""


def _clock_state(key: str) -> Mapping[str, Any]:
    return st.session_state.get(key) or {}


def send_states(name: str, states: bytes) -> None:
    """Send the browser packed `stage_films.states_message`."""
    send_part(f"frames {name}", states)


def send_figure(name: str, figure: bytes) -> None:
    """Send the browser packed `stage_films.figure_message`."""
    send_part(f"whole {name}", figure)


def send_part(name: str, data: bytes | Mapping[str, Any]) -> None:
    """Send the browser a part of what its scripts show, under a name of its own."""
    _PART(key=f"part {name}", data=data)

"""The page's clock and the frames that it plays.

There is one clock, in the browser (browser/clock.js). It moves every panel of the stage without the
server, and tells the server the step at which it comes to rest.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.figures import frames
from icl_core.figures.frames import clock_frames
from pages.ui.link import pending_address

_BROWSER = Path(__file__).parents[1] / "browser"


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


_JS = frames.film_script() + _read("page.js") + _read("charts.js") + _read("clock.js")
_CSS = frames.browser_file("transport.css") + _read("clock.css")
_CLOCK = st.components.v2.component(
    "icl_clock", html=_read("clock.html"), css=_CSS, js=_JS, isolate_styles=False
)
_FRAMES = st.components.v2.component(
    "icl_frames", html="<span hidden></span>", js=_read("frames.js")
)


@dataclass(frozen=True)
class ClockOptions:
    """What the clock shows and does beside moving the panels.

    headline    whether it shows the snapshot's headline
    still       whether its bar is hidden, as a training is under way
    projector   whether the projector's keys work
    play        whether it starts by itself, once
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
        data=data | asdict(options),
        on_step_change=on_rest,
        on_plain_change=lambda: None,
    )


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


def pack_states(
    name: str, run: str, film: str, panels: Sequence[Panel], order: Sequence[int] = ()
) -> bytes:
    """Return, as JSON, what the panel called `name` shows at each snapshot of a run.

    order  for each place of the clock the index of the panel that it shows; empty if the panels are
           one for each place
    """
    figures = [panel.figure.to_dict() for panel in panels if panel.figure is not None]
    states = {
        "name": name,
        "run": run,
        "film": film,
        "titles": [panel.title for panel in panels],
        "frames": clock_frames(figures),
    }
    if order:
        states["order"] = list(order)
    return json.dumps(states, allow_nan=False).encode()


def pack_figure(name: str, run: str, film: str, panel: Panel) -> bytes:
    """Return, as JSON, a panel's whole figure, which replaces another film's in the browser."""
    figure = {
        "name": name,
        "run": run,
        "film": film,
        "caption": panel.caption,
        "whole": panel.figure and panel.figure.to_dict(),
    }
    return json.dumps(figure, allow_nan=False).encode()


def send_states(name: str, states: bytes) -> None:
    """Send the browser the result of `pack_states`."""
    _FRAMES(key=f"frames {name}", data=states)


def send_figure(name: str, figure: bytes) -> None:
    """Send the browser the result of `pack_figure`."""
    _FRAMES(key=f"whole {name}", data=figure)

"""The page's clock and the frames that it plays.

There is one clock, in the browser (browser/clock.js). It moves every panel of the stage without the
server, and tells the server the step at which it comes to rest. What it shows comes in parts, which
Streamlit sends once: of a message that the browser has already it sends the digest.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.figures import frames
from icl_core.figures.frames import clock_frames, in_three_bytes
from pages.ui.link import pending_address

_BROWSER = Path(__file__).parents[1] / "browser"


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


_JS = frames.film_script() + "".join(
    _read(name) for name in ("parts.js", "page.js", "seats.js", "charts.js", "clock.js")
)
_CSS = frames.browser_file("transport.css") + _read("clock.css")
_CLOCK = st.components.v2.component(
    "icl_clock", html=_read("clock.html"), css=_CSS, js=_JS, isolate_styles=False
)
_PART = st.components.v2.component("icl_part", html="<span hidden></span>", js=_read("part.js"))


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


def pack_states(
    name: str,
    run: str,
    film: str,
    panels: Sequence[Panel],
    order: Sequence[int] = (),
    without_last: bool = False,
) -> bytes:
    """Return, packed for the browser, what the panel called `name` shows at each snapshot of a run.

    order         for each place of the clock the index of the panel that it shows; empty if the
                  panels are one for each place
    without_last  whether the last state is left out, which is that of the result of `pack_figure`
    """
    figures = [panel.figure.to_dict() for panel in panels if panel.figure is not None]
    states = {
        "name": name,
        "run": run,
        "film": film,
        "titles": [panel.finding for panel in panels],
        "frames": clock_frames(figures),
    }
    if order:
        states["order"] = list(order)
    if without_last:
        states["frames"].pop()
    return _packed(states, [trace for frame in states["frames"] for trace in frame["data"]])


def pack_figure(name: str, run: str, film: str, panel: Panel) -> bytes:
    """Return, packed for the browser, a panel's whole figure, which replaces another film's
    there."""
    whole = panel.figure.to_dict() if panel.figure is not None else {"data": []}
    figure = {"name": name, "run": run, "film": film, "caption": panel.caption, "whole": whole}
    return _packed(figure, whole["data"])


def _packed(message: Mapping[str, Any], traces: Sequence[dict[str, Any]]) -> bytes:
    """Return a message as compressed JSON (browser/parts.js unpacks it), with the maps among its
    `traces` in three bytes a number where these hold them."""
    for trace in traces:
        if "z" in trace:
            trace["z"] = in_three_bytes(trace["z"])
    return zlib.compress(json.dumps(message, allow_nan=False).encode())


def send_states(name: str, states: bytes) -> None:
    """Send the browser the result of `pack_states`."""
    send_part(f"frames {name}", states)


def send_figure(name: str, figure: bytes) -> None:
    """Send the browser the result of `pack_figure`."""
    send_part(f"whole {name}", figure)


def send_part(name: str, data: bytes | Mapping[str, Any]) -> None:
    """Send the browser a part of what its scripts show, under a name of its own."""
    _PART(key=f"part {name}", data=data)

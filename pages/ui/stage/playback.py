"""The page's only clock: it lives in the browser, moves every panel of the stage and tells where it
came to rest."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from icl_core.contract.experiment import Panel
from icl_core.figures.frames import clock_frames
from icl_core.figures.streamlit_figure import domains
from pages.ui.link import pending_address

_BROWSER = Path(__file__).parents[1] / "browser"


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


_JS = _read("page.js") + _read("maps.js") + _read("clock.js")
_CLOCK = st.components.v2.component(
    "icl_clock", html=_read("clock.html"), css=_read("clock.css"), js=_JS, isolate_styles=False
)
_FRAMES = st.components.v2.component(
    "icl_frames", html="<span hidden></span>", js=_read("frames.js")
)


@dataclass(frozen=True)
class ClockOptions:
    """What there is of the clock: its headline, its bar unless it is `still`, the keys of a
    `projector`; whether it starts to `play` by itself, once; the `beat` that it plays to its step,
    once; and the panels that are outlined, of which the first comes into sight."""

    headline: bool = True
    still: bool = False
    projector: bool = False
    play: bool = False
    beat: str = ""
    marks: tuple[str, ...] = ()


def show_clock(
    key: str,
    run: str,
    steps: Sequence[int],
    headlines: Sequence[str],
    at: int,
    rested: Callable[[], None],
    shown: ClockOptions,
    milestones: Mapping[str, float] | None = None,
) -> None:
    """The headline of the snapshot shown, and what moves the stage of the run named `run`, with
    marks at the steps of its `milestones`. `rested` is called when it has come to rest; `step(key)`
    then tells where."""
    ticks = [(step, name) for name, step in (milestones or {}).items()]
    data = {
        "run": run,
        "steps": list(steps),
        "headlines": list(headlines),
        "at": at,
        "ticks": ticks,
    }
    data["answers"] = _rest(key)[1]  # the last rest that `at` takes into account
    # the browser says that it is plain where it cannot move the charts: then the server draws them
    # where it rests
    _CLOCK(key=key, data=data | asdict(shown), on_step_change=rested, on_plain_change=lambda: None)


def resting_step(key: str) -> int | None:
    """The training step at which the clock came to rest; None if it has not, or has at another
    address: Streamlit tells again, with the next click, what was lost when the visitor went back.
    """
    step, _, query = _rest(key)
    return (
        step
        if pending_address.is_plausible(
            dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
        )
        else None
    )


def is_unavailable(key: str) -> bool:
    """Whether the browser cannot move the charts itself."""
    return bool(_said(key).get("plain"))


def _rest(key: str) -> tuple[int | None, int | None, str]:
    """The step of the last rest, when it was, by the browser's clock, and the query of the address
    then."""
    match _said(key).get("step"):
        case [int(step), int(when), str(query)]:
            return step, when, query
    return None, None, ""


def _said(key: str) -> Mapping[str, Any]:
    """What the browser has told of the clock so far."""
    return st.session_state.get(key) or {}


def tag_figure(panel: Panel, film: str, snapshot: int | None = None) -> Panel:
    """The panel, with its figure told which film it is of, and which snapshot of it: the browser
    asks it."""
    if panel.figure is not None:
        shown = {} if snapshot is None else {"snapshot": snapshot}
        panel.figure.update_layout(
            meta={"film": film, **shown, "domains": domains(panel.figure.layout)}
        )
    return panel


def pack_states(name: str, run: str, film: str, panels: Sequence[Panel]) -> bytes:
    """What a panel of the stage shows at each snapshot of a run, as the browser reads it."""
    shown = [panel.figure.to_dict() for panel in panels if panel.figure is not None]
    said = {"name": name, "run": run, "film": film, "titles": [panel.title for panel in panels]}
    return json.dumps(said | {"frames": clock_frames(shown)}, allow_nan=False).encode()


def pack_figure(name: str, run: str, film: str, panel: Panel) -> bytes:
    """A panel's figure as a whole, which takes the place of another film's, as the browser reads
    it."""
    said = {"name": name, "run": run, "film": film, "caption": panel.caption}
    return json.dumps(
        said | {"whole": panel.figure and panel.figure.to_dict()}, allow_nan=False
    ).encode()


def send_states(name: str, states: bytes) -> None:
    """Give the browser what `packed` made."""
    _FRAMES(key=f"frames {name}", data=states)


def send_figure(name: str, figure: bytes) -> None:
    """Give the browser what `whole` made."""
    _FRAMES(key=f"whole {name}", data=figure)

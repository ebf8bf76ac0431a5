"""What is outlined, what is dimmed, and what a question hides: CSS over the panels."""

from collections.abc import Sequence

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, MARKS, Beat
from pages.ui.link.address import Setting
from pages.ui.story import prediction

_SEATS = ("seat-", "seat-wide-")  # on the stage
_DRAWN = ("panel-half-", "panel-wide-")  # in a drawer
_SAYS = (
    'content: "Shown once you have made a prediction"; position: absolute; '
    "inset: 40% 1rem auto; z-index: 2; text-align: center; font-size: .95rem;"
)
_OUTLINE = "outline: 2px solid #E69F00; outline-offset: 3px; border-radius: .3rem;"


def marks(setting: Setting, run: Run, beat: Beat | None) -> tuple[str, ...]:
    """The panels that are outlined: the address's, else those of the beat; none while a question is
    open."""
    if prediction.open_question(run, beat):
        return ()
    chosen = tuple(name for name in _asked_for() if name in _panels(setting))
    return chosen or (beat.marks if beat else ())


def refusal(setting: Setting) -> str:
    """What is wrong with the panels that the address outlines; empty if nothing is."""
    unknown = [name for name in _asked_for() if name not in _panels(setting)]
    if not unknown:
        return ""
    known = ", ".join(_panels(setting))
    return f"There is no panel {', '.join(unknown)!s:.80} here; there are {known}."


def style(setting: Setting, run: Run, beat: Beat | None) -> str:
    """The CSS of what is outlined, or of what a question hides."""
    hidden = " ".join(map(_hidden, dict.fromkeys(prediction.hidden_parts(setting, run, beat))))
    outlined = marks(setting, run, beat)
    if not outlined:
        return hidden
    seats = _classes(outlined, _SEATS)
    stage = f"[class*='st-key-stage-']:has({seats})"
    dimmed = f"{stage} [class*='st-key-seat-']:not({seats}) {{ opacity: .4; }}"
    return f"{seats}, {_classes(outlined, _DRAWN)} {{ {_OUTLINE} }} {dimmed} {hidden}"


def _hidden(name: str) -> str:
    if name == HEADLINE:
        return ".headline { visibility: hidden; }"
    if name == MARKS:
        return ".clock .ticks { visibility: hidden; }"
    what = _classes([name], (*_SEATS, *_DRAWN))
    empty = (
        f":is({what}) > *, .st-key-one-number {{ visibility: hidden; }}"  # a blur would tell shapes
    )
    return f"{empty} :is({what})::before {{ {_SAYS} }}"


def _classes(names: Sequence[str], places: Sequence[str]) -> str:
    return ", ".join(
        f".st-key-{place}{name.replace(' ', '-')}" for name in names for place in places
    )


def _asked_for() -> list[str]:
    return [name for name in st.query_params.get("marks", "").split(",") if name]


def _panels(setting: Setting) -> list[str]:
    return [drawing.name for drawing in setting.experiment.drawings]

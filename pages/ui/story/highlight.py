"""CSS that outlines panels, dims the others, and hides what a question asks about."""

from collections.abc import Sequence

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, MARKS, Beat
from pages.ui.link.address import Setting
from pages.ui.story import prediction

# beginnings of the keys of panels' containers, on the stage and in a drawer
_STAGE_KEYS = ("seat-", "seat-wide-")
_DRAWER_KEYS = ("panel-half-", "panel-wide-")
_PLACEHOLDER = (
    'content: "Shown once you have made a prediction"; position: absolute; '
    "inset: 40% 1rem auto; z-index: 2; text-align: center; font-size: .95rem;"
)
_OUTLINE = "outline: 2px solid #E69F00; outline-offset: 3px; border-radius: .3rem;"


def marks(setting: Setting, run: Run, beat: Beat | None) -> tuple[str, ...]:
    """Return the panels to outline: those in the address, else those of the beat; none while a
    question is open."""
    if prediction.open_question(run, beat):
        return ()
    panels = _panels(setting)
    requested = tuple(name for name in _requested_marks() if name in panels)
    return requested or (beat.marks if beat else ())


def refusal(setting: Setting) -> str:
    """Return a sentence on panels in the address that do not exist here; empty if all do."""
    panels = _panels(setting)
    unknown = [name for name in _requested_marks() if name not in panels]
    if not unknown:
        return ""
    return f"There is no panel {', '.join(unknown)!s:.80} here; there are {', '.join(panels)}."


def style(setting: Setting, run: Run, beat: Beat | None) -> str:
    """Return the CSS for the panels that are outlined and for what questions hide."""
    hidden_parts = dict.fromkeys(prediction.hidden_parts(setting, run, beat))
    hidden = " ".join(_hide(part) for part in hidden_parts)
    outlined = marks(setting, run, beat)
    if not outlined:
        return hidden
    seats = _selectors(outlined, _STAGE_KEYS)
    stage = f"[class*='st-key-stage-']:has({seats})"
    # titles stay legible: only the charts fade
    dimmed = (
        f"{stage} [class*='st-key-seat-']:not({seats}) [class*='st-key-chart-'] {{ opacity: .35; }}"
    )
    return f"{seats}, {_selectors(outlined, _DRAWER_KEYS)} {{ {_OUTLINE} }} {dimmed} {hidden}"


def _hide(name: str) -> str:
    """Return the CSS that hides a panel, HEADLINE or MARKS."""
    if name == HEADLINE:
        return ".headline { visibility: hidden; }"
    if name == MARKS:
        return ".clock .ticks { visibility: hidden; }"
    panel = _selectors([name], (*_STAGE_KEYS, *_DRAWER_KEYS))
    # hidden, not blurred: a blur would still show shapes
    empty = f":is({panel}) > *, .st-key-one-number {{ visibility: hidden; }}"
    return f"{empty} :is({panel})::before {{ {_PLACEHOLDER} }}"


def _selectors(names: Sequence[str], key_beginnings: Sequence[str]) -> str:
    """Return CSS selectors for the containers of panels."""
    selectors: list[str] = []
    for name in names:
        for beginning in key_beginnings:
            selectors.append(f".st-key-{beginning}{name.replace(' ', '-')}")
    return ", ".join(selectors)


def _requested_marks() -> list[str]:
    """Return the panels that the address outlines."""
    return [name for name in st.query_params.get("marks", "").split(",") if name]


def _panels(setting: Setting) -> list[str]:
    return [drawing.name for drawing in setting.experiment.drawings]

"""What stands beside a knob: the preset's value where it is changed, what a move costs, and marks
at the values that are trained already."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from icl_core.contract.knobs import Knob
from icl_core.jobs import estimate
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import limits
from pages.ui.controls import auto_train, widgets
from pages.ui.link.address import Setting
from pages.ui.look import formats

_HELP = "What the next stop of this knob costs: at once, a few seconds, or a press on Run."


def costs(setting: Setting, shown: Mapping[str, tuple[Knob, Any, Sequence[Any]]]) -> dict[str, str]:
    """Return, by field, in words what the dearest single move of a knob costs.

    `shown` holds, by field, the knob, the preset's value and further stops. A list that is typed,
    and a number with too many stops for a slider, costs what the setting itself costs.
    """
    moves: dict[str, list[Any]] = {}
    for field, (knob, base, stops) in shown.items():
        value = setting.chosen[field]
        values = widgets.stops_of(knob, [value, base, *stops])
        moves[field] = _moves(knob, values, value)
    seconds = estimate.seconds_of_moves(setting.request, moves)
    if not all(moves.values()):
        typed = estimate_seconds(setting.request)
        seconds |= {field: typed for field in shown if not moves[field]}
    return {field: _cost_text(seconds[field]) for field in shown}


def _moves(knob: Knob, values: Sequence[Any], value: Any) -> list[Any]:
    """Return the values to which one move leads from `value`: a slider's neighbours, or all other
    options of a choice; none where the value is typed."""
    if knob.kind != "slider":
        return [other for other in values if other != value]
    index = values.index(value) if value in values else 0
    return [*values[max(0, index - 1) : index], *values[index + 1 : index + 2]]


def _cost_text(seconds: float | None) -> str:
    if seconds == 0.0:
        return "at once"
    if limits.read_only():
        return "nearest run"
    if seconds is not None and seconds < auto_train.LONGEST and auto_train.is_on():
        return formats.duration(seconds)
    return f"Run: {formats.duration(seconds)}"


def changed_text(knob: Knob, value: Any, base: Any) -> str:
    """Return the preset's value in words if `value` is another one, else an empty string."""
    if value == base or knob.kind == "document":
        return ""
    return f"preset {knob.options.get(base, widgets.value_text(base))}"


def show(
    changed: str, cost: str | None = None, values: Sequence[Any] = (), ready: Sequence[Any] = ()
) -> None:
    """Draw the notes of a knob under its right end, and marks under its slider.

    changed  the preset's value in words, empty if it is the knob's
    cost     what a move costs, if it is said
    values   the slider's stops, in order
    ready    those of the values at which a run exists
    """
    parts = [f'<span class="changed">{escape(changed)}</span>'] if changed else []
    if cost:
        parts.append(f'<span title="{_HELP}">{escape(cost)}</span>')
    marks = ""
    if len(values) > 1 and len(ready) > 1:
        spots = [values.index(value) / (len(values) - 1) for value in ready if value in values]
        marks = "".join(f'<i style="left:{100 * spot:.2f}%"></i>' for spot in spots)
        said = ", ".join(widgets.value_text(value) for value in ready)
        marks = f'<div class="ready" role="img" aria-label="Trained already: {said}">{marks}</div>'
    if parts or marks:
        notes = '<span aria-hidden="true"> · </span>'.join(parts)
        st.html(f'<div class="notes">{notes}</div>{marks}')


def show_changed(count: int) -> None:
    """Draw how many knobs of a group differ from the preset, over the end of its heading."""
    st.html(f'<div class="notes"><span class="changed">{count} changed</span></div>')

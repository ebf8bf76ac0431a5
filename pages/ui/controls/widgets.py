"""A widget for each knob: it shows the value in the address and writes a chosen value there."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import Knob
from icl_core.contract.seeds import FIELD, ROWS
from pages.ui.controls import atlas_slider, uploads
from pages.ui.link import address, lesson_rules
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments

_MOST_STOPS = 300  # of a slider; a knob with more is a number field


def can_move(setting: Setting, field: str, run: Run) -> bool:
    """Return whether a field of the view has more than one value for a run."""
    knob = setting.view_knobs[field]
    if knob.shown_if and not getattr(run.config, knob.shown_if):
        return False
    return not knob.at_most or run.limit(knob.at_most) > (knob.low or 0)


def draw_view(setting: Setting, field: str, value: Any, run: Run) -> None:
    """Draw the widget of a field of the view, up to the end of a run."""
    knob = setting.view_knobs[field]
    if knob.at_most:
        high = run.limit(knob.at_most)
        knob = replace(knob, high=high, default=min(knob.default, high))
    base = setting.base_view
    draw(setting, field, knob, value, getattr(base, field))


def draw_seed(setting: Setting, value: int, run: Run) -> None:
    """Draw the view's field `seed_shown` as a list that needs little room."""
    knob = setting.view_knobs[FIELD]
    numbers = range(1, run.limit(knob.at_most) + 1)
    base = getattr(setting.base_view, FIELD)
    shown = min(value, numbers[-1])
    key = f"{setting.id}:{FIELD} of the stage"
    set_widget(key, shown, knob, base)
    st.selectbox(
        knob.label,
        numbers,
        shown - 1,
        format_func="seed {}".format,
        label_visibility="collapsed",
        help=None,
        disabled=FIELD in setting.fixed,
        **widget_arguments(key, _seed_changed, setting.id, key, base),
    )


def _seed_changed(id: str, key: str, base: int) -> None:
    if address.is_shown(id):  # else the visitor has gone to another experiment
        address.write(FIELD, st.session_state[key], base)


def draw(
    setting: Setting,
    field: str,
    knob: Knob,
    value: Any,
    base: Any,
    also: Iterable[Any] = (),
    trained: Iterable[Any] = (),
) -> None:
    """Draw the widget of one knob; it is disabled if a lesson sets the field.

    base     the preset's value
    also     further values that a slider must be able to show
    trained  values at which a run exists, which a slider marks if they are several
    """
    if knob.at_most:  # beyond the end is the end, also where a link or the preset says so
        value = min(value, knob.high)
        base = min(base, knob.high)
    loaded = setting.stored.config.get(ROWS, 1) if field == ROWS and setting.stored else value
    if loaded != value:  # a stored run may hold more seeds than are asked for
        knob = replace(knob, label=f"{knob.label} ({loaded} loaded)")
    key = f"{setting.id}:{field}"
    locked = field in setting.fixed
    help = f"{lesson_rules.LOCKED} {knob.help}".strip() if locked else knob.help or None
    stops = slider_values(knob, [value, base, *also]) if knob.kind == "slider" else []
    marks = [stop for stop in stops if stop in trained]
    if len(marks) > 1:
        by_text = {value_text(stop): stop for stop in stops}
        move = partial(_write, setting.id, field, base)
        texts = [value_text(mark) for mark in marks]
        atlas_slider.draw(
            f"marked {key}", knob.label, by_text, value_text(value), texts, move, help, locked
        )
        return
    set_widget(key, value, knob, base, *also)
    common = {**widget_arguments(key, _changed, key, field, base), "help": help, "disabled": locked}
    if knob.kind == "document":
        uploads.draw(setting, field, knob, value, locked)
    elif knob.kind == "toggle":
        st.toggle(knob.label, value, **common)
    elif knob.kind == "text":
        st.text_input(knob.label, value, max_chars=knob.max_length, **common)
    elif knob.kind == "choice":
        _choice(knob, value, common)
    else:
        _number(knob, value, stops, common)


def _changed(key: str, field: str, base: Any) -> None:
    value = st.session_state[key]
    _write(key.partition(":")[0], field, base, base if value is None else value)


def _write(id: str, field: str, base: Any, value: Any) -> None:
    if address.is_shown(id):  # else the visitor has gone to another experiment
        address.write(field, value, base)


def _choice(knob: Knob, value: Any, common: dict[str, Any]) -> None:
    options = list(knob.options)
    title_of = knob.options.__getitem__
    if len(options) <= 4:
        st.pills(knob.label, options, default=value, format_func=title_of, **common)
    else:
        st.selectbox(knob.label, options, options.index(value), format_func=title_of, **common)


def _number(knob: Knob, value: Any, values: list[Any], common: dict[str, Any]) -> None:
    if values:
        st.select_slider(knob.label, values, value, format_func=value_text, **common)
    else:
        kind = type(knob.default)
        step = kind(knob.step or 1)
        st.number_input(
            knob.label, kind(knob.low or 0), kind(knob.high or 0), kind(value), step=step, **common
        )


def value_text(value: Any) -> str:
    """Return a value as its widget shows it: a float with at most six significant digits."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def stops_of(knob: Knob, also: Iterable[Any]) -> list[Any]:
    """Return the values that a knob can be moved to: a slider's in order, with `also` among them,
    or a choice's; empty where a value is typed."""
    if knob.kind == "slider":
        return slider_values(knob, also)
    return list(knob.options) if knob.kind == "choice" else []


def slider_values(knob: Knob, also: Iterable[Any] = ()) -> list[Any]:
    """Return the values of a slider in order, `also` among them; empty if they are too many."""
    kind = type(knob.default)
    low = knob.low or 0
    high = knob.high or 0
    if knob.log:
        stops = _by_factors(low, high)
    else:
        step = knob.step or (1 if kind is int else (high - low) / 100)
        count = math.floor((high - low) / step + 1e-9)
        if count > _MOST_STOPS:
            return []
        stops = [round(low + i * step, 10) for i in range(count + 1)]
    values = (low, high, knob.default, *stops, *also)
    # a whole-number knob has no stop between whole numbers
    return sorted({kind(value) for value in values if kind(value) == value})


def _by_factors(low: float, high: float) -> list[float]:
    """Return the stops of a logarithmic slider: powers of two if both ends are such, else 1, 2, 5,
    10, 20, …"""
    if low >= 1 and all(math.log2(end).is_integer() for end in (low, high)):
        return [2.0**i for i in range(round(math.log2(low)), round(math.log2(high)) + 1)]
    first = math.floor(math.log10(low if low > 0 else high / 1e4))
    powers = range(first, math.ceil(math.log10(high)) + 1)
    series = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [value for value in series if low <= value <= high]

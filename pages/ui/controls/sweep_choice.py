"""The choice of a sweep, kept in the address: one knob or two with their values, and seeds."""

import re
from typing import Any

import streamlit as st

from icl_core.contract.knobs import BadSetting, Knob, knobs_of
from icl_core.sweeps import atlas, setting_grid
from icl_core.sweeps.setting_grid import Grid
from pages.ui.controls import widgets
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown

AXES = "sweep"  # in the address: axes like "d=32,64", with _SEPARATOR between them
SEEDS = "sweep_seeds"  # in the address
MOST = 100  # runs that a visitor may ask for at once
_SEPARATOR = ";"
_OFFERED_VALUES = 5  # of a knob that the visitor has just chosen
_OFFERED_KNOBS = 2  # lists of knobs on the page; a link may name more knobs


def chosen(setting: Setting) -> Grid | None:
    """Draw the widgets and return the grid that they describe, over the setting on screen.

    Returns None, with a warning, if there is no such grid.
    """
    sweepable = _sweepable_knobs(setting)
    words = [word for word in st.query_params.get(AXES, "").split(_SEPARATOR) if word]
    if not words:
        words = _first_words(setting, sweepable)
    for number in range(max(min(len(words), setting_grid.MOST_AXES), _OFFERED_KNOBS)):
        _axis(setting, sweepable, words, number)
    seeds = _seeds(setting)
    try:
        grid = setting_grid.parse(setting.id, words, setting.config, seeds)
        if len(grid.cells) > MOST:
            raise BadSetting(
                f"a sweep on a page must have at most {MOST} runs, got {len(grid.cells)}"
            )
    except BadSetting as problem:
        st.warning(f"{escape_markdown(problem)}.")
        return None
    return grid


def _sweepable_knobs(setting: Setting) -> dict[str, Knob]:
    """Return the knobs that can be an axis and have an effect in the setting on screen."""
    knobs = knobs_of(setting.experiment.config)
    fields = set(setting_grid.can_sweep(knobs))
    return {
        field: knob
        for field, knob in knobs.items()
        if field in fields and (not knob.shown_if or getattr(setting.config, knob.shown_if))
    }


def _first_words(setting: Setting, sweepable: dict[str, Knob]) -> list[str]:
    """Return the axes that are shown first: two knobs at values that have runs, else one knob."""
    ready = {
        field: values
        for field, values in atlas.ready_values(setting.id, setting.config).items()
        if len(values) > 1
    }
    if len(ready) > 1:
        return [
            f"{field}={','.join(map(widgets.value_text, values))}"
            for field, values in list(ready.items())[:_OFFERED_KNOBS]
        ]
    sliders = [field for field, knob in sweepable.items() if knob.kind == "slider"]
    return [_word(setting, [*sliders, *sweepable][0])]


def _axis(setting: Setting, sweepable: dict[str, Knob], words: list[str], number: int) -> None:
    """Draw the widgets of one axis: its knob, which may be none after the first, and its values."""
    word = words[number] if number < len(words) else ""
    field, _, text = word.partition("=")
    knob_key = f"{setting.id}:sweep knob {number}"
    values_key = f"{setting.id}:sweep values {number}"
    titles = {name: knob.label for name, knob in sweepable.items()}
    # set in every run of the page: a list with a default could not be emptied
    st.session_state[knob_key] = field if field in sweepable else None
    optional = {"index": None, "placeholder": "nothing else"} if number else {}
    st.selectbox(
        "Sweep over" if number == 0 else "and over",
        list(titles),
        format_func=titles.__getitem__,
        **optional,
        **widget_arguments(knob_key, _knob_changed, setting, words, number, knob_key),
    )
    if field not in sweepable:
        return
    knob = sweepable[field]
    if knob.kind == "slider":
        label = f"Values, from {knob.low:g} to {knob.high:g}"
        value = text.replace(",", ", ")
        set_widget(values_key, value, knob)
        arguments = widget_arguments(values_key, _values_changed, words, number, field, values_key)
        st.text_input(label, value, max_chars=200, **arguments)
    else:
        options = dict(knob.options) if knob.kind == "choice" else {"false": "off", "true": "on"}
        values = [value for value in text.split(",") if value in options]
        set_widget(values_key, values, knob)
        arguments = widget_arguments(values_key, _values_changed, words, number, field, values_key)
        st.pills(
            "Values",
            list(options),
            default=values,
            format_func=options.__getitem__,
            selection_mode="multi",
            **arguments,
        )


def _knob_changed(setting: Setting, words: list[str], number: int, key: str) -> None:
    """Put another knob in the place of an axis, or none; an axis of the same knob is dropped."""
    field = st.session_state[key]
    others = [
        word
        for index, word in enumerate(words)
        if index != number and word.partition("=")[0] != field
    ]
    changed = [_word(setting, field)] if field else []
    _write([*others[:number], *changed, *others[number:]])


def _values_changed(words: list[str], number: int, field: str, key: str) -> None:
    values = st.session_state[key]
    text = values.replace(" ", "") if isinstance(values, str) else ",".join(values)
    _write([*words[:number], f"{field}={text}", *words[number + 1 :]])


def _write(words: list[str]) -> None:
    address.write(AXES, _SEPARATOR.join(words), "")


def _word(setting: Setting, field: str) -> str:
    """Return an axis of a knob with its first values: all options, or a few of its slider's stops
    with the value on screen among them."""
    knob = knobs_of(setting.experiment.config)[field]
    if knob.kind == "choice":
        return f"{field}={','.join(knob.options)}"
    if knob.kind != "slider":
        return f"{field}=false,true"
    current = getattr(setting.config, field)
    stops = widgets.slider_values(knob, [current]) or [knob.low, current, knob.high]
    stride = max(1, -(-len(stops) // _OFFERED_VALUES))
    offered = stops[stops.index(current) % stride :: stride]
    return f"{field}={','.join(map(widgets.value_text, offered))}"


def _seeds(setting: Setting) -> int | None:
    """Draw the number of seeds of each run and return it; None if the runs have no seeds."""
    knob = knobs_of(setting.experiment.config).get("seeds")
    if knob is None:
        return None
    key = f"{setting.id}:sweep seeds"
    base = setting.config.seeds
    text = st.query_params.get(SEEDS, "")
    is_valid = re.fullmatch("[0-9]{1,9}", text) and knob.low <= int(text) <= knob.high
    value = int(text) if is_valid else base
    set_widget(key, value, knob)
    st.number_input(
        "Seeds of each run",
        int(knob.low),
        int(knob.high),
        value,
        **widget_arguments(key, _seeds_changed, key, base),
    )
    return st.session_state[key]


def _seeds_changed(key: str, base: Any) -> None:
    address.write(SEEDS, st.session_state[key], base)

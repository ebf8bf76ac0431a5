"""What a visitor sweeps: one knob or two with their values, and seeds, all kept in the address."""

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

AXES, SEEDS = "sweep", "sweep_seeds"  # in the address
MOST = 100  # runs that a visitor may ask for at once
_BETWEEN = ";"  # the knobs of a sweep in the address
_OFFERED = 5  # values that are offered of a knob
_KNOBS = 2  # that can be chosen; a link may name more


def chosen(setting: Setting) -> Grid | None:
    """Draw the widgets; the grid that they ask for, over the setting on screen. None, and why, if
    there is none."""
    known = {
        name: knob
        for name, knob in knobs_of(setting.experiment.config).items()
        if _offered(setting, name, knob)
    }
    words = [word for word in st.query_params.get(AXES, "").split(_BETWEEN) if word] or _first(
        setting, known
    )
    for number in range(max(min(len(words), setting_grid.MOST_AXES), _KNOBS)):
        _axis(setting, known, words, number)
    seeds = _seeds(setting)
    try:
        found = setting_grid.parse(setting.id, words, setting.config, seeds)
        if len(found.cells) > MOST:
            raise BadSetting(
                f"a sweep on a page must have at most {MOST} runs, got {len(found.cells)}"
            )
    except BadSetting as problem:
        st.warning(f"{escape_markdown(problem)}.")
        return None
    return found


def _first(setting: Setting, known: dict[str, Knob]) -> list[str]:
    """What is offered first: two knobs at values whose runs are there; else one knob."""
    mapped = {
        name: found
        for name, found in atlas.ready_values(setting.id, setting.config).items()
        if len(found) > 1
    }
    if len(mapped) > 1:
        return [
            f"{name}={','.join(map(widgets.slider_text, found))}"
            for name, found in list(mapped.items())[:_KNOBS]
        ]
    return [
        _word(
            setting,
            next(
                (name for name, knob in known.items() if knob.kind == "slider"), next(iter(known))
            ),
        )
    ]


def _offered(setting: Setting, name: str, knob: Knob) -> bool:
    settings = knobs_of(setting.experiment.config)
    here = not knob.shown_if or getattr(setting.config, knob.shown_if)
    return name in setting_grid.can_sweep(settings) and bool(here)


def _axis(setting: Setting, known: dict[str, Knob], words: list[str], number: int) -> None:
    """One knob and its values; the second may be none."""
    field, _, given = words[number].partition("=") if number < len(words) else ("", "", "")
    keys = [f"{setting.id}:sweep {part} {number}" for part in ("knob", "values")]
    titles = {name: knob.label for name, knob in known.items()}
    st.session_state[keys[0]] = field if field in known else None  # a default could not be emptied
    label = "Sweep over" if number == 0 else "and over"
    how = widget_arguments(keys[0], _other, setting, words, number, keys)
    empty = {"index": None, "placeholder": "nothing else"} if number else {}
    st.selectbox(label, list(titles), format_func=titles.__getitem__, **empty, **how)
    if field not in known:
        return
    knob = known[field]
    if knob.kind == "slider":
        value = given.replace(",", ", ")
        set_widget(keys[1], value, knob)
        told = widget_arguments(keys[1], _moved, words, number, field, keys[1])
        st.text_input(f"Values, from {knob.low:g} to {knob.high:g}", value, max_chars=200, **told)
    else:
        named = knob.options if knob.kind == "choice" else {"false": "off", "true": "on"}
        values = [value for value in given.split(",") if value in named]
        set_widget(keys[1], values, knob)
        told = widget_arguments(keys[1], _moved, words, number, field, keys[1])
        st.pills(
            "Values",
            list(named),
            default=values,
            format_func=dict(named).__getitem__,
            selection_mode="multi",
            **told,
        )


def _other(setting: Setting, words: list[str], number: int, keys: list[str]) -> None:
    field = st.session_state[keys[0]]
    others = [
        word
        for index, word in enumerate(words)
        if index != number and word.partition("=")[0] != field
    ]
    _write([*others[:number], *([_word(setting, field)] if field else []), *others[number:]])


def _moved(words: list[str], number: int, field: str, key: str) -> None:
    given = st.session_state[key]
    values = given.replace(" ", "") if isinstance(given, str) else ",".join(given)
    _write([*words[:number], f"{field}={values}", *words[number + 1 :]])


def _write(words: list[str]) -> None:
    address.write(AXES, _BETWEEN.join(words), "")


def _word(setting: Setting, field: str) -> str:
    """A knob with values to begin with: some of those that its slider has, the one on screen among
    them."""
    knob = knobs_of(setting.experiment.config)[field]
    if knob.kind != "slider":
        return f"{field}={','.join(knob.options if knob.kind == 'choice' else ('false', 'true'))}"
    here = getattr(setting.config, field)
    stops = widgets.slider_values(knob, [here]) or [knob.low, here, knob.high]
    stride = max(1, -(-len(stops) // _OFFERED))
    offered = stops[stops.index(here) % stride :: stride]
    return f"{field}={','.join(map(widgets.slider_text, offered))}"


def _seeds(setting: Setting) -> int | None:
    """How many seeds every run has; None where runs have none."""
    knob = knobs_of(setting.experiment.config).get("seeds")
    if knob is None:
        return None
    key, base = f"{setting.id}:sweep seeds", setting.config.seeds
    asked = st.query_params.get(SEEDS, "")
    good = re.fullmatch("[0-9]{1,9}", asked) and knob.low <= int(asked) <= knob.high
    value = int(asked) if good else base
    set_widget(key, value, knob)
    st.number_input(
        "Seeds of each run",
        int(knob.low),
        int(knob.high),
        value,
        **widget_arguments(key, _reseeded, key, base),
    )
    return st.session_state[key]


def _reseeded(key: str, base: Any) -> None:
    address.write(SEEDS, st.session_state[key], base)

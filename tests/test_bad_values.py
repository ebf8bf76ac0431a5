"""Settings that cannot be, of every experiment: a sentence that says what was expected and what
came, or a config."""

import math
from dataclasses import replace

import pytest
from fuzz import NASTY, shows_as_text, texts, tries
from hypothesis import given
from hypothesis import strategies as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting, Knob, knobs_of, values
from icl_core.contract.settings_io import (
    from_stored,
    numbers,
    parse,
    shares,
    to_stored,
    whole_numbers,
)
from icl_core.machine import device
from icl_core.papers.gdssm.shared.typed_points import points
from icl_core.runs.header import key_of
from icl_core.sweeps import setting_grid
from pages.ui.look.escape import escape_markdown

IDS = registry.experiment_ids()
LONGEST = 1200  # characters of a sentence on a page: some name every setting there is
WRONG = (
    None,
    True,
    math.nan,
    math.inf,
    -math.inf,
    10**400,
    1.5,
    "1",
    "x",
    b"x",
    [],
    [1],
    {},
    {"a": 1},
    (),
    object,
)


def sentence_of(problem: BadSetting) -> str:
    """The sentence, if it is one that a page can show."""
    sentence = str(problem)
    assert (
        0 < len(sentence) < LONGEST and "\n" not in sentence and "got" in sentence
    ) or "there is no" in sentence
    assert shows_as_text(escape_markdown(sentence)), sentence
    return sentence


def classes(id: str) -> list[type]:
    experiment = registry.experiment(id)
    return [experiment.config, experiment.view]


def near_bounds(knob: Knob) -> list:
    """Its bounds, which it takes, and what lies a hair beyond, which it does not."""
    if isinstance(knob.default, int):
        return [knob.low, knob.high, knob.low - 1, knob.high + 1]
    return [
        knob.low,
        knob.high,
        math.nextafter(knob.low, -math.inf),
        math.nextafter(knob.high, math.inf),
    ]


@pytest.mark.parametrize("id", IDS)
def test_bounds_are_taken_and_what_is_beyond_is_refused(id):
    """At a bound all other fields are a preset's, so a combination may be refused; beyond it the
    field itself is."""
    experiment = registry.experiment(id)
    bases = [*(preset.config for preset in experiment.presets), experiment.view()]
    for base in bases:
        for name, knob in knobs_of(type(base)).items():
            if knob.kind == "slider":
                low, high, *beyond = near_bounds(knob)
                for value in (low, high):
                    knob.check(name, value)
                    try:
                        setting = replace(base, **{name: value})
                        assert getattr(setting, name) in (value, knob.default)
                    except BadSetting as problem:
                        sentence_of(problem)
                for value in beyond:
                    with pytest.raises(BadSetting, match=rf"^{name} must be .* from .* to .*, got"):
                        replace(base, **{name: value})


@pytest.mark.parametrize("id", IDS)
def test_a_value_of_a_wrong_type_is_refused_in_one_sentence(id):
    for cls in classes(id):
        for name, knob in knobs_of(cls).items():
            for value in (*WRONG, *NASTY):
                try:
                    field = getattr(cls(**{name: value}), name)
                except BadSetting as problem:
                    assert sentence_of(problem)
                else:
                    assert isinstance(field, (type(knob.default), int))
                    assert not isinstance(field, float) or math.isfinite(field)


@pytest.mark.parametrize("id", IDS)
@tries(12)
@given(data=st.data())
def test_whatever_an_address_says_is_a_setting_or_a_sentence(id, data):
    for cls in classes(id):
        names = st.sampled_from(list(knobs_of(cls))) | texts()
        parameters = data.draw(st.dictionaries(names, texts(), max_size=4))
        try:
            setting = parse(cls, parameters)
        except BadSetting as problem:
            sentence_of(problem)
        else:
            assert from_stored(cls, to_stored(setting)) == setting
            typed = {name: str(value) for name, value in values(setting).items()}
            assert parse(cls, typed) == setting


@pytest.mark.long
@pytest.mark.parametrize("id", IDS)
def test_every_config_within_bounds_is_a_run_or_a_sentence(id):
    """Drawn at random within all ranges at once: each has a key, an estimate of memory and a cost,
    all finite."""
    experiment = registry.experiment(id)
    ranges = {name: within(knob) for name, knob in knobs_of(experiment.config).items()}

    @tries(8)
    @given(st.fixed_dictionaries(ranges))
    def hold(fields):
        try:
            needed = device.estimated(lambda: experiment.config(**fields))
            config = experiment.config(**fields)
        except BadSetting as problem:
            sentence_of(problem)
        else:
            assert math.isfinite(needed) and needed >= 0
            assert math.isfinite(experiment.cost(config)) and experiment.cost(config) > 0
            assert len(key_of(id, config)) == 20

    hold()


def within(knob: Knob) -> st.SearchStrategy:
    if knob.kind == "slider":
        ends = st.sampled_from([knob.low, knob.high, knob.default])
        whole = isinstance(knob.default, int)
        return ends | (
            st.integers(knob.low, knob.high) if whole else st.floats(knob.low, knob.high)
        )
    if knob.kind in ("choice", "toggle"):
        return st.sampled_from(list(knob.options) if knob.kind == "choice" else [False, True])
    return st.just(knob.default)


LISTS = {
    "numbers": lambda text: numbers("widths", text, 1, 7, 0.25, 4.0),
    "whole": lambda text: whole_numbers("pairs", text, 6, 1, 80),
    "shares": lambda text: shares("weights", text, 3),
    "points": lambda text: [coordinate for point in points(text) for coordinate in point],
}
TYPED = st.one_of(texts(), st.text("0123456789.,:/-+eE ;\t", max_size=30))


@pytest.mark.parametrize("kind", LISTS)
@tries(60)
@given(text=TYPED)
def test_typed_numbers_are_finite_or_refused(kind, text):
    try:
        parsed = LISTS[kind](text)
    except BadSetting as problem:
        sentence_of(problem)
    else:
        assert parsed and all(math.isfinite(number) for number in parsed)


@tries(60)
@given(
    axes=st.lists(TYPED | st.builds("d={}".format, TYPED), min_size=1, max_size=3),
    seeds=st.none() | st.integers(),
)
def test_a_grid_as_typed_is_one_or_a_sentence(axes, seeds):
    experiment = registry.experiment("toy.walk")
    try:
        assert setting_grid.parse("toy.walk", axes, experiment.config(), seeds)
    except BadSetting as problem:
        sentence_of(problem)

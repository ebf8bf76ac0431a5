"""Fields that carry their range: what they refuse and what they say."""

import pytest

from icl_core.contract.knobs import (
    BadSetting,
    choice,
    knobs_of,
    settings,
    slider,
    text,
    toggle,
    values,
)
from icl_core.contract.settings_io import (
    differences,
    from_line,
    from_stored,
    parse,
    to_line,
    to_stored,
)


@settings
class Sample:
    d: int = slider("width", 2, 64, default=8)
    rate: float = slider("rate", 0.001, 1.0, default=0.1, log=True)
    law: str = choice("law", ("uniform", "bigram"), default="uniform")
    words: str = text("words", 5, default="")
    on: bool = toggle("on", default=False)

    def check(self) -> None:
        if self.d == 64 and self.on:
            raise BadSetting(f"d must be under 64 where on is true, got {self.d}")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("d", 1, "d must be a whole number from 2 to 64, got 1"),
        ("d", 8.0, "d must be a whole number from 2 to 64, got 8.0"),
        ("d", True, "d must be a whole number from 2 to 64, got True"),
        ("rate", float("nan"), "rate must be a number from 0.001 to 1.0, got nan"),
        ("rate", 2, "rate must be a number from 0.001 to 1.0, got 2"),
        ("law", "none", "law must be one of uniform, bigram, got 'none'"),
        (
            "law",
            "Bigramm",
            "law must be one of uniform, bigram, got 'Bigramm' (did you mean 'bigram'?)",
        ),
        ("words", "abcdef", "words must be text of at most 5 characters, got 'abcdef'"),
        ("on", 1, "on must be true or false, got 1"),
    ],
)
def test_a_value_out_of_range_names_field_range_and_value(field, value, expected):
    with pytest.raises(BadSetting) as refused:
        Sample(**{field: value})
    assert str(refused.value) == expected


def test_a_refused_combination():
    with pytest.raises(BadSetting, match="d must be under 64 where on is true, got 64"):
        Sample(d=64, on=True)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"d": "x"}, "d must be a whole number from 2 to 64, got 'x'"),
        ({"d": "3.5"}, "d must be a whole number from 2 to 64, got '3.5'"),
        ({"rate": "inf"}, "rate must be a number from 0.001 to 1.0, got inf"),
        ({"rate": "9" * 400}, "rate must be a number from 0.001 to 1.0, got inf"),
        (
            {"d": "9" * 400},
            "d must be a whole number from 2 to 64, got 9{80}$",
        ),  # more than a float can hold
        (
            {"d": "9" * 5000},
            "d must be a whole number from 2 to 64, got '9{79}$",
        ),  # more than Python reads
        ({"on": "maybe"}, "on must be true or false, got 'maybe'"),
        (
            {"colour": "red"},
            "there is no setting 'colour'; the settings are d, rate, law, words, on",
        ),
    ],
)
def test_unreadable_text_is_refused(raw, expected):
    with pytest.raises(BadSetting, match=expected):
        parse(Sample, raw)


def test_text_round_trip():
    sample = Sample(d=16, rate=0.5, law="bigram", words="a b", on=True)
    assert parse(Sample, {name: str(value) for name, value in values(sample).items()}) == sample


def test_parse_keeps_the_base():
    assert parse(Sample, {"d": "4"}, Sample(law="bigram")) == Sample(d=4, law="bigram")


def test_a_line_of_settings_says_what_differs_and_is_read_back():
    base = values(Sample())
    sample = Sample(d=16, rate=0.5, words="1, 2", on=True)
    line = to_line(Sample, values(sample), base)
    assert line == "d=16; rate=0.5; words=1, 2; on=true"
    assert parse(Sample, from_line(Sample, line)) == sample
    assert from_line(Sample, "d = 16,rate=0.5 words=1, 2 ;on=true") == from_line(Sample, line)
    assert to_line(Sample, base, base) == "" and from_line(Sample, " ") == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("d=96, rte=0.2", r"no setting 'rte' \(did you mean 'rate'\?\)"),
        ("d=96, colour=red", "no setting 'colour'; the settings are d, rate"),
        ("d=96 d=8", "name d once, got it twice"),
        ("96 d=8", "must be like 'd=8, rate=0.1', got '96'"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused(line, expected):
    with pytest.raises(BadSetting, match=expected):
        from_line(Sample, line)


def test_differences_name_the_field_and_both_values():
    assert differences(Sample(d=16), Sample()) == ["width = 16 (preset 8)"]


def test_a_field_without_range_is_refused():
    with pytest.raises(TypeError, match="every field must be a slider"):

        @settings
        class Bad:
            d: int = 3


def test_order_is_that_of_declaration():
    assert list(knobs_of(Sample)) == ["d", "rate", "law", "words", "on"]


@settings
class Renamed:
    learning_rate: float = slider("learning rate", 0.001, 1.0, default=0.1, was="rate")
    d: int = slider("width", 2, 64, default=8)


def test_a_renamed_field_is_read_and_kept_under_its_former_name():
    renamed = Renamed(learning_rate=0.5)
    assert to_stored(renamed) == {"rate": 0.5, "d": 8}
    assert from_stored(Renamed, to_stored(renamed)) == renamed
    assert parse(Renamed, {"rate": "0.5"}) == parse(Renamed, {"learning_rate": "0.5"}) == renamed
    with pytest.raises(BadSetting, match="learning_rate must be a number"):
        from_stored(Renamed, {"rate": 7.0, "d": 8})

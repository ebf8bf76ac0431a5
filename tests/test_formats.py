"""Numbers, sizes, shares and times as the pages write them."""

import math

import pytest

from icl_core.contract import number_text
from pages.ui.look import formats


@pytest.mark.parametrize(
    ("value", "digits", "grouped", "text"),
    [
        (0.12345, 3, True, "0.123"),
        (-1.5, 3, True, "−1.5"),
        (190.0, 2, True, "190"),
        (12_345.0, 3, True, "12,300"),
        (12_345.0, 4, False, "1.234e+04"),
        (2e6, 3, True, "2e+06"),
        (1e-7, 3, True, "1e−07"),
        (math.nan, 3, True, "–"),
    ],
)
def test_a_number_has_its_significant_digits(value: float, digits: int, grouped: bool, text: str):
    assert number_text.number(value, digits, grouped) == text


def test_a_share_is_in_percent():
    assert [formats.share(value) for value in (1.0, 0.1234, 0.0005, 0.0004, 0.0)] == [
        "100.0%",
        "12.3%",
        "0.1%",
        "under 0.1%",
        "under 0.1%",
    ]


def test_a_size_is_in_kib_or_mib():
    assert [formats.file_size(count) for count in (1, 2**10, 2**10 + 1, 2**20, 2**19)] == [
        "1 KiB",
        "1 KiB",
        "2 KiB",
        "1.0 MiB",
        "0.5 MiB",
    ]
    assert [formats.exact_size(count) for count in (512, 2**19, 2**20)] == [
        "0.5 KiB",
        "512.0 KiB",
        "1.0 MiB",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "about 1 s"),
        (9.4, "about 9 s"),
        (12, "about 10 s"),
        (41, "about 40 s"),
        (57, "about 55 s"),
        (58, "about 1 min"),
        (89, "about 1 min"),
        (200, "about 3 min"),
        (1450, "about 25 min"),
        (5300, "about 90 min"),
        (9000, "about 2 h"),
    ],
)
def test_the_time_left_is_one_number_more_exact_the_less_it_is(seconds, text):
    assert formats.time_left(seconds) == text


def test_a_duration_is_as_exact_as_an_estimate():
    assert [formats.duration(seconds) for seconds in (None, 0.2, 89, 90, 5399, 5400)] == [
        "time unknown",
        "about 1 s",
        "about 89 s",
        "about 2 min",
        "about 90 min",
        "about 1.5 h",
    ]

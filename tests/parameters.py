"""Parameters of a test, most of them marked `long`."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_is_short(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Return values as parameters of a test that is `long` for all but the first, or the first
    `count`."""
    every = list(values)
    return every[:count] + [pytest.param(value, marks=pytest.mark.long) for value in every[count:]]

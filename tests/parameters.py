"""Parameters of a test, most of them marked `long`."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_is_short(values: Iterable[Any]) -> list[Any]:
    """Return values as parameters of a test that is `long` for all but the first."""
    first, *others = values
    return [first, *(pytest.param(value, marks=pytest.mark.long) for value in others)]

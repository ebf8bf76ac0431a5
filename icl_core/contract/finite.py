"""Every number that a page or a command prints is finite, or a sentence stands in its place.

A metric that is not finite counts as not measured (`evidence.measurements`), figures leave out such
points, and `number_text` and tables write a dash for NaN. Checked here is whatever else writes
a number into a headline or into the texts of a panel: its title, caption and note, its figure's
annotations, ticks and other texts of the layout, and the cells of its table. The tables of
a panel's numbers, for reading and files, hold them as they were measured.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from icl_core.contract.run import CannotDraw, Run
from icl_core.contract.sentence import sentence

_NUMBER = re.compile(r"(?<![\w.])(nan|inf)(?![^\W\d_])")  # as Python writes them: "nan%", "-inf"
_SENTENCE = (
    "not every number here is finite: something in the model is too large, too small or too much "
    "alike to measure this"
)

Headline = Callable[[Run, Any], str]


def is_finite(text: str) -> bool:
    """Return whether no number in a text is NaN or infinite."""
    return _NUMBER.search(text) is None


def check_texts(texts: Iterable[str]) -> None:
    """Raise `CannotDraw` if a number in the texts of a panel is not finite."""
    if not all(map(is_finite, texts)):
        raise CannotDraw(_SENTENCE)


def finite_headline(headline: Headline) -> Headline:
    """Return a headline that says so where a number of it is not finite."""

    def checked(run: Run, view: Any) -> str:
        text = headline(run, view)
        return text if is_finite(text) else sentence(_SENTENCE)

    return checked

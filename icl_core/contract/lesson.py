"""A lesson on one experiment: what students may touch, what they predict first, exercises, a
lecturer's notes.

Values only, and no torch: the page of lessons lists them. What a run has to tell is found when it
is asked for.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from icl_core.contract.run import Run
from icl_core.contract.story import Try

PRESETS, SETTINGS, TRAIN, EXPERIMENTS = "presets", "settings", "train", "experiments"
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})*|\d+)(\.\d*)?|[+-]?\d*[.,]\d+")
CONTROLS = (PRESETS, SETTINGS, TRAIN, EXPERIMENTS)  # what a lesson may hide beside drawers


def readings(text: str) -> tuple[float, ...]:
    """The numbers that a text may stand for: none, one, or two where its comma may part thousands
    or decimals."""
    plain = text.strip().rstrip("%").strip().replace("\N{MINUS SIGN}", "-").replace(" ", "")
    if not _NUMBER.fullmatch(plain):
        return ()
    decimals = [plain.replace(",", ".")] if plain.count(",") == 1 and "." not in plain else []
    return tuple(float(each) for each in dict.fromkeys([plain.replace(",", ""), *decimals]))


@dataclass(frozen=True)
class Exercise:
    """A number to be found in the app, or worked out from what it shows.

    name     its id
    ask      the question, which says what to do and how exact the answer should be
    unit     what the number counts, beside its field
    right    the answer, computed from the lesson's run
    within   how far from it an answer may lie: less than what a guess would hit
    because  how the number comes about, said with it once it is found
    hint     where to look, said to an answer that is not right
    """

    name: str
    ask: str
    unit: str
    right: Callable[[Run], float]
    within: float
    because: Callable[[Run], str]
    hint: str

    def accepts(self, run: Run, given: str) -> bool:
        """Whether what was typed counts as right."""
        return any(
            abs(each - self.right(run)) <= self.within * (1 + 1e-9) for each in readings(given)
        )

    def answer(self, run: Run) -> str:
        """The answer, with how it comes about."""
        places = math.ceil(-math.log10(self.within)) if 0 < self.within < 1 else 0
        value = f"{self.right(run):,.{places}f}".replace("-", "\N{MINUS SIGN}")
        return f"{value}{'%' if self.unit == '%' else ''}. {self.because(run)}"


@dataclass(frozen=True)
class Note:
    """A part of a lecture: how long it takes, what to ask, what students will say, what to tell
    them, what to show."""

    minutes: int
    ask: str
    they_say: tuple[str, ...]
    tell: str
    show: Try


@dataclass(frozen=True)
class Lesson:
    """A lesson: `PAPER.lesson`, opened by `lesson=<name>` in the address of its paper's page.

    able        what students will be able to do, each a sentence's end after "You will be able to"
    experiment  the experiment's name in its paper, and `preset`, its first, whose run the beats and
                exercises speak of
    working     the minutes that students have for the exercises, after the notes
    fixed       fields of the config and the view that it sets; their widgets show it and do not
                move
    hidden      what it leaves out: of CONTROLS, and drawers by name
    predict     beats whose question must be answered before the script goes on
    """

    name: str
    title: str
    able: tuple[str, ...]
    experiment: str
    preset: str
    exercises: tuple[Exercise, ...]
    notes: tuple[Note, ...]
    working: int
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    predict: tuple[str, ...] = ()

    @property
    def minutes(self) -> int:
        """How long it takes, exercises included."""
        return sum(note.minutes for note in self.notes) + self.working

"""A lesson on one experiment: the controls that students have, predictions, exercises, and notes
for the lecturer.

Values only and no torch, since the page of lessons lists them; answers are computed from a run when
they are needed.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from icl_core.contract.knobs import values
from icl_core.contract.run import Run
from icl_core.contract.story import Try

PRESETS = "presets"
SETTINGS = "settings"
TRAIN = "train"
EXPERIMENTS = "experiments"
CONTROLS = (PRESETS, SETTINGS, TRAIN, EXPERIMENTS)  # a lesson may hide these, and drawers

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})*|\d+)(\.\d*)?|[+-]?\d*[.,]\d+")


def readings(text: str) -> tuple[float, ...]:
    """Return the numbers that a text may stand for: none, one, or two if its comma may separate
    thousands or decimals."""
    plain = text.strip().rstrip("%").strip().replace("\N{MINUS SIGN}", "-").replace(" ", "")
    if not _NUMBER.fullmatch(plain):
        return ()
    spellings = [plain.replace(",", "")]
    if plain.count(",") == 1 and "." not in plain:
        spellings.append(plain.replace(",", "."))
    return tuple(float(spelling) for spelling in dict.fromkeys(spellings))


@dataclass(frozen=True)
class Exercise:
    """A question whose answer is a number that the app shows or that follows from it.

    name     its id
    ask      the question; it says what to do and how exact the answer should be
    unit     the unit of the answer, shown beside the field
    right    takes the lesson's run and returns the right answer
    within   how far from it an accepted answer may be; too little for a guess to succeed
    because  takes the run and returns how the number comes about, shown with the right answer
    hint     where to look, shown after a wrong answer
    """

    name: str
    ask: str
    unit: str
    right: Callable[[Run], float]
    within: float
    because: Callable[[Run], str]
    hint: str

    def accepts(self, run: Run, given: str) -> bool:
        """Return whether the typed text `given` counts as right."""
        return any(
            abs(number - self.right(run)) <= self.within * (1 + 1e-9) for number in readings(given)
        )

    def answer(self, run: Run) -> str:
        """Return the right answer with how it comes about."""
        places = math.ceil(-math.log10(self.within)) if 0 < self.within < 1 else 0
        value = f"{self.right(run):,.{places}f}".replace("-", "\N{MINUS SIGN}")
        return f"{value}{'%' if self.unit == '%' else ''}. {self.because(run)}"


@dataclass(frozen=True)
class Note:
    """The lecturer's notes on one part of a lecture.

    minutes   how long it takes
    ask       what to ask the students
    they_say  answers to expect
    tell      what to tell them
    show      what to show, as a link
    """

    minutes: int
    ask: str
    they_say: tuple[str, ...]
    tell: str
    show: Try


@dataclass(frozen=True)
class Lesson:
    """A lesson: one of `PAPER.lessons`, opened by `lesson=<name>` in the address of the paper's
    page.

    name        its id in links
    title       its title
    able        what students will be able to do; each completes "You will be able to"
    experiment  the experiment's name in its paper
    preset      the preset whose run the beats and exercises are about
    exercises   the exercises, in order
    notes       the lecturer's notes, in order
    working     the minutes that students have for the exercises, after the notes
    fixed       the config and view fields that it sets; their widgets are disabled
    hidden      what it hides: some of CONTROLS, and drawers by name
    predict     the names of beats whose question must be answered before the story goes on
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
    def fixes_config(self) -> bool:
        """Whether it sets the whole config: so does a lesson without settings, or training."""
        return bool({SETTINGS, TRAIN} & {*self.hidden})

    def fixed_fields(self, config: Any) -> dict[str, Any]:
        """Return the fields that it sets and their values; `config` is its preset's."""
        return {**(values(config) if self.fixes_config else {}), **self.fixed}

    @property
    def minutes(self) -> int:
        """The length of the lesson in minutes, exercises included."""
        return sum(note.minutes for note in self.notes) + self.working

"""A question for a class: a choice, a number with its unit, or a curve to draw; and what counts
as an answer."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.classroom.curves import FULL, PLACES, Curve
from icl_core.contract.lesson import readings

Vote = Any  # a choice's index, a number, or the heights of a drawn curve as a tuple
NEAR = FULL // 10  # mean distance from the measured curve up to which a drawn one counts as right
MOVED = FULL // 20  # mean distance from which a curve drawn again counts as another
IN_PLACE = " ~ "  # in the key of a curve that is drawn in place of another question
LONGEST_NUMBER = 40  # characters of a number as it is typed
_THOUSANDS_OR_DECIMALS = re.compile(r",\d{3}\s*%?\s*$")


class Refused(Exception):
    """A request that a class refuses: the sentence that says why, and its status as HTTP has it."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Question:
    """A question that phones answer.

    key      its name: the experiment's id, and the beat or the lesson's exercise
    ask      the question
    right    the right choice's index, or the true value; of a curve 0, which nothing reads
    choices  what to choose from; empty for a number and a curve
    curve    what is to be drawn, if it is
    unit     the number's unit
    within   how far from the true value a number counts as right
    """

    key: str
    ask: str
    right: float
    choices: tuple[str, ...] = ()
    unit: str = ""
    within: float = 0.0
    curve: Curve | None = None

    def is_of(self, key: str) -> bool:
        """Return whether it is the question of a key, or a curve to draw in its place."""
        return self.key == key or self.key.startswith(f"{key}{IN_PLACE}")

    def read(self, answer: object) -> Vote:
        """Return the vote of an answer: a choice's index, the number of a typed text, or the
        heights of a curve. Raises `Refused` for anything else."""
        if self.curve:
            return _heights(answer)
        if self.choices:
            if type(answer) is int and 0 <= answer < len(self.choices):
                return answer
            raise Refused("This is none of the answers to choose from.", 400)
        text = answer if isinstance(answer, str) else ""
        values = readings(text) if len(text) <= LONGEST_NUMBER else ()
        if not values:
            raise Refused("Send a number, such as 1250 or 0.5.", 400)
        if len(values) == 2 and _THOUSANDS_OR_DECIMALS.search(text):
            raise Refused(f"Send {values[0]:.0f} or {values[1]:g}: the comma may mean either.", 400)
        return values[-1]

    def is_right(self, vote: Vote) -> bool:
        """Return whether a vote is right, or near enough to the measured curve."""
        if self.curve:
            return self.curve.distance(vote) <= NEAR
        return math.isclose(vote, self.right, rel_tol=1e-9, abs_tol=self.within)

    def differ(self, first: Vote, second: Vote) -> bool:
        """Return whether two votes are different answers."""
        if self.curve:
            return float(np.abs(np.subtract(first, second)).mean()) >= MOVED
        return first != second

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What `counts` counts."""
        if self.curve:
            return ("farther from the measured curve", "near the measured curve")
        return self.choices or ("wrong", "right")

    def counts(self, votes: Iterable[Vote]) -> tuple[int, ...]:
        """Return how many votes each choice has; of a number or a curve, how many are wrong and
        right."""
        count = [0] * len(self.outcomes)
        for vote in votes:
            count[int(vote) if self.choices else int(self.is_right(vote))] += 1
        return tuple(count)


def _heights(answer: Any) -> tuple[int, ...]:
    """Return the heights of a drawn curve. Raises `Refused` for anything else."""
    is_curve = isinstance(answer, list) and len(answer) == PLACES
    if not is_curve or any(type(one) is not int or not 0 <= one <= FULL for one in answer):
        raise Refused(f"A drawn curve has {PLACES} heights from 0 to {FULL}.", 400)
    return tuple(answer)

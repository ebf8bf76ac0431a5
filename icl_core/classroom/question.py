"""A question for a class: a choice, or a number with its unit; and what counts as an answer."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from icl_core.contract.lesson import readings

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
    right    the right choice's index, or the true value
    choices  what to choose from; empty for a number
    unit     the number's unit
    within   how far from the true value a number counts as right
    """

    key: str
    ask: str
    right: float
    choices: tuple[str, ...] = ()
    unit: str = ""
    within: float = 0.0

    def read(self, answer: object) -> float:
        """Return the vote of an answer: a choice's index, or the number of a typed text. Raises
        `Refused` for anything else."""
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

    def is_right(self, vote: float) -> bool:
        """Return whether a vote is right."""
        return math.isclose(vote, self.right, rel_tol=1e-9, abs_tol=self.within)

    def counts(self, votes: Iterable[float]) -> tuple[int, ...]:
        """Return how many votes each choice has; of a number, how many are wrong and right."""
        count = [0] * (len(self.choices) or 2)
        for vote in votes:
            count[int(vote) if self.choices else int(self.is_right(vote))] += 1
        return tuple(count)

"""One class: the question or lot shown, the votes of its rounds, its phones; what a phone shows of
it, and what its lecturer sees."""

import secrets
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from icl_core.classroom.lots import Lot
from icl_core.classroom.question import Question, Vote

ROUNDS = 2
_RESULTS = 200  # of one session


class Allowance:
    """How many requests may come: `burst` at once, and then `rate` a second."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self.left = burst
        self.since = now

    def take(self, now: float) -> bool:
        """Take one request; return whether there was one left."""
        self.left = min(self.burst, self.left + (now - self.since) * self.rate)
        self.since = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(frozen=True)
class Result:
    """The votes on a question: of each round that was opened, in no order of phones.

    rounds   the votes of each round
    changed  how many answered otherwise in the second round, of those who answered in both
    to_right how many of these changed to the right answer
    both     how many answered in both rounds
    """

    question: Question
    rounds: tuple[tuple[Vote, ...], ...]
    both: int = 0
    changed: int = 0
    to_right: int = 0


@dataclass(frozen=True)
class Seen:
    """What a lecturer sees of their session.

    id       of the question in this session; no other has it
    answered  how many phones have answered in this round
    phones    how many phones are there
    result    the votes of the rounds that were opened; None before
    revealed  whether the right answer may be shown
    former    the results of the questions before, in their order
    has_stage  whether phones are to show the stage
    shows_stage  whether they may show it now
    lot       the lot that phones drew from last; it is shown where no question is
    """

    id: str
    code: str
    question: Question | None
    round: int
    opened: bool
    answered: int
    phones: int
    result: Result | None
    revealed: bool
    former: tuple[Result, ...]
    has_stage: bool
    shows_stage: bool
    lot: Lot | None


@dataclass(frozen=True)
class ShownStage:
    """What the lecturer's page shows: a name, which no other stage has, and the scene as JSON,
    compressed by gzip."""

    name: str
    scene: bytes


@dataclass
class Session:
    """One class. `number` counts the questions and lots, `version` all that the lecturer does."""

    owner: str
    code: str
    last_sign: float
    requests: Allowance
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    question: Question | None = None
    number: int = 0
    version: int = 0
    opened: bool = False
    revealed: bool = False
    votes: list[dict[str, Vote]] = field(default_factory=lambda: [{}])  # by round, then phone
    phones: dict[str, Allowance] = field(default_factory=dict)
    former: deque[Result] = field(default_factory=lambda: deque(maxlen=_RESULTS))
    has_stage: bool = False
    stage: ShownStage | None = None  # of the lecturer's page, unless a question is open there
    lot: Lot | None = None

    def result(self) -> Result | None:
        """Return the votes of the rounds that were opened; None if none was."""
        rounds = self.votes if self.opened else self.votes[:-1]
        if self.question is None or not rounds:
            return None
        # ordered by value: the order of the phones is nobody's business
        values = tuple(tuple(sorted(votes.values())) for votes in rounds)
        if len(rounds) < ROUNDS:
            return Result(self.question, values)
        first, second = rounds
        both = first.keys() & second.keys()
        differ = self.question.differ
        changed = [second[phone] for phone in both if differ(first[phone], second[phone])]
        to_right = sum(map(self.question.is_right, changed))
        return Result(self.question, values, len(both), len(changed), to_right)

    def seen_stage(self) -> ShownStage | None:
        """Return the stage that phones may show now: none while they have a question to answer."""
        has_question = self.question is not None and not self.opened
        return None if has_question else self.stage

    def state(self, phone: str) -> dict[str, Any]:
        """Return what a phone shows: the question, its own votes, and the tally once it is open, or
        the lot; and the name of the stage in place of them, which is empty while none is to be
        seen."""
        own = [votes.get(phone) for votes in self.votes]
        state: dict[str, Any] = {"version": f"{self.number}.{self.version}.{own}"}
        if self.has_stage:
            stage = self.seen_stage()
            state["stage"] = stage.name if stage else ""
        if self.question is None:
            if self.lot is not None:
                state["version"] += f".{self.lot.version}.{self.lot.drawn.get(phone)}"
                state |= {"number": self.number, "lot": self.lot.state(phone)}
            return state
        state |= {
            "number": self.number,
            "round": len(self.votes),
            "ask": self.question.ask,
            "choices": self.question.choices,
            "unit": self.question.unit,
            "opened": self.opened,
            "own": own,
        }
        if self.question.curve:
            curve = asdict(self.question.curve)
            measured = curve.pop("measured")  # which nobody sees before it is revealed
            state["curve"] = curve
            if self.opened and self.revealed:
                state["measured"] = measured
            return state
        if self.opened:
            if self.question.choices:
                state["tally"] = self.question.counts(self.votes[-1].values())
            if self.revealed:
                state["right"] = self.question.right
        return state

"""Claims, the metrics that runs measure for them, and the rule of their verdicts. No torch."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np

from icl_core.contract.knobs import Knob, knobs_of
from icl_core.contract.statistics import certain_from, mean_and_error

# The verdicts by the kind of claim: if the measured value is as claimed, and if it is not.
VERDICTS = {
    "paper": ("reproduced", "not reproduced"),
    "theory": ("holds", "fails"),
    "ours": ("found here", "not found here"),
}
NOT_DECIDED = "not decided"
ELSEWHERE = "elsewhere"  # of one run: its setting is not the claim's
# of a claim: all its evidence is of other settings, such as those of a classroom
CLASSROOM_ONLY = "toy"
NOT_RUN = "not run"
MOST_SEEDS = 1000  # that are named as enough to decide a claim
# what would decide a claim, by words of the reason why a training does not
_REMEDIES = {
    "seeds decide": "as many seeds as that.",
    "does not say": "what the paper leaves unsaid.",
    "that was tried": "learning rates beyond it.",
    "diverged": "a smaller learning rate.",
    "plateau": "a longer training.",
    "not left predicting zero": "a longer training.",
    "fall": "a longer training.",
    "fell": "a longer training.",
    "too rarely": "a longer training.",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement that a run can confirm or refute; written once, in its experiment's `claims`.

    id         its name in files and links
    label      a short name for a chip: "W_O² recall"
    kind       whose it is: "paper", "theory" (exact) or "ours"
    text       a sentence: what is measured
    source     where it stands: "Section 5, Figure 3"
    quote      the paper's words, if it is the paper's
    at         the setting that it is about: config fields with a value, or with a tuple or range of
               values; empty for any setting, None if no config here is that setting
    setting    the part of the setting that config fields cannot express, in words
    near, at_least, at_most
               the number that the value must be near (within `tolerance`), at least or at most;
               exactly one of the three is given
    tolerance  how far the value may be from the bound on its wrong side
    panel      the name of the drawing that shows it; empty if none does
    """

    id: str
    label: str
    kind: str
    text: str
    source: str
    quote: str = ""
    at: Mapping[str, Any] | None = field(default_factory=dict, hash=False)
    setting: str = ""
    near: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    tolerance: float = 0.0
    panel: str = ""

    def __post_init__(self) -> None:
        bounds = [
            name for name in ("near", "at_least", "at_most") if getattr(self, name) is not None
        ]
        if len(bounds) != 1 or self.kind not in VERDICTS:
            kinds = ", ".join(VERDICTS)
            raise ValueError(
                f"claim {self.id}: one bound and a kind of {kinds} expected, got {bounds}, "
                f"{self.kind!r}"
            )

    @property
    def relation(self) -> str:
        """The relation of the value to the bound: "near", "at least" or "at most"."""
        if self.near is not None:
            return "near"
        if self.at_least is not None:
            return "at least"
        return "at most"

    @property
    def bound(self) -> float:
        """The number with which the value is compared."""
        bounds = (self.near, self.at_least, self.at_most)
        return next(bound for bound in bounds if bound is not None)

    def slack(self, value: float) -> float:
        """Return how far `value` is inside the range that the claim allows; negative outside."""
        gap = value - self.bound
        return self.tolerance + {"near": -abs(gap), "at least": gap, "at most": -gap}[self.relation]

    def is_at(self, config: Any) -> bool:
        """Return whether `config` is the setting that the claim is about."""
        if self.at is None:
            return False
        if not self.at:  # any setting
            return True
        return agree(config, self.at) and not _uses_later_field(config, self.at)

    def setting_words(self, knobs: Mapping[str, Knob]) -> str:
        """Return the setting in the words of the config's knobs: "d = 128; triggers: random, new in
        every sequence"."""
        parts = [_field_words(knobs[name], allowed) for name, allowed in (self.at or {}).items()]
        return "; ".join(filter(None, [self.setting, *parts])) or "any setting"


def agree(config: Any, setting: Mapping[str, Any]) -> bool:
    """Return whether a config has the values of a `setting`, or one of each tuple or range."""
    for name, allowed in setting.items():
        value = getattr(config, name)
        several = isinstance(allowed, (tuple, range))
        if not (value in allowed if several else value == allowed):
            return False
    return True


def _uses_later_field(config: Any, setting: Mapping[str, Any]) -> bool:
    """Return whether the config goes beyond the setting by a field that was added later, and that
    therefore the setting does not name."""
    knobs = knobs_of(type(config)) if is_dataclass(config) else {}
    return any(
        knob.added and getattr(config, name) != knob.default
        for name, knob in knobs.items()
        if name not in setting
    )


def _field_words(knob: Knob, allowed: Any) -> str:
    """Return a field of a setting in words; empty for a toggle that is off."""
    if isinstance(allowed, bool):
        return knob.label if allowed else ""
    if knob.kind == "toggle":
        return f"{knob.label} or not"
    if isinstance(allowed, range):
        return f"{knob.symbol} = {allowed.start} to {allowed[-1]}"
    values = allowed if isinstance(allowed, tuple) else (allowed,)
    if knob.kind == "choice":
        return f"{knob.label}: " + " or ".join(knob.options[value] for value in values)
    return f"{knob.symbol} = " + " or ".join(map(str, values))


@dataclass(frozen=True)
class Metric:
    """A claim and what one run measured for it.

    claim       the claim
    value       the measured number; None or NaN if it was not measured
    error       its standard error, over seeds or tasks
    unfinished  why the training does not decide the claim: "still falling by .02 over the last
                tenth"
    reason      why the value is what it is, if the run has measured that
    count       the number of independent values, one a seed, that the error was computed from; None
                if they are so many that the error is exact
    """

    claim: Claim
    value: float | None
    error: float | None = None
    unfinished: str = ""
    reason: str = ""
    count: int | None = None

    @classmethod
    def over_seeds(
        cls,
        claim: Claim,
        values: np.ndarray,
        alone: float | None = None,
        unfinished: str = "",
        reason: str = "",
    ) -> "Metric":
        """Return the claim measured by the mean of `values` [seeds], with its standard error.

        `alone` is the error of a single value, from what it was measured on.
        """
        mean, error = mean_and_error(values)
        if error is None:
            return cls(claim, mean, alone, unfinished, reason)
        return cls(claim, mean, error, unfinished, reason, len(values))

    def verdict(self, config: Any) -> str:
        """Return the verdict in a run of `config`, or ELSEWHERE if that is not the claim's
        setting.

        A value decides if it is on one side of the limit with 95 % confidence, by Student's t.
        """
        if self.value is None or math.isnan(self.value):
            return NOT_RUN
        if not self.claim.is_at(config):
            return ELSEWHERE
        slack = self.claim.slack(self.value)
        # an error of 0 decides, also where the bound is met exactly
        if self.unfinished or (self.error and abs(slack) < certain_from(self.count) * self.error):
            return NOT_DECIDED
        return VERDICTS[self.claim.kind][0 if slack >= 0 else 1]

    def in_error(self) -> str:
        """Say how far the value is from its limit in standard errors; empty if it has none."""
        if self.value is None or not self.error:
            return ""
        away = abs(self.claim.slack(self.value)) / self.error
        return (
            f"The value lies {away:.1f} standard errors from its limit, and 95% confidence takes "
            f"{certain_from(self.count):.1f}."
        )

    def to_decide(self) -> str:
        """Say what would decide a value that is NOT_DECIDED; empty if that is not known."""
        if self.unfinished:
            remedies = (remedy for words, remedy in _REMEDIES.items() if words in self.unfinished)
            return next(remedies, "")
        if self.value is None or not self.error:
            return ""
        away = abs(self.claim.slack(self.value)) / self.error
        return f"{self._enough(away)}, if value and spread stay as they are."

    def _enough(self, away: float) -> str:
        """Return how many seeds decide a value so many standard errors `away` from its limit or,
        where it is not known of how many values its error is, how many times as many."""
        if self.count is None:
            times = (certain_from(None) / max(away, 0.01)) ** 2
            return f"about {float(f'{times:.2g}'):,.0f} times as many seeds or test prompts"
        seeds = self.enough_seeds()
        return f"about {seeds} seeds" if seeds else f"more than {MOST_SEEDS:,} seeds"

    def enough_seeds(self) -> int | None:
        """Return how many seeds decide a value that is NOT_DECIDED: as many as are asked for, or
        those that its error asks for if value and spread stay as they are; None if they are too
        many, or that is not known."""
        if asked := re.match(r"(\d+) seeds decide", self.unfinished):
            return int(asked[1])
        if self.unfinished or self.value is None or not self.error or self.count is None:
            return None
        away = abs(self.claim.slack(self.value)) / self.error
        numbers = range(self.count + 1, MOST_SEEDS + 1)
        return next((n for n in numbers if away * (n / self.count) ** 0.5 >= certain_from(n)), None)

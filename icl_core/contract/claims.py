"""What is claimed, by whom and of which setting, and what a run measured for it. No torch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from icl_core.contract.knobs import Knob, knobs_of

# What a claim's verdict is called where it is kept and where it is not, by the kind of claim.
VERDICTS = {
    "paper": ("reproduced", "not reproduced"),
    "theory": ("holds", "fails"),
    "ours": ("found here", "not found here"),
}
NOT_DECIDED, ELSEWHERE, NOT_RUN = "not decided", "elsewhere", "not run"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement that a run can bear out or not. Written once, in its experiment's `claims`, by
    keyword.

    `kind` says whose it is: the "paper"'s (then `quote` has its words), "theory" that is exact, or
    "ours". The value must be `near` a number (within `tolerance`), or `at_least` or `at_most` one;
    exactly one of the three is given. `at` names the setting the claim speaks of: fields of the
    config with their value, or with a tuple or range of values; empty for any setting. `setting`
    says in words what the fields cannot; `at` None: no setting here is it.
    """

    id: str
    label: str  # short, for a chip: "W_O² recall"
    kind: str
    text: str  # a sentence: what is measured
    source: str  # where: "Section 5, Figure 3"
    quote: str = ""
    at: Mapping[str, Any] | None = field(default_factory=dict, hash=False)
    setting: str = ""
    near: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        given = [
            name for name in ("near", "at_least", "at_most") if getattr(self, name) is not None
        ]
        if len(given) != 1 or self.kind not in VERDICTS:
            kinds = ", ".join(VERDICTS)
            raise ValueError(
                f"claim {self.id}: one bound and a kind of {kinds} expected, got {given}, "
                f"{self.kind!r}"
            )

    @property
    def relation(self) -> str:
        """How the value must stand to `bound`: "near", "at least" or "at most"."""
        return (
            "near"
            if self.near is not None
            else "at least"
            if self.at_least is not None
            else "at most"
        )

    @property
    def bound(self) -> float:
        """The number that the value is held against."""
        return next(b for b in (self.near, self.at_least, self.at_most) if b is not None)

    def slack(self, value: float) -> float:
        """How far `value` is inside what the claim allows; negative outside."""
        gap = value - self.bound
        return self.tolerance + {"near": -abs(gap), "at least": gap, "at most": -gap}[self.relation]

    def is_at(self, config: Any) -> bool:
        """Whether `config` is the setting that the claim speaks of."""
        return (
            self.at is not None
            and agree(config, self.at)
            and not (self.at and _beyond(config, self.at))
        )

    def setting_words(self, knobs: Mapping[str, Knob]) -> str:
        """The setting for a reader, in the words of the config's knobs: "d = 128; triggers: random,
        new in every sequence"."""
        parts = [_worded(knobs[name], wanted) for name, wanted in (self.at or {}).items()]
        return "; ".join(filter(None, [self.setting, *parts])) or "any setting"


def agree(config: Any, setting: Mapping[str, Any]) -> bool:
    """Whether a config has the values of a `setting`, or one of a tuple or range of them."""
    return all(_agrees(getattr(config, name), wanted) for name, wanted in setting.items())


def _beyond(config: Any, setting: Mapping[str, Any]) -> bool:
    """Whether a field that was added since the setting was written has another value than
    everything had before."""
    known = knobs_of(type(config)) if is_dataclass(config) else {}
    return any(
        knob.added and getattr(config, name) != knob.default
        for name, knob in known.items()
        if name not in setting
    )


def _agrees(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, (tuple, range)) else value == wanted


def _worded(knob: Knob, wanted: Any) -> str:
    """A field of a setting; what is off goes without saying."""
    if isinstance(wanted, bool):
        return knob.label if wanted else ""
    if knob.kind == "toggle":
        return f"{knob.label} or not"
    if isinstance(wanted, range):
        return f"{knob.symbol} = {wanted.start} to {wanted[-1]}"
    values = wanted if isinstance(wanted, tuple) else (wanted,)
    if knob.kind == "choice":
        return f"{knob.label}: " + " or ".join(knob.options[value] for value in values)
    return f"{knob.symbol} = " + " or ".join(map(str, values))


@dataclass(frozen=True)
class Metric:
    """A claim with what one run measured for it.

    `value` None or NaN: not measured. `error` is a standard error, over seeds or tasks.
    `unfinished` says why the training does not decide it, "still falling by .02 over the last
    tenth"; `reason` why the value is what it is, where this run has measured that.
    """

    claim: Claim
    value: float | None
    error: float | None = None
    unfinished: str = ""
    reason: str = ""

    def verdict(self, config: Any) -> str:
        """The claim's verdict in a run of `config`; outside the claim's own setting
        there is none."""
        if self.value is None or math.isnan(self.value):
            return NOT_RUN
        if not self.claim.is_at(config):
            return ELSEWHERE
        slack = self.claim.slack(self.value)
        # at an error of the rounding's size a bound that is met exactly is met
        if self.unfinished or (self.error and abs(slack) < 2 * self.error):
            return NOT_DECIDED
        return VERDICTS[self.claim.kind][0 if slack >= 0 else 1]

"""Fields that carry their own range: one declaration gives the check, the widget and the CLI flag.

    @settings
    class Config:
        d: int = slider("embedding size d", 16, 512, default=128, step=16)
        triggers: str = choice("triggers", ("random", "fixed"), default="random")

A settings class is a frozen dataclass that refuses a value outside its range with a `BadSetting` naming the field, the
range and the value. A method `check(self)`, if there is one, refuses combinations, with a `BadSetting` too.
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T", bound=type)

# Another seed shows the same thing again: such a run is nearer than any other difference.
_SEED_WEIGHT = 0.01


class BadSetting(ValueError):
    """Something was asked for that cannot be; the message says what was expected and what came, for the visitor."""


@dataclass(frozen=True)
class Knob:
    """What a field may be and how it is asked for. `options` maps a choice's value to its label; `at_most` names the
    setting of the run at hand beyond which a view's slider has nothing to show, `shown_if` one without which a view's
    choice has no effect. `was` is the field's former name, if it had another: files keep it, so that the keys of
    runs do not change, and old links still open."""

    kind: str  # "slider", "choice", "text" or "toggle"
    label: str
    default: Any
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    max_length: int = 0
    help: str = ""
    group: str = ""
    at_most: str = ""
    shown_if: str = ""
    was: str = ""

    def check(self, name: str, value: Any) -> None:
        """Raise `BadSetting` if `value` is not one this knob can take."""
        if self.kind == "toggle":
            if not isinstance(value, bool):
                raise BadSetting(f"{name} must be true or false, got {value!r}")
        elif self.kind == "choice":
            if value not in self.options:
                raise BadSetting(f"{name} must be one of {', '.join(self.options)}, got {value!r}")
        elif self.kind == "text":
            if not isinstance(value, str) or len(value) > self.max_length:
                raise BadSetting(f"{name} must be text of at most {self.max_length} characters, got {value!r:.80}")
        else:
            self._check_number(name, value)

    def _check_number(self, name: str, value: Any) -> None:
        wanted = "a whole number" if isinstance(self.default, int) else "a number"
        right_type = isinstance(value, int if isinstance(self.default, int) else (int, float))
        low, high = (-math.inf if self.low is None else self.low), (math.inf if self.high is None else self.high)
        if isinstance(value, bool) or not right_type or not low <= value <= high or abs(value) == math.inf:
            raise BadSetting(f"{name} must be {wanted} from {self.low} to {self.high}, got {value!r:.80}")

    def parse(self, name: str, raw: str) -> Any:
        """The value that the text `raw` (of a URL or a command line) stands for; `BadSetting` if none."""
        if self.kind == "toggle":
            words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
            if raw.lower() not in words:
                raise BadSetting(f"{name} must be true or false, got {raw!r:.80}")
            return words[raw.lower()]
        if self.kind != "slider":
            return raw
        try:
            return int(raw) if isinstance(self.default, int) else float(raw)
        except ValueError:
            self._check_number(name, raw[:80])  # always raises: text is no number
            raise


def slider(
    label: str,
    low: float,
    high: float,
    *,
    default: float,
    step: float | None = None,
    log: bool = False,
    help: str = "",
    group: str = "",
    at_most: str = "",
    was: str = "",
) -> Any:
    """A number from `low` to `high`, both included; whole if `default` is. `log` spaces the widget by factors.
    `at_most` is for a view: the widget ends at the run's setting of that name, and is left out where nothing is left
    to choose."""
    return _field(
        Knob("slider", label, default, low, high, step, log, help=help, group=group, at_most=at_most, was=was)
    )


def choice(
    label: str,
    options: Mapping[str, str] | tuple[str, ...],
    *,
    default: str,
    help: str = "",
    group: str = "",
    shown_if: str = "",
    was: str = "",
) -> Any:
    """One of a few values; a mapping gives each its label. `shown_if` is for a view: the widget is left out where the
    run's setting (or property of its settings) of that name is false."""
    labels = options if isinstance(options, Mapping) else {value: value for value in options}
    return _field(Knob("choice", label, default, options=labels, help=help, group=group, shown_if=shown_if, was=was))


def text(label: str, max_length: int, *, default: str = "", help: str = "", group: str = "") -> Any:
    """A line of text of at most `max_length` characters."""
    return _field(Knob("text", label, default, max_length=max_length, help=help, group=group))


def toggle(label: str, *, default: bool = False, help: str = "", group: str = "") -> Any:
    """On or off."""
    return _field(Knob("toggle", label, default, help=help, group=group))


def _field(knob: Knob) -> Any:
    return dataclasses.field(default=knob.default, metadata={"knob": knob})


@dataclass_transform(frozen_default=True, field_specifiers=(slider, choice, text, toggle))
def settings(cls: T) -> T:
    """A frozen dataclass whose instances are always within range."""

    def check_all(self: Any) -> None:
        for name, knob in knobs(type(self)).items():
            knob.check(name, getattr(self, name))
        if hasattr(self, "check"):
            self.check()

    cls.__post_init__ = check_all  # type: ignore[attr-defined]
    made = dataclass(frozen=True)(cls)
    missing = [field.name for field in dataclasses.fields(made) if "knob" not in field.metadata]
    if missing:
        raise TypeError(f"{cls.__name__}: every field must be a slider, choice, text or toggle; not so: {missing}")
    return made  # type: ignore[return-value]


def knobs(settings_class: type) -> dict[str, Knob]:
    """The knobs of a settings class by field name, in order of declaration."""
    return {field.name: field.metadata["knob"] for field in dataclasses.fields(settings_class)}


def values(instance: Any) -> dict[str, Any]:
    """The field values of a settings instance, ready for JSON."""
    return {name: getattr(instance, name) for name in knobs(type(instance))}


def kept_as(settings_class: type) -> dict[str, str]:
    """The names under which files keep the fields, by field."""
    return {name: knob.was or name for name, knob in knobs(settings_class).items()}


def kept(instance: Any) -> dict[str, Any]:
    """The field values as files keep them."""
    return {kept_as(type(instance))[name]: value for name, value in values(instance).items()}


def from_kept(settings_class: type, kept: Mapping[str, Any]) -> Any:
    """The settings that a file keeps. Raises `BadSetting` or `TypeError` if they are none of today's."""
    fields = {was: name for name, was in kept_as(settings_class).items()}
    return settings_class(**{fields.get(was, was): value for was, value in kept.items()})


def parse(settings_class: type, raw: Mapping[str, str], base: Any = None) -> Any:
    """A settings instance from texts by field name; what is not named comes from `base` or the defaults.

    Raises `BadSetting` for an unknown field, an unreadable or out-of-range value, or a refused combination.
    """
    known = knobs(settings_class)
    raw = {today(known, name): text for name, text in raw.items()}
    unknown = [name for name in raw if name not in known]
    if unknown:
        raise BadSetting(f"there is no setting {unknown[0]!r:.80}; the settings are {', '.join(known)}")
    parsed = {name: known[name].parse(name, text) for name, text in raw.items()}
    return settings_class(**{**(values(base) if base is not None else {}), **parsed})


def today(known: Mapping[str, Knob], name: str) -> str:
    """The field that is called `name`, or was once."""
    return next((field for field, knob in known.items() if knob.was == name and name not in known), name)


def differences(config: Any, other: Any) -> list[str]:
    """What `config` has otherwise than `other`, a phrase a field: 'embedding size d 64 (preset: 128)'."""
    return [
        f"{knob.label} {getattr(config, name)} (preset: {getattr(other, name)})"
        for name, knob in knobs(type(config)).items()
        if getattr(config, name) != getattr(other, name)
    ]


def distance(known: Mapping[str, Knob], config: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far two settings are apart: for each field the difference as a share of its range, a choice counts 1."""
    return sum(_apart(name, knob, config.get(name), other.get(name)) for name, knob in known.items())


def _apart(name: str, knob: Knob, one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    if name in ("seed", "seeds"):
        return _SEED_WEIGHT
    if knob.kind != "slider" or one is None or other is None or knob.low is None or knob.high is None:
        return 1.0
    if knob.log and knob.low > 0:
        return abs(math.log(one / other)) / math.log(knob.high / knob.low)
    return abs(one - other) / (knob.high - knob.low)

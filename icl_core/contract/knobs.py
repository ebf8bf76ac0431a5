"""Fields that carry their own range: one declaration gives the check, the widget and the CLI flag.

    @settings
    class Config:
        d: int = slider("embedding size d", 16, 512, default=128, step=16)
        triggers: str = choice("triggers", ("random", "fixed"), default="random")

A settings class is a frozen dataclass that refuses a value outside its range with a `BadSetting`
naming the field, the range and the value. A method `check(self)`, if there is one, refuses
combinations, with a `BadSetting` too.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T", bound=type)
DIGEST = re.compile(r"[0-9a-f]{16}")  # of what a visitor gave, by which it is kept on this computer


class BadSetting(ValueError):
    """Something was asked for that cannot be; the message says what was expected and what came, for
    the visitor."""


class NotHere(BadSetting):
    """What a setting asks for is not on this computer: a document, or no longer whole."""


class TooLarge(NotHere):
    """It is memory. A run of such settings, made on another computer, is left for that one."""


@dataclass(frozen=True)
class Knob:
    """What a field may be and how it is asked for. `options` maps a choice's value to its label.
    `at_most` names the setting of the run at hand at which a view's slider ends (it is left out
    where nothing is left to choose), or the property of a config at which one of its own ends;
    `shown_if` a setting, or a property of the settings, without which a choice is left out: a
    view's by the run at hand, a config's by itself, where it then has its default and so tells no
    two runs apart. `was` is the field's former name: files keep it, so that the keys of runs do not
    change, and old links still open. `added`: there are runs from before there was the field; files
    leave it out while it has its default, so that their keys do not change either.

    A document is what a visitor gave, by its digest; `of` names its kind, one of a paper's
    `documents`. Its default, "", has its name in `options`. `fit` tells, by all fields, which
    others to set where it is chosen; `about` says in a sentence what it is."""

    kind: str  # "slider", "choice", "text", "toggle" or "document"
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
    added: bool = False
    of: str = ""
    fit: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    about: Callable[[Mapping[str, Any]], str] | None = None

    @property
    def symbol(self) -> str:
        """The symbol with which the label ends, "d" of "width, d", or else all of it."""
        _, comma, last = self.label.rpartition(", ")
        return last if comma and len(last) <= 2 else self.label

    @property
    def reach(self) -> str:
        """What it may be, in words."""
        return {
            "slider": f"{self.low} to {self.high}",
            "choice": ", ".join(self.options),
            "text": f"at most {self.max_length} characters",
            "toggle": "true or false",
            "document": f"{self.options.get('')}, or a digest that the command {self.of} has "
            "printed",
        }[self.kind]

    def check(self, name: str, value: Any) -> None:
        """Raise `BadSetting` if `value` is not one this knob can take."""
        if self.kind == "toggle":
            if not isinstance(value, bool):
                raise BadSetting(f"{name} must be true or false, got {value!r:.80}")
        elif self.kind == "choice":
            if not isinstance(value, str) or value not in self.options:
                raise BadSetting(
                    f"{name} must be one of {', '.join(self.options)}, got {value!r:.80}"
                )
        elif self.kind == "document":
            if value != self.default and not (isinstance(value, str) and DIGEST.fullmatch(value)):
                raise BadSetting(
                    f"{name} must be a digest of 16 digits from 0 to f, or empty, got {value!r:.80}"
                )
        elif self.kind == "text":
            if not isinstance(value, str) or len(value) > self.max_length:
                raise BadSetting(
                    f"{name} must be text of at most {self.max_length} characters, got "
                    f"{value!r:.80}"
                )
        else:
            self._check_number(name, value)

    def said(self, value: Any) -> str:
        """A value in words: a document by its name, or the beginning of its digest."""
        return (
            self.options.get(value, f"your own ({value[:4]}…)")
            if self.kind == "document"
            else str(value)
        )

    def _check_number(self, name: str, value: Any) -> None:
        whole = isinstance(self.default, int)
        wanted = "a whole number" if whole else "a number"
        right_type = isinstance(value, int if whole else (int, float))
        low, high = (
            (-math.inf if self.low is None else self.low),
            (math.inf if self.high is None else self.high),
        )
        if (
            isinstance(value, bool)
            or not right_type
            or not low <= value <= high
            or abs(value) == math.inf
        ):
            raise BadSetting(
                f"{name} must be {wanted} from {self.low} to {self.high}, got {value!r:.80}"
            )

    def parse(self, name: str, raw: str) -> Any:
        """The value that the text `raw` (of a URL or a command line) stands for; `BadSetting` if
        none."""
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


def slider(label: str, low: float, high: float, *, default: float, **more: Any) -> Any:
    """A number from `low` to `high`, both included; whole if `default` is. `more`: step, log,
    at_most and what any knob may have (help, group, was). `log` spaces the widget by factors."""
    return _field(Knob("slider", label, default, low, high, **more))


def choice(
    label: str, options: Mapping[str, str] | tuple[str, ...], *, default: str, **more: Any
) -> Any:
    """One of a few values; a mapping gives each its label. `more`: shown_if, help, group, was."""
    labels = options if isinstance(options, Mapping) else {value: value for value in options}
    return _field(Knob("choice", label, default, options=labels, **more))


def text(label: str, max_length: int, *, default: str = "", **more: Any) -> Any:
    """A line of text of at most `max_length` characters."""
    return _field(Knob("text", label, default, max_length=max_length, **more))


def toggle(label: str, *, default: bool = False, **more: Any) -> Any:
    """On or off."""
    return _field(Knob("toggle", label, default, **more))


def document(label: str, name: str, *, of: str, **more: Any) -> Any:
    """What a visitor gives, a document of the kind `of`, by its digest; empty: what comes with the
    project, called `name`. `more`: fit, about and what any knob may have."""
    return _field(Knob("document", label, "", options={"": name}, of=of, **more))


def _field(knob: Knob) -> Any:
    return dataclasses.field(default=knob.default, metadata={"knob": knob})


@dataclass_transform(frozen_default=True, field_specifiers=(slider, choice, text, toggle, document))
def settings(cls: T) -> T:
    """A frozen dataclass whose instances are always within range."""

    def check_all(self: Any) -> None:
        for name, knob in knobs_of(type(self)).items():
            knob.check(name, getattr(self, name))
            if knob.shown_if and not getattr(
                self, knob.shown_if, True
            ):  # a view's speaks of the config
                object.__setattr__(self, name, knob.default)
        if hasattr(self, "check"):
            self.check()

    cls.__post_init__ = check_all  # type: ignore[attr-defined]
    made = dataclass(frozen=True)(cls)
    missing = [field.name for field in dataclasses.fields(made) if "knob" not in field.metadata]
    if missing:
        raise TypeError(
            f"{cls.__name__}: every field must be a slider, choice, text, toggle or document; "
            f"not so: {missing}"
        )
    return made  # type: ignore[return-value]


@cache
def knobs_of(settings_class: type) -> Mapping[str, Knob]:
    """The knobs of a settings class by field name, in order of declaration, inherited ones first; a
    class may name in FIRST those that stand before."""
    found = {field.name: field.metadata["knob"] for field in dataclasses.fields(settings_class)}
    names = dict.fromkeys((*getattr(settings_class, "FIRST", ()), *found))
    return MappingProxyType({name: found[name] for name in names})  # every caller has the same one


def values(instance: Any) -> dict[str, Any]:
    """The field values of a settings instance, ready for JSON."""
    return {name: getattr(instance, name) for name in knobs_of(type(instance))}

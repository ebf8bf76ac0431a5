"""Settings whose fields carry their own range: one declaration gives the check, the widget and the
option of the command line.

    @settings
    class Config:
        d: int = slider("embedding size d", 16, 512, default=128, step=16)
        triggers: str = choice("triggers", ("random", "fixed"), default="random")

A settings class is a frozen dataclass. It refuses a value outside its range by a `BadSetting` that
names the field, the range and the value. It may have a method `check(self)`, which refuses
combinations of values by a `BadSetting` too. An experiment's config names in MAIN the two to five
fields that a visitor moves first.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

from icl_core.contract.message import did_you_mean

T = TypeVar("T", bound=type)
DIGEST = re.compile(r"[0-9a-f]{16}")  # names a visitor's document, which is stored under it


class BadSetting(ValueError):
    """A value that a setting cannot have. The message tells the visitor what was expected and what
    was given."""


class NotHere(BadSetting):
    """A setting needs something that this computer lacks: a document is missing or damaged."""


class TooLarge(NotHere):
    """This computer has too little memory to train the setting. A stored run of it is shown all the
    same."""


def unknown_name(what: str, typed: Any, names: Iterable[str]) -> BadSetting:
    """Return the refusal of a value `typed` that is none of the `names` that `what` may have."""
    choices = list(names)
    hint = did_you_mean(typed, choices) if isinstance(typed, str) else ""
    has_commas = any("," in name for name in choices)
    listed = ", ".join(map(repr, choices) if has_commas else choices)
    return BadSetting(f"{what} must be one of {listed}, got {typed!r:.80}{hint}")


@dataclass(frozen=True)
class Knob:
    """The values that a field may have, and how a visitor is asked for one.

    kind        "slider", "choice", "text", "toggle" or "document" (see the functions below)
    label       the field's name for visitors; it may end in its symbol, "width, d"
    default     its value if none is chosen; an int makes a slider take whole numbers only
    low, high   the range of a slider, both included
    step        the distance between two positions of a slider
    log         space the positions of a slider by factors
    options     the values of a choice with their labels; of a document, "" with the default's name
    max_length  how many characters a text may have
    help        a sentence beside the widget
    group       the heading under which the widget stands
    at_most     the name of a setting or a property of the config that bounds a slider from above. A
                view's slider reads it from the run on screen or its config and is left out where
                only one value remains; a config's reads it from itself
    shown_if    the name of a setting or a property that must be true for the field to matter, read
                as for `at_most`. Where it is false the field is left out; a config's then has its
                default, so that it does not set two runs apart
    needs       of a view's field: the value that another field of a drawing must have for this one
                to matter to that drawing
    was         the field's former name. Files still use it, so that the keys of runs stay the same;
                links may use either
    added       the experiment had runs before it had this field. Files leave the field out while it
                has its default, so that the keys of runs stay the same
    of          the kind of a document, one of a paper's `documents`
    fit         takes all fields and returns those that a document sets when it is chosen
    about       takes all fields and returns a sentence on the document
    """

    kind: str
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
    needs: str = ""
    was: str = ""
    added: bool = False
    of: str = ""
    fit: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    about: Callable[[Mapping[str, Any]], str] | None = None

    @property
    def symbol(self) -> str:
        """The symbol at the end of the label ("d" of "width, d"), or the whole label if it has
        none."""
        _, comma, last = self.label.rpartition(", ")
        return last if comma and len(last) <= 2 else self.label

    @property
    def reach(self) -> str:
        """The values that the field may have, in words."""
        return {
            "slider": f"{self.low} to {self.high}",
            "choice": ", ".join(self.options),
            "text": f"at most {self.max_length} characters",
            "toggle": "true or false",
            "document": f"{self.options.get('')}, or a digest that the command {self.of} has "
            "printed",
        }[self.kind]

    def check(self, name: str, value: Any) -> None:
        """Raise `BadSetting`, which calls the field `name`, if it cannot have this value."""
        if self.kind == "toggle":
            if not isinstance(value, bool):
                raise BadSetting(f"{name} must be true or false, got {value!r:.80}")
        elif self.kind == "choice":
            if not isinstance(value, str) or value not in self.options:
                raise unknown_name(name, value, self.options)
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
        """Return a value in words: a document's is its name or the beginning of its digest."""
        if self.kind == "document":
            return self.options.get(value, f"your own ({value[:4]}…)")
        return str(value)

    def _check_number(self, name: str, value: Any) -> None:
        whole = isinstance(self.default, int)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        is_number = isinstance(value, int if whole else (int, float))
        # bool is a subclass of int; NaN fails every comparison
        if isinstance(value, bool) or not is_number or not low <= value <= high:
            fits = False
        else:
            fits = abs(value) != math.inf
        if not fits:
            kind = "a whole number" if whole else "a number"
            raise BadSetting(
                f"{name} must be {kind} from {self.low} to {self.high}, got {value!r:.80}"
            )

    def parse(self, name: str, raw: str) -> Any:
        """Return the value that the text `raw` of an address or a command line stands for.

        The value of a slider may still be out of range. Raises `BadSetting`, which calls the field
        `name`, if the text cannot be read.
        """
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
    """Declare a number from `low` to `high`, both included; a whole one if `default` is.

    `more`: step, log, at_most, and what every knob may have (help, group, shown_if, needs, was,
    added).
    """
    return _field(Knob("slider", label, default, low, high, **more))


def choice(
    label: str, options: Mapping[str, str] | tuple[str, ...], *, default: str, **more: Any
) -> Any:
    """Declare one of a few values; a mapping gives each its label. `more`: what every knob may
    have."""
    labels = options if isinstance(options, Mapping) else {value: value for value in options}
    return _field(Knob("choice", label, default, options=labels, **more))


def text(label: str, max_length: int, *, default: str = "", **more: Any) -> Any:
    """Declare a line of text of at most `max_length` characters."""
    return _field(Knob("text", label, default, max_length=max_length, **more))


def toggle(label: str, *, default: bool = False, **more: Any) -> Any:
    """Declare a value that is on or off."""
    return _field(Knob("toggle", label, default, **more))


def document(label: str, name: str, *, of: str, **more: Any) -> Any:
    """Declare a document of the visitor's of the kind `of`, whose value is its digest; "" is the
    project's own document, called `name`. `more`: fit, about, and what every knob may have."""
    return _field(Knob("document", label, "", options={"": name}, of=of, **more))


def _field(knob: Knob) -> Any:
    return dataclasses.field(default=knob.default, metadata={"knob": knob})


@dataclass_transform(frozen_default=True, field_specifiers=(slider, choice, text, toggle, document))
def settings(cls: T) -> T:
    """Make a class a frozen dataclass whose instances are always within range. Raises TypeError if
    a field is declared without a range."""

    def check_fields(self: Any) -> None:
        for name, knob in knobs_of(type(self)).items():
            knob.check(name, getattr(self, name))
            # A view's `shown_if` may name a field of the config, which the view lacks.
            if knob.shown_if and not getattr(self, knob.shown_if, True):
                object.__setattr__(self, name, knob.default)
        if hasattr(self, "check"):
            self.check()

    cls.__post_init__ = check_fields  # type: ignore[attr-defined]
    settings_class = dataclass(frozen=True)(cls)
    fields = dataclasses.fields(settings_class)
    missing = [field.name for field in fields if "knob" not in field.metadata]
    if missing:
        raise TypeError(
            f"{cls.__name__}: every field must be a slider, choice, text, toggle or document; not "
            f"so: {missing}"
        )
    return settings_class  # type: ignore[return-value]


@cache
def knobs_of(settings_class: type) -> Mapping[str, Knob]:
    """Return the knobs of a settings class by field name, in the order of the page.

    That is the order of declaration, inherited fields first; the class may name in FIRST fields
    that go before the others.
    """
    fields = dataclasses.fields(settings_class)
    knobs = {field.name: field.metadata["knob"] for field in fields}
    order = dict.fromkeys((*getattr(settings_class, "FIRST", ()), *knobs))
    return MappingProxyType({name: knobs[name] for name in order})  # all callers share it


def fields_that_matter(view: Any, fields: Iterable[str]) -> set[str]:
    """Return those of a view's `fields`, all that a drawing depends on, whose needs are met."""
    values = {field: getattr(view, field) for field in fields}
    knobs = knobs_of(type(view))
    return {field for field in values if knobs[field].needs in ("", *values.values())}


def main_knobs(settings_class: type) -> tuple[str, ...]:
    """Return the names of the fields that a visitor moves first: the class's MAIN, or none."""
    return getattr(settings_class, "MAIN", ())


def values(instance: Any) -> dict[str, Any]:
    """Return the field values of a settings instance, ready for JSON."""
    return {name: getattr(instance, name) for name in knobs_of(type(instance))}

"""Settings as texts and in files.

The texts of an address or a command line, lists of numbers that a visitor types, the fields that
a file stores, the difference between two settings, and a setting in few words, for the line under
a picture and the name of a file.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from icl_core.contract.knobs import BadSetting, Knob, knobs_of, main_knobs, values
from icl_core.contract.message import did_you_mean

# Another seed shows the same thing again: such a run is nearer than one with any other difference.
_SEED_WEIGHT = 0.01
_BETWEEN = " \t,;"  # what may stand between the values of a line of settings
LONGEST_STEM = 110  # characters of a file's name without its ending
_NOT_IN_A_NAME = re.compile(r"[^\w.+-]+")


def to_stored(instance: Any) -> dict[str, Any]:
    """Return the field values that a file stores, under the names that files use.

    A field that was added later is left out while it has its default. A run's key is the hash of
    these values.
    """
    stored: dict[str, Any] = {}
    for name, knob in knobs_of(type(instance)).items():
        value = getattr(instance, name)
        if not (knob.added and value == knob.default):
            stored[knob.was or name] = value
    return stored


def from_stored(settings_class: type, stored: Mapping[str, Any]) -> Any:
    """Return the settings that a file stores. Raises `BadSetting` for a value and `TypeError` for a
    field that today's settings do not have."""
    fields = {knob.was or name: name for name, knob in knobs_of(settings_class).items()}
    return settings_class(**{fields.get(name, name): value for name, value in stored.items()})


def parse(settings_class: type, raw: Mapping[str, str], base: Any = None) -> Any:
    """Return a settings instance from texts by field name.

    A field that `raw` does not name has the value that a document named in `raw` sets, else that of
    `base`, else its default. Raises `BadSetting` for an unknown field, an unreadable or
    out-of-range value, or a refused combination.
    """
    knobs = knobs_of(settings_class)
    raw = {current_name(knobs, name): text for name, text in raw.items()}
    named = {name: knobs[name].parse(name, text) for name, text in raw.items() if name in knobs}
    return changed(settings_class, raw | named, base)


def changed(settings_class: type, named: Mapping[str, Any], base: Any = None) -> Any:
    """Return a settings instance from values by field name, as `parse` does from texts."""
    knobs = knobs_of(settings_class)
    named = {current_name(knobs, name): value for name, value in named.items()}
    unknown = [name for name in named if name not in knobs]
    if unknown:
        raise no_setting(unknown[0], knobs)
    if base is not None:
        others = values(base)
    else:
        others = {name: knob.default for name, knob in knobs.items()}
    return settings_class(**with_documents(settings_class, others, named))


def with_documents(
    settings_class: type, others: Mapping[str, Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all fields: the `named` ones, those that the named documents set (the last document
    wins), and the `others`. Raises `BadSetting` for a document that is not here."""
    fields = {**others, **named}
    for name, knob in knobs_of(settings_class).items():
        if name in named and fields[name] and knob.kind == "document" and knob.fit:
            knob.check(name, fields[name])
            fitted = knob.fit(fields)
            fields |= {field: value for field, value in fitted.items() if field not in named}
    return fields


def fitted_fields(settings_class: type, values: Mapping[str, Any]) -> set[str]:
    """Return the fields that the documents among `values` set where they are not named."""
    fields: set[str] = set()
    for name, knob in knobs_of(settings_class).items():
        if knob.kind == "document" and knob.fit and values[name]:
            with suppress(BadSetting):  # it is not here, and sets nothing
                knob.check(name, values[name])
                fields |= knob.fit(values).keys()
    return fields


def current_name(knobs: Mapping[str, Knob], name: str) -> str:
    """Return the field that has or formerly had this name; the name itself if there is none."""
    if name in knobs:
        return name
    return next((field for field, knob in knobs.items() if knob.was == name), name)


def no_setting(typed: str, names: Iterable[str], which: str = "the settings are") -> BadSetting:
    """Return the refusal of a field that does not exist: it names the one that is most like it, or
    else all `names`, which it calls `which`."""
    choices = list(names)
    hint = did_you_mean(typed, choices) or f"; {which} {', '.join(choices)}"
    return BadSetting(f"there is no setting {typed!r:.80}{hint}")


def differences(config: Any, other: Any, without: Collection[str] = ()) -> list[str]:
    """Return a phrase for each field in which `config` differs from the preset's config `other`:
    "K = 4 (preset 5)"; the fields `without` are not compared."""
    return [
        f"{knob.symbol} = {knob.said(getattr(config, name))} (preset "
        f"{knob.said(getattr(other, name))})"
        for name, knob in knobs_of(type(config)).items()
        if name not in without and getattr(config, name) != getattr(other, name)
    ]


def to_line(settings_class: type, values: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """Return the fields in which `values` differ from `base`, and those that a document would set,
    as one line: "d=96; K=3; seeds=3".

    The line is empty where nothing differs; `from_line` reads it back.
    """
    fitted = fitted_fields(settings_class, values)
    changed = [field for field in values if values[field] != base[field] or field in fitted]
    return "; ".join(f"{field}={field_text(values[field])}" for field in changed)


def from_line(settings_class: type, line: str) -> dict[str, str]:
    """Return the texts by field name that a line such as "d=96, K=3; rates=.1, .3" holds.

    A value reaches to the next `name=`, so that lists of numbers may stand in it; commas,
    semicolons and blanks around it are left out. Raises `BadSetting` for a name that is no field,
    with the nearest field's name, for a name given twice and for text before the first name.
    """
    knobs = knobs_of(settings_class)
    before, *parts = re.split(r"(\w+)\s*=", line)  # then name, text, name, text, …
    if before.strip(_BETWEEN):
        raise BadSetting(
            f"a line of settings must be like {_example(knobs)!r}, got {before.strip()!r:.80}"
        )
    texts: dict[str, str] = {}
    for typed, text in zip(parts[::2], parts[1::2], strict=True):
        name = current_name(knobs, typed)
        if name not in knobs:
            raise no_setting(typed, knobs)
        if name in texts:
            raise BadSetting(f"a line of settings must name {name} once, got it twice")
        texts[name] = text.strip(_BETWEEN)
    return texts


def field_text(value: Any) -> str:
    """Return a value as a line of settings or an address writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example(knobs: Mapping[str, Knob]) -> str:
    """Return a line that names the first two sliders at their defaults."""
    sliders = [(name, knob) for name, knob in knobs.items() if knob.kind == "slider"]
    return ", ".join(f"{name}={knob.default}" for name, knob in sliders[:2])


def distance(settings_class: type, config: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Return the distance of two settings, both as files store them: the sum over fields of the
    difference as a fraction of the field's range. Another choice counts 1."""
    knobs = {knob.was or name: knob for name, knob in knobs_of(settings_class).items()}
    return sum(
        field_distance(name, knob, config.get(name), other.get(name))
        for name, knob in knobs.items()
    )


def field_distance(name: str, knob: Knob, value: Any, other: Any) -> float:
    """Return what one field, by its name in files, adds to the distance of two settings."""
    if value == other:
        return 0.0
    if name in ("seed", "seeds"):
        return _SEED_WEIGHT
    if knob.kind != "slider" or knob.low is None or knob.high is None:
        return 1.0
    if value is None or other is None:
        return 1.0
    if knob.log and knob.low > 0:
        return abs(math.log(value / other)) / math.log(knob.high / knob.low)
    return abs(value - other) / (knob.high - knob.low)


# Lists of numbers as a visitor types them, separated by commas or blanks: "1, 2, 3", "1/3 1/3 1/3".


def pieces(text: str) -> list[str]:
    """Split a text at commas, semicolons and blanks; a fraction stays one piece."""
    return [piece for piece in re.split(r"[,;\s]+", re.sub(r"\s*/\s*", "/", text)) if piece]


def number(piece: str) -> float:
    """Return the finite number or fraction that a piece of text stands for; NaN if it is none."""
    numerator, slash, denominator = piece.partition("/")
    try:
        value = float(numerator) / float(denominator) if slash else float(numerator)
    except (ValueError, ZeroDivisionError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def numbers(
    name: str, text: str, fewest: int, most: int, low: float, high: float, whole: bool = False
) -> list[float]:
    """Return the numbers in a text. Raises `BadSetting`, which calls the list `name`, unless there
    are `fewest` to `most` of them, each from `low` to `high`."""
    parts = pieces(text)
    kind = "whole numbers" if whole else "numbers"
    if not fewest <= len(parts) <= most:
        count = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise BadSetting(f"{name} must be {count} {kind}, got {len(parts)}")
    parsed = [number(piece) for piece in parts]
    for piece, value in zip(parts, parsed, strict=True):
        if not low <= value <= high or (whole and value % 1):
            raise BadSetting(f"{name} must be {kind} from {low:g} to {high:g}, got {piece!r:.40}")
    return parsed


def whole_numbers(name: str, text: str, most: int, low: int, high: int) -> list[int]:
    """Return 1 to `most` whole numbers of a text, ascending, without repeats. Raises `BadSetting`
    as `numbers` does."""
    return sorted({int(value) for value in numbers(name, text, 1, most, low, high, whole=True)})


def shares(name: str, text: str, count: int) -> list[float]:
    """Return `count` fractions of a whole from a text: each from 0 to 1, their sum 1. Raises
    `BadSetting` as `numbers` does."""
    fractions = numbers(name, text, count, count, 0.0, 1.0)
    if not math.isclose(sum(fractions), 1.0, abs_tol=1e-6):
        raise BadSetting(f"{name} must sum to 1, got {sum(fractions):g}")
    return fractions


def named_fields(config: Any, base: Any) -> list[str]:
    """Return the fields that name a setting: the main ones of its class (MAIN), then the others in
    which `config` differs from the preset's config `base`. Fields that do not matter are left
    out."""
    fields = knobs_of(type(config))
    differing = [name for name in fields if getattr(config, name) != getattr(base, name)]
    names = dict.fromkeys([*main_knobs(type(config)), *differing])
    return [
        name
        for name in names
        if not fields[name].shown_if or getattr(config, fields[name].shown_if)
    ]


def value_text(value: Any) -> str:
    """Return a value as an address writes it; `Knob.parse` reads it back exactly."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def setting_line(config: Any, base: Any) -> str:
    """Return the setting as a line: "d = 64, K = 5, triggers = random"."""
    fields = knobs_of(type(config))
    parts = []
    for name in named_fields(config, base):
        knob = fields[name]
        value = getattr(config, name)
        label = knob.options.get(value, "") if knob.kind == "choice" else knob.said(value)
        parts.append(f"{knob.symbol} = {label or value}")
    return ", ".join(parts)


def file_stem(
    experiment_id: str, config: Any, base: Any, drawing: str = "", step: int | None = None
) -> str:
    """Return the name of a file without its ending: "birth-induction-w_k2-step300-d64-K5".

    drawing  the name of the drawing that the file holds
    step     the training step that it shows
    """
    parts = [experiment_id.replace(".", "-"), drawing]
    if step is not None:
        parts.append(f"step{step}")
    parts += [f"{name}{getattr(config, name)}" for name in named_fields(config, base)]
    return "-".join(file_part(part) for part in parts if part)[:LONGEST_STEM]


def file_part(text: str) -> str:
    """Return a text as a part of a file's name: letters, digits and "_", ".", "+", "-"."""
    return _NOT_IN_A_NAME.sub("_", text).strip("_.") or "_"

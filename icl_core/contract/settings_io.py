"""Settings in other forms: as texts of an address or a command line, as files keep them, and what
sets two apart."""

import math
from collections.abc import Mapping
from typing import Any

from icl_core.contract.knobs import BadSetting, Knob, knobs_of, values

# Another seed shows the same thing again: such a run is nearer than any other difference.
_SEED_WEIGHT = 0.01


def to_stored(instance: Any) -> dict[str, Any]:
    """The field values as files keep them: those of fields added later only where they are not the
    default."""
    here = {
        name: (knob, getattr(instance, name)) for name, knob in knobs_of(type(instance)).items()
    }
    return {
        knob.was or name: value
        for name, (knob, value) in here.items()
        if not (knob.added and value == knob.default)
    }


def from_stored(settings_class: type, kept: Mapping[str, Any]) -> Any:
    """The settings that a file keeps. Raises `BadSetting` or `TypeError` if they are none of
    today's."""
    fields = {knob.was or name: name for name, knob in knobs_of(settings_class).items()}
    return settings_class(**{fields.get(was, was): value for was, value in kept.items()})


def parse(settings_class: type, raw: Mapping[str, str], base: Any = None) -> Any:
    """A settings instance from texts by field name; what is not named comes from `base` or the
    defaults, or is what a document that is named asks for.

    Raises `BadSetting` for an unknown field, an unreadable or out-of-range value, or a refused
    combination.
    """
    known = knobs_of(settings_class)
    raw = {current_name(known, name): text for name, text in raw.items()}
    unknown = [name for name in raw if name not in known]
    if unknown:
        raise BadSetting(
            f"there is no setting {unknown[0]!r:.80}; the settings are {', '.join(known)}"
        )
    parsed = {name: known[name].parse(name, text) for name, text in raw.items()}
    others = (
        values(base) if base is not None else {name: knob.default for name, knob in known.items()}
    )
    return settings_class(**_fitted(known, others, parsed))


def _fitted(
    known: Mapping[str, Knob], others: Mapping[str, Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """All fields: those that are named, then what fits their documents, of several the last, then
    the others."""
    found = {**others, **named}
    for name, knob in known.items():
        if name in named and found[name] and knob.kind == "document" and knob.fit:
            knob.check(name, found[name])
            found |= {each: fit for each, fit in knob.fit(found).items() if each not in named}
    return found


def current_name(known: Mapping[str, Knob], name: str) -> str:
    """The field that is called `name`, or was once."""
    return next(
        (field for field, knob in known.items() if knob.was == name and name not in known), name
    )


def differences(config: Any, other: Any) -> list[str]:
    """What `config` has otherwise than `other`, a phrase a field: 'embedding size d 64 (preset:
    128)'."""
    return [
        f"{knob.label} {knob.said(getattr(config, name))} (preset: "
        f"{knob.said(getattr(other, name))})"
        for name, knob in knobs_of(type(config)).items()
        if getattr(config, name) != getattr(other, name)
    ]


def distance(settings_class: type, config: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far two settings, as files keep them, are apart: for each field the difference as a share
    of its range, a choice counts 1."""
    known = {knob.was or name: knob for name, knob in knobs_of(settings_class).items()}
    return sum(
        _apart(name, knob, config.get(name), other.get(name)) for name, knob in known.items()
    )


def _apart(name: str, knob: Knob, one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    if name in ("seed", "seeds"):
        return _SEED_WEIGHT
    if (
        knob.kind != "slider"
        or one is None
        or other is None
        or knob.low is None
        or knob.high is None
    ):
        return 1.0
    if knob.log and knob.low > 0:
        return abs(math.log(one / other)) / math.log(knob.high / knob.low)
    return abs(one - other) / (knob.high - knob.low)

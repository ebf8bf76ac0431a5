"""The settings of runs beside each other: which differ, a row for each, and a short name for each
run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core.contract.knobs import Knob, knobs_of, main_knobs

LONGEST = 24  # characters of a run's short name


@dataclass(frozen=True)
class SettingRow:
    """One setting of all runs: its label, its value in each run, and whether these differ."""

    label: str
    texts: tuple[str, ...]
    differs: bool


def differing(configs: Sequence[Any], without: Collection[str] = ()) -> list[str]:
    """Return the fields whose values are not the same in all configs, the main ones first; the
    fields `without` are not compared."""
    settings = type(configs[0])
    names = dict.fromkeys([*main_knobs(settings), *knobs_of(settings)])
    return [
        name
        for name in names
        if name not in without and len({getattr(config, name) for config in configs}) > 1
    ]


def rows(configs: Sequence[Any]) -> list[SettingRow]:
    """Return a row for each setting that differs, then one for each main setting that does not."""
    settings = type(configs[0])
    fields = knobs_of(settings)
    different = differing(configs)
    same = [name for name in main_knobs(settings) if name not in different]
    return [
        SettingRow(
            fields[name].label,
            tuple(_value(fields[name], getattr(config, name)) for config in configs),
            name in different,
        )
        for name in [*different, *same]
    ]


def instead_of(config: Any, other: Any) -> str:
    """Return in words how `config` differs from `other`: "K = 5 instead of 1"."""
    fields = knobs_of(type(config))
    parts = [
        f"{_said(fields[name], getattr(config, name))} instead of "
        f"{_value(fields[name], getattr(other, name))}"
        for name in differing((config, other))
    ]
    return ", ".join(parts)


def short_names(configs: Sequence[Any]) -> list[str]:
    """Return a different name for each run: a setting that tells all runs apart, "K = 1", the first
    main one if several do; else several settings; "run 1", … where that takes more than LONGEST
    characters."""
    fields = knobs_of(type(configs[0]))
    together = [""] * len(configs)
    for field in differing(configs):
        texts = [_short(fields[field], getattr(config, field)) for config in configs]
        joined = [", ".join(filter(None, pair)) for pair in zip(together, texts, strict=True)]
        together = joined
        for names in (texts, joined):
            if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST:
                return names
    return [f"run {number + 1}" for number in range(len(configs))]


def _said(knob: Knob, value: Any) -> str:
    """Return a setting with its value: "K = 5", "freeze W_K¹: on"."""
    between = ": " if knob.kind == "toggle" else " = "
    return f"{knob.symbol}{between}{_value(knob, value)}"


def _short(knob: Knob, value: Any) -> str:
    """Return a setting with its value; a choice's value says by itself what it is."""
    return _value(knob, value) if knob.kind == "choice" else _said(knob, value)


def _value(knob: Knob, value: Any) -> str:
    if knob.kind == "toggle":
        return "on" if value else "off"
    if knob.kind == "choice":
        return knob.options[value]
    return knob.said(value)

"""The rows of the tables that compare runs: which settings differ, with a short name for each run,
and what each run measured, with its difference from the first."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import Knob, knobs_of, main_knobs
from icl_core.contract.statistics import error_of_difference, is_certain
from icl_core.runs.header import Header

LONGEST_NAME = 24  # characters of a run's short name


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


def setting_rows(configs: Sequence[Any]) -> list[SettingRow]:
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
            if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST_NAME:
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


@dataclass(frozen=True)
class Number:
    """A measured number, or a difference of two.

    value    the number
    error    its standard error; None if it is not known
    certain  of a difference: whether it is not zero with 95 % confidence, by Welch's test
    """

    value: float
    error: float | None
    certain: bool = False


@dataclass(frozen=True)
class MetricRow:
    """One metric of all runs.

    label        the claim's name for visitors
    numbers      what each run measured; None where it did not
    differences  for each run but the first its number minus the first one's; None where one of the
                 two was not measured
    """

    label: str
    numbers: tuple[Number | None, ...]
    differences: tuple[Number | None, ...]


def metric_rows(headers: Sequence[Header]) -> list[MetricRow]:
    """Return a row for each claim that one of the runs has measured, in their experiment's
    order."""
    experiment = registry.experiment(headers[0].experiment)
    records = [
        {
            record["claim"]: record
            for record in header.info.get("metrics", ())
            if record["value"] is not None
        }
        for header in headers
    ]
    rows: list[MetricRow] = []
    for claim in experiment.claims:
        measured = [by_claim.get(claim.id) for by_claim in records]
        if any(measured):
            numbers = tuple(
                record and Number(record["value"], record["error"]) for record in measured
            )
            counts = [
                record and _count(record, header)
                for record, header in zip(measured, headers, strict=True)
            ]
            differences = tuple(
                _difference((measured[0], record), (counts[0], count))
                for record, count in zip(measured[1:], counts[1:], strict=True)
            )
            rows.append(MetricRow(claim.label, numbers, differences))
    return rows


def _count(record: dict[str, Any], header: Header) -> int | None:
    """Return the number of independent values behind a record's error, None for so many that their
    spread is known. A record of before, without that number, has one value a seed where its run
    has several seeds."""
    if "count" in record:
        return record["count"]
    seeds = header.config.get("seeds", 1)
    return seeds if seeds > 1 else None


def _difference(
    records: tuple[dict[str, Any] | None, dict[str, Any] | None],
    counts: tuple[int | None, int | None],
) -> Number | None:
    """Return the second record's number minus the first one's; `counts` are the numbers of values
    behind them."""
    first, second = records
    if first is None or second is None:
        return None
    difference = second["value"] - first["value"]
    errors = first["error"], second["error"]
    return Number(difference, error_of_difference(*errors), is_certain(difference, errors, counts))

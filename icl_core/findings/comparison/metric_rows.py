"""What runs measured, beside each other: each number with its error, and its difference from the
first run's with the error of that. Only headers are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.runs.header import Header
from icl_core.statistics.difference import error_of_difference, is_certain


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


def rows(headers: Sequence[Header]) -> list[MetricRow]:
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
    metric_rows: list[MetricRow] = []
    for claim in experiment.claims:
        measured = [by_claim.get(claim.id) for by_claim in records]
        if any(measured):
            numbers = tuple(
                record and Number(record["value"], record["error"]) for record in measured
            )
            differences = tuple(_difference(record, measured[0]) for record in measured[1:])
            metric_rows.append(MetricRow(claim.label, numbers, differences))
    return metric_rows


def _difference(record: dict[str, Any] | None, first: dict[str, Any] | None) -> Number | None:
    """Return a record's number minus the first one's."""
    if record is None or first is None:
        return None
    difference = record["value"] - first["value"]
    errors = record["error"], first["error"]
    counts = record.get("count"), first.get("count")
    return Number(difference, error_of_difference(*errors), is_certain(difference, errors, counts))

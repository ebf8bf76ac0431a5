"""What runs measured, beside each other: each number with its error, and its difference from the
first run's with the error of that. Only headers are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.statistics import error_of_difference, is_certain
from icl_core.runs.header import Header


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
            counts = [
                record and _count(record, header)
                for record, header in zip(measured, headers, strict=True)
            ]
            differences = tuple(
                _difference((measured[0], record), (counts[0], count))
                for record, count in zip(measured[1:], counts[1:], strict=True)
            )
            metric_rows.append(MetricRow(claim.label, numbers, differences))
    return metric_rows


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

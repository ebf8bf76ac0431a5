"""The metrics kept in the files of runs: one list of what the papers claim and what was measured. No torch."""

import importlib
import math
import pkgutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from icl_core import registry
from icl_core.experiment import Claim, Metric
from icl_core.runs.store import Header, Store


@dataclass(frozen=True)
class Finding:
    """A claim of `paper` with what one run measured for it; `header` is None where no run did."""

    paper: str
    metric: Metric
    header: Header | None = None

    def row(self) -> dict[str, Any]:
        """For JSON and tables: paper, experiment, claim, value, predicted, tolerance, verdict and the rest."""
        claim = self.metric.claim
        experiment_id = self.header.experiment if self.header else ""
        return {
            "paper": self.paper,
            "experiment": experiment_id,
            "claim": claim.id,
            "label": claim.label,
            "value": _finite(self.metric.value),
            "error": _finite(self.metric.error),
            "predicted": claim.predicted,
            "tolerance": claim.tolerance,
            "relation": claim.relation,
            "verdict": self.metric.verdict,
            "source": claim.source,
            "reason": claim.reason,
            "run": self.header.key if self.header else "",
        }


def to_records(metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """Metrics as JSON, for a run's file."""
    return [
        {**asdict(metric.claim), "value": _finite(metric.value), "error": _finite(metric.error)} for metric in metrics
    ]


def from_records(records: Iterable[Mapping[str, Any]]) -> list[Metric]:
    """The metrics back from a run's file, `header.info["metrics"]`."""
    names = [field.name for field in fields(Claim)]
    return [Metric(Claim(**{name: r[name] for name in names if name in r}), r["value"], r["error"]) for r in records]


def of_run(header: Header) -> list[Finding]:
    """What one run measured."""
    paper = header.experiment.partition(".")[0]
    return [Finding(paper, metric, header) for metric in from_records(header.info.get("metrics", ()))]


def measured(store: Store) -> list[Finding]:
    """What all known runs have measured, shipped ones first within an experiment."""
    return [finding for header in store.headers() for finding in of_run(header)]


def collect(store: Store) -> list[Finding]:
    """`measured`, and every claim that no run has measured, as undecided. Imports the experiments, hence torch."""
    found = measured(store)
    known = {(finding.paper, finding.metric.claim.id) for finding in found}
    absent = [
        Finding(paper, Metric(claim, None))
        for paper in registry.papers()
        for claim in written(paper)
        if (paper, claim.id) not in known
    ]
    order = list(registry.papers())
    return sorted([*found, *absent], key=lambda finding: order.index(finding.paper))


def written(paper: str) -> list[Claim]:
    """Every claim that the paper's modules write down, alone or in a tuple, list or dict. Imports them all."""
    package = importlib.import_module(f"icl_core.papers.{paper}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    held: dict[str, Claim] = {}
    for name, module in sorted(sys.modules.items()):
        if name == package.__name__ or name.startswith(package.__name__ + "."):
            for value in vars(module).values():
                held |= {claim.id: claim for claim in _claims_in(value)}
    return list(held.values())


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows for a reader's eye."""
    lines = [("experiment", "claim", "value", "predicted", "verdict", "source", "reason")]
    for row in rows:
        value = "not run" if row["value"] is None else f"{row['value']:.4g}"
        place = row["experiment"] or row["paper"]
        lines.append((place, row["label"], value, _bound(row), row["verdict"], row["source"], row["reason"]))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    aligned = ("  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in aligned)


def _bound(row: Mapping[str, Any]) -> str:
    """What the value should be, and what counts as well: "0 ± 0.01", "≤ 0 (0.05 counts)"."""
    predicted, tolerance = row["predicted"], row["tolerance"]
    if row["relation"] == "near":
        return f"{predicted:.4g} ± {tolerance:.2g}"
    sign, way = ("≥", -1) if row["relation"] == "at least" else ("≤", 1)
    return f"{sign} {predicted:.4g}" + (f" ({predicted + way * tolerance:.4g} counts)" if tolerance else "")


def _claims_in(value: Any) -> list[Claim]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    return [item for item in inner if isinstance(item, Claim)]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)

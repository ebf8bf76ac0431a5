"""What runs have measured for the claims: records in their files, findings for tables and pages,
verdicts.

A run's file holds an id, a value and a verdict for each claim; the words of a claim stand in its
experiment alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.claims import ELSEWHERE, NOT_DECIDED, NOT_RUN, VERDICTS, Metric
from icl_core.contract.experiment import Experiment, Run
from icl_core.contract.knobs import NotHere, knobs_of
from icl_core.runs.file import Damaged
from icl_core.runs.store import Header, Store, typed_config

# The least favourable first: a claim is what it is at the worst of the runs at its setting.
RANK = (
    *(failed for _, failed in VERDICTS.values()),
    NOT_DECIDED,
    *(kept for kept, _ in VERDICTS.values()),
)


FAILED = tuple(failed for _, failed in VERDICTS.values())


@dataclass(frozen=True)
class Finding:
    """A claim of an experiment with what one run measured for it; `header` is None where no run
    did."""

    experiment: str
    metric: Metric
    verdict: str
    header: Header | None = None

    @property
    def paper(self) -> str:
        """The paper's folder."""
        return self.experiment.partition(".")[0]

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets whose run it is."""
        return tuple(self.header.info.get("presets") or ()) if self.header else ()

    @property
    def why(self) -> str:
        """What was measured of the reason for its verdict, or that it is not known why it fails;
        else empty."""
        measured = self.metric.unfinished or self.metric.reason
        return measured or ("not known" if self.verdict in FAILED else "")

    @property
    def setting(self) -> str:
        """The setting that the claim speaks of, in words."""
        return self.metric.claim.setting_words(
            knobs_of(registry.experiment(self.experiment).config)
        )

    def row(self) -> dict[str, Any]:
        """For JSON and tables: whose claim, in which words, at which setting, and what came out
        where."""
        claim, metric = self.metric.claim, self.metric
        return {
            "paper": self.paper,
            "experiment": self.experiment,
            "claim": claim.id,
            "label": claim.label,
            "kind": claim.kind,
            "quote": claim.quote,
            "setting": self.setting,
            "preset": ", ".join(self.presets),
            "value": _finite(metric.value),
            "error": _finite(metric.error),
            "relation": claim.relation,
            "bound": claim.bound,
            "tolerance": claim.tolerance,
            "verdict": self.verdict,
            "source": claim.source,
            "reason": self.why,
            "run": self.header.key if self.header else "",
        }


def measure(experiment: Experiment, run: Run) -> list[dict[str, Any]]:
    """The metrics of a run as JSON, for its file. Raises `KeyError` for a claim that is not
    declared."""
    from icl_core.machine import device  # imports torch

    with device.exact():
        measured = experiment.metrics(run)
    return records_of(experiment, measured, run.config)


def records_of(
    experiment: Experiment, metrics: Iterable[Metric], config: Any
) -> list[dict[str, Any]]:
    """The same of metrics that were measured already, with their verdicts at `config`."""
    declared = {claim.id: claim for claim in experiment.claims}
    return [
        {
            "claim": metric.claim.id,
            "kind": declared[metric.claim.id].kind,
            "value": _finite(metric.value),
            "error": _finite(metric.error),
            "unfinished": metric.unfinished,
            "reason": metric.reason,
            "verdict": metric.verdict(config),
        }
        for metric in metrics
    ]


def of_run(header: Header, run: Run | None = None) -> list[Finding]:
    """What one run measured, or `run`, the same one loaded, measures where its file keeps that in
    an older form.

    A claim that is no longer declared is left out, and so is a run whose settings are out of range
    today. Imports the experiment, hence torch.
    """
    experiment = registry.experiment(header.experiment)
    declared = {claim.id: claim for claim in experiment.claims}
    try:
        config = typed_config(header)
    except (Damaged, NotHere):  # the store says so
        return []
    records = header.info.get("metrics", ())
    if run is not None and not all("verdict" in record for record in records):
        records = measure(experiment, run)
    found = []
    for record in records:
        if "verdict" in record and (claim := declared.get(record["claim"])):
            metric = Metric(
                claim, *(record[name] for name in ("value", "error", "unfinished", "reason"))
            )
            verdict = (
                record["verdict"] if metric.value is None else metric.verdict(config)
            )  # it was infinite
            found.append(Finding(header.experiment, metric, verdict, header))
    return found


def of_experiment(name: str, store: Store) -> list[Finding]:
    """What all known runs of an experiment have measured and, together, those of its atlas, and
    every claim that none has. Imports it, hence torch."""
    found = [finding for header in store.headers(name) for finding in of_run(header)] + of_atlas(
        name, store
    )
    known = {finding.metric.claim.id for finding in found}
    absent = (claim for claim in registry.experiment(name).claims if claim.id not in known)
    return [*found, *(Finding(name, Metric(claim, None), NOT_RUN) for claim in absent)]


def of_atlas(name: str, store: Store) -> list[Finding]:
    """What all runs of an experiment's atlas have measured together. Imports it, hence torch."""
    return of_run(whole) if (whole := store.atlases.whole(name)) else []


def collect(store: Store) -> list[Finding]:
    """`of_experiment` of all, in the order of the pages."""
    return [finding for name in registry.experiment_ids() for finding in of_experiment(name, store)]


@dataclass(frozen=True)
class Summary:
    """One claim with its verdict over all runs at its setting, the least favourable, and the runs
    elsewhere beside."""

    here: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """A finding to take the claim from."""
        return (self.here or self.elsewhere)[0]

    @property
    def verdict(self) -> str:
        """ "not run" if no run is at the claim's setting."""
        return min((finding.verdict for finding in self.here), key=verdict_rank, default=NOT_RUN)


def summaries(findings: Iterable[Finding]) -> list[Summary]:
    """The findings by claim, failing first. Runs made here count only where no shipped run is at
    the setting."""
    groups = defaultdict(list)
    for finding in findings:
        groups[finding.experiment, finding.metric.claim.id].append(finding)
    made = []
    for group in groups.values():
        at = [f for f in group if f.verdict not in (ELSEWHERE, NOT_RUN)]
        here = [f for f in at if f.header and f.header.origin == "shipped"] or at
        made.append(
            Summary(tuple(here), tuple(f for f in group if f.verdict in (ELSEWHERE, NOT_RUN)))
        )
    return sorted(made, key=lambda summary: verdict_rank(summary.verdict))


def counts(store: Store) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """How many claims have which verdict in the shipped runs and atlases, by paper and kind. Reads
    files alone: no torch."""
    worst: dict[
        tuple[str, str, str], str
    ] = {}  # NOT_RUN, the last of all, for a claim with no run at its setting
    for header in (
        *store.headers(),
        *filter(None, map(store.atlases.whole, registry.experiment_ids())),
    ):
        for record in header.info.get("metrics", ()) if header.origin != "local" else ():
            key, verdict = (
                (header.experiment, record["claim"], record["kind"]),
                record.get("verdict", NOT_RUN),
            )
            verdict = NOT_RUN if verdict == ELSEWHERE else verdict  # an older form has none
            worst[key] = min(worst.get(key, NOT_RUN), verdict, key=verdict_rank)
    found = defaultdict(lambda: defaultdict(Counter))
    for (experiment_id, _, kind), verdict in worst.items():
        found[experiment_id.partition(".")[0]][kind][verdict] += 1
    return found


def verdict_rank(verdict: str) -> int:
    """Failing first, what is kept last, what has no verdict behind it."""
    return RANK.index(verdict) if verdict in RANK else len(RANK)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)

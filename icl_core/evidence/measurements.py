"""Findings: what runs have measured for the claims, and the verdicts.

A run's file holds records: an id, a value and a verdict for each claim. The words of a claim stand
in its experiment alone. `python -m icl_core claims` prints findings as a table in plain text.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from icl_core import registry
from icl_core.contract.claims import (
    CLASSROOM_ONLY,
    ELSEWHERE,
    NOT_DECIDED,
    NOT_RUN,
    VERDICTS,
    Metric,
)
from icl_core.contract.experiment import Experiment, Run
from icl_core.contract.knobs import NotHere, knobs_of
from icl_core.machine import device
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.file import Damaged
from icl_core.runs.settings_index import SettingsIndex
from icl_core.runs.store import Header, Store, typed_config

FAILED = tuple(failed for _, failed in VERDICTS.values())
SUCCEEDED = tuple(succeeded for succeeded, _ in VERDICTS.values())

# The least favourable first: a claim has the worst verdict of the runs at its setting.
RANK = (*FAILED, NOT_DECIDED, *SUCCEEDED, CLASSROOM_ONLY)

_TABLE_COLUMNS = ("experiment", "preset", "claim", "value", "bound", "verdict", "kind")
_TABLE_REMARKS = "source; setting; quote; why"


@dataclass(frozen=True)
class Finding:
    """A claim of an experiment with what one run measured for it.

    `header` is the run's; None where no run measured the claim.
    """

    experiment: str
    metric: Metric
    verdict: str
    header: Header | None = None

    @property
    def paper(self) -> str:
        """The name of the paper's folder."""
        return self.experiment.partition(".")[0]

    @property
    def presets(self) -> tuple[str, ...]:
        """The names of the presets whose run it is."""
        return tuple(self.header.info.get("presets") or ()) if self.header else ()

    @property
    def why(self) -> str:
        """The reason for the verdict, as far as it is known; "not known" for a failure, else ""."""
        undecided = self.metric.in_error() if self.verdict == NOT_DECIDED else ""
        measured = self.metric.unfinished or f"{undecided} {self.metric.reason}".strip()
        return measured or ("not known" if self.verdict in FAILED else "")

    @property
    def to_decide(self) -> str:
        """What would decide a verdict that is not decided; empty for any other."""
        return self.metric.to_decide() if self.verdict == NOT_DECIDED else ""

    @property
    def setting(self) -> str:
        """The setting that the claim speaks of, in words."""
        knobs = knobs_of(registry.experiment(self.experiment).config)
        return self.metric.claim.setting_words(knobs)

    def row(self) -> dict[str, Any]:
        """Return the finding as a row for JSON and tables."""
        claim = self.metric.claim
        return {
            "paper": self.paper,
            "experiment": self.experiment,
            "claim": claim.id,
            "label": claim.label,
            "kind": claim.kind,
            "quote": claim.quote,
            "setting": self.setting,
            "preset": ", ".join(self.presets),
            "value": _finite(self.metric.value),
            "error": _finite(self.metric.error),
            "relation": claim.relation,
            "bound": claim.bound,
            "tolerance": claim.tolerance,
            "verdict": self.verdict,
            "source": claim.source,
            "reason": self.why,
            "run": self.header.key if self.header else "",
        }


def measure(experiment: Experiment, run: Run) -> list[dict[str, Any]]:
    """Measure the metrics of a run and return them as records for its file.

    Raises `KeyError` for a claim that the experiment does not declare.
    """
    with device.exact():
        metrics = experiment.metrics(run)
    return records_of(experiment, metrics, run.config)


def records_of(
    experiment: Experiment, metrics: Iterable[Metric], config: Any
) -> list[dict[str, Any]]:
    """Return the records of metrics, JSON, with their verdicts at `config`.

    Raises `KeyError` for a claim that the experiment does not declare.
    """
    declared = {claim.id: claim for claim in experiment.claims}
    return [
        {
            "claim": metric.claim.id,
            "kind": declared[metric.claim.id].kind,
            "value": _finite(metric.value),
            "error": _finite(metric.error),
            "unfinished": metric.unfinished,
            "reason": metric.reason,
            "count": metric.count,
            "verdict": metric.verdict(config),
        }
        for metric in metrics
    ]


def records_agree(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether records are the same but for rounding.

    Another computer's last digit is no reason to rewrite a shipped file; nor is the number of
    values behind an error where the verdict stays.
    """
    if len(old) != len(new):
        return False
    for old_record, new_record in zip(old, new, strict=True):
        names = (old_record.keys() | new_record.keys()) - {"count"}
        if not all(_is_close(old_record.get(name), new_record.get(name)) for name in names):
            return False
    return True


def _is_close(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-4, abs_tol=1e-9)
    return old == new


def of_run(header: Header) -> list[Finding]:
    """Return what one run measured, by the records in its file.

    A claim that the experiment no longer declares is left out; a run whose settings are out of
    range today has no findings. Imports the experiment, hence torch.
    """
    experiment = registry.experiment(header.experiment)
    declared = {claim.id: claim for claim in experiment.claims}
    try:
        config = typed_config(header)
    except (Damaged, NotHere):  # the store says so
        return []
    findings = []
    for record in header.info.get("metrics", ()):
        claim = declared.get(record["claim"])
        if claim is None:
            continue
        metric = Metric(
            claim,
            record["value"],
            record["error"],
            record["unfinished"],
            record["reason"],
            record.get("count"),  # not in runs that were measured before it mattered
        )
        # a value that was infinite is not stored, so its verdict cannot be decided anew
        verdict = record["verdict"] if metric.value is None else metric.verdict(config)
        findings.append(Finding(header.experiment, metric, verdict, header))
    return findings


def of_experiment(name: str, store: Store) -> list[Finding]:
    """Return the findings of all stored runs of an experiment and of its atlas as a whole.

    Claims that no run has measured come last, as not run. Imports the experiment, hence torch.
    """
    of_runs = [finding for header in store.headers(name) for finding in of_run(header)]
    return _completed(name, [*of_runs, *of_atlas(name, store)])


def _completed(name: str, findings: list[Finding]) -> list[Finding]:
    """Return the findings of an experiment and, at the end, its claims that no run has measured."""
    measured = {finding.metric.claim.id for finding in findings}
    for claim in registry.experiment(name).claims:
        if claim.id not in measured:
            findings.append(Finding(name, Metric(claim, None), NOT_RUN))
    return findings


def of_atlas(name: str, store: Store) -> list[Finding]:
    """Return what all runs of an experiment's atlas measured together.

    Imports the experiment, hence torch.
    """
    whole = store.atlases.whole(name)
    return of_run(whole) if whole else []


def collect(store: Store) -> list[Finding]:
    """Return the findings of all experiments, in the order of the pages."""
    return [finding for name in registry.experiment_ids() for finding in of_experiment(name, store)]


@dataclass(frozen=True)
class Summary:
    """One claim over all runs: `here` at its setting, `elsewhere` at others."""

    here: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """A finding to take the claim from."""
        return (self.here or self.elsewhere)[0]

    @cached_property
    def verdict(self) -> str:
        """The least favourable verdict at the claim's setting; without a run there "toy" if other
        runs have measured it, else "not run"."""
        if self.here:
            return min({finding.verdict for finding in self.here}, key=verdict_rank)
        is_elsewhere = any(finding.verdict == ELSEWHERE for finding in self.elsewhere)
        return CLASSROOM_ONLY if is_elsewhere else NOT_RUN


def summaries(findings: Iterable[Finding]) -> list[Summary]:
    """Return the findings by claim, failing claims first.

    Runs that were computed here count only where no shipped run is at the claim's setting. Runs of
    a folded claim stand with the claim that says the same, if that one is among the findings.
    """
    return _ordered(_by_claim(findings).values())


def _by_claim(findings: Iterable[Finding]) -> dict[tuple[str, str], Summary]:
    """Return the findings by experiment and claim."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.experiment, finding.metric.claim.id].append(finding)
    for claim, into in _folded_claims().items():
        if claim in groups and into in groups:
            groups[into] += groups.pop(claim)
    return {claim: _summary(group) for claim, group in groups.items()}


def _summary(group: Sequence[Finding]) -> Summary:
    elsewhere = [finding for finding in group if finding.verdict in (ELSEWHERE, NOT_RUN)]
    here = [finding for finding in group if finding.verdict not in (ELSEWHERE, NOT_RUN)]
    shipped = [finding for finding in here if finding.header and finding.header.origin == "shipped"]
    return Summary(tuple(shipped or here), tuple(elsewhere))


def _ordered(unordered: Iterable[Summary]) -> list[Summary]:
    return sorted(unordered, key=lambda summary: verdict_rank(summary.verdict))


class _Collected(NamedTuple):
    """What the runs of an experiment measured, by run and by claim, and which runs these are."""

    experiment: Experiment
    index: SettingsIndex
    atlas: Header | None
    by_run: Mapping[Header, list[Finding]]
    by_claim: Mapping[tuple[str, str], Summary]


_collected: WeakKeyDictionary[Store, dict[str, _Collected]] = WeakKeyDictionary()  # by experiment


def summaries_led_by(shown: Header | None, name: str, store: Store) -> list[Summary]:
    """Return the summaries of an experiment over all its runs, in each what the run `shown` has
    measured first. They are made anew when a run comes or goes."""
    experiment = registry.experiment(name)
    index = store.index(name)
    atlas = store.atlases.whole(name)
    collected = _collected.setdefault(store, {})
    known = collected.get(name)
    if known is None or known[:3] != (experiment, index, atlas):
        former = known.by_run if known and known.experiment is experiment else {}
        by_run = {
            header: former[header] if header in former else of_run(header)
            for header in index.headers
            if header.origin != ATLAS
        }
        findings = [*chain.from_iterable(by_run.values()), *of_atlas(name, store)]
        by_claim = _by_claim(_completed(name, findings))
        known = collected[name] = _Collected(experiment, index, atlas, by_run, by_claim)
    own: dict[tuple[str, str], list[Finding]] = {}
    folded = _folded_claims()
    for finding in of_run(shown) if shown else ():
        claim = (finding.experiment, finding.metric.claim.id)
        claim = claim if claim in known.by_claim else folded.get(claim, claim)
        own.setdefault(claim, []).append(finding)
    led = {claim: _led_by(first, known.by_claim[claim]) for claim, first in own.items()}
    return _ordered((led | dict(known.by_claim) | led).values())


def _led_by(first: list[Finding], summary: Summary) -> Summary:
    """Return the summary with the findings `first` of one run before all others."""
    header = first[0].header
    others = (*summary.here, *summary.elsewhere)
    return _summary([*first, *(finding for finding in others if finding.header is not header)])


def counts(store: Store) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """Return how many claims have which verdict, by paper, kind and verdict.

    Shipped runs and atlases count. Only files are read: no torch.
    """
    atlases = [store.atlases.whole(experiment_id) for experiment_id in registry.experiment_ids()]
    folded = _folded_claims()
    worst: dict[tuple[str, str, str], str] = {}  # by experiment, claim and kind
    for header in (*store.headers(), *atlases):
        if header is None or header.origin == "local":
            continue
        for record in header.info.get("metrics", ()):
            claim = (header.experiment, record["claim"])
            claim = (*folded.get(claim, claim), record["kind"])
            verdict = CLASSROOM_ONLY if record["verdict"] == ELSEWHERE else record["verdict"]
            worst[claim] = min(worst.get(claim, NOT_RUN), verdict, key=verdict_rank)
    by_paper = defaultdict(lambda: defaultdict(Counter))
    for (experiment_id, _, kind), verdict in worst.items():
        by_paper[experiment_id.partition(".")[0]][kind][verdict] += 1
    return by_paper


def _folded_claims() -> dict[tuple[str, str], tuple[str, str]]:
    """Return with which claim the runs of a folded claim stand, both by experiment and claim."""
    folded: dict[tuple[str, str], tuple[str, str]] = {}
    for paper in registry.papers().values():
        for claim, into in paper.folded_claims.items():
            experiment, name = claim.split(".")
            other, other_name = into.split(".")
            folded[f"{paper.name}.{experiment}", name] = (f"{paper.name}.{other}", other_name)
    return folded


def verdict_rank(verdict: str) -> int:
    """Return the rank of a verdict: failing first, then reproduced and the like, others last."""
    return RANK.index(verdict) if verdict in RANK else len(RANK)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def findings_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows (`Finding.row`) in aligned columns, remarks at the end of each line."""
    lines: list[tuple[tuple[str, ...], str]] = [(_TABLE_COLUMNS, _TABLE_REMARKS)]
    for row in rows:
        value = "not run" if row["value"] is None else f"{row['value']:.4g}"
        cells = (
            row["experiment"],
            row["preset"] or row["run"][:6],
            row["label"],
            value,
            bound_text(row),
            row["verdict"],
            row["kind"],
        )
        quote = f"“{row['quote']}”" if row["quote"] else ""
        remarks = filter(None, (row["source"], row["setting"], quote, row["reason"]))
        lines.append((cells, "; ".join(remarks)))
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in lines), strict=True)]
    text = []
    for cells, remarks in lines:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
        text.append("  ".join([*padded, remarks]))
    return "\n".join(text)


def bound_text(row: Mapping[str, Any]) -> str:
    """Return what the value should be, and what counts too: "0 ± 0.01", "≤ 0 (0.05 counts)"."""
    bound = row["bound"]
    tolerance = row["tolerance"]
    if row["relation"] == "near":
        return f"{bound:.4g} ± {tolerance:.2g}"
    sign, direction = ("≥", -1) if row["relation"] == "at least" else ("≤", 1)
    text = f"{sign} {bound:.4g}"
    return f"{text} ({bound + direction * tolerance:.4g} counts)" if tolerance else text
